/*
 * Ollama: POST /api/chat and /api/generate. Streams are JSON lines, not server-sent events; the
 * last line has "done": true and the counts.
 */
#include "load/endpoints/answer.h"
#include "load/endpoints/openai.h"

static void close_body(
        struct json *j, const struct prompt *p, const struct endpoint_options *options)
{
	/* it streams unless told not to */
	json_put_bool(j, "stream", options->stream);
	json_key(j, "options");
	json_object_open(j);
	json_put_int(j, "temperature", 0);
	if (p->output_tokens > 0)
		json_put_int(j, "num_predict", p->output_tokens);
	json_object_close(j);
	json_object_close(j);
}

static void write_chat(
        struct buf *out, const struct prompt *p, const struct endpoint_options *options)
{
	struct json j;
	openai_open(&j, out, options);
	openai_messages(&j, p);
	close_body(&j, p, options);
}

static void write_generate(
        struct buf *out, const struct prompt *p, const struct endpoint_options *options)
{
	struct json j;
	openai_open(&j, out, options);
	json_key(&j, "prompt");
	json_str(&j, p->text);
	close_body(&j, p, options);
}

static void read_message(struct answer *a, struct json_scan *s)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("content"), answer_visible },
		{ STR_INIT("thinking"), answer_hidden },
		{ STR_INIT("tool_calls"), answer_visible },
	};
	answer_object(a, s, fields, ARRAY_LEN(fields));
}

static void read_line(struct reply *reply, struct str line)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("response"), answer_visible },
		{ STR_INIT("message"), read_message },
		{ STR_INIT("done"), answer_done },
		{ STR_INIT("thinking"), answer_hidden },
		{ STR_INIT("logprobs"), answer_ids },
		{ STR_INIT("prompt_eval_count"), answer_input_tokens },
		{ STR_INIT("eval_count"), answer_output_tokens },
		{ STR_INIT("error"), answer_error },
	};
	answer_read(reply, line, fields, ARRAY_LEN(fields));
}

/* One object, or the objects of a stream that somebody on the way has called application/json. */
static void read_body(struct reply *reply, struct str body)
{
	struct json_scan s = json_scan_of(body);
	do {
		struct str object = json_scan_raw(&s);
		if (s.failed)
			reply_fail(reply, STR("answer is not JSON"));
		else
			read_line(reply, object);
	} while (!reply->error && !json_scan_ended(&s));
}

const struct endpoint endpoint_ollama_chat = {
	.name = "ollama",
	.base = "/api",
	.path = "/api/chat",
	.known_by = { "/api/chat" },
	.models_path = "/api/tags",
	.model_keys = { "models", "name" },
	.can_stream = true,
	.makes_tokens = true,
	.needs_model = true,
	.takes_messages = true,
	.write_body = write_chat,
	.read_event = read_line,
	.read_body = read_body,
};

const struct endpoint endpoint_ollama_generate = {
	.name = "ollama",
	.base = "/api",
	.path = "/api/generate",
	.known_by = { "/api/generate" },
	.models_path = "/api/tags",
	.model_keys = { "models", "name" },
	.can_stream = true,
	.makes_tokens = true,
	.needs_model = true,
	.write_body = write_generate,
	.read_event = read_line,
	.read_body = read_body,
};
