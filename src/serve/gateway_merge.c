#include "serve/gateway_merge.h"

#include "text/json_scan.h"

#include <string.h>

enum { FRAME_TOKENS = 2, ASCII_PER_TOKEN = 4 };

/* Where two have a path, the member with the inputs tells them apart. */
static const struct merge_api apis[] = {
	{ .path = "/embeddings",
	        .inputs = "input",
	        .results = "data",
	        .indexed = true,
	        .lone = true },
	{ .path = "/pooling", .inputs = "input", .results = "data", .indexed = true, .lone = true },
	{ .path = "/classify",
	        .inputs = "input",
	        .results = "data",
	        .indexed = true,
	        .lone = true },
	{ .path = "/rerank",
	        .inputs = "documents",
	        .top = "top_n",
	        .results = "results",
	        .score = "relevance_score",
	        .indexed = true },
	{ .path = "/rerank", .inputs = "texts", .score = "score", .indexed = true },
	{ .path = "/embed", .inputs = "inputs", .lone = true },
	{ .path = "/embed_all", .inputs = "inputs", .lone = true },
	{ .path = "/embed_sparse", .inputs = "inputs", .lone = true },
	{ .path = "/predict", .inputs = "inputs", .lone = true, .pairs = true },
};

bool merge_knows(struct str path)
{
	for (size_t i = 0; i < ARRAY_LEN(apis); i++)
		if (str_ends(path, str_of(apis[i].path)))
			return true;
	return false;
}

/* What kind of inputs the array holds: all must be of one. */
static bool same_kind(enum json_scan_type a, enum json_scan_type b)
{
	return a == b && a != JSON_SCAN_NONE;
}

/* The elements of an array, or its only one; false when they are not inputs. */
static bool read_array(struct str raw, struct arena *arena, struct merge_request *r)
{
	struct json_scan count = json_scan_of(raw), s = count;
	size_t n = 0;
	if (!json_scan_array(&count))
		return false;
	while (json_scan_element(&count)) {
		json_scan_skip(&count);
		n++;
	}
	if (count.failed || n == 0 || n > MERGE_INPUTS_MAX)
		return false;
	struct str *inputs = arena_new_n(arena, struct str, n);
	enum json_scan_type kind = JSON_SCAN_NONE;
	(void)json_scan_array(&s);
	for (size_t i = 0; json_scan_element(&s); i++) {
		enum json_scan_type type = json_scan_type(&s);
		if (i > 0 && !same_kind(type, kind))
			return false;
		kind = type;
		inputs[i] = json_scan_raw(&s);
	}
	r->inputs = inputs;
	r->n_inputs = n;
	r->ids = kind == JSON_SCAN_ARRAY && !r->api->pairs;
	return kind == JSON_SCAN_STRING || kind == JSON_SCAN_ARRAY ||
	       (kind == JSON_SCAN_OBJECT && !r->api->lone);
}

static bool read_lone(struct str raw, bool ids, struct arena *arena, struct merge_request *r)
{
	struct str *input = arena_new(arena, struct str);
	*input = raw;
	r->inputs = input;
	r->n_inputs = 1;
	r->ids = ids;
	r->is_lone = true;
	return r->api->lone;
}

static bool read_inputs(struct str raw, struct arena *arena, struct merge_request *r)
{
	struct json_scan s = json_scan_of(raw);
	enum json_scan_type type = json_scan_type(&s);
	if (type == JSON_SCAN_STRING)
		return read_lone(raw, false, arena, r);
	if (type != JSON_SCAN_ARRAY)
		return false;
	(void)json_scan_array(&s);
	if (!json_scan_element(&s))
		return false;
	enum json_scan_type first = json_scan_type(&s);
	if (r->api->lone && first == JSON_SCAN_NUMBER)
		return read_lone(raw, true, arena, r);
	if (r->api->pairs && first == JSON_SCAN_STRING)
		return read_lone(raw, false, arena, r);
	return read_array(raw, arena, r);
}

/* What the members of a request are, found in one pass. */
struct members {
	struct str inputs, top;
	struct buf params;
	bool odd; /* a member that is hidden by an escape, or twice there */
};

static void take_once(struct members *m, struct str *at, struct json_scan *s)
{
	m->odd |= at->len > 0;
	*at = json_scan_raw(s);
}

