/*
 * fuzz_gateway.c - any bytes as a request and as the answer of the service behind a gateway.
 *
 * The first byte chooses the path, up to the first NUL byte it is the request, behind it the answer
 * to two requests like it. A request that is understood is written again and understood as the
 * same; an answer that is accepted has a result for every input, inside of it, and what is made of
 * it has as many.
 */
#include "serve/gateway_merge.h"
#include "text/json_scan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static const char *const paths[] = { "/v1/embeddings", "/rerank", "/embed", "/predict" };

/* What goes into a call, twice: the request is there as before, and once more. */
static void check_written(
        struct str path, const struct merge_request *r, struct arena *arena, struct buf *out)
{
	struct merge_request again;
	merge_write_begin(r, out);
	for (size_t i = 0; i < 2 * r->n_inputs; i++)
		merge_write_input(r, r->inputs[i % r->n_inputs], i == 0, out);
	merge_write_end(out);
	if (2 * r->n_inputs > MERGE_INPUTS_MAX)
		return;
	check(merge_parse(path, buf_str(out), arena, &again));
	check(again.n_inputs == 2 * r->n_inputs && !again.is_lone);
	check(str_eq(again.params, r->params));
}

static void check_answer(
        const struct merge_request *r, struct str text, struct arena *arena, struct buf *out)
{
	struct merge_answer a;
	struct merge_usage usage = { 1, 2 };
	size_t n = 2 * r->n_inputs;
	if (!merge_split(r->api, text, n, arena, &a))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct merge_result *m = &a.results[i];
		check(m->len > 0 && m->at + m->len <= text.len);
		check(m->index_at + m->index_len <= m->len);
	}
	merge_compose(r, text, a.results + r->n_inputs, a.frame, usage, arena, out);
	struct json_scan s = json_scan_of(buf_str(out));
	json_scan_skip(&s);
	check(json_scan_ended(&s));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct arena arena = { 0 };
	struct str path = str_of(paths[data[0] % (sizeof(paths) / sizeof(*paths))]);
	struct str answer, all = { (const char *)data + 1, size - 1 };
	struct str request = str_cut(all, '\0', &answer);
	struct merge_request r;
	AUTO(auto_buf) struct buf out = { 0 }, text = { 0 };
	if (merge_parse(path, request, &arena, &r)) {
		check(r.n_inputs >= 1 && r.n_inputs <= MERGE_INPUTS_MAX);
		for (size_t i = 0; i < r.n_inputs; i++) {
			check(merge_estimate_tokens(r.inputs[i]) >= 0);
			(void)!merge_text(r.inputs[i], &text);
		}
		check_written(path, &r, &arena, &out);
		buf_clear(&out);
		check_answer(&r, answer, &arena, &out);
	}
	arena_release(&arena);
	return 0;
}
