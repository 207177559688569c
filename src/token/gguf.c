#include "token/gguf.h"

#include "base/arena.h"
#include "base/i18n.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "GGUF is read as it lies in memory");

enum {
	VERSION_MIN = 2, /* version 1 had counts of 32 bits */
	VERSION_MAX = 3,
	ALIGNMENT_DEFAULT = 32,
	ALIGNMENT_MIN = 8,
	KEY_BYTES_MIN = 8 + 4 + 1,            /* name, type, value: the least a key takes */
	TENSOR_BYTES_MIN = 8 + 4 + 8 + 4 + 8, /* name, number of dims, a dim, type, offset */
};

struct gguf {
	struct arena run;
	struct gguf_value *values; /* sorted by key */
	size_t n_values;
	struct gguf_tensor *tensors; /* sorted by name */
	size_t n_tensors;
	void *map; /* NULL when the bytes are the caller's */
	size_t map_bytes;
};

/* What is left to read. */
struct reader {
	const unsigned char *at, *end;
};

struct type_info {
	const char *name;
	size_t bytes; /* of an element; 0: it has no fixed size, or is not read here */
};

static const struct type_info value_types[] = {
	[GGUF_U8] = { "u8", 1 },
	[GGUF_I8] = { "i8", 1 },
	[GGUF_U16] = { "u16", 2 },
	[GGUF_I16] = { "i16", 2 },
	[GGUF_U32] = { "u32", 4 },
	[GGUF_I32] = { "i32", 4 },
	[GGUF_F32] = { "f32", 4 },
	[GGUF_BOOL] = { "bool", 1 },
	[GGUF_STRING] = { "string", 0 },
	[GGUF_ARRAY] = { "array", 0 },
	[GGUF_U64] = { "u64", 8 },
	[GGUF_I64] = { "i64", 8 },
	[GGUF_F64] = { "f64", 8 },
};

static const struct type_info tensor_types[] = {
	[GGUF_TENSOR_F32] = { "F32", 4 },
	[GGUF_TENSOR_F16] = { "F16", 2 },
	[2] = { "Q4_0", 0 },
	[3] = { "Q4_1", 0 },
	[6] = { "Q5_0", 0 },
	[7] = { "Q5_1", 0 },
	[8] = { "Q8_0", 0 },
	[9] = { "Q8_1", 0 },
	[10] = { "Q2_K", 0 },
	[11] = { "Q3_K", 0 },
	[12] = { "Q4_K", 0 },
	[13] = { "Q5_K", 0 },
	[14] = { "Q6_K", 0 },
	[15] = { "Q8_K", 0 },
	[16] = { "IQ2_XXS", 0 },
	[17] = { "IQ2_XS", 0 },
	[18] = { "IQ3_XXS", 0 },
	[19] = { "IQ1_S", 0 },
	[20] = { "IQ4_NL", 0 },
	[21] = { "IQ3_S", 0 },
	[22] = { "IQ2_S", 0 },
	[23] = { "IQ4_XS", 0 },
	[24] = { "I8", 0 },
	[25] = { "I16", 0 },
	[26] = { "I32", 0 },
	[27] = { "I64", 0 },
	[28] = { "F64", 0 },
	[29] = { "IQ1_M", 0 },
	[GGUF_TENSOR_BF16] = { "BF16", 2 },
	[34] = { "TQ1_0", 0 },
	[35] = { "TQ2_0", 0 },
	[39] = { "MXFP4", 0 },
};

const char *gguf_tensor_type_name(uint32_t type)
{
	return type < ARRAY_LEN(tensor_types) ? tensor_types[type].name : NULL;
}

/* The bytes of the character at s if a terminal only shows it; 0 for controls and broken text. */
static size_t printable(const char *s, size_t n)
{
	int step = utf8_char(s, n);
	unsigned char c = (unsigned char)s[0];
	if (step < 1 || c < 0x20 || c == 0x7F)
		return 0;
	/* U+0080 to U+009F are controls, too. */
	return c == 0xC2 && (unsigned char)s[1] < 0xA0 ? 0 : (size_t)step;
}

const char *gguf_quote(struct str name, char out[GGUF_QUOTE])
{
	static const char more[] = "...";
	size_t i = 0, n = 0;
	while (i < name.len && n + UTF8_CHAR_MAX + sizeof(more) <= GGUF_QUOTE) {
		size_t step = printable(name.s + i, name.len - i);
		if (step)
			memcpy(out + n, name.s + i, step);
		else
			out[n] = '?';
		n += step ? step : 1;
		i += step ? step : 1;
	}
	memcpy(out + n, more, sizeof(more));
	if (i == name.len)
		out[n] = '\0';
	return out;
}

