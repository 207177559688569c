#include "engine/checkpoint.h"

#include "base/arena.h"
#include "base/i18n.h"
#include "base/str.h"
#include "engine/json_file.h"
#include "engine/tensor_values.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LENGTH_BYTES = 8,
	NAME_BYTES_MAX = 512,
	SHAPE_TEXT = 24 * CHECKPOINT_DIMS_MAX,
	INDEX_BYTES_MAX = 16 << 20,
	HUGE_PAGE_BYTES = 2 << 20,
};

struct tensor_file {
	const char *path;
	int fd;
	uint64_t data_at, data_bytes; /* behind the header */
};

struct tensor {
	const char *name;
	const struct tensor_file *file;
	const struct tensor_type *type; /* NULL: one that is not known here */
	const char *type_name;
	int64_t dims[CHECKPOINT_DIMS_MAX];
	int n_dims;
	uint64_t begin, end; /* bytes, from file->data_at */
};

struct checkpoint {
	struct arena run;
	const char *path;
	struct tensor_file *files;
	int n_files;
	struct tensor *tensors; /* by name */
	size_t n;
	bool random;
	uint64_t seed;
	float spread;
};

/* ---- reading files ---- */

/* All n bytes from a place on. */
static bool read_at(const struct tensor_file *f, uint64_t at, void *out, size_t n, struct err *err)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(f->fd, (char *)out + done, n - done, (off_t)(at + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_set(err, ERR_SYSTEM, _("cannot read '%s': %s"), f->path,
			        strerror(errno));
		if (got == 0)
			return err_set(err, ERR_INPUT,
			        _("'%s' ends at byte %llu, before its tensors do"), f->path,
			        (unsigned long long)(at + done));
		done += (size_t)got;
	}
	return true;
}

/* The length of the header, checked against the file's. */
static bool read_header_length(struct tensor_file *f, uint64_t *ret, struct err *err)
{
	unsigned char bytes[LENGTH_BYTES];
	struct stat st;
	uint64_t n = 0;
	if (fstat(f->fd, &st) != 0)
		return err_set(
		        err, ERR_SYSTEM, _("cannot read '%s': %s"), f->path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size < LENGTH_BYTES)
		return err_set(err, ERR_INPUT, _("'%s' is too short for safetensors"), f->path);
	if (!read_at(f, 0, bytes, sizeof(bytes), err))
		return false;
	for (int i = LENGTH_BYTES - 1; i >= 0; i--)
		n = n << 8 | bytes[i];
	uint64_t left = (uint64_t)st.st_size - LENGTH_BYTES;
	if (n > left || n > CHECKPOINT_HEADER_MAX)
		return err_set(err, ERR_INPUT,
		        _("'%s' is no safetensors file: a header of %llu bytes in a file of "
		          "%llu, or more than the limit of %d"),
		        f->path, (unsigned long long)n, (unsigned long long)st.st_size,
		        CHECKPOINT_HEADER_MAX);
	f->data_at = LENGTH_BYTES + n;
	f->data_bytes = left - n;
	*ret = n;
	return true;
}

static bool read_header(struct tensor_file *f, json_t **ret, struct err *err)
{
	json_error_t e;
	uint64_t n = 0;
	if (!read_header_length(f, &n, err))
		return false;
	AUTO(auto_free) char *text = mem_realloc(NULL, n + 1);
	if (!read_at(f, LENGTH_BYTES, text, n, err))
		return false;
	json_t *header = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
	if (!json_is_object(header)) {
		json_decref(header);
		return err_set(err, ERR_INPUT, _("the header of '%s' is no JSON object"), f->path);
	}
	*ret = header;
	return true;
}

/* ---- tensors of a header ---- */

static bool wrong(const struct tensor *t, const char *key, struct err *err)
{
	return err_set(err, ERR_INPUT, _("'%s': '%s' of tensor '%.*s' is missing or wrong"),
	        t->file->path, key, NAME_BYTES_MAX, t->name);
}

