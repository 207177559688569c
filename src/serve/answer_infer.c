/*
 * What KServe's protocol and TEI's /info say about the service and its model, and the tensors of an
 * inference.
 */
#include "serve/answer.h"

#include "text/json.h"
#include "text/shortest.h"

static const char version[] = "1"; /* there is one of each model */

struct str answer_output_name(bool scores)
{
	return scores ? STR("scores") : STR("embeddings");
}

static void put_shape(struct json *j, int64_t n, int64_t n_dims)
{
	json_key(j, "shape");
	json_array_open(j);
	json_int(j, n);
	if (n_dims)
		json_int(j, n_dims);
	json_array_close(j);
}

static void put_data(struct json *j, const float *values, size_t n)
{
	AUTO(auto_buf) struct buf text = { 0 };
	shortest_add_array(&text, values, n);
	json_key(j, "data");
	json_raw(j, buf_str(&text));
}

size_t answer_infer(struct buf *out, const struct job *job, const char *model)
{
	const struct api_request *r = &job->request;
	size_t n = r->n_inputs * (size_t)job->n_dims, before = out->len;
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	json_put_string(&j, "model_name", model);
	json_put_string(&j, "model_version", version);
	if (r->id.s) {
		json_key(&j, "id");
		json_str(&j, r->id);
	}
	json_key(&j, "outputs");
	json_array_open(&j);
	json_object_open(&j);
	json_put_string(&j, "name", answer_output_name(r->scores).s);
	json_put_string(&j, "datatype", "FP32");
	put_shape(&j, (int64_t)r->n_inputs, job->n_dims);
	if (r->binary) {
		json_key(&j, "parameters");
		json_object_open(&j);
		json_put_int(&j, "binary_data_size", (int64_t)(n * sizeof(float)));
		json_object_close(&j);
	} else {
		put_data(&j, job->vectors, n);
	}
	json_object_close(&j);
	json_array_close(&j);
	json_object_close(&j);
	size_t json_bytes = out->len - before;
	if (!r->binary)
		return 0;
	buf_add(out, (struct str){ (const char *)job->vectors, n * sizeof(float) });
	return json_bytes;
}

/* ---- descriptions ---- */

void answer_kserve_service(struct buf *out)
{
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	json_put_string(&j, "name", "venturi-serve");
	json_put_string(&j, "version", VENTURI_VERSION);
	json_key(&j, "extensions");
	json_array_open(&j);
	json_str_c(&j, "binary_tensor_data");
	json_array_close(&j);
	json_object_close(&j);
}

static void put_tensor(struct json *j, const char *name, const char *datatype, int64_t n_dims)
{
	json_object_open(j);
	json_put_string(j, "name", name);
	json_put_string(j, "datatype", datatype);
	put_shape(j, -1, n_dims);
	json_object_close(j);
}

/* Of the two ways to give inputs the one that a client can do without a tokenizer. */
void answer_kserve_model(struct buf *out, const struct executor *x)
{
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	json_put_string(&j, "name", x->model_name);
	json_key(&j, "versions");
	json_array_open(&j);
	json_str_c(&j, version);
	json_array_close(&j);
	json_put_string(&j, "platform", "venturi");
	json_key(&j, "inputs");
	json_array_open(&j);
	put_tensor(&j, "text", "BYTES", 0);
	json_array_close(&j);
	json_key(&j, "outputs");
	json_array_open(&j);
	if (x->tasks & EXECUTOR_CLASSIFIES)
		put_tensor(&j, answer_output_name(true).s, "FP32", x->n_labels);
	if (x->tasks & EXECUTOR_EMBEDS)
		put_tensor(&j, answer_output_name(false).s, "FP32", x->n_dims ? x->n_dims : -1);
	json_array_close(&j);
	json_object_close(&j);
}

static void put_labels(struct json *j, const struct executor *x)
{
	char index[16];
	json_key(j, "id2label");
	json_object_open(j);
	for (int i = 0; x->labels && i < x->n_labels; i++) {
		snprintf(index, sizeof(index), "%d", i);
		json_put_string(j, index, x->labels[i]);
	}
	json_object_close(j);
	json_key(j, "label2id");
	json_object_open(j);
	for (int i = 0; x->labels && i < x->n_labels; i++)
		json_put_int(j, x->labels[i], i);
	json_object_close(j);
}

static void put_model_type(struct json *j, const struct executor *x)
{
	bool classifies = x->tasks & EXECUTOR_CLASSIFIES;
	json_key(j, "model_type");
	json_object_open(j);
	json_key(j, !classifies ? "embedding" : x->n_labels == 1 ? "reranker" : "classifier");
	json_object_open(j);
	if (classifies)
		put_labels(j, x);
	json_object_close(j);
	json_object_close(j);
}

void answer_info(struct buf *out, const struct executor *x, int64_t queue_max)
{
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	json_put_string(&j, "model_id", x->model_name);
	json_put_string(&j, "model_sha", NULL);
	put_model_type(&j, x);
	json_put_int(&j, "max_input_length", x->n_ctx);
	json_put_int(&j, "max_client_batch_size", API_INPUTS_MAX);
	json_key(&j, "max_concurrent_requests");
	if (queue_max > 0)
		json_int(&j, queue_max);
	else
		json_nil(&j);
	json_put_bool(&j, "auto_truncate", false);
	json_put_string(&j, "version", VENTURI_VERSION);
	json_object_close(&j);
}
