/*
 * POST /v1/embeddings of the OpenAI API.
 */
#include "load/endpoints/openai.h"

static void write_body(struct buf *out, const struct prompt *p,
	const struct endpoint_options *options)
{
	struct json j;
	openai_open(&j, out, options);
	json_key(&j, "input");
	json_str(&j, p->text);
	json_object_close(&j);
}

const struct endpoint endpoint_openai_embeddings = {
	.name = "openai-embeddings",
	.base = "/v1",
	.path = "/v1/embeddings",
	.known_by = { "/embeddings" },
	.models_path = "/v1/models",
	.model_keys = { "data", "id" },
	.makes_tokens = true,
	.needs_model = true,
	.write_body = write_body,
	.read_body = openai_read_results,
};
