/*
 * POST /v2/models/NAME/infer: texts in a tensor of BYTES "text" [n], or token ids in integers
 * "input_ids" [n, length] with "attention_mask" and "token_type_ids" beside them.
 *
 * The elements of a tensor stand in its "data", nested or not, or as bytes behind the JSON.
 *
 * Source: KServe, Open Inference Protocol, HTTP/REST; binary tensor data extension.
 */
#include "serve/api_read.h"

#include "base/i18n.h"
#include "base/utf8.h"

#include <string.h>

enum { DIMS_MAX = 2 };

enum datatype { TYPE_BYTES, TYPE_INT32, TYPE_INT64 };

static const struct {
	struct str name;
	enum datatype type;
	size_t size;
} datatypes[] = {
	{ STR_INIT("BYTES"), TYPE_BYTES, 0 },
	{ STR_INIT("INT32"), TYPE_INT32, 4 },
	{ STR_INIT("INT64"), TYPE_INT64, 8 },
};

struct tensor {
	struct str name;
	struct str datatype;
	int64_t shape[DIMS_MAX];
	int n_dims;
	struct str data; /* a JSON array; s NULL: none */
	int64_t binary_bytes;
	struct str binary;
	/* checked */
	enum datatype type;
	size_t size;
	size_t n, len; /* rows, and elements of each */
};

struct infer {
	struct tensor tensors[API_TENSORS_MAX];
	size_t n;
	bool binary, binary_said; /* of the output */
};

/* ---- the JSON ---- */

static bool member_binary_size(struct api_reader *reader, const struct api_member *member)
{
	static const struct api_member members[] = {
		{ .name = "binary_data_size",
		        .read = api_member_int,
		        .offset = offsetof(struct tensor, binary_bytes),
		        .min = 0,
		        .max = INT64_MAX },
	};
	return api_read_members(reader, members, ARRAY_LEN(members), reader->target, member->name);
}

static bool member_shape(struct api_reader *reader, const struct api_member *member)
{
	struct tensor *t = reader->target;
	size_t n = api_count(reader);
	if (n < 1 || n > DIMS_MAX || !json_scan_array(&reader->scan))
		return api_bad(reader, _("'%s' must be one or two dimensions"), member->name);
	for (t->n_dims = 0; json_scan_element(&reader->scan); t->n_dims++)
		if (!json_scan_int(&reader->scan, &t->shape[t->n_dims]) || t->shape[t->n_dims] < 1)
			return api_bad(
			        reader, _("'%s' must be whole numbers from 1"), member->name);
	return !reader->scan.failed;
}

static bool member_data(struct api_reader *reader, const struct api_member *member)
{
	struct tensor *t = reader->target;
	if (json_scan_type(&reader->scan) != JSON_SCAN_ARRAY)
		return api_bad(reader, _("'%s' must be an array"), member->name);
	t->data = json_scan_raw(&reader->scan);
	return !reader->scan.failed;
}

static bool member_tensors(struct api_reader *reader, const struct api_member *member)
{
	static const struct api_member members[] = {
		{ .name = "name",
		        .read = api_member_name,
		        .offset = offsetof(struct tensor, name),
		        .required = true },
		{ .name = "datatype",
		        .read = api_member_name,
		        .offset = offsetof(struct tensor, datatype),
		        .required = true },
		{ .name = "shape", .read = member_shape, .required = true },
		{ .name = "data", .read = member_data },
		{ .name = "parameters", .read = member_binary_size },
	};
	struct infer *in = reader->target;
	if (json_scan_type(&reader->scan) != JSON_SCAN_ARRAY)
		return api_bad(reader, _("'%s' must be an array"), member->name);
	if (!api_check_count(reader, member->name, api_count(reader), API_TENSORS_MAX) ||
	        !json_scan_array(&reader->scan))
		return false;
	while (json_scan_element(&reader->scan))
		if (!api_read_members(reader, members, ARRAY_LEN(members), &in->tensors[in->n++],
		            member->name))
			return false;
	return !reader->scan.failed;
}

static bool member_binary(struct api_reader *reader, const struct api_member *member)
{
	struct infer *in = reader->target;
	in->binary_said = true;
	return json_scan_bool(&reader->scan, &in->binary) ||
	       api_bad(reader, _("'%s' must be true or false"), member->name);
}

static bool member_output_parameters(struct api_reader *reader, const struct api_member *member)
{
	static const struct api_member members[] = {
		{ .name = "binary_data", .read = member_binary },
		{ .name = "classification", .read = api_member_refused },
		{ .name = "shared_memory_region", .read = api_member_refused },
	};
	return api_read_members(reader, members, ARRAY_LEN(members), reader->target, member->name);
}