static bool read_dims(struct tensor *t, const json_t *shape, uint64_t *ret_n, struct err *err)
{
	size_t i;
	json_t *dim;
	if (!json_is_array(shape) || json_array_size(shape) > CHECKPOINT_DIMS_MAX)
		return wrong(t, "shape", err);
	*ret_n = 1;
	json_array_foreach(shape, i, dim)
	{
		json_int_t n = json_integer_value(dim);
		if (!json_is_integer(dim) || n < 0 ||
		        __builtin_mul_overflow(*ret_n, (uint64_t)n, ret_n))
			return wrong(t, "shape", err);
		t->dims[t->n_dims++] = n;
	}
	return true;
}

static bool read_offsets(struct tensor *t, const json_t *offsets, struct err *err)
{
	const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
	if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
	        json_integer_value(begin) < 0 ||
	        json_integer_value(end) < json_integer_value(begin))
		return wrong(t, "data_offsets", err);
	t->begin = (uint64_t)json_integer_value(begin);
	t->end = (uint64_t)json_integer_value(end);
	if (t->end > t->file->data_bytes)
		return err_set(err, ERR_INPUT, _("'%s': tensor '%s' ends at byte %llu of %llu"),
		        t->file->path, t->name, (unsigned long long)t->end,
		        (unsigned long long)t->file->data_bytes);
	return true;
}

static bool read_tensor(struct tensor *t, const json_t *row, struct arena *run, struct err *err)
{
	uint64_t n = 0, bytes;
	const char *type = json_string_value(json_object_get(row, "dtype"));
	if (strlen(t->name) > NAME_BYTES_MAX)
		return err_set(err, ERR_INPUT,
		        _("'%s': the name of a tensor has more than %d bytes"), t->file->path,
		        NAME_BYTES_MAX);
	if (!type || strlen(type) > 16)
		return wrong(t, "dtype", err);
	if (!read_dims(t, json_object_get(row, "shape"), &n, err) ||
	        !read_offsets(t, json_object_get(row, "data_offsets"), err))
		return false;
	t->type = tensor_type(type);
	t->type_name = arena_strdup(run, type);
	if (t->type && (__builtin_mul_overflow(n, (uint64_t)t->type->bytes, &bytes) ||
	                       bytes != t->end - t->begin))
		return err_set(err, ERR_INPUT,
		        _("'%s': tensor '%s' has %llu bytes, which is not what %llu "
		          "values of %s take"),
		        t->file->path, t->name, (unsigned long long)(t->end - t->begin),
		        (unsigned long long)n, type);
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct tensor *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int by_name(const void *a, const void *b)
{
	const struct tensor *x = a, *y = b;
	return strcmp(x->name, y->name);
}

/* Every byte belongs to one tensor. */
static bool check_places(
        const struct tensor_file *f, struct tensor *tensors, size_t n, struct err *err)
{
	uint64_t at = 0;
	if (n > 0)
		qsort(tensors, n, sizeof(*tensors), by_place);
	for (size_t i = 0; i < n; i++) {
		if (tensors[i].begin < at)
			return err_set(err, ERR_INPUT, _("'%s': tensors '%s' and '%s' share bytes"),
			        f->path, tensors[i - 1].name, tensors[i].name);
		if (tensors[i].begin > at)
			break;
		at = tensors[i].end;
	}
	if (at != f->data_bytes)
		return err_set(err, ERR_INPUT,
		        _("'%s' has bytes from %llu on that belong to no tensor"), f->path,
		        (unsigned long long)at);
	return true;
}

/* Adds the tensors of a header to those that are there. */
static bool add_tensors(
        struct checkpoint *c, const struct tensor_file *f, json_t *header, struct err *err)
{
	const char *name;
	json_t *row;
	size_t n_before = c->n, n_more = json_object_size(header);
	if (c->n + n_more > CHECKPOINT_TENSORS_MAX)
		return err_set(err, ERR_INPUT, _("'%s' has more than %d tensors"), f->path,
		        CHECKPOINT_TENSORS_MAX);
	c->tensors = mem_realloc(c->tensors, (c->n + n_more + 1) * sizeof(*c->tensors));
	json_object_foreach(header, name, row)
	{
		if (strcmp(name, "__metadata__") == 0)
			continue;
		struct tensor *t = &c->tensors[c->n++];
		*t = (struct tensor){ .name = arena_strdup(&c->run, name), .file = f };
		if (!read_tensor(t, row, &c->run, err))
			return false;
	}
	return check_places(f, c->tensors + n_before, c->n - n_before, err);
}

static bool open_file(struct checkpoint *c, const char *path, struct err *err)
{
	struct tensor_file *f = &c->files[c->n_files];
	json_t *header;
	*f = (struct tensor_file){ .path = arena_strdup(&c->run, path) };
	f->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0)
		return err_set(err, ERR_INPUT, _("cannot open '%s': %s"), path, strerror(errno));
	c->n_files++;
	if (!read_header(f, &header, err))
		return false;
	bool ok = add_tensors(c, f, header, err);
	json_decref(header);
	return ok;
}

