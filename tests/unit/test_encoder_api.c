/*
 * Requests to encoders in each of the APIs as they come from the network, and their answers.
 */
#include "base/arena.h"
#include "serve/answer.h"
#include "serve/api.h"
#include "serve/job.h"
#include "tap.h"

#include <string.h>

static struct metrics metrics;

static const struct api_form openai_embeddings = { API_EMBEDDINGS, API_OPENAI };
static const struct api_form tei_embed = { API_EMBEDDINGS, API_TEI };
static const struct api_form rerank = { API_RERANK, API_OPENAI, .either = true };
static const struct api_form classify = { API_CLASSIFY, API_OPENAI };
static const struct api_form predict = { API_CLASSIFY, API_TEI };
static const struct api_form infer = { API_INFER, API_KSERVE };

static bool parse(struct api_form form, struct str body, struct arena *run, struct api_request *r,
        struct api_error *error)
{
	return api_parse(&form, body, run, r, error);
}

/* The inputs, each behind a bar, ids with commas, a pair with a plus; or the refusal. */
static void describe(struct api_form form, struct str body, struct buf *out)
{
	struct arena run = { 0 };
	struct api_request r;
	struct api_error error = { 0 };
	if (!parse(form, body, &run, &r, &error)) {
		buf_printf(out, "%d %s", error.status, error.message);
		r.n_inputs = 0;
	}
	for (size_t i = 0; i < r.n_inputs; i++) {
		const struct api_input *in = &r.inputs[i];
		buf_add_char(out, '|');
		buf_add(out, in->text);
		if (in->has_pair) {
			buf_add_char(out, '+');
			buf_add(out, in->pair);
		}
		for (size_t k = 0; k < in->n_ids; k++)
			buf_printf(out, "%d,", in->ids[k]);
	}
	arena_release(&run);
}

static void every_api_has_its_forms_of_inputs(void)
{
	static const struct {
		const struct api_form *form;
		const char *body, *want;
	} cases[] = {
		{ &openai_embeddings, "{\"input\":\"a\"}", "|a" },
		{ &openai_embeddings, "{\"input\":[\"a\",\"\",\"\\u00e9\\n\"]}", "|a||\xc3\xa9\n" },
		{ &openai_embeddings, "{\"input\":[1,2]}", "|1,2," },
		{ &openai_embeddings, "{\"input\":[[1,2],[3]],\"user\":null}", "|1,2,|3," },
		{ &tei_embed, "{\"inputs\":\"a\"}", "|a" },
		{ &tei_embed, "{\"inputs\":[\"a\",\"b\"],\"truncate\":true}", "|a|b" },
		{ &rerank, "{\"query\":\"q\",\"documents\":[\"a\",{\"text\":\"b\"}]}", "|q+a|q+b" },
		{ &rerank, "{\"texts\":[\"a\",\"b\"],\"query\":\"q\"}", "|q+a|q+b" },
		{ &classify, "{\"input\":[\"a\",\"b\"]}", "|a|b" },
		{ &predict, "{\"inputs\":\"a\"}", "|a" },
		{ &predict, "{\"inputs\":[\"a\"]}", "|a" },
		{ &predict, "{\"inputs\":[\"a\",\"b\"]}", "|a+b" },
		{ &predict, "{\"inputs\":[[\"a\"],[\"b\",\"c\"]]}", "|a|b+c" },
		{ &infer,
		        "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[2,1],"
		        "\"data\":[[\"a\"],[\"b\"]]}]}",
		        "|a|b" },
		{ &infer,
		        "{\"inputs\":[{\"data\":[1,2,3,4,5,0],\"name\":\"input_ids\","
		        "\"datatype\":\"INT64\",\"shape\":[2,3]},{\"name\":\"attention_mask\","
		        "\"datatype\":\"INT64\",\"shape\":[2,3],\"data\":[[1,1,1],[1,1,0]]}]}",
		        "|1,2,3,|4,5," },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf got = { 0 };
		describe(*cases[i].form, str_of(cases[i].body), &got);
		CHECK_STR(got.s, cases[i].want);
	}
}

