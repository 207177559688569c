/*
 * POST /v2/models/MODEL/infer of the KServe v2 protocol, which Triton, OpenVINO Model Server and
 * MLServer speak: tensors as JSON, or as bytes behind the JSON (the binary tensor data extension).
 *
 * Synthetic tensors follow the model's own description. Of a shape with several dimensions that
 * begins with a variable one, that one is the batch and becomes 1; every other variable dimension
 * becomes the number of input tokens. Integers are small positive numbers, as token ids are, but 1
 * in a mask and 0 in token types; floats lie in [0, 1); an element of BYTES is the prompt's text,
 * and there all variable dimensions are 1.
 *
 * Source: KServe, Open Inference Protocol, HTTP/REST; and its binary tensor data extension.
 */
#include "base/i18n.h"
#include "base/rng.h"
#include "load/endpoints/answer.h"
#include "text/json.h"

#include <string.h>

enum {
	INPUTS_MAX = 64,
	DIMS_MAX = 8,
	ELEMENTS_MAX = 16 * 1024 * 1024, /* of all tensors together; of BYTES, their bytes */
	IDS_MAX = 1000,                  /* every vocabulary has as many */
};

enum kind { KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_BYTES };

static const struct datatype {
	struct str name;
	enum kind kind;
	size_t size;
	bool in_json;
} datatypes[] = {
	{ STR_INIT("BOOL"), KIND_BOOL, 1, true },
	{ STR_INIT("UINT8"), KIND_INT, 1, true },
	{ STR_INIT("UINT16"), KIND_INT, 2, true },
	{ STR_INIT("UINT32"), KIND_INT, 4, true },
	{ STR_INIT("UINT64"), KIND_INT, 8, true },
	{ STR_INIT("INT8"), KIND_INT, 1, true },
	{ STR_INIT("INT16"), KIND_INT, 2, true },
	{ STR_INIT("INT32"), KIND_INT, 4, true },
	{ STR_INIT("INT64"), KIND_INT, 8, true },
	{ STR_INIT("FP16"), KIND_FLOAT, 2, false },
	{ STR_INIT("BF16"), KIND_FLOAT, 2, false },
	{ STR_INIT("FP32"), KIND_FLOAT, 4, true },
	{ STR_INIT("FP64"), KIND_FLOAT, 8, true },
	{ STR_INIT("BYTES"), KIND_BYTES, 0, true },
};

struct input {
	const char *name;
	const struct datatype *type;
	int64_t shape[DIMS_MAX]; /* below 0: variable */
	int n_dims;
};

struct model {
	struct input *inputs;
	int n_inputs;
};

/* ---- what the model is ---- */

static bool read_shape(struct json_scan *s, struct input *in)
{
	if (!json_scan_array(s))
		return false;
	for (in->n_dims = 0; json_scan_element(s); in->n_dims++)
		if (in->n_dims == DIMS_MAX || !json_scan_int(s, &in->shape[in->n_dims]))
			return false;
	return !s->failed;
}

static const struct datatype *find_type(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(datatypes); i++)
		if (str_eq(name, datatypes[i].name))
			return &datatypes[i];
	return NULL;
}

static bool read_input(struct json_scan *s, struct arena *run, struct input *in, struct err *err)
{
	struct str key, name = { 0 }, type = { 0 };
	bool good = json_scan_object(s), has_shape = false;
	while (good && json_scan_key(s, &key)) {
		if (str_eq(key, STR("name")))
			good = json_scan_string(s, &name);
		else if (str_eq(key, STR("datatype")))
			good = json_scan_string(s, &type);
		else if (str_eq(key, STR("shape")))
			good = has_shape = read_shape(s, in);
		else
			json_scan_skip(s);
	}
	if (!good || !name.s || !type.s || !has_shape)
		return err_set(err, ERR_INPUT, _("an input without name, datatype or shape"));
	AUTO(auto_buf) struct buf text = { 0 };
	in->name = json_unescape(name, &text) ? str_c(buf_str(&text), run) : str_c(name, run);
	in->type = find_type(type);
	return in->type ||
	       err_set(err, ERR_INPUT, _("the input '%s' has the unknown datatype '%.*s'"),
	               in->name, STR_ARG(type));
}

static bool read_inputs(struct json_scan *s, struct arena *run, struct model *m, struct err *err)
{
	*m = (struct model){ .inputs = arena_new_n(run, struct input, INPUTS_MAX) };
	if (!json_scan_array(s))
		return err_set(err, ERR_INPUT, _("the inputs are no list"));
	while (json_scan_element(s)) {
		if (m->n_inputs == INPUTS_MAX)
			return err_set(
			        err, ERR_INPUT, _("there are more than %d inputs"), INPUTS_MAX);
		if (!read_input(s, run, &m->inputs[m->n_inputs++], err))
			return false;
	}
	return true;
}

