/*
 * The answer of a merged call, split and put together again. In a file of its own because it reads
 * what another service sends.
 */
#include "serve/gateway_merge.h"

#include "text/json.h"
#include "text/json_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tokens of a call. More is no count: sums of them must fit. */
#define USAGE_MAX INT64_C(1000000000000)

struct splitter {
	const struct merge_api *api;
	struct str text;
	struct merge_result *results;
	size_t n_inputs, n_seen;
};

/* Reads what is wanted of a result: its index, where that stands, and its score. */
static bool read_result(
        const struct splitter *p, struct str raw, struct merge_result *r, size_t *ret_index)
{
	struct json_scan s = json_scan_of(raw);
	struct str key;
	bool has_index = false, has_score = false;
	int64_t index = -1;
	if (!json_scan_object(&s))
		return false;
	while (json_scan_key(&s, &key)) {
		if (str_eq(key, STR("index"))) {
			struct json_scan before = s;
			struct str number = json_scan_raw(&s);
			if (has_index || !json_scan_int(&before, &index))
				return false;
			r->index_at = (size_t)(number.s - raw.s);
			r->index_len = number.len;
			has_index = true;
		} else if (p->api->score && str_eq(key, str_of(p->api->score))) {
			if (!json_scan_double(&s, &r->score))
				return false;
			has_score = true;
		} else {
			json_scan_skip(&s);
		}
	}
	if (s.failed || !has_index || index < 0 || (uint64_t)index >= p->n_inputs)
		return false;
	*ret_index = (size_t)index;
	return has_score || !p->api->score;
}

static bool take_result(struct splitter *p, struct str raw)
{
	struct merge_result r = { .at = (size_t)(raw.s - p->text.s), .len = raw.len };
	size_t index = p->n_seen;
	if (p->n_seen == p->n_inputs || raw.len == 0)
		return false;
	if (p->api->indexed && !read_result(p, raw, &r, &index))
		return false;
	if (p->results[index].len > 0)
		return false;
	p->results[index] = r;
	p->n_seen++;
	return true;
}

static bool read_results(struct splitter *p, struct json_scan *s)
{
	if (p->n_seen > 0 || !json_scan_array(s))
		return false;
	while (json_scan_element(s))
		if (!take_result(p, json_scan_raw(s)))
			return false;
	return !s->failed && p->n_seen == p->n_inputs;
}

static void read_usage(struct json_scan *s, struct merge_usage *usage)
{
	struct str key;
	if (!json_scan_object(s)) {
		json_scan_skip(s);
		return;
	}
	while (json_scan_key(s, &key)) {
		int64_t *at = NULL, n;
		if (str_eq(key, STR("prompt_tokens")))
			at = &usage->prompt_tokens;
		else if (str_eq(key, STR("total_tokens")))
			at = &usage->total_tokens;
		if (!at || !json_scan_int(s, &n))
			json_scan_skip(s);
		else if (n >= 0 && n <= USAGE_MAX)
			*at = n;
	}
}

/* Of a call as a whole, and not to be said to each of its requests. */
static bool of_the_call(struct str key)
{
	return str_eq(key, STR("meta"));
}

static void add_frame(struct buf *out, struct str key, struct str value)
{
	if (out->len)
		buf_add_char(out, ',');
	buf_add_char(out, '"');
	buf_add(out, key);
	buf_add(out, STR("\":"));
	buf_add(out, value);
}

static bool read_object(
        struct splitter *p, struct json_scan *s, struct buf *frame, struct merge_usage *usage)
{
	struct str key;
	if (!json_scan_object(s))
		return false;
	while (json_scan_key(s, &key)) {
		if (str_eq(key, str_of(p->api->results))) {
			if (!read_results(p, s))
				return false;
		} else if (str_eq(key, STR("usage"))) {
			read_usage(s, usage);
		} else if (of_the_call(key)) {
			json_scan_skip(s);
		} else {
			add_frame(frame, key, json_scan_raw(s));
		}
	}
	return !s->failed;
}