static void what_is_wrong_is_refused_and_named(void)
{
	static const struct {
		const struct api_form *form;
		const char *body, *want;
	} cases[] = {
		{ &openai_embeddings, "", "400 the body is not JSON" },
		{ &openai_embeddings, "[1]", "400 the body must be a JSON object" },
		{ &openai_embeddings, "{\"input\":\"a\"", "400 the body is not JSON" },
		{ &openai_embeddings, "{\"input\":\"a\"} x", "400 the body is not JSON" },
		{ &openai_embeddings, "{\"input\":\"\xff\"}",
		        "400 the body is not JSON: it is not UTF-8" },
		{ &openai_embeddings, "{\"input\":\"a\x01\"}",
		        "400 'input' has a control character that is not escaped" },
		{ &openai_embeddings, "{\"input\":\"\\ud800\"}",
		        "400 'input' has an escape that is none of JSON's" },
		{ &openai_embeddings, "{}", "400 'input' is missing" },
		{ &openai_embeddings, "{\"input\":null}", "400 'input' is missing" },
		{ &openai_embeddings, "{\"input\":[]}", "400 'input' is empty" },
		{ &openai_embeddings, "{\"input\":[[]]}", "400 'input' is empty" },
		{ &openai_embeddings, "{\"input\":{}}",
		        "400 'input' must be a string or an array of token ids" },
		{ &openai_embeddings, "{\"input\":[\"a\",1]}",
		        "400 'input' must be a string or an array of token ids" },
		{ &openai_embeddings, "{\"input\":[-1]}",
		        "400 the token ids of 'input' must be whole numbers from 0" },
		{ &openai_embeddings, "{\"input\":[2147483648]}",
		        "400 the token ids of 'input' must be whole numbers from 0" },
		{ &openai_embeddings, "{\"input\":\"a\",\"input\":\"b\"}",
		        "400 'input' comes twice" },
		{ &openai_embeddings, "{\"input\":\"a\",\"encoding_format\":\"hex\"}",
		        "400 'encoding_format' must be 'float' or 'base64'" },
		{ &openai_embeddings, "{\"input\":\"a\",\"dimensions\":0}",
		        "400 'dimensions' must be between 1 and 65536" },
		{ &tei_embed, "{\"inputs\":\"a\",\"truncation_direction\":\"Left\"}",
		        "400 'truncation_direction' must be 'Right': texts are cut at their end" },
		{ &tei_embed, "{\"inputs\":\"a\",\"prompt_name\":\"query\"}",
		        "400 'prompt_name' is not supported by this service" },
		{ &rerank, "{\"query\":\"q\"}", "400 'documents' is missing" },
		{ &rerank, "{\"documents\":[\"a\"]}", "400 'query' is missing" },
		{ &rerank, "{\"query\":\"q\",\"documents\":[]}", "400 'documents' is empty" },
		{ &rerank, "{\"query\":\"q\",\"documents\":\"a\"}",
		        "400 'documents' must be an array" },
		{ &rerank, "{\"query\":\"q\",\"documents\":[{\"title\":\"a\"}]}",
		        "400 'text' is missing" },
		{ &rerank, "{\"query\":\"q\",\"documents\":[\"a\"],\"texts\":[\"a\"]}",
		        "400 'documents' and 'texts' exclude each other" },
		{ &rerank, "{\"query\":\"q\",\"documents\":[\"a\"],\"top_n\":-1}",
		        "400 'top_n' must be between 0 and 2048" },
		{ &predict, "{\"inputs\":[\"a\",\"b\",\"c\"]}",
		        "400 each of 'inputs' must be a text or a pair of texts" },
		{ &infer, "{\"inputs\":[]}", "400 'inputs' is empty" },
		{ &infer, "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"BYTES\",\"shape\":[1]}]}",
		        "400 there is no input 'x' here" },
		{ &infer, "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"FP32\",\"shape\":[1]}]}",
		        "400 the datatype of 'text' must be BYTES, INT32 or INT64" },
		{ &infer, "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[1]}]}",
		        "400 the input 'text' has no data" },
		{ &infer,
		        "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[3],"
		        "\"data\":[\"a\",\"b\"]}]}",
		        "400 the data of 'text' are not as many as its shape says" },
		{ &infer,
		        "{\"inputs\":[{\"name\":\"input_ids\",\"datatype\":\"INT64\","
		        "\"shape\":[2048,9223372036854775807],\"data\":[1]}]}",
		        "400 the data of 'input_ids' are not as many as its shape says" },
		{ &infer,
		        "{\"inputs\":[{\"name\":\"input_ids\",\"datatype\":\"INT64\",\"shape\":[1,"
		        "3],"
		        "\"data\":[1,2,3]},{\"name\":\"attention_mask\",\"datatype\":\"INT64\","
		        "\"shape\":[1,3],\"data\":[1,0,1]}]}",
		        "400 each row of 'attention_mask' must be ones, then zeros" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf got = { 0 };
		describe(*cases[i].form, str_of(cases[i].body), &got);
		if (!CHECK_STR(got.s, cases[i].want))
			printf("# %s\n", cases[i].body);
	}
}

static void more_than_the_limits_is_a_413(void)
{
	struct arena run = { 0 };
	struct api_request r;
	struct api_error error = { 0 };
	AUTO(auto_buf) struct buf body = { 0 };
	buf_add_c(&body, "{\"input\":[\"a\"");
	for (int i = 1; i < API_INPUTS_MAX; i++)
		buf_add_c(&body, ",\"a\"");
	size_t before = body.len;
	buf_add_c(&body, "]}");
	CHECK(parse(openai_embeddings, buf_str(&body), &run, &r, &error));
	CHECK_INT(r.n_inputs, API_INPUTS_MAX);
	body.len = before;
	buf_add_c(&body, ",\"a\"]}");
	CHECK(!parse(openai_embeddings, buf_str(&body), &run, &r, &error));
	CHECK_INT(error.status, 413);

	buf_clear(&body); /* 64 KiB of query beside 1100 documents: more than 64 MiB */
	buf_add_c(&body, "{\"query\":\"");
	for (int i = 0; i < 65536; i++)
		buf_add_char(&body, 'q');
	buf_add_c(&body, "\",\"documents\":[\"a\"");
	for (int i = 1; i < 1100; i++)
		buf_add_c(&body, ",\"a\"");
	buf_add_c(&body, "]}");
	CHECK(!parse(rerank, buf_str(&body), &run, &r, &error));
	CHECK_INT(error.status, 413);
	arena_release(&run);
}

static void tensors_come_as_bytes_behind_the_json(void)
{
	static const char texts[] = "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\","
	                            "\"shape\":[2],\"parameters\":{\"binary_data_size\":11}}]}"
	                            "\x01\0\0\0a\x02\0\0\0bc";
	static const char ids[] = "{\"inputs\":[{\"name\":\"input_ids\",\"datatype\":\"INT32\","
	                          "\"shape\":[1,2],\"parameters\":{\"binary_data_size\":8}}]}"
	                          "\x07\0\0\0\x00\x01\0\0";
	static const struct {
		struct str body;
		size_t n_bytes;
		const char *want;
	} cases[] = {
		{ STR_INIT(texts), 11, "|a|bc" },
		{ STR_INIT(ids), 8, "|7,256," },
		{ { texts, sizeof(texts) - 2 }, 10, "400 the body ends within the input 'text'" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf got = { 0 };
		struct api_form form = infer;
		form.json_bytes = cases[i].body.len - cases[i].n_bytes;
		describe(form, cases[i].body, &got);
		CHECK_STR(got.s, cases[i].want);
	}
}

static void tei_is_known_by_its_texts(void)
{
	struct arena run = { 0 };
	struct api_request r;
	struct api_error error;
	struct api_form form = rerank;
	CHECK(api_parse(&form, STR("{\"query\":\"q\",\"texts\":[\"a\"]}"), &run, &r, &error));
	CHECK(form.family == API_TEI);
	form = rerank;
	CHECK(!api_parse(&form, STR("{\"query\":\"q\",\"texts\":[1]}"), &run, &r, &error));
	CHECK(form.family == API_TEI); /* so that its errors are TEI's too */
	form = rerank;
	CHECK(api_parse(&form, STR("{\"query\":\"q\",\"documents\":[\"a\"]}"), &run, &r, &error));
	CHECK(form.family == API_OPENAI);
	arena_release(&run);
}

/* ---- answers ---- */

static const char *const labels[] = { "no", "yes" };
static const struct executor model = { .model_name = "m", .labels = labels, .n_labels = 2 };

struct answer_case {
	const struct api_form *form;
	const char *body;
	bool cosine;
	int n_dims;
	float vectors[6];
	const char *must_contain;
};

static void answer(const struct answer_case *c, struct buf *out)
{
	struct api_error error;
	struct api_form form = *c->form;
	struct job *job = job_new(form.endpoint, &metrics);
	if (!CHECK(api_parse(&form, str_of(c->body), &job->arena, &job->request, &error)))
		printf("# %s\n", error.message);
	if (c->cosine)
		api_rerank_by_cosine(&job->request, &job->arena);
	job->vectors = c->vectors;
	job->n_dims = c->n_dims;
	answer_whole(out, job, form.family, &model);
	job_unref(job);
}

/* sigmoid(ln 3) = 3/4; softmax(0, ln 3) = 1/4, 3/4; RFC 4648: 1.0f is 00 00 80 3f. */
static void answers_are_what_each_api_says(void)
{
	static const float ln3 = 1.0986123F;
	const struct answer_case cases[] = {
		{ &openai_embeddings, "{\"input\":\"a\"}", false, 2, { 1, -2 },
		        "\"embedding\":[1,-2]" },
		{ &openai_embeddings, "{\"input\":\"a\",\"encoding_format\":\"base64\"}", false, 2,
		        { 1, -2 }, "\"embedding\":\"AACAPwAAAMA=\"" },
		{ &openai_embeddings, "{\"input\":\"a\",\"dimensions\":2}", false, 3, { 3, 4, 12 },
		        "\"embedding\":[0.6,0.8]" },
		{ &tei_embed, "{\"inputs\":\"a\"}", false, 2, { 3, 4 }, "[[0.6,0.8]]" },
		{ &tei_embed, "{\"inputs\":\"a\",\"normalize\":false}", false, 2, { 3, 4 },
		        "[[3,4]]" },
		{ &rerank, "{\"query\":\"q\",\"documents\":[\"a\",\"b\",\"c\"],\"top_n\":2}", false,
		        1, { 0, ln3, -1 },
		        "\"results\":[{\"index\":1,\"relevance_score\":0.75},"
		        "{\"index\":0,\"relevance_score\":0.5}]" },
		{ &rerank,
		        "{\"query\":\"q\",\"texts\":[\"a\",\"b\"],\"raw_scores\":true,"
		        "\"return_text\":true}",
		        false, 1, { 1, 2 },
		        "[{\"index\":1,\"text\":\"b\",\"score\":2},"
		        "{\"index\":0,\"text\":\"a\",\"score\":1}]" },
		{ &rerank,
		        "{\"query\":\"q\",\"documents\":[\"a\",\"b\"],\"return_documents\":true}",
		        true, 2, { 2, 0, 0, 1, 5, 0 },
		        "\"results\":[{\"index\":1,\"relevance_score\":1,\"document\":{\"text\":"
		        "\"b\"}},{\"index\":0,\"relevance_score\":0,\"document\":{\"text\":\"a\"}}"
		        "]" },
		{ &classify, "{\"input\":\"a\"}", false, 2, { 0, ln3 },
		        "\"label\":\"yes\",\"probs\":[0.25,0.75],\"num_classes\":2" },
		{ &predict, "{\"inputs\":\"a\"}", false, 2, { 0, ln3 },
		        "[{\"score\":0.75,\"label\":\"yes\"},{\"score\":0.25,\"label\":\"no\"}]" },
		{ &predict, "{\"inputs\":[[\"a\"]],\"raw_scores\":true}", false, 2, { 2, 1 },
		        "[[{\"score\":2,\"label\":\"no\"},{\"score\":1,\"label\":\"yes\"}]]" },
		{ &infer,
		        "{\"id\":\"7\",\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\","
		        "\"shape\":[1],\"data\":[\"a\"]}]}",
		        false, 2, { 1, -2 },
		        "\"id\":\"7\",\"outputs\":[{\"name\":\"embeddings\",\"datatype\":\"FP32\","
		        "\"shape\":[1,2],\"data\":[1,-2]}]" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		answer(&cases[i], &out);
		if (!CHECK(strstr(out.s, cases[i].must_contain) != NULL))
			printf("# %s\n# %s\n", out.s, cases[i].must_contain);
	}
}

static void errors_have_the_form_of_their_api(void)
{
	static const struct {
		enum api_family family;
		int status;
		const char *want;
	} cases[] = {
		{ API_OPENAI, 400,
		        "{\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\","
		        "\"param\":null,\"code\":null}}" },
		{ API_TEI, 413, "{\"error\":\"no\",\"error_type\":\"Validation\"}" },
		{ API_TEI, 429, "{\"error\":\"no\",\"error_type\":\"Overloaded\"}" },
		{ API_KSERVE, 404, "{\"error\":\"no\"}" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		struct api_error error;
		api_error_set(&error, cases[i].status, NULL, "no");
		answer_error(&out, &error, cases[i].family);
		CHECK_STR(out.s, cases[i].want);
	}
}

int main(void)
{
	metrics_init(&metrics);
	TAP_RUN(every_api_has_its_forms_of_inputs);
	TAP_RUN(what_is_wrong_is_refused_and_named);
	TAP_RUN(more_than_the_limits_is_a_413);
	TAP_RUN(tensors_come_as_bytes_behind_the_json);
	TAP_RUN(tei_is_known_by_its_texts);
	TAP_RUN(answers_are_what_each_api_says);
	TAP_RUN(errors_have_the_form_of_their_api);
	return tap_done();
}
