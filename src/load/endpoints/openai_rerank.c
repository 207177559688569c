/*
 * POST /v1/rerank in the form of Jina and Cohere, which vLLM, SGLang and llama.cpp speak too: a
 * query and documents, answered by "results".
 */
#include "load/endpoints/openai.h"
#include "load/endpoints/rerank.h"

static void write_body(
        struct buf *out, const struct prompt *p, const struct endpoint_options *options)
{
	struct json j;
	openai_open(&j, out, options);
	rerank_write(&j, p, "documents");
	json_object_close(&j);
}

const struct endpoint endpoint_openai_rerank = {
	.name = "openai-rerank",
	.base = "/v1",
	.path = "/v1/rerank",
	.known_by = { "/rerank" },
	.models_path = "/v1/models",
	.model_keys = { "data", "id" },
	.makes_tokens = true,
	.needs_model = true,
	.takes_documents = true,
	.write_body = write_body,
	.read_body = openai_read_results,
};
