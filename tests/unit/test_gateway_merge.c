/* Requests taken apart, calls written, answers split: what goes in comes out where it belongs. */
#include "serve/gateway_merge.h"

#include "../tap.h"

static struct arena arena;

static struct merge_request parse(const char *path, const char *body)
{
	struct merge_request r = { 0 };
	if (!CHECK(merge_parse(str_of(path), str_of(body), &arena, &r)))
		r.n_inputs = 0;
	return r;
}

static bool refuses(const char *path, const char *body)
{
	struct merge_request r;
	return !merge_parse(str_of(path), str_of(body), &arena, &r);
}

static const char *text(struct str s)
{
	return str_c(s, &arena);
}

static void the_inputs_of_a_request_are_told_from_its_parameters(void)
{
	struct merge_request r = parse("/v1/embeddings",
	        " {\"model\":\"m\", \"input\" : [\"a\", \"b,]\\\"\"] ,\"dimensions\": 3}");
	CHECK_INT(r.n_inputs, 2);
	CHECK_STR(text(r.inputs[0]), "\"a\"");
	CHECK_STR(text(r.inputs[1]), "\"b,]\\\"\"");
	CHECK_STR(text(r.params), "\"model\":\"m\",\"dimensions\":3");
	CHECK(!r.is_lone && !r.ids);
}

static void one_input_may_stand_alone(void)
{
	struct merge_request r = parse("/v1/embeddings", "{\"input\":\"a\"}");
	CHECK(r.is_lone && r.n_inputs == 1);
	r = parse("/v1/embeddings", "{\"input\":[1,2,3]}");
	CHECK(r.is_lone && r.ids && r.n_inputs == 1);
	CHECK_STR(text(r.inputs[0]), "[1,2,3]");
	r = parse("/v1/embeddings", "{\"input\":[[1,2],[3]]}");
	CHECK(!r.is_lone && r.ids && r.n_inputs == 2);
	r = parse("/predict", "{\"inputs\":[\"a\",\"b\"]}");
	CHECK(r.is_lone && r.n_inputs == 1); /* a pair */
	r = parse("/predict", "{\"inputs\":[[\"a\",\"b\"],[\"c\"]]}");
	CHECK(!r.is_lone && r.n_inputs == 2);
}

