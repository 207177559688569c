/*
 * llama.cpp's own POST /completion. The events of its streams count the tokens so far; the last
 * one has "stop": true.
 */
#include "load/endpoints/answer.h"
#include "text/json.h"

static void write_body(
        struct buf *out, const struct prompt *p, const struct endpoint_options *options)
{
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	json_key(&j, "prompt");
	json_str(&j, p->text);
	if (p->output_tokens > 0)
		json_put_int(&j, "n_predict", p->output_tokens);
	json_put_int(&j, "temperature", 0);
	json_put_bool(&j, "stream", options->stream);
	json_object_close(&j);
}

static void read_answer(struct reply *reply, struct str data)
{
	static const struct answer_field fields[] = {
		{ STR_INIT("content"), answer_visible },
		{ STR_INIT("tokens"), answer_ids },
		{ STR_INIT("stop"), answer_done },
		{ STR_INIT("tokens_predicted"), answer_output_tokens },
		{ STR_INIT("tokens_evaluated"), answer_input_tokens },
		{ STR_INIT("error"), answer_error },
	};
	answer_read(reply, data, fields, ARRAY_LEN(fields));
}

const struct endpoint endpoint_llamacpp = {
	.name = "llamacpp",
	.path = "/completion",
	.known_by = { "/completion" },
	.models_path = "/props",
	.model_keys = { "model_path" },
	.can_stream = true,
	.makes_tokens = true,
	.write_body = write_body,
	.read_event = read_answer,
	.read_body = read_answer,
};