static bool prepare(
        struct str description, struct arena *run, const void **ret_prepared, struct err *err)
{
	struct model *m = arena_new(run, struct model);
	struct json_scan s = json_scan_of(description);
	struct str key;
	if (json_scan_object(&s)) {
		while (json_scan_key(&s, &key)) {
			if (!str_eq(key, STR("inputs")))
				json_scan_skip(&s);
			else if (!read_inputs(&s, run, m, err))
				return false;
		}
	}
	if (s.failed || m->n_inputs == 0)
		return err_set(err, ERR_INPUT, _("the description of the model has no inputs"));
	*ret_prepared = m;
	return true;
}

/* ---- what is sent ---- */

static int64_t element_bytes(const struct input *in, const struct prompt *p)
{
	return in->type->kind == KIND_BYTES ? 4 + (int64_t)p->text.len : (int64_t)in->type->size;
}

/* The shape for one prompt, and how many elements that are. False: more than ELEMENTS_MAX. */
static bool fill_shape(
        const struct input *in, const struct prompt *p, int64_t *shape, int64_t *ret_n)
{
	int64_t n = 1;
	for (int i = 0; i < in->n_dims; i++) {
		bool single = in->type->kind == KIND_BYTES || (i == 0 && in->n_dims > 1) ||
		              p->input_tokens < 1;
		shape[i] = in->shape[i] >= 0 ? in->shape[i] : single ? 1 : p->input_tokens;
		if (shape[i] && n > ELEMENTS_MAX / shape[i])
			return false;
		n *= shape[i];
	}
	*ret_n = n;
	return true;
}

static bool check_input(const struct input *in, const struct prompt *p,
        const struct endpoint_options *options, int64_t *left, struct err *err)
{
	int64_t shape[DIMS_MAX] = { 0 }, n = 0;
	if (!options->binary && !in->type->in_json) {
		err_set(err, ERR_USAGE, _("the input '%s' is %.*s, which JSON has no form for"),
		        in->name, STR_ARG(in->type->name));
		return err_hint(err, _("send bytes: '--tensors binary'"));
	}
	if (!p->input_tokens && in->type->kind != KIND_BYTES)
		return err_set(err, ERR_INPUT,
		        _("the input '%s' is %.*s, which is not made from a text: write 'inputs'"),
		        in->name, STR_ARG(in->type->name));
	bool fits = fill_shape(in, p, shape, &n);
	*left -= in->type->kind == KIND_BYTES ? n * element_bytes(in, p) : n;
	return (fits && *left >= 0) ||
	       err_set(err, ERR_USAGE, _("with the input '%s' the tensors would be too large"),
	               in->name);
}

static bool check(const struct prompt *p, const struct endpoint_options *options, struct err *err)
{
	const struct model *m = options->prepared;
	if (!m)
		return err_set(err, ERR_INPUT,
		        _("no 'inputs', and the service does not describe the model"));
	int64_t left = ELEMENTS_MAX;
	for (int i = 0; i < m->n_inputs; i++)
		if (!check_input(&m->inputs[i], p, options, &left, err))
			return false;
	return true;
}

/* Values follow from the text, which is another one for every prompt. */
static void seed_values(struct rng *rng, struct str text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* Fowler, Noll and Vo, FNV-1a */
	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.s[i]) * UINT64_C(0x100000001b3);
	rng_init(rng, hash);
}

static int64_t next_int(const struct input *in, struct rng *rng)
{
	if (strstr(in->name, "mask"))
		return 1;
	if (strstr(in->name, "type_ids"))
		return 0;
	return 1 + (int64_t)rng_below(rng, in->type->size == 1 ? INT8_MAX : IDS_MAX);
}

static void write_json_value(
        struct json *j, const struct input *in, const struct prompt *p, struct rng *rng)
{
	switch (in->type->kind) {
	case KIND_BOOL:
		json_bool(j, rng_below(rng, 2));
		break;
	case KIND_INT:
		json_int(j, next_int(in, rng));
		break;
	case KIND_FLOAT:
		json_double(j, (double)rng_below(rng, 10000) / 10000);
		break;
	case KIND_BYTES:
		json_str(j, p->text);
		break;
	}
}

static void add_little_endian(struct buf *out, uint64_t bits, size_t size)
{
	for (size_t i = 0; i < size; i++)
		buf_add_char(out, (char)(bits >> (8 * i)));
}