/* ---- one file or several ---- */

static const struct tensor *find(const struct checkpoint *c, const char *name)
{
	struct tensor key = { .name = name };
	return c->n ? bsearch(&key, c->tensors, c->n, sizeof(key), by_name) : NULL;
}

/* In the order of names, each of which is there once. */
static bool sort(struct checkpoint *c, struct err *err)
{
	if (c->n > 0)
		qsort(c->tensors, c->n, sizeof(*c->tensors), by_name);
	for (size_t i = 1; i < c->n; i++)
		if (strcmp(c->tensors[i - 1].name, c->tensors[i].name) == 0)
			return err_set(err, ERR_INPUT, _("tensor '%s' is in '%s' and in '%s'"),
			        c->tensors[i].name, c->tensors[i - 1].file->path,
			        c->tensors[i].file->path);
	return true;
}

static bool is_open(const struct checkpoint *c, const char *path)
{
	for (int i = 0; i < c->n_files; i++)
		if (strcmp(c->files[i].path, path) == 0)
			return true;
	return false;
}

/* The files of weight_map, each once. */
static bool open_files(
        struct checkpoint *c, const char *index, const char *folder, json_t *map, struct err *err)
{
	const char *name;
	json_t *value;
	c->files = arena_new_n(&c->run, struct tensor_file, CHECKPOINT_FILES_MAX);
	json_object_foreach(map, name, value)
	{
		const char *file = json_string_value(value);
		if (!file || strchr(file, '/') || file[0] == '.' || file[0] == '\0')
			return err_set(err, ERR_INPUT,
			        _("'%s': the file of tensor '%.*s' is no name of a file beside it"),
			        index, NAME_BYTES_MAX, name);
		const char *path = arena_printf(&c->run, "%s/%s", folder, file);
		if (is_open(c, path))
			continue;
		if (c->n_files == CHECKPOINT_FILES_MAX)
			return err_set(err, ERR_INPUT, _("'%s' names more than %d files"), index,
			        CHECKPOINT_FILES_MAX);
		if (!open_file(c, path, err))
			return false;
	}
	return true;
}

static bool check_map(const struct checkpoint *c, const char *index, json_t *map, struct err *err)
{
	const char *name;
	json_t *value;
	json_object_foreach(map, name, value)
	{
		const struct tensor *t = find(c, name);
		if (!t || strcmp(strrchr(t->file->path, '/') + 1, json_string_value(value)) != 0)
			return err_set(err, ERR_INPUT,
			        _("'%s': tensor '%.*s' is not in the file that it names"), index,
			        NAME_BYTES_MAX, name);
	}
	return true;
}

