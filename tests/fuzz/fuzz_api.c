/*
 * fuzz_api.c - any bytes as the body of a request: the first byte chooses the endpoint, the rest is
 * understood or refused with status 400 and a message, and what is understood can be answered.
 */
#include "serve/answer.h"
#include "serve/api.h"
#include "serve/job.h"
#include "serve/stream.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ENDPOINTS = API_EMBEDDINGS + 1, TOKENS = 4 };

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
	for (size_t i = 0; i < job->request.n_stops; i++)
		check(str_find(buf_str(&job->text), job->request.stops[i]) < 0);
	answer_whole(&out, job, "m");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (!metrics.model_name)
		metrics_init(&metrics);
	enum api_endpoint endpoint = data[0] % ENDPOINTS;
	struct str body = { (const char *)data + 1, size - 1 };
	struct api_error error = { 0 };
	struct job *job = job_new(endpoint, &metrics);
	if (!api_parse(endpoint, body, &job->arena, &job->request, &error))
		check(error.status == 400 && error.message[0] && error.type);
	else if (endpoint == API_EMBEDDINGS)
		check(job->request.n_inputs >= 1);
	else
		answer(job);
	job_unref(job);
	return 0;
}