/* A float in [0.5, 1) by its bits: the exponent below that of 1, any mantissa. */
static uint64_t float_bits(const struct datatype *type, struct rng *rng)
{
	uint64_t random = rng_u64(rng);
	if (type->size == 8)
		return UINT64_C(0x3fe0000000000000) | (random & UINT64_C(0xfffffffffffff));
	if (type->size == 4)
		return 0x3f000000 | (random & 0x7fffff);
	return str_eq(type->name, STR("BF16")) ? 0x3f00 | (random & 0x7f)
	                                       : 0x3800 | (random & 0x3ff);
}

static void write_binary_value(
        struct buf *out, const struct input *in, const struct prompt *p, struct rng *rng)
{
	switch (in->type->kind) {
	case KIND_BOOL:
		add_little_endian(out, rng_below(rng, 2), 1);
		break;
	case KIND_INT:
		add_little_endian(out, (uint64_t)next_int(in, rng), in->type->size);
		break;
	case KIND_FLOAT:
		add_little_endian(out, float_bits(in->type, rng), in->type->size);
		break;
	case KIND_BYTES:
		add_little_endian(out, p->text.len, 4);
		buf_add(out, p->text);
		break;
	}
}

static void write_data(
        struct json *j, const struct input *in, const struct prompt *p, int64_t n, struct rng *rng)
{
	json_key(j, "data");
	json_array_open(j);
	for (int64_t i = 0; i < n; i++)
		write_json_value(j, in, p, rng);
	json_array_close(j);
}

static void write_size(struct json *j, const struct input *in, const struct prompt *p, int64_t n)
{
	json_key(j, "parameters");
	json_object_open(j);
	json_put_int(j, "binary_data_size", n * element_bytes(in, p));
	json_object_close(j);
}

static void write_input(struct json *j, const struct input *in, const struct prompt *p,
        struct rng *rng, struct buf *binary)
{
	int64_t shape[DIMS_MAX] = { 0 }, n = 0;
	fill_shape(in, p, shape, &n);
	json_object_open(j);
	json_put_string(j, "name", in->name);
	json_put_string(j, "datatype", in->type->name.s);
	json_key(j, "shape");
	json_array_open(j);
	for (int i = 0; i < in->n_dims; i++)
		json_int(j, shape[i]);
	json_array_close(j);
	if (binary)
		write_size(j, in, p, n);
	else
		write_data(j, in, p, n, rng);
	json_object_close(j);
	for (int64_t i = 0; binary && i < n; i++)
		write_binary_value(binary, in, p, rng);
}

static void write_body(
        struct buf *out, const struct prompt *p, const struct endpoint_options *options)
{
	const struct model *m = options->prepared;
	AUTO(auto_buf) struct buf binary = { 0 };
	struct rng rng;
	struct json j;
	seed_values(&rng, p->text);
	json_init(&j, out, false);
	json_object_open(&j);
	json_key(&j, "inputs");
	json_array_open(&j);
	for (int i = 0; i < m->n_inputs; i++)
		write_input(&j, &m->inputs[i], p, &rng, options->binary ? &binary : NULL);
	json_array_close(&j);
	if (options->binary) {
		json_key(&j, "parameters");
		json_object_open(&j);
		json_put_bool(&j, "binary_data_output", true);
		json_object_close(&j);
	}
	json_object_close(&j);
	buf_add(out, buf_str(&binary));
}

/* Bytes behind the JSON make it a binary request. */
static void write_head(struct buf *out, struct str body)
{
	struct json_scan s = json_scan_of(body);
	json_scan_skip(&s);
	size_t n = (size_t)(s.p - body.s);
	if (s.failed || n == body.len)
		return;
	buf_printf(out,
	        "Content-Type: application/octet-stream\r\n"
	        "Inference-Header-Content-Length: %zu\r\n",
	        n);
}

/* ---- what comes back ---- */

/* Bytes of outputs may follow the JSON; nobody needs them. */
static void read_body(struct reply *reply, struct str body)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("outputs"), answer_results },
		{ STR_INIT("error"), answer_error },
	};
	answer_read(reply, body, fields, ARRAY_LEN(fields));
}

const struct endpoint endpoint_kserve_v2 = {
	.name = "kserve-v2",
	.base = "/v2",
	.path = "/v2/models/{model}/infer",
	.known_by = { "/infer" },
	.operation = "/infer",
	.models_path = "/v2/models",
	.model_keys = { "models" },
	.makes_tokens = true,
	.needs_model = true,
	.body_key = "inputs",
	.write_body = write_body,
	.write_head = write_head,
	.check = check,
	.prepare = prepare,
	.read_body = read_body,
};
