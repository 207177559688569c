#include "serve/answer.h"

#include "text/json.h"

#include <string.h>

static const struct {
	const char *whole, *chunk;
} objects[] = {
	[API_COMPLETIONS] = { "text_completion", "text_completion" },
	[API_CHAT] = { "chat.completion", "chat.completion.chunk" },
	[API_EMBEDDINGS] = { "list", NULL },
};

void answer_error(struct buf *out, const struct api_error *error)
{
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
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
	if (job->endpoint != API_EMBEDDINGS)
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

static void put_base64(struct json *j, const float *v, int n_dims)
{
	static const char digits[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *bytes = (const unsigned char *)v; /* little-endian, as is the host */
	size_t n = (size_t)n_dims * sizeof(*v);
	AUTO(auto_buf) struct buf out = { 0 };
	for (size_t i = 0; i < n; i += 3) {
		uint32_t group = (uint32_t)bytes[i] << 16;
		group |= i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0;
		group |= i + 2 < n ? bytes[i + 2] : 0;
		buf_add_char(&out, digits[group >> 18]);
		buf_add_char(&out, digits[group >> 12 & 63]);
		buf_add_char(&out, i + 1 < n ? digits[group >> 6 & 63] : '=');
		buf_add_char(&out, i + 2 < n ? digits[group & 63] : '=');
	}
	put_text(j, "embedding", buf_str(&out));
}

static void put_vector(struct json *j, const float *v, int n_dims, bool base64)
{
	if (base64) {
		put_base64(j, v, n_dims);
		return;
	}
	json_key(j, "embedding");
	json_array_open(j);
	for (int k = 0; k < n_dims; k++)
		json_double(j, (double)v[k]);
	json_array_close(j);
}

static void answer_embeddings(struct buf *out, const struct job *job, const char *model)
{
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	json_put_string(&j, "object", objects[job->endpoint].whole);
	json_key(&j, "data");
	json_array_open(&j);
	for (size_t i = 0; i < job->request.n_inputs; i++) {
		json_object_open(&j);
		json_put_string(&j, "object", "embedding");
		json_put_int(&j, "index", (int64_t)i);
		put_vector(&j, job->vectors + i * (size_t)job->n_dims, job->n_dims,
		        job->request.base64);
		json_object_close(&j);
	}
	json_array_close(&j);
	json_put_string(&j, "model", model);
	put_usage(&j, job);
	json_object_close(&j);
}

void answer_whole(struct buf *out, const struct job *job, const char *model)
{
	struct json j;
	if (job->endpoint == API_EMBEDDINGS) {
		answer_embeddings(out, job, model);
		return;
	}
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