bool merge_split(const struct merge_api *api, struct str text, size_t n_inputs, struct arena *arena,
        struct merge_answer *ret_answer)
{
	struct splitter p = { .api = api, .text = text, .n_inputs = n_inputs };
	struct merge_usage usage = { -1, -1 };
	struct json_scan s = json_scan_of(text);
	AUTO(auto_buf) struct buf frame = { 0 };
	p.results = arena_new_n(arena, struct merge_result, n_inputs);
	bool ok = api->results ? read_object(&p, &s, &frame, &usage) : read_results(&p, &s);
	if (!ok || p.n_seen != n_inputs || !json_scan_ended(&s))
		return false;
	*ret_answer = (struct merge_answer){ p.results, str_dup(buf_str(&frame), arena), usage };
	return true;
}

/* A result with its place among the request's inputs, for sorting. */
struct ranked {
	const struct merge_result *result;
	size_t index;
};

static int by_score(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->result->score != y->result->score)
		return x->result->score > y->result->score ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

static void add_result(
        const struct merge_api *api, struct str text, const struct ranked *r, struct buf *out)
{
	struct str raw = { text.s + r->result->at, r->result->len };
	if (!api->indexed) {
		buf_add(out, raw);
		return;
	}
	size_t behind = r->result->index_at + r->result->index_len;
	buf_add(out, (struct str){ raw.s, r->result->index_at });
	buf_printf(out, "%zu", r->index);
	buf_add(out, (struct str){ raw.s + behind, raw.len - behind });
}

static void add_usage(struct merge_usage usage, struct buf *out)
{
	struct json j;
	if (usage.prompt_tokens < 0 && usage.total_tokens < 0)
		return;
	buf_add(out, STR(",\"usage\":"));
	json_init(&j, out, false);
	json_object_open(&j);
	if (usage.prompt_tokens >= 0)
		json_put_int(&j, "prompt_tokens", usage.prompt_tokens);
	if (usage.total_tokens >= 0)
		json_put_int(&j, "total_tokens", usage.total_tokens);
	json_object_close(&j);
}

void merge_compose(const struct merge_request *request, struct str text,
        const struct merge_result *results, struct str frame, struct merge_usage usage,
        struct arena *arena, struct buf *out)
{
	const struct merge_api *api = request->api;
	size_t n = request->n_inputs;
	struct ranked *ranked = arena_new_n(arena, struct ranked, n);
	for (size_t i = 0; i < n; i++)
		ranked[i] = (struct ranked){ &results[i], i };
	if (api->score)
		qsort(ranked, n, sizeof(*ranked), by_score);
	if (request->top >= 0 && (uint64_t)request->top < n)
		n = (size_t)request->top;
	bool bare = api->pairs && request->is_lone; /* then there is one result, without an array */
	if (api->results) {
		buf_add_char(out, '{');
		buf_add(out, frame);
		buf_printf(out, "%s\"%s\":", frame.len ? "," : "", api->results);
	}
	if (!bare)
		buf_add_char(out, '[');
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_add_char(out, ',');
		add_result(api, text, &ranked[i], out);
	}
	if (!bare)
		buf_add_char(out, ']');
	if (api->results) {
		add_usage(usage, out);
		buf_add_char(out, '}');
	}
}

void merge_share(int64_t whole, const int64_t *weights, size_t n, int64_t *ret_shares)
{
	/* Shares of the running sum, each rounded: they add up without a second pass. */
	double sum = 0, before = 0;
	int64_t given = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)weights[i];
	for (size_t i = 0; i < n; i++) {
		before += sum > 0 ? (double)weights[i] : 1;
		double upto = (double)whole * (before / (sum > 0 ? sum : (double)n));
		int64_t end = i + 1 == n ? whole : llround(upto);
		ret_shares[i] = end - given;
		given = end;
	}
}