/* n bytes, or NULL when so many are not left. */
static const unsigned char *take(struct reader *r, uint64_t n)
{
	if (n > (uint64_t)(r->end - r->at))
		return NULL;
	const unsigned char *p = r->at;
	r->at += n;
	return p;
}

static bool take_u32(struct reader *r, uint32_t *ret)
{
	const unsigned char *p = take(r, sizeof(*ret));
	if (p)
		memcpy(ret, p, sizeof(*ret));
	return p != NULL;
}

static bool take_u64(struct reader *r, uint64_t *ret)
{
	const unsigned char *p = take(r, sizeof(*ret));
	if (p)
		memcpy(ret, p, sizeof(*ret));
	return p != NULL;
}

static bool take_string(struct reader *r, struct str *ret)
{
	uint64_t n;
	const unsigned char *p = NULL;
	if (take_u64(r, &n))
		p = take(r, n);
	if (p)
		*ret = (struct str){ (const char *)p, n };
	return p != NULL;
}

static bool take_name(struct reader *r, struct str *ret, struct err *err)
{
	if (!take_string(r, ret))
		return err_set(err, ERR_INPUT,
		        _("the name of a key or tensor reaches beyond the end of the file"));
	if (ret->len == 0)
		return err_set(err, ERR_INPUT, _("a key or tensor has no name"));
	if (ret->len > GGUF_NAME_BYTES_MAX)
		return err_set(err, ERR_INPUT,
		        _("the name of a key or tensor has %zu bytes, more than the limit of %d"),
		        ret->len, GGUF_NAME_BYTES_MAX);
	return true;
}

/* Moves over the n elements of a value; false when they reach beyond the end. */
static bool skip_elements(struct reader *r, enum gguf_type of, uint64_t n)
{
	struct str text;
	if (of != GGUF_STRING)
		return take(r, n * value_types[of].bytes) != NULL;
	for (uint64_t i = 0; i < n; i++)
		if (!take_string(r, &text))
			return false;
	return true;
}

/* The type of an array's elements and their number. */
static bool take_array(struct reader *r, struct gguf_value *v, struct err *err)
{
	char name[GGUF_QUOTE];
	uint32_t of;
	gguf_quote(v->key, name);
	if (!take_u32(r, &of) || !take_u64(r, &v->n))
		return err_set(err, ERR_INPUT,
		        _("the value of key '%s' reaches beyond the end of the file"), name);
	if (of == GGUF_ARRAY)
		return err_set(err, ERR_INPUT,
		        _("key '%s' holds arrays inside an array, which are not supported"), name);
	if (of >= ARRAY_LEN(value_types))
		return err_set(err, ERR_INPUT, _("key '%s' has the unknown type %u"), name, of);
	if (v->n > GGUF_ARRAY_MAX)
		return err_set(err, ERR_INPUT,
		        _("key '%s' claims %llu elements, more than the limit of %d"), name,
		        (unsigned long long)v->n, GGUF_ARRAY_MAX);
	v->of = of;
	return true;
}

static bool take_value(struct reader *r, struct gguf_value *v, struct err *err)
{
	char name[GGUF_QUOTE];
	uint32_t type;
	if (!take_name(r, &v->key, err))
		return false;
	gguf_quote(v->key, name);
	if (!take_u32(r, &type))
		return err_set(err, ERR_INPUT,
		        _("the value of key '%s' reaches beyond the end of the file"), name);
	if (type >= ARRAY_LEN(value_types))
		return err_set(err, ERR_INPUT, _("key '%s' has the unknown type %u"), name, type);
	v->type = v->of = type;
	v->n = 1;
	if (type == GGUF_ARRAY && !take_array(r, v, err))
		return false;
	v->at = r->at;
	if (!skip_elements(r, v->of, v->n))
		return err_set(err, ERR_INPUT,
		        _("the value of key '%s' reaches beyond the end of the file"), name);
	return true;
}