static bool open_index(struct checkpoint *c, const char *index, const char *folder, struct err *err)
{
	json_t *all;
	if (!json_file_load(index, INDEX_BYTES_MAX, &all, err))
		return false;
	json_t *map = json_object_get(all, "weight_map");
	bool ok = json_is_object(map) && json_object_size(map) > 0;
	if (!ok)
		err_set(err, ERR_INPUT, _("'%s' has no 'weight_map'"), index);
	ok = ok && open_files(c, index, folder, map, err) && sort(c, err) &&
	     check_map(c, index, map, err);
	json_decref(all);
	return ok;
}

static bool open_one(struct checkpoint *c, const char *path, struct err *err)
{
	c->files = arena_new_n(&c->run, struct tensor_file, 1);
	return open_file(c, path, err) && sort(c, err);
}

static bool open_folder(struct checkpoint *c, const char *folder, struct err *err)
{
	const char *one = arena_printf(&c->run, "%s/model.safetensors", folder);
	const char *index = arena_printf(&c->run, "%s.index.json", one);
	const char *pickle = arena_printf(&c->run, "%s/pytorch_model.bin", folder);
	if (access(one, F_OK) == 0)
		return open_one(c, one, err);
	if (access(index, F_OK) == 0)
		return open_index(c, index, folder, err);
	err_set(err, ERR_INPUT,
	        _("'%s' has neither 'model.safetensors' nor "
	          "'model.safetensors.index.json'"),
	        folder);
	if (access(pickle, F_OK) == 0)
		err_hint(err, _("'pytorch_model.bin' is a program, not data, and is not read; save "
		                "the model as safetensors"));
	return false;
}

bool checkpoint_open(const char *path, struct checkpoint **ret_checkpoint, struct err *err)
{
	struct stat st;
	struct checkpoint *c = mem_zeroed(1, sizeof(*c));
	c->path = arena_strdup(&c->run, path);
	bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	bool ok = folder ? open_folder(c, path, err) : open_one(c, path, err);
	if (!ok) {
		checkpoint_close(c);
		return false;
	}
	*ret_checkpoint = c;
	return true;
}

struct checkpoint *checkpoint_random(uint64_t seed, float spread)
{
	struct checkpoint *c = mem_zeroed(1, sizeof(*c));
	c->random = true;
	c->seed = seed;
	c->spread = spread;
	return c;
}

void checkpoint_close(struct checkpoint *c)
{
	if (!c)
		return;
	for (int i = 0; i < c->n_files; i++)
		close(c->files[i].fd);
	free(c->tensors);
	arena_release(&c->run);
	free(c);
}

/* ---- values ---- */

/* Under its name, or under the one that norms had before. */
static const struct tensor *find_any(const struct checkpoint *c, const char *name)
{
	static const struct {
		struct str now, before;
	} ends[] = {
		{ STR_INIT("LayerNorm.weight"), STR_INIT("LayerNorm.gamma") },
		{ STR_INIT("LayerNorm.bias"), STR_INIT("LayerNorm.beta") },
	};
	const struct tensor *t = find(c, name);
	for (size_t i = 0; !t && i < ARRAY_LEN(ends); i++) {
		struct str text = str_of(name);
		char other[NAME_BYTES_MAX + 1];
		if (!str_ends(text, ends[i].now) || text.len >= sizeof(other))
			continue;
		snprintf(other, sizeof(other), "%.*s%s", (int)(text.len - ends[i].now.len), name,
		        ends[i].before.s);
		t = find(c, other);
	}
	return t;
}

bool checkpoint_has(const struct checkpoint *c, const char *name)
{
	return c->random || find_any(c, name);
}