static void add_member(struct buf *out, struct str key, struct str value)
{
	if (out->len)
		buf_add_char(out, ',');
	buf_add_char(out, '"');
	buf_add(out, key);
	buf_add(out, STR("\":"));
	buf_add(out, value);
}

static bool read_members(const struct merge_api *api, struct str body, struct members *m)
{
	struct json_scan s = json_scan_of(body);
	struct str key;
	if (!json_scan_object(&s))
		return false;
	while (json_scan_key(&s, &key)) {
		m->odd |= memchr(key.s, '\\', key.len) != NULL;
		if (str_eq(key, str_of(api->inputs)))
			take_once(m, &m->inputs, &s);
		else if (api->top && str_eq(key, str_of(api->top)))
			take_once(m, &m->top, &s);
		else
			add_member(&m->params, key, json_scan_raw(&s));
		if (m->params.len > MERGE_PARAMS_MAX)
			return false;
	}
	return json_scan_ended(&s) && !m->odd && m->inputs.len > 0;
}

static bool read_top(struct str raw, int64_t *ret_top)
{
	struct json_scan s = json_scan_of(raw);
	*ret_top = -1;
	if (raw.len == 0 || json_scan_type(&s) == JSON_SCAN_NULL)
		return true;
	return json_scan_int(&s, ret_top) && *ret_top >= 0;
}

static bool parse_as(
        const struct merge_api *api, struct str body, struct arena *arena, struct merge_request *r)
{
	struct members m = { 0 };
	*r = (struct merge_request){ .api = api };
	bool ok = read_members(api, body, &m) && read_inputs(m.inputs, arena, r) &&
	          read_top(m.top, &r->top);
	if (ok)
		r->params = str_dup(buf_str(&m.params), arena);
	buf_release(&m.params);
	return ok;
}

bool merge_parse(
        struct str path, struct str body, struct arena *arena, struct merge_request *ret_request)
{
	for (size_t i = 0; i < ARRAY_LEN(apis); i++)
		if (str_ends(path, str_of(apis[i].path)) &&
		        parse_as(&apis[i], body, arena, ret_request))
			return true;
	return false;
}

static int64_t estimate_text(struct str text)
{
	int64_t ascii = 0, others = 0;
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.s[i];
		ascii += c < 0x80;
		others += c >= 0xc0;
	}
	return (ascii + ASCII_PER_TOKEN - 1) / ASCII_PER_TOKEN + others;
}

int64_t merge_estimate_tokens(struct str input)
{
	struct json_scan s = json_scan_of(input);
	struct str text;
	int64_t n = 0;
	if (json_scan_string(&s, &text))
		return FRAME_TOKENS + estimate_text(text);
	if (!json_scan_array(&s)) /* a document with members */
		return FRAME_TOKENS + estimate_text(input);
	while (json_scan_element(&s)) {
		if (json_scan_string(&s, &text)) {
			n += 1 + estimate_text(text);
			continue;
		}
		json_scan_skip(&s);
		n++;
	}
	return n;
}

bool merge_text(struct str input, struct buf *out)
{
	struct json_scan s = json_scan_of(input);
	struct str raw;
	if (json_scan_string(&s, &raw))
		return json_unescape(raw, out);
	if (!json_scan_array(&s))
		return false;
	bool any = false;
	while (json_scan_element(&s)) {
		if (!json_scan_string(&s, &raw))
			return false;
		if (any)
			buf_add_char(out, ' ');
		any = true;
		if (!json_unescape(raw, out))
			return false;
	}
	return any && !s.failed;
}

void merge_write_begin(const struct merge_request *like, struct buf *out)
{
	buf_add_char(out, '{');
	buf_add(out, like->params);
	if (like->params.len)
		buf_add_char(out, ',');
	buf_add_char(out, '"');
	buf_add_c(out, like->api->inputs);
	buf_add(out, STR("\":["));
}

void merge_write_input(
        const struct merge_request *of, struct str input, bool first, struct buf *out)
{
	bool wrap = of->api->pairs && input.len && input.s[0] == '"';
	if (!first)
		buf_add_char(out, ',');
	if (wrap)
		buf_add_char(out, '[');
	buf_add(out, input);
	if (wrap)
		buf_add_char(out, ']');
}

void merge_write_end(struct buf *out)
{
	buf_add(out, STR("]}"));
}
