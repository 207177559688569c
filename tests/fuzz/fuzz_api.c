/*
 * fuzz_api.c - any bytes as the body of a request: the first byte chooses the form, '0' the first,
 * the rest is understood or refused with status 400 or 413 and a message, and what is understood
 * can be answered.
 */
#include "serve/answer.h"
#include "serve/api.h"
#include "serve/job.h"
#include "serve/stream.h"
#include "text/json_scan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TOKENS = 4, DIMS = 3 };

/* Of the last one the tensors begin behind the first line. */
static const struct api_form forms[] = {
	{ API_COMPLETIONS, API_OPENAI },
	{ API_CHAT, API_OPENAI },
	{ API_EMBEDDINGS, API_OPENAI },
	{ API_EMBEDDINGS, API_TEI },
	{ API_RERANK, API_OPENAI, .either = true },
	{ API_CLASSIFY, API_OPENAI },
	{ API_CLASSIFY, API_TEI },
	{ API_INFER, API_KSERVE },
	{ API_INFER, API_KSERVE, .json_bytes = 1 },
};

static struct metrics metrics;

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* The answer echoes what came from outside: the prompt as tokens, cut wherever stops say so. */
static void answer(struct job *job)
{
	static const struct wire wire = { .tokens_per_event = 1, .role_first = true };
	AUTO(auto_buf) struct buf out = { 0 };
	struct stream stream;
	struct str text = job->request.inputs[0].text;
	job_queue(job);
	job_start(job, 1);
	stream_init(&stream, job, &wire, "m");
	for (int i = 0; i < TOKENS; i++) {
		size_t begin = text.len * (size_t)i / TOKENS;
		size_t end = text.len * (size_t)(i + 1) / TOKENS;
		struct str piece = { text.len ? text.s + begin : "", end - begin };
		if (!job_token(job, piece, 2 + i))
			break;
		while (stream_next(&stream, &out) == STREAM_EVENT)
			;
	}
	job_end(job, JOB_LENGTH, (struct str){ 0 }, NULL, 9);
	while (stream_next(&stream, &out) == STREAM_EVENT)
		;
	check(str_ends(buf_str(&out), STR("data: [DONE]\n\n")));
	const struct executor x = { .model_name = "m" };
	for (size_t i = 0; i < job->request.n_stops; i++)
		check(str_find(buf_str(&job->text), job->request.stops[i]) < 0);
	answer_whole(&out, job, API_OPENAI, &x);
}

static void check_json(struct str text)
{
	struct json_scan s = json_scan_of(text);
	json_scan_skip(&s);
	check(json_scan_ended(&s));
}

static void answer_vectors(struct job *job, enum api_family family, bool cosine)
{
	static const char *const labels[] = { "a", "\"b\"", "c" };
	const struct executor x = { .model_name = "m", .labels = labels, .n_labels = DIMS };
	AUTO(auto_buf) struct buf out = { 0 };
	struct api_request *r = &job->request;
	check(r->n_inputs >= 1 && r->n_inputs <= API_INPUTS_MAX);
	if (cosine)
		api_rerank_by_cosine(r, &job->arena);
	float *vectors = arena_new_n(&job->arena, float, r->n_inputs *DIMS);
	for (size_t i = 0; i < r->n_inputs; i++) {
		const struct api_input *in = &r->inputs[i];
		for (size_t k = 0; k < in->n_ids; k++)
			check(in->ids[k] >= 0);
		vectors[i * DIMS] = (float)(in->text.len + in->pair.len) / 7;
	}
	job->vectors = vectors;
	job->n_dims = DIMS;
	size_t n = answer_whole(&out, job, family, &x);
	check_json((struct str){ out.s, n ? n : out.len });
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (!metrics.model_name)
		metrics_init(&metrics);
	struct api_form form = forms[(data[0] - '0' + 256U) % ARRAY_LEN(forms)];
	struct str body = { (const char *)data + 1, size - 1 };
	if (form.json_bytes) {
		const char *line_end = memchr(body.s, '\n', body.len);
		form.json_bytes = line_end ? (size_t)(line_end + 1 - body.s) : body.len + 1;
	}
	struct api_error error = { 0 };
	struct job *job = job_new(form.endpoint, &metrics);
	if (!api_parse(&form, body, &job->arena, &job->request, &error))
		check((error.status == 400 || error.status == 413) && error.message[0] &&
		        error.type);
	else if (form.endpoint == API_COMPLETIONS || form.endpoint == API_CHAT)
		answer(job);
	else
		answer_vectors(job, form.family, form.endpoint == API_RERANK && data[0] % 2);
	job_unref(job);
	return 0;
}