/* "[768, 3072]" */
static const char *shape_text(const int64_t *dims, int n, char text[SHAPE_TEXT])
{
	int at = snprintf(text, SHAPE_TEXT, "[");
	for (int i = 0; i < n; i++)
		at += snprintf(text + at, (size_t)(SHAPE_TEXT - at), "%s%lld", i ? ", " : "",
		        (long long)dims[i]);
	snprintf(text + at, (size_t)(SHAPE_TEXT - at), "]");
	return text;
}

static bool check_shape(const struct tensor *t, const int64_t *dims, int n_dims, struct err *err)
{
	char is[SHAPE_TEXT], should[SHAPE_TEXT];
	if (t->n_dims == n_dims && memcmp(t->dims, dims, (size_t)n_dims * sizeof(*dims)) == 0)
		return true;
	return err_set(err, ERR_INPUT, _("'%s': tensor '%s' is %s instead of %s"), t->file->path,
	        t->name, shape_text(t->dims, t->n_dims, is), shape_text(dims, n_dims, should));
}

/*
 * For n values, free'd by the caller. Each is written once and read once: without huge pages most
 * of the time of loading a large tensor goes into page faults.
 */
static float *new_values(size_t n)
{
	size_t bytes = (n + 1) * sizeof(float);
	if (bytes < 2 * HUGE_PAGE_BYTES)
		return mem_realloc(NULL, bytes);
	bytes = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
	float *values = aligned_alloc(HUGE_PAGE_BYTES, bytes);
	if (!values)
		return mem_realloc(NULL, bytes); /* which says so */
	(void)madvise(values, bytes, MADV_HUGEPAGE);
	return values;
}

static bool read_values(const struct tensor *t, size_t n, float *out, struct err *err)
{
	enum { CHUNK = 1 << 16 };
	uint64_t at = t->file->data_at + t->begin;
	if (t->type->is_float32)
		return read_at(t->file, at, out, n * sizeof(*out), err);
	AUTO(auto_free) unsigned char *raw = mem_realloc(NULL, CHUNK * t->type->bytes);
	for (size_t done = 0; done < n; done += CHUNK) {
		size_t count = n - done < CHUNK ? n - done : CHUNK;
		if (!read_at(t->file, at + done * t->type->bytes, raw, count * t->type->bytes, err))
			return false;
		t->type->to_f32(out + done, raw, count);
	}
	return true;
}

static bool read_file_values(const struct checkpoint *c, const char *name, const int64_t *dims,
        int n_dims, size_t n, float **ret_values, struct err *err)
{
	const struct tensor *t = find_any(c, name);
	if (!t)
		return err_set(err, ERR_INPUT, _("'%s' has no tensor '%s'"), c->path, name);
	if (!check_shape(t, dims, n_dims, err))
		return false;
	if (!t->type || !t->type->to_f32)
		return err_set(err, ERR_INPUT,
		        _("'%s': tensor '%s' is of type %s; only F64, F32, F16 and BF16 are read"),
		        t->file->path, t->name, t->type_name);
	float *values = new_values(n);
	if (!read_values(t, n, values, err)) {
		free(values);
		return false;
	}
	*ret_values = values;
	return true;
}

static float *random_values(const struct checkpoint *c, const char *name, size_t n)
{
	struct str text = str_of(name);
	float *values = new_values(n);
	if (str_ends(text, STR("bias"))) {
		memset(values, 0, n * sizeof(*values));
		return values;
	}
	bool norm = str_ends(text, STR("norm.weight")) || str_ends(text, STR("Norm.weight"));
	tensor_values_random(values, n, c->seed, name, norm ? 1.0f : 0.0f, c->spread);
	return values;
}

bool checkpoint_read(const struct checkpoint *c, const char *name, const int64_t *dims, int n_dims,
        float **ret_values, struct err *err)
{
	size_t n = 1;
	for (int i = 0; i < n_dims; i++)
		n *= (size_t)dims[i];
	if (!c->random)
		return read_file_values(c, name, dims, n_dims, n, ret_values, err);
	*ret_values = random_values(c, name, n);
	return true;
}
