/*
 * Text Embeddings Inference: POST /embed, /rerank and /predict, one of which a server offers,
 * depending on its model. Their answers are arrays of results.
 */
#include "load/endpoints/answer.h"
#include "load/endpoints/rerank.h"
#include "text/json.h"

static void open_body(struct json *j, struct buf *out)
{
	json_init(j, out, false);
	json_object_open(j);
	/* a text that is too long for the model is cut there and not refused */
	json_put_bool(j, "truncate", true);
}

static void write_inputs(
        struct buf *out, const struct prompt *p, const struct endpoint_options *options)
{
	struct json j;
	(void)options;
	open_body(&j, out);
	json_key(&j, "inputs");
	json_str(&j, p->text);
	json_object_close(&j);
}

static void write_rerank(
        struct buf *out, const struct prompt *p, const struct endpoint_options *options)
{
	struct json j;
	(void)options;
	open_body(&j, out);
	rerank_write(&j, p, "texts");
	json_object_close(&j);
}

const struct endpoint endpoint_tei_embed = {
	.name = "tei",
	.path = "/embed",
	.known_by = { "/embed" },
	.models_path = "/info",
	.model_keys = { "model_id" },
	.makes_tokens = true,
	.write_body = write_inputs,
	.read_body = answer_read_results,
};

const struct endpoint endpoint_tei_rerank = {
	.name = "tei",
	.path = "/rerank",
	.known_by = { "/rerank" },
	.models_path = "/info",
	.model_keys = { "model_id" },
	.makes_tokens = true,
	.takes_documents = true,
	.write_body = write_rerank,
	.read_body = answer_read_results,
};

const struct endpoint endpoint_tei_predict = {
	.name = "tei",
	.path = "/predict",
	.known_by = { "/predict" },
	.models_path = "/info",
	.model_keys = { "model_id" },
	.makes_tokens = true,
	.write_body = write_inputs,
	.read_body = answer_read_results,
};