static int compare_str(struct str a, struct str b)
{
	int order = memcmp(a.s, b.s, a.len < b.len ? a.len : b.len);
	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_keys(const void *a, const void *b)
{
	return compare_str(
	        ((const struct gguf_value *)a)->key, ((const struct gguf_value *)b)->key);
}

static int compare_names(const void *a, const void *b)
{
	return compare_str(
	        ((const struct gguf_tensor *)a)->name, ((const struct gguf_tensor *)b)->name);
}

static int compare_offsets(const void *a, const void *b)
{
	uint64_t x = ((const struct gguf_tensor *)a)->offset;
	uint64_t y = ((const struct gguf_tensor *)b)->offset;
	return (x > y) - (x < y);
}

static bool take_values(struct gguf *file, struct reader *r, uint64_t n, struct err *err)
{
	char name[GGUF_QUOTE];
	if (n > GGUF_KEYS_MAX)
		return err_set(err, ERR_INPUT, _("it claims %llu keys, more than the limit of %d"),
		        (unsigned long long)n, GGUF_KEYS_MAX);
	if (n > (uint64_t)(r->end - r->at) / KEY_BYTES_MIN)
		return err_set(err, ERR_INPUT, _("it claims %llu keys, more than it has room for"),
		        (unsigned long long)n);
	file->values = arena_new_n(&file->run, struct gguf_value, n);
	for (file->n_values = 0; file->n_values < n; file->n_values++)
		if (!take_value(r, &file->values[file->n_values], err))
			return false;
	qsort(file->values, n, sizeof(*file->values), compare_keys);
	for (size_t i = 1; i < n; i++)
		if (compare_keys(&file->values[i - 1], &file->values[i]) == 0)
			return err_set(err, ERR_INPUT, _("key '%s' is there twice"),
			        gguf_quote(file->values[i].key, name));
	return true;
}

/* The number of elements and their bytes. */
static bool size_tensor(struct gguf_tensor *t, const char *name, struct err *err)
{
	t->n_elements = 1;
	for (int i = 0; i < t->n_dims; i++) {
		if (t->dims[i] == 0 || t->dims[i] > INT64_MAX)
			return err_set(err, ERR_INPUT,
			        _("dimension %d of tensor '%s' is %lld, which is not positive"), i,
			        name, (long long)t->dims[i]);
		if (__builtin_mul_overflow(t->n_elements, t->dims[i], &t->n_elements))
			return err_set(err, ERR_INPUT,
			        _("the dimensions of tensor '%s' are too large"), name);
	}
	if (!gguf_tensor_type_name(t->type))
		return err_set(
		        err, ERR_INPUT, _("tensor '%s' has the unknown type %u"), name, t->type);
	if (__builtin_mul_overflow(t->n_elements, tensor_types[t->type].bytes, &t->bytes))
		return err_set(
		        err, ERR_INPUT, _("the dimensions of tensor '%s' are too large"), name);
	return true;
}

static bool take_tensor(struct reader *r, struct gguf_tensor *t, struct err *err)
{
	char name[GGUF_QUOTE];
	uint32_t n_dims;
	if (!take_name(r, &t->name, err))
		return false;
	gguf_quote(t->name, name);
	if (!take_u32(r, &n_dims))
		return err_set(err, ERR_INPUT,
		        _("the description of tensor '%s' reaches beyond the end of the file"),
		        name);
	if (n_dims < 1 || n_dims > GGUF_DIMS_MAX)
		return err_set(err, ERR_INPUT, _("tensor '%s' has %u dimensions, not 1 to %d"),
		        name, n_dims, GGUF_DIMS_MAX);
	t->n_dims = (int)n_dims;
	bool whole = true;
	for (int i = 0; i < GGUF_DIMS_MAX; i++) {
		t->dims[i] = 1;
		if (i < t->n_dims)
			whole = whole && take_u64(r, &t->dims[i]);
	}
	if (!whole || !take_u32(r, &t->type) || !take_u64(r, &t->offset))
		return err_set(err, ERR_INPUT,
		        _("the description of tensor '%s' reaches beyond the end of the file"),
		        name);
	return size_tensor(t, name, err);
}

static bool take_tensors(struct gguf *file, struct reader *r, uint64_t n, struct err *err)
{
	if (n > GGUF_TENSORS_MAX)
		return err_set(err, ERR_INPUT,
		        _("it claims %llu tensors, more than the limit of %d"),
		        (unsigned long long)n, GGUF_TENSORS_MAX);
	if (n > (uint64_t)(r->end - r->at) / TENSOR_BYTES_MIN)
		return err_set(err, ERR_INPUT,
		        _("it claims %llu tensors, more than it has room for"),
		        (unsigned long long)n);
	file->tensors = arena_new_n(&file->run, struct gguf_tensor, n);
	for (file->n_tensors = 0; file->n_tensors < n; file->n_tensors++)
		if (!take_tensor(r, &file->tensors[file->n_tensors], err))
			return false;
	return true;
}

/* Gives the tensors, sorted by offset, their data; none may reach into the next. */
static bool place_tensors(
        struct gguf *file, struct reader data, uint64_t alignment, struct err *err)
{
	char name[GGUF_QUOTE];
	uint64_t n_data = (uint64_t)(data.end - data.at), used = 0;
	for (size_t i = 0; i < file->n_tensors; i++) {
		struct gguf_tensor *t = &file->tensors[i];
		gguf_quote(t->name, name);
		if (t->offset % alignment)
			return err_set(err, ERR_INPUT,
			        _("the data of tensor '%s' is not aligned to %llu bytes"), name,
			        (unsigned long long)alignment);
		if (t->offset > n_data || t->bytes > n_data - t->offset)
			return err_set(err, ERR_INPUT,
			        _("the data of tensor '%s' reaches beyond the end of the file"),
			        name);
		if (t->offset < used)
			return err_set(err, ERR_INPUT,
			        _("the data of tensor '%s' overlaps that of another"), name);
		t->data = data.at + t->offset;
		used = t->offset + t->bytes;
	}
	return true;
}

static bool find_data(
        struct gguf *file, const unsigned char *start, struct reader *r, struct err *err)
{
	char name[GGUF_QUOTE];
	int64_t alignment = ALIGNMENT_DEFAULT;
	if (gguf_value(file, "general.alignment") &&
	        !gguf_int(file, "general.alignment", ALIGNMENT_MIN, GGUF_ALIGNMENT_MAX, &alignment,
	                err))
		return false;
	if (alignment & (alignment - 1))
		return err_set(err, ERR_INPUT, _("key '%s' is %lld, which is no power of two"),
		        "general.alignment", (long long)alignment);
	/* Padding that is missing matters only when there is data after it. */
	uint64_t padding = -(uint64_t)(r->at - start) & (uint64_t)(alignment - 1);
	if (!take(r, padding))
		r->at = r->end;
	if (file->n_tensors == 0)
		return true; /* a vocabulary alone */
	qsort(file->tensors, file->n_tensors, sizeof(*file->tensors), compare_offsets);
	if (!place_tensors(file, *r, (uint64_t)alignment, err))
		return false;
	qsort(file->tensors, file->n_tensors, sizeof(*file->tensors), compare_names);
	for (size_t i = 1; i < file->n_tensors; i++)
		if (compare_names(&file->tensors[i - 1], &file->tensors[i]) == 0)
			return err_set(err, ERR_INPUT, _("tensor '%s' is there twice"),
			        gguf_quote(file->tensors[i].name, name));
	return true;
}

static bool parse(struct gguf *file, const unsigned char *bytes, size_t n, struct err *err)
{
	struct reader r = { bytes, bytes + n };
	uint32_t version;
	uint64_t n_tensors, n_values;
	const unsigned char *magic = take(&r, 4);
	if (!magic || memcmp(magic, "GGUF", 4) != 0)
		return err_set(err, ERR_INPUT, _("it does not begin with 'GGUF' as a model does"));
	if (!take_u32(&r, &version))
		return err_set(err, ERR_INPUT, _("the file ends inside its header"));
	if (version < VERSION_MIN || version > VERSION_MAX)
		return err_set(err, ERR_INPUT,
		        _("it is GGUF of version %u; only versions %d and %d are read"), version,
		        VERSION_MIN, VERSION_MAX);
	if (!take_u64(&r, &n_tensors) || !take_u64(&r, &n_values))
		return err_set(err, ERR_INPUT, _("the file ends inside its header"));
	return take_values(file, &r, n_values, err) && take_tensors(file, &r, n_tensors, err) &&
	       find_data(file, bytes, &r, err);
}

bool gguf_parse(const void *bytes, size_t n, struct gguf **ret_file, struct err *err)
{
	struct gguf *file = mem_realloc(NULL, sizeof(*file));
	*file = (struct gguf){ 0 };
	if (!parse(file, bytes, n, err)) {
		gguf_close(file);
		return false;
	}
	*ret_file = file;
	return true;
}

/* The whole file as memory; an empty file as NULL. */
static bool map_file(const char *path, void **ret_map, size_t *ret_n, struct err *err)
{
	struct stat st;
	AUTO(auto_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, ERR_INPUT, _("cannot open '%s': %s"), path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INPUT, _("'%s' is not a regular file"), path);
	*ret_map = NULL;
	*ret_n = (size_t)st.st_size;
	if (st.st_size == 0)
		return true;
	void *map = mmap(NULL, *ret_n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return err_set(err, ERR_SYSTEM, _("cannot read '%s': %s"), path, strerror(errno));
	*ret_map = map;
	return true;
}

bool gguf_open(const char *path, struct gguf **ret_file, struct err *err)
{
	void *map = NULL;
	size_t n = 0;
	if (!map_file(path, &map, &n, err))
		return false;
	if (!gguf_parse(map ? map : "", n, ret_file, err)) {
		if (map)
			munmap(map, n);
		return err_wrap(err, "'%s'", path);
	}
	(*ret_file)->map = map;
	(*ret_file)->map_bytes = n;
	return true;
}

void gguf_close(struct gguf *file)
{
	if (!file)
		return;
	if (file->map)
		munmap(file->map, file->map_bytes);
	arena_release(&file->run);
	free(file);
}

const struct gguf_value *gguf_value(const struct gguf *file, const char *key)
{
	struct gguf_value wanted = { .key = str_of(key) };
	if (file->n_values == 0)
		return NULL;
	return bsearch(&wanted, file->values, file->n_values, sizeof(*file->values), compare_keys);
}

const struct gguf_tensor *gguf_tensor(const struct gguf *file, const char *name)
{
	struct gguf_tensor wanted = { .name = str_of(name) };
	if (file->n_tensors == 0)
		return NULL;
	return bsearch(
	        &wanted, file->tensors, file->n_tensors, sizeof(*file->tensors), compare_names);
}

const struct gguf_tensor *gguf_tensors(const struct gguf *file, size_t *ret_n)
{
	*ret_n = file->n_tensors;
	return file->tensors;
}

static bool wrong_type(
        const struct gguf_value *v, const char *key, const char *wanted, struct err *err)
{
	if (!v)
		return err_set(err, ERR_INPUT, _("key '%s' is missing"), key);
	return err_set(err, ERR_INPUT, _("key '%s' has the type %s instead of %s"), key,
	        value_types[v->type].name, wanted);
}

/* A whole number of any type; one of 64 bits without sign that does not fit becomes the largest. */
static bool int_of(const struct gguf_value *v, int64_t *ret)
{
	union {
		uint8_t u8;
		int8_t i8;
		uint16_t u16;
		int16_t i16;
		uint32_t u32;
		int32_t i32;
		uint64_t u64;
		int64_t i64;
	} x = { 0 };
	memcpy(&x, v->at, v->type == GGUF_ARRAY ? 0 : value_types[v->type].bytes);
	switch (v->type) {
	case GGUF_U8:
		*ret = x.u8;
		return true;
	case GGUF_I8:
		/* NOLINTNEXTLINE(bugprone-signed-char-misuse): the sign is meant */
		*ret = x.i8;
		return true;
	case GGUF_U16:
		*ret = x.u16;
		return true;
	case GGUF_I16:
		*ret = x.i16;
		return true;
	case GGUF_U32:
		*ret = x.u32;
		return true;
	case GGUF_I32:
		*ret = x.i32;
		return true;
	case GGUF_U64:
		*ret = x.u64 > INT64_MAX ? INT64_MAX : (int64_t)x.u64;
		return true;
	case GGUF_I64:
		*ret = x.i64;
		return true;
	default:
		return false;
	}
}

bool gguf_int(const struct gguf *file, const char *key, int64_t min, int64_t max,
        int64_t *ret_value, struct err *err)
{
	const struct gguf_value *v = gguf_value(file, key);
	int64_t value;
	if (!v || !int_of(v, &value))
		return wrong_type(v, key, "u32", err);
	if (value < min || value > max)
		return err_set(err, ERR_INPUT,
		        _("key '%s' is %lld, which is not within %lld to %lld"), key,
		        (long long)value, (long long)min, (long long)max);
	*ret_value = value;
	return true;
}

bool gguf_real(const struct gguf *file, const char *key, double min, double max, double *ret_value,
        struct err *err)
{
	const struct gguf_value *v = gguf_value(file, key);
	double value;
	if (v && v->type == GGUF_F32)
		value = (double)gguf_array_f32(v, 0);
	else if (v && v->type == GGUF_F64)
		memcpy(&value, v->at, sizeof(value));
	else
		return wrong_type(v, key, "f32", err);
	if (!(value >= min && value <= max))
		return err_set(err, ERR_INPUT, _("key '%s' is %g, which is not within %g to %g"),
		        key, value, min, max);
	*ret_value = value;
	return true;
}

bool gguf_bool(const struct gguf *file, const char *key, bool *ret_value, struct err *err)
{
	const struct gguf_value *v = gguf_value(file, key);
	if (!v || v->type != GGUF_BOOL)
		return wrong_type(v, key, "bool", err);
	*ret_value = *v->at != 0;
	return true;
}

bool gguf_string(const struct gguf *file, const char *key, struct str *ret_value, struct err *err)
{
	const struct gguf_value *v = gguf_value(file, key);
	if (!v || v->type != GGUF_STRING)
		return wrong_type(v, key, "string", err);
	const unsigned char *at = v->at;
	*ret_value = gguf_array_next_string(&at);
	return true;
}

bool gguf_array(const struct gguf *file, const char *key, enum gguf_type of, uint64_t n,
        const struct gguf_value **ret_value, struct err *err)
{
	const struct gguf_value *v = gguf_value(file, key);
	if (!v || v->type != GGUF_ARRAY)
		return wrong_type(v, key, "array", err);
	if (v->of != of)
		return err_set(err, ERR_INPUT, _("key '%s' is an array of %s instead of %s"), key,
		        value_types[v->of].name, value_types[of].name);
	if (n && v->n != n)
		return err_set(err, ERR_INPUT, _("key '%s' has %llu elements instead of %llu"), key,
		        (unsigned long long)v->n, (unsigned long long)n);
	*ret_value = v;
	return true;
}

float gguf_array_f32(const struct gguf_value *array, uint64_t i)
{
	float value;
	memcpy(&value, array->at + i * sizeof(value), sizeof(value));
	return value;
}

int32_t gguf_array_i32(const struct gguf_value *array, uint64_t i)
{
	int32_t value;
	memcpy(&value, array->at + i * sizeof(value), sizeof(value));
	return value;
}

struct str gguf_array_next_string(const unsigned char **at)
{
	uint64_t n;
	memcpy(&n, *at, sizeof(n));
	struct str text = { (const char *)*at + sizeof(n), n };
	*at += sizeof(n) + n;
	return text;
}

static float float_of_bits(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Source: IEEE 754-2008 binary16; a subnormal is its 10 bits times 2 to the -24. */
static float float_of_half(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = half >> 10 & 0x1F, fraction = half & 0x3FF;
	if (exponent == 0)
		return (sign ? -1.0f : 1.0f) * (float)fraction * 0x1p-24f;
	/* The bias is 15 in a half and 127 in a float; 31 stays "infinite or NaN". */
	exponent = exponent == 0x1F ? 0xFF : exponent + 127 - 15;
	return float_of_bits(sign | exponent << 23 | fraction << 13);
}

static void convert(const struct gguf_tensor *t, float *out)
{
	const uint16_t *half = (const uint16_t *)(const void *)t->data;
	if (t->type == GGUF_TENSOR_F32)
		memcpy(out, t->data, t->bytes);
	else if (t->type == GGUF_TENSOR_F16)
		for (uint64_t i = 0; i < t->n_elements; i++)
			out[i] = float_of_half(half[i]);
	else
		for (uint64_t i = 0; i < t->n_elements; i++)
			out[i] = float_of_bits((uint32_t)half[i] << 16);
}

bool gguf_check_readable(const struct gguf_tensor *tensor, struct err *err)
{
	char name[GGUF_QUOTE];
	if (tensor_types[tensor->type].bytes == 0)
		return err_set(err, ERR_INPUT,
		        _("tensor '%s' has the type %s; only F32, F16 and BF16 are read"),
		        gguf_quote(tensor->name, name), gguf_tensor_type_name(tensor->type));
	return true;
}

bool gguf_read_f32(const struct gguf_tensor *tensor, float *ret_values, struct err *err)
{
	char name[GGUF_QUOTE];
	if (!gguf_check_readable(tensor, err))
		return false;
	convert(tensor, ret_values);
	for (uint64_t i = 0; i < tensor->n_elements; i++)
		if (!isfinite(ret_values[i]))
			return err_set(err, ERR_INPUT,
			        _("value %llu of tensor '%s' is %g, which is not finite"),
			        (unsigned long long)i, gguf_quote(tensor->name, name),
			        (double)ret_values[i]);
	return true;
}