static bool member_output_name(struct api_reader *reader, const struct api_member *member)
{
	static const struct api_member row = { .name = "name" };
	(void)member;
	reader->target = &reader->request->output;
	return api_member_name(reader, &row);
}

/* There is only one that can be asked for. */
static bool member_outputs(struct api_reader *reader, const struct api_member *member)
{
	static const struct api_member members[] = {
		{ .name = "name", .read = member_output_name, .required = true },
		{ .name = "parameters", .read = member_output_parameters },
	};
	struct infer *in = reader->target;
	size_t n = api_count(reader);
	if (!json_scan_array(&reader->scan))
		return api_bad(reader, _("'%s' must be an array"), member->name);
	if (n > 1)
		return api_bad(
		        reader, _("'%s' must have one entry: there is one output"), member->name);
	while (json_scan_element(&reader->scan))
		if (!api_read_members(reader, members, ARRAY_LEN(members), in, member->name))
			return false;
	return !reader->scan.failed;
}

static bool member_binary_outputs(struct api_reader *reader, const struct api_member *member)
{
	struct infer *in = reader->target;
	bool binary;
	if (!json_scan_bool(&reader->scan, &binary))
		return api_bad(reader, _("'%s' must be true or false"), member->name);
	if (!in->binary_said)
		in->binary = binary;
	return true;
}

static bool member_parameters(struct api_reader *reader, const struct api_member *member)
{
	static const struct api_member members[] = {
		{ .name = "binary_data_output", .read = member_binary_outputs },
		{ .name = "sequence_id", .read = api_member_refused },
	};
	return api_read_members(reader, members, ARRAY_LEN(members), reader->target, member->name);
}

static bool member_id(struct api_reader *reader, const struct api_member *member)
{
	reader->target = &reader->request->id;
	return api_member_name(reader, member);
}

/* ---- the tensors ---- */

static bool bad_tensor(struct api_reader *reader, const struct tensor *t, const char *fmt)
{
	const char *name = str_c(t->name, reader->run);
	return api_error_set(reader->error, 400, NULL, fmt, name);
}

static bool check_type(struct api_reader *reader, struct tensor *t)
{
	size_t i = 0;
	while (i < ARRAY_LEN(datatypes) && !str_eq(datatypes[i].name, t->datatype))
		i++;
	if (i == ARRAY_LEN(datatypes))
		return bad_tensor(
		        reader, t, _("the datatype of '%s' must be BYTES, INT32 or INT64"));
	t->type = datatypes[i].type;
	t->size = datatypes[i].size;
	t->n = (size_t)t->shape[0];
	t->len = t->n_dims > 1 ? (size_t)t->shape[1] : 1;
	if (t->n > API_INPUTS_MAX)
		return api_error_set(reader->error, 413, NULL,
		        _("the first dimension must be at most %d on this service"),
		        API_INPUTS_MAX);
	return true;
}

/* The bytes behind the JSON, in the order of the inputs; none may be left. */
static bool share_bytes(struct api_reader *reader, struct infer *in)
{
	struct str rest = { reader->body.s, 0 };
	if (reader->form->json_bytes) {
		rest.s += reader->form->json_bytes;
		rest.len = reader->body.len - reader->form->json_bytes;
	}
	for (size_t i = 0; i < in->n; i++) {
		struct tensor *t = &in->tensors[i];
		if (t->data.s)
			continue;
		if (t->binary_bytes < 0)
			return bad_tensor(reader, t, _("the input '%s' has no data"));
		if ((uint64_t)t->binary_bytes > rest.len)
			return bad_tensor(reader, t, _("the body ends within the input '%s'"));
		t->binary = (struct str){ rest.s, (size_t)t->binary_bytes };
		rest.s += t->binary_bytes;
		rest.len -= (size_t)t->binary_bytes;
	}
	return rest.len == 0 || api_error_set(reader->error, 400, NULL, "%s",
	                                _("the body goes on behind the last input"));
}

/* The elements of a list, nested or not, in row-major order. */
struct flat {
	struct json_scan scan;
	int depth;
};

static struct flat flat_open(struct str data)
{
	struct flat f = { json_scan_of(data), 1 };
	if (!json_scan_array(&f.scan))
		f.depth = 0;
	return f;
}