static void what_is_not_understood_is_left_alone(void)
{
	static const struct {
		const char *path, *body;
	} cases[] = {
		{ "/v1/embeddings", "" },
		{ "/v1/embeddings", "[]" },
		{ "/v1/embeddings", "{}" },
		{ "/v1/embeddings", "{\"input\":null}" },
		{ "/v1/embeddings", "{\"input\":[]}" },
		{ "/v1/embeddings", "{\"input\":[\"a\",1]}" },
		{ "/v1/embeddings", "{\"input\":[{}]}" },
		{ "/v1/embeddings", "{\"input\":\"a\"} x" },
		{ "/v1/embeddings", "{\"input\":\"a\"" },
		{ "/v1/embeddings", "{\"input\":\"a\",\"input\":\"b\"}" },
		{ "/v1/embeddings", "{\"input\":\"a\",\"\\u0069nput\":\"b\"}" },
		{ "/v1/rerank", "{\"query\":\"q\",\"documents\":\"a\"}" },
		{ "/v1/rerank", "{\"query\":\"q\",\"documents\":[\"a\"],\"top_n\":-1}" },
		{ "/v1/chat/completions", "{\"input\":\"a\"}" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!CHECK(refuses(cases[i].path, cases[i].body)))
			printf("# case %zu\n", i);
}

static void a_call_has_the_inputs_of_all_in_order(void)
{
	struct merge_request a =
	        parse("/v1/embeddings", "{\"model\":\"m\",\"input\":[\"a\",\"b\"]}");
	struct merge_request b = parse("/v1/embeddings", "{\"model\":\"m\",\"input\":\"c\"}");
	AUTO(auto_buf) struct buf out = { 0 };
	merge_write_begin(&a, &out);
	merge_write_input(&a, a.inputs[0], true, &out);
	merge_write_input(&a, a.inputs[1], false, &out);
	merge_write_input(&b, b.inputs[0], false, &out);
	merge_write_end(&out);
	CHECK_STR(out.s, "{\"model\":\"m\",\"input\":[\"a\",\"b\",\"c\"]}");
}

static void a_lone_text_of_predict_becomes_an_input_among_others(void)
{
	struct merge_request a = parse("/predict", "{\"inputs\":\"a\"}");
	struct merge_request b = parse("/predict", "{\"inputs\":[\"b\",\"c\"]}");
	AUTO(auto_buf) struct buf out = { 0 };
	merge_write_begin(&a, &out);
	merge_write_input(&a, a.inputs[0], true, &out);
	merge_write_input(&b, b.inputs[0], false, &out);
	merge_write_end(&out);
	CHECK_STR(out.s, "{\"inputs\":[[\"a\"],[\"b\",\"c\"]]}");
}

static void an_answer_is_split_by_index_whatever_its_order(void)
{
	static const char answer[] =
	        "{\"object\":\"list\",\"data\":[{\"index\":2,\"embedding\":[3]},"
	        "{\"embedding\":[1],\"index\":0},{\"index\": 1 ,\"embedding\":[2]}],"
	        "\"model\":\"m\",\"usage\":{\"prompt_tokens\":9,\"total_tokens\":10}}";
	struct merge_request r = parse("/v1/embeddings", "{\"input\":[\"b\",\"c\"]}");
	struct merge_answer a;
	AUTO(auto_buf) struct buf out = { 0 };
	if (!CHECK(merge_split(r.api, str_of(answer), 3, &arena, &a)))
		return;
	CHECK_INT(a.usage.prompt_tokens, 9);
	CHECK_INT(a.usage.total_tokens, 10);
	CHECK_STR(text(a.frame), "\"object\":\"list\",\"model\":\"m\"");
	struct merge_usage usage = { 6, -1 };
	/* the request that had the second and third input */
	merge_compose(&r, str_of(answer), a.results + 1, a.frame, usage, &arena, &out);
	CHECK_STR(out.s, "{\"object\":\"list\",\"model\":\"m\",\"data\":[{\"index\": 0 ,"
	                 "\"embedding\":[2]},{\"index\":1,\"embedding\":[3]}],"
	                 "\"usage\":{\"prompt_tokens\":6}}");
}

static void counts_of_tokens_that_cannot_be_are_left_out(void)
{
	static const char *const counts[] = { "-1", "9223372036854775807", "1.5", "\"6\"", "null" };
	struct merge_request r = parse("/v1/embeddings", "{\"input\":\"b\"}");
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		char answer[200];
		struct merge_answer a;
		snprintf(answer, sizeof(answer),
		        "{\"usage\":{\"prompt_tokens\":%s,\"total_tokens\":7},"
		        "\"data\":[{\"index\":0,\"embedding\":[1]}]}",
		        counts[i]);
		if (!CHECK(merge_split(r.api, str_of(answer), 1, &arena, &a)))
			return;
		CHECK_INT(a.usage.prompt_tokens, -1);
		CHECK_INT(a.usage.total_tokens, 7);
	}
}

static void an_answer_that_does_not_fit_is_refused(void)
{
	static const char *const answers[] = {
		"",
		"{}",
		"{\"data\":{}}",
		"{\"data\":[]}",
		"{\"data\":[{\"index\":0}]}",
		"{\"data\":[{\"index\":0},{\"index\":0}]}",
		"{\"data\":[{\"index\":0},{\"index\":2}]}",
		"{\"data\":[{\"index\":0},{\"index\":-1}]}",
		"{\"data\":[{\"index\":0},{\"index\":1.5}]}",
		"{\"data\":[{\"index\":0},{}]}",
		"{\"data\":[{\"index\":0},{\"index\":1},{\"index\":1}]}",
		"{\"data\":[{\"index\":0},{\"index\":1}]} {}",
		"{\"data\":[{\"index\":0},{\"index\":1}]",
	};
	struct merge_request r = parse("/v1/embeddings", "{\"input\":[\"b\",\"c\"]}");
	struct merge_answer a;
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		if (!CHECK(!merge_split(r.api, str_of(answers[i]), 2, &arena, &a)))
			printf("# case %zu\n", i);
	CHECK(merge_split(r.api, STR("{\"data\":[{\"index\":1},{\"index\":0}]}"), 2, &arena, &a));
}

