#include "serve/answer.h"

#include "text/json.h"

#include <string.h>

static const struct {
	const char *whole, *chunk;
} objects[] = {
	[API_COMPLETIONS] = { "text_completion", "text_completion" },
	[API_CHAT] = { "chat.completion", "chat.completion.chunk" },
};

/* What TEI calls a status. */
static const char *tei_type(int status)
{
	static const struct {
		int status;
		const char *type;
	} types[] = {
		{ 429, "Overloaded" },
		{ 500, "Backend" },
		{ 503, "Unhealthy" },
	};
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (types[i].status == status)
			return types[i].type;
	return "Validation";
}

void answer_error(struct buf *out, const struct api_error *error, enum api_family family)
{
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	if (family != API_OPENAI) {
		json_put_string(&j, "error", error->message);
		if (family == API_TEI)
			json_put_string(&j, "error_type", tei_type(error->status));
		json_object_close(&j);
		return;
	}
	json_key(&j, "error");
	json_object_open(&j);
	json_put_string(&j, "message", error->message);
	json_put_string(&j, "type", error->type);
	json_put_string(&j, "param", NULL);
	json_put_string(&j, "code", error->code);
	json_object_close(&j);
	json_object_close(&j);
}

static void put_usage(struct json *j, const struct job *job)
{
	json_key(j, "usage");
	json_object_open(j);
	json_put_int(j, "prompt_tokens", job->n_prompt);
	json_put_int(j, "completion_tokens", (int64_t)job->n_tokens);
	json_put_int(j, "total_tokens", job->n_prompt + (int64_t)job->n_tokens);
	json_object_close(j);
}

static void put_head(struct json *j, const struct job *job, const char *object, const char *model)
{
	json_put_string(j, "id", job->id);
	json_put_string(j, "object", object);
	json_put_int(j, "created", job->created_s);
	json_put_string(j, "model", model);
}

static void put_text(struct json *j, const char *name, struct str text)
{
	json_key(j, name);
	json_str(j, text);
}

static void choice_open(struct json *j)
{
	json_key(j, "choices");
	json_array_open(j);
	json_object_open(j);
	json_put_int(j, "index", 0);
}

static void choice_close(struct json *j, const char *finish_reason)
{
	json_put_string(j, "logprobs", NULL);
	json_put_string(j, "finish_reason", finish_reason);
	json_object_close(j);
	json_array_close(j);
}

static void answer_generation(struct buf *out, const struct job *job, const char *model)
{
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	put_head(&j, job, objects[job->endpoint].whole, model);
	choice_open(&j);
	if (job->endpoint == API_CHAT) {
		json_key(&j, "message");
		json_object_open(&j);
		json_put_string(&j, "role", "assistant");
		put_text(&j, "content", buf_str(&job->text));
		json_object_close(&j);
	} else {
		put_text(&j, "text", buf_str(&job->text));
	}
	choice_close(&j, job_end_name(job->end));
	put_usage(&j, job);
	json_object_close(&j);
}

size_t answer_whole(
        struct buf *out, const struct job *job, enum api_family family, const struct executor *x)
{
	bool tei = family == API_TEI;
	switch (job->endpoint) {
	case API_EMBEDDINGS:
		if (tei)
			answer_tei_embeddings(out, job);
		else
			answer_embeddings(out, job, x->model_name);
		break;
	case API_RERANK:
		if (tei)
			answer_tei_rerank(out, job);
		else
			answer_rerank(out, job, x->model_name);
		break;
	case API_CLASSIFY:
		if (tei)
			answer_tei_predict(out, job, x);
		else
			answer_classify(out, job, x);
		break;
	case API_INFER:
		return answer_infer(out, job, x->model_name);
	default:
		answer_generation(out, job, x->model_name);
		break;
	}
	return 0;
}

void answer_models(struct buf *out, const char *model, int64_t n_ctx, int64_t created_s)
{
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	json_put_string(&j, "object", "list");
	json_key(&j, "data");
	json_array_open(&j);
	json_object_open(&j);
	json_put_string(&j, "id", model);
	json_put_string(&j, "object", "model");
	json_put_int(&j, "created", created_s);
	json_put_string(&j, "owned_by", "venturi-serve");
	json_put_int(&j, "max_model_len", n_ctx);
	json_object_close(&j);
	json_array_close(&j);
	json_object_close(&j);
}

static void put_delta(struct json *j, const struct answer_chunk *chunk)
{
	json_key(j, "delta");
	json_object_open(j);
	if (chunk->delta == ANSWER_ROLE || chunk->with_role)
		json_put_string(j, "role", "assistant");
	if (chunk->delta == ANSWER_ROLE)
		json_put_string(j, "content", "");
	else if (chunk->delta == ANSWER_TEXT)
		put_text(j, "content", chunk->text);
	else if (chunk->delta == ANSWER_REASONING)
		put_text(j, "reasoning_content", chunk->text);
	json_object_close(j);
}

void answer_chunk(
        struct buf *out, const struct job *job, const char *model, const struct answer_chunk *chunk)
{
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	put_head(&j, job, objects[job->endpoint].chunk, model);
	if (chunk->delta == ANSWER_USAGE) {
		json_key(&j, "choices");
		json_array_open(&j);
		json_array_close(&j);
		put_usage(&j, job);
		json_object_close(&j);
		return;
	}
	choice_open(&j);
	if (job->endpoint == API_CHAT)
		put_delta(&j, chunk);
	else
		put_text(&j, "text", chunk->delta == ANSWER_FINISH ? STR("") : chunk->text);
	choice_close(&j, chunk->delta == ANSWER_FINISH ? job_end_name(job->end) : NULL);
	json_object_close(&j);
}
