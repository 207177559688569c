#include "trace/work/shapes.h"

#include "text/json_scan.h"

#include <string.h>

const char *const element_type_names[N_ELEMENT_TYPES] = {
	[ELEMENT_UNKNOWN] = "unknown",
	[ELEMENT_FLOAT64] = "float64",
	[ELEMENT_FLOAT32] = "float32",
	[ELEMENT_TFLOAT32] = "tf32",
	[ELEMENT_FLOAT16] = "float16",
	[ELEMENT_BFLOAT16] = "bfloat16",
	[ELEMENT_FLOAT8] = "float8",
	[ELEMENT_FLOAT4] = "float4",
	[ELEMENT_INT64] = "int64",
	[ELEMENT_INT32] = "int32",
	[ELEMENT_INT16] = "int16",
	[ELEMENT_INT8] = "int8",
	[ELEMENT_BOOL] = "bool",
};

/* As PyTorch's C++ names them, as ONNX does, and as Python does. */
static const struct {
	const char *text;
	enum element_type type;
} spellings[] = {
	{ "float", ELEMENT_FLOAT32 },
	{ "c10::BFloat16", ELEMENT_BFLOAT16 },
	{ "c10::Half", ELEMENT_FLOAT16 },
	{ "double", ELEMENT_FLOAT64 },
	{ "long int", ELEMENT_INT64 },
	{ "int", ELEMENT_INT32 },
	{ "signed char", ELEMENT_INT8 },
	{ "unsigned char", ELEMENT_INT8 },
	{ "short int", ELEMENT_INT16 },
	{ "short", ELEMENT_INT16 },
	{ "long", ELEMENT_INT64 },
	{ "bool", ELEMENT_BOOL },
	{ "at::Half", ELEMENT_FLOAT16 },
	{ "at::BFloat16", ELEMENT_BFLOAT16 },
	{ "float64", ELEMENT_FLOAT64 },
	{ "float32", ELEMENT_FLOAT32 },
	{ "float16", ELEMENT_FLOAT16 },
	{ "bfloat16", ELEMENT_BFLOAT16 },
	{ "int64", ELEMENT_INT64 },
	{ "uint64", ELEMENT_INT64 },
	{ "int32", ELEMENT_INT32 },
	{ "uint32", ELEMENT_INT32 },
	{ "int16", ELEMENT_INT16 },
	{ "uint16", ELEMENT_INT16 },
	{ "int8", ELEMENT_INT8 },
	{ "uint8", ELEMENT_INT8 },
};

static const struct {
	const char *prefix;
	enum element_type type;
} families[] = {
	{ "c10::Float8", ELEMENT_FLOAT8 },
	{ "float8", ELEMENT_FLOAT8 },
	{ "c10::Float4", ELEMENT_FLOAT4 },
	{ "float4", ELEMENT_FLOAT4 },
	{ "c10::qint8", ELEMENT_INT8 },
	{ "c10::quint8", ELEMENT_INT8 },
};

enum element_type element_type_of(struct str text)
{
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
		if (str_eq(text, str_of(spellings[i].text)))
			return spellings[i].type;
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (str_starts(text, str_of(families[i].prefix)))
			return families[i].type;
	return ELEMENT_UNKNOWN;
}

double element_bytes(enum element_type type, double n)
{
	static const double bytes[N_ELEMENT_TYPES] = {
		[ELEMENT_FLOAT64] = 8,
		[ELEMENT_FLOAT32] = 4,
		[ELEMENT_TFLOAT32] = 4,
		[ELEMENT_FLOAT16] = 2,
		[ELEMENT_BFLOAT16] = 2,
		[ELEMENT_FLOAT8] = 1,
		[ELEMENT_FLOAT4] = 0.5,
		[ELEMENT_INT64] = 8,
		[ELEMENT_INT32] = 4,
		[ELEMENT_INT16] = 2,
		[ELEMENT_INT8] = 1,
		[ELEMENT_BOOL] = 1,
	};
	return n * bytes[type];
}

int64_t shape_product(const struct shape *s, int from, int to)
{
	int64_t product = 1;
	for (int i = from; i < to; i++)
		if (__builtin_mul_overflow(product, s->dims[i], &product) ||
		        product > SHAPE_MAX_ELEMENTS)
			return SHAPE_MAX_ELEMENTS;
	return product;
}