static void ranks_are_those_among_the_own_documents(void)
{
	static const char answer[] =
	        "{\"results\":[{\"index\":3,\"relevance_score\":0.9},"
	        "{\"index\":0,\"relevance_score\":0.8},{\"index\":1,\"relevance_score\":0.7},"
	        "{\"index\":2,\"relevance_score\":1e-2}],\"meta\":{\"billed\":4}}";
	struct merge_request r =
	        parse("/rerank", "{\"query\":\"q\",\"documents\":[\"a\",\"b\",\"c\"],\"top_n\":2}");
	struct merge_answer a;
	AUTO(auto_buf) struct buf out = { 0 };
	CHECK_INT(r.top, 2);
	CHECK_STR(text(r.params), "\"query\":\"q\"");
	if (!CHECK(merge_split(r.api, str_of(answer), 4, &arena, &a)))
		return;
	struct merge_usage none = { -1, -1 };
	merge_compose(&r, str_of(answer), a.results + 1, a.frame, none, &arena, &out);
	CHECK_STR(out.s, "{\"results\":[{\"index\":2,\"relevance_score\":0.9},"
	                 "{\"index\":0,\"relevance_score\":0.7}]}");
}

static void a_bare_array_is_split_by_order(void)
{
	static const char answer[] = " [ [1,2], [3,4] ,[5,6]] ";
	struct merge_request r = parse("/embed", "{\"inputs\":[\"a\",\"b\"],\"normalize\":true}");
	struct merge_request lone = parse("/predict", "{\"inputs\":\"a\"}");
	struct merge_answer a;
	AUTO(auto_buf) struct buf out = { 0 };
	struct merge_usage none = { -1, -1 };
	if (!CHECK(merge_split(r.api, str_of(answer), 3, &arena, &a)))
		return;
	merge_compose(&r, str_of(answer), a.results + 1, a.frame, none, &arena, &out);
	CHECK_STR(out.s, "[[3,4],[5,6]]");
	buf_clear(&out);
	merge_compose(&lone, str_of(answer), a.results, a.frame, none, &arena, &out);
	CHECK_STR(out.s, "[1,2]"); /* a lone input of predict has a lone result */
}

static void shares_add_up_to_the_whole(void)
{
	static const int64_t weights[] = { 1, 1, 1, 0, 5 };
	int64_t shares[5], sum = 0;
	merge_share(10, weights, 5, shares);
	for (int i = 0; i < 5; i++) {
		sum += shares[i];
		/* none is off by 1 or more from 10 * weight / 8 */
		CHECK_NEAR((double)shares[i], 10 * (double)weights[i] / 8, 0.999);
	}
	CHECK_INT(sum, 10);
	static const int64_t nothing[] = { 0, 0 };
	merge_share(5, nothing, 2, shares);
	CHECK_INT(shares[0] + shares[1], 5);
}

static void tokens_are_estimated_by_bytes_and_ids_counted(void)
{
	CHECK_INT(merge_estimate_tokens(STR("[1,2,3]")), 3);
	CHECK_INT(merge_estimate_tokens(STR("\"abcdefgh\"")), 2 + 8 / 4);
	CHECK_INT(merge_estimate_tokens(STR("\"\xe6\xb0\xb4\xe6\xb0\xb4\"")), 2 + 2);
	AUTO(auto_buf) struct buf out = { 0 };
	CHECK(merge_text(STR("[\"a\\n\",\"b\"]"), &out));
	CHECK_STR(out.s, "a\n b");
	CHECK(!merge_text(STR("[1]"), &out));
}

int main(void)
{
	TAP_RUN(the_inputs_of_a_request_are_told_from_its_parameters);
	TAP_RUN(one_input_may_stand_alone);
	TAP_RUN(what_is_not_understood_is_left_alone);
	TAP_RUN(a_call_has_the_inputs_of_all_in_order);
	TAP_RUN(a_lone_text_of_predict_becomes_an_input_among_others);
	TAP_RUN(an_answer_is_split_by_index_whatever_its_order);
	TAP_RUN(counts_of_tokens_that_cannot_be_are_left_out);
	TAP_RUN(an_answer_that_does_not_fit_is_refused);
	TAP_RUN(ranks_are_those_among_the_own_documents);
	TAP_RUN(a_bare_array_is_split_by_order);
	TAP_RUN(shares_add_up_to_the_whole);
	TAP_RUN(tokens_are_estimated_by_bytes_and_ids_counted);
	arena_release(&arena);
	return tap_done();
}