static bool flat_next(struct flat *f)
{
	while (f->depth > 0) {
		if (!json_scan_element(&f->scan)) {
			if (f->scan.failed)
				return false;
			f->depth--;
		} else if (f->depth < DIMS_MAX && json_scan_array(&f->scan)) {
			f->depth++;
		} else {
			return true;
		}
	}
	return false;
}

/* Before anything as large as the shape says is made. */
static bool check_data_count(struct api_reader *reader, const struct tensor *t)
{
	size_t n = 0, want;
	bool fits = !__builtin_mul_overflow(t->n, t->len, &want);
	for (struct flat f = flat_open(t->data); flat_next(&f); n++)
		json_scan_skip(&f.scan);
	return (fits && n == want) ||
	       bad_tensor(reader, t, _("the data of '%s' are not as many as its shape says"));
}

static bool check_binary_count(struct api_reader *reader, const struct tensor *t)
{
	size_t want;
	bool fits = !__builtin_mul_overflow(t->n, t->len, &want) &&
	            !__builtin_mul_overflow(want, t->size, &want);
	return (fits && t->binary.len == want) ||
	       bad_tensor(reader, t, _("the data of '%s' are not as many as its shape says"));
}

/* ---- integers ---- */

static int64_t integer_at(const struct tensor *t, size_t i)
{
	uint64_t bits = 0;
	for (size_t k = t->size; k-- > 0;)
		bits = bits << 8 | (unsigned char)t->binary.s[i * t->size + k];
	return t->size == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits;
}

static bool take_integer(
        struct api_reader *reader, const struct tensor *t, int64_t value, int32_t *to)
{
	*to = (int32_t)value;
	return (value >= 0 && value <= INT32_MAX) ||
	       bad_tensor(reader, t, _("the values of '%s' must be whole numbers from 0"));
}

/* [n, len] of a tensor. */
static bool read_integers(struct api_reader *reader, const struct tensor *t, const int32_t **ret)
{
	if (t->type == TYPE_BYTES)
		return bad_tensor(reader, t, _("the datatype of '%s' must be INT32 or INT64"));
	if (!(t->data.s ? check_data_count(reader, t) : check_binary_count(reader, t)))
		return false;
	int32_t *values = arena_new_n(reader->run, int32_t, t->n * t->len);
	struct flat f = flat_open(t->data);
	for (size_t i = 0; i < t->n * t->len; i++) {
		int64_t value = -1;
		if (!t->data.s)
			value = integer_at(t, i);
		else if (!flat_next(&f) || !json_scan_int(&f.scan, &value))
			value = -1;
		if (!take_integer(reader, t, value, &values[i]))
			return false;
	}
	*ret = values;
	return true;
}

static const struct tensor *find_tensor(const struct infer *in, struct str name)
{
	for (size_t i = 0; i < in->n; i++)
		if (str_eq(in->tensors[i].name, name))
			return &in->tensors[i];
	return NULL;
}

/* A tensor beside the ids, of their shape; *ret is NULL where it is not given. */
static bool read_beside(struct api_reader *reader, const struct infer *in, const struct tensor *ids,
        struct str name, const int32_t **ret)
{
	const struct tensor *t = find_tensor(in, name);
	*ret = NULL;
	if (!t)
		return true;
	if (t->n != ids->n || t->len != ids->len)
		return bad_tensor(reader, t, _("the shape of '%s' is not that of 'input_ids'"));
	return read_integers(reader, t, ret);
}

/* The leading ones of a mask; 0: there is something else than ones and then zeros. */
static size_t masked_length(const int32_t *mask, size_t len)
{
	size_t n = 0;
	while (n < len && mask[n] == 1)
		n++;
	for (size_t i = n; i < len; i++)
		if (mask[i] != 0)
			return 0;
	return n;
}

static bool read_id_inputs(
        struct api_reader *reader, const struct infer *in, const struct tensor *t)
{
	const int32_t *ids, *mask, *types;
	if (t->n_dims != 2)
		return bad_tensor(reader, t, _("the shape of '%s' must be [inputs, tokens]"));
	if (!read_integers(reader, t, &ids) ||
	        !read_beside(reader, in, t, STR("attention_mask"), &mask) ||
	        !read_beside(reader, in, t, STR("token_type_ids"), &types))
		return false;
	struct api_input *inputs = arena_new_n(reader->run, struct api_input, t->n);
	for (size_t i = 0; i < t->n; i++) {
		size_t row = i * t->len;
		size_t n = mask ? masked_length(mask + row, t->len) : t->len;
		if (n == 0)
			return api_error_set(reader->error, 400, NULL, "%s",
			        _("each row of 'attention_mask' must be ones, then zeros"));
		inputs[i] = (struct api_input){
			.ids = ids + row, .n_ids = n, .types = types ? types + row : NULL
		};
	}
	reader->request->inputs = inputs;
	reader->request->n_inputs = t->n;
	return true;
}

