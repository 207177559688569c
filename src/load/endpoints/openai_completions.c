/*
 * POST /v1/completions of the OpenAI API.
 */
#include "load/endpoints/openai.h"

static void write_body(struct buf *out, const struct prompt *p,
	const struct endpoint_options *options)
{
	struct json j;
	openai_open(&j, out, options);
	json_key(&j, "prompt");
	json_str(&j, p->text);
	openai_close(&j, p, options);
}

const struct endpoint endpoint_openai_completions = {
	.name = "openai-completions",
	.base = "/v1",
	.path = "/v1/completions",
	.known_by = { "/completions" },
	.models_path = "/v1/models",
	.model_keys = { "data", "id" },
	.can_stream = true,
	.makes_tokens = true,
	.needs_model = true,
	.write_body = write_body,
	.read_event = openai_read_generation,
	.read_body = openai_read_generation,
};