/* The numbers of an array that was entered, at most SHAPE_MAX_RANK of them. */
static void read_dims(struct json_scan *json, struct shapes *s, struct shape *shape)
{
	shape->rank = 0;
	while (json_scan_element(json)) {
		int64_t dim;
		bool known = json_scan_int(json, &dim);
		if (!known)
			json_scan_skip(json);
		known = known && dim >= 0 && dim <= SHAPE_MAX_ELEMENTS;
		s->cut |= !known || shape->rank == SHAPE_MAX_RANK;
		if (shape->rank < SHAPE_MAX_RANK)
			shape->dims[shape->rank++] = known ? dim : 0;
	}
	shape->elements = shape->rank ? shape_product(shape, 0, shape->rank) : 0;
}

/* [8,64], or [[2,3],[4,3]]: which of them the first element tells. */
static void read_input(struct json_scan *json, struct shapes *s, struct shape *shape)
{
	struct json_scan ahead = *json;
	bool is_list = json_scan_array(&ahead) && json_scan_element(&ahead) &&
	               json_scan_type(&ahead) == JSON_SCAN_ARRAY;
	shape->n_tensors = 1;
	if (!json_scan_array(json)) {
		s->cut = true;
		json_scan_skip(json);
		return;
	}
	if (!is_list) {
		read_dims(json, s, shape);
		return;
	}
	shape->n_tensors = 0;
	while (json_scan_element(json)) {
		struct shape one = { 0 };
		if (!json_scan_array(json)) {
			s->cut = true;
			json_scan_skip(json);
			continue;
		}
		read_dims(json, s, &one);
		if (shape->n_tensors++ == 0) {
			shape->rank = one.rank;
			memcpy(shape->dims, one.dims, sizeof one.dims);
		}
		shape->elements += one.elements < SHAPE_MAX_ELEMENTS - shape->elements
		                           ? one.elements
		                           : SHAPE_MAX_ELEMENTS - shape->elements;
	}
}

/* {"float":[8,64]} */
static void read_typed_input(struct json_scan *json, struct shapes *s, struct shape *shape)
{
	struct str key;
	json_scan_object(json);
	while (json_scan_key(json, &key)) {
		shape->type = element_type_of(key);
		read_input(json, s, shape);
	}
}

static struct str cut_to_limit(struct shapes *s, struct str text)
{
	if (text.len > SHAPE_MAX_TEXT) {
		s->cut = true;
		text.len = SHAPE_MAX_TEXT;
	}
	return text;
}

static void read_all_dims(struct shapes *s, struct str dims)
{
	struct json_scan json = json_scan_of(cut_to_limit(s, dims));
	if (!json_scan_array(&json))
		return;
	while (json_scan_element(&json)) {
		struct shape *shape = &s->v[s->n];
		if (s->n == SHAPE_MAX_INPUTS || json_scan_type(&json) == JSON_SCAN_NONE) {
			s->cut = true;
			break;
		}
		s->n++;
		if (json_scan_type(&json) == JSON_SCAN_OBJECT)
			read_typed_input(&json, s, shape);
		else
			read_input(&json, s, shape);
	}
	s->cut |= json.failed;
}

/* The i-th of a list of strings belongs to the i-th input; what is no string is passed by. */
static void read_strings(struct shapes *s, struct str text, bool are_types)
{
	struct json_scan json = json_scan_of(cut_to_limit(s, text));
	if (!json_scan_array(&json))
		return;
	for (size_t i = 0; i < SHAPE_MAX_INPUTS && json_scan_element(&json); i++) {
		struct str word;
		if (json_scan_type(&json) != JSON_SCAN_STRING) {
			json_scan_skip(&json);
			continue;
		}
		if (!json_scan_string(&json, &word))
			break;
		if (i >= s->n)
			s->n = i + 1;
		if (are_types)
			s->v[i].type = element_type_of(word);
		else
			s->v[i].value = word;
	}
}

void shapes_parse(struct shapes *s, struct str dims, struct str types, struct str values)
{
	memset(s, 0, sizeof *s);
	read_all_dims(s, dims);
	read_strings(s, types, true);
	read_strings(s, values, false);
}

size_t shape_numbers(struct str value, int64_t *ret, size_t max)
{
	if (value.len && *value.s == '[')
		value = (struct str){ value.s + 1, value.len - 1 };
	if (value.len && value.s[value.len - 1] == ']')
		value.len--;
	size_t n = 0;
	while (value.len && n < max) {
		struct str word = str_trim(str_cut(value, ',', &value));
		if (!str_to_i64(word, &ret[n]))
			break;
		n++;
	}
	return n;
}

struct str shapes_compact(struct str text, struct arena *arena)
{
	char *to = arena_alloc(arena, text.len + 1);
	size_t n = 0;
	for (size_t i = 0; i < text.len; i++)
		if (!strchr(" \t\r\n", text.s[i]))
			to[n++] = text.s[i];
	return (struct str){ to, n };
}