/* ---- texts ---- */

static bool read_json_texts(
        struct api_reader *reader, const struct tensor *t, struct api_input *inputs)
{
	struct flat f = flat_open(t->data);
	for (size_t i = 0; i < t->n && flat_next(&f); i++) {
		reader->scan = f.scan;
		if (!api_read_text(reader, "text", &inputs[i].text))
			return false;
		f.scan = reader->scan;
	}
	return true;
}

/* Each element is its length in four bytes, little-endian, and so many bytes. */
static bool read_binary_texts(
        struct api_reader *reader, const struct tensor *t, struct api_input *inputs)
{
	struct str rest = t->binary;
	for (size_t i = 0; i < t->n; i++) {
		uint32_t len = 0;
		for (size_t k = 0; k < 4 && rest.len >= 4; k++)
			len |= (uint32_t)(unsigned char)rest.s[k] << 8 * k;
		if (rest.len < 4 || len > rest.len - 4)
			return bad_tensor(reader, t, _("the data of '%s' end within a text"));
		inputs[i].text = (struct str){ rest.s + 4, len };
		if (!utf8_valid(rest.s + 4, len))
			return bad_tensor(reader, t, _("a text of '%s' is not UTF-8"));
		rest = (struct str){ rest.s + 4 + len, rest.len - 4 - len };
	}
	return rest.len == 0 ||
	       bad_tensor(reader, t, _("the data of '%s' are not as many as its shape says"));
}

static bool read_text_inputs(struct api_reader *reader, const struct tensor *t)
{
	if (t->type != TYPE_BYTES)
		return bad_tensor(reader, t, _("the datatype of '%s' must be BYTES"));
	if (t->len != 1)
		return bad_tensor(reader, t, _("the shape of '%s' must be [inputs]"));
	if (t->data.s && !check_data_count(reader, t))
		return false;
	struct api_input *inputs = arena_new_n(reader->run, struct api_input, t->n);
	reader->request->inputs = inputs;
	reader->request->n_inputs = t->n;
	return t->data.s ? read_json_texts(reader, t, inputs)
	                 : read_binary_texts(reader, t, inputs);
}

/* ---- all of it ---- */

static bool check_tensors(struct api_reader *reader, struct infer *in)
{
	static const struct str names[] = { STR_INIT("text"), STR_INIT("input_ids"),
		STR_INIT("attention_mask"), STR_INIT("token_type_ids") };
	for (size_t i = 0; i < in->n; i++) {
		struct tensor *t = &in->tensors[i];
		size_t k = 0;
		while (k < ARRAY_LEN(names) && !str_eq(t->name, names[k]))
			k++;
		if (k == ARRAY_LEN(names))
			return bad_tensor(reader, t, _("there is no input '%s' here"));
		if (find_tensor(in, t->name) != t)
			return bad_tensor(reader, t, _("'%s' comes twice"));
		if (!check_type(reader, t))
			return false;
	}
	return share_bytes(reader, in);
}

bool api_read_infer(struct api_reader *reader)
{
	static const struct api_member members[] = {
		{ .name = "id", .read = member_id },
		{ .name = "inputs", .read = member_tensors, .required = true },
		{ .name = "outputs", .read = member_outputs },
		{ .name = "parameters", .read = member_parameters },
	};
	struct infer in = { 0 };
	for (size_t i = 0; i < API_TENSORS_MAX; i++)
		in.tensors[i].binary_bytes = -1;
	if (reader->form->json_bytes > reader->body.len)
		return api_error_set(reader->error, 400, NULL, _("'%s' is more than the body has"),
		        "Inference-Header-Content-Length");
	if (!api_read_body(reader, members, ARRAY_LEN(members), &in) || !check_tensors(reader, &in))
		return false;
	reader->request->binary = in.binary;
	const struct tensor *text = find_tensor(&in, STR("text"));
	const struct tensor *ids = find_tensor(&in, STR("input_ids"));
	if (!text == !ids || (text && in.n > 1))
		return api_error_set(reader->error, 400, NULL, "%s",
		        _("give the input 'text', or 'input_ids' and what belongs to it"));
	return text ? read_text_inputs(reader, text) : read_id_inputs(reader, &in, ids);
}
