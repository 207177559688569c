/*
 * Results of reranking and classification: scores, sorted or named.
 */
#include "serve/answer.h"

#include "text/json.h"
#include "text/shortest.h"

#include <math.h>
#include <stdlib.h>

struct scored {
	float score;
	size_t index;
};

static int by_score(const void *a, const void *b)
{
	const struct scored *x = a, *y = b;
	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static float sigmoid(float x)
{
	return (float)(1 / (1 + exp(-(double)x)));
}

static float cosine(const float *a, const float *b, size_t n)
{
	double ab = 0, aa = 0, bb = 0;
	for (size_t i = 0; i < n; i++) {
		ab += (double)a[i] * b[i];
		aa += (double)a[i] * a[i];
		bb += (double)b[i] * b[i];
	}
	return aa > 0 && bb > 0 ? (float)(ab / sqrt(aa * bb)) : 0;
}

static void put_float(struct json *j, const char *name, float value)
{
	char text[SHORTEST_F32_MAX];
	json_key(j, name);
	if (isfinite(value))
		json_raw(j, (struct str){ text, shortest_f32(value, text) });
	else
		json_nil(j);
}

/* ---- rerank ---- */

static size_t n_documents(const struct job *job)
{
	return job->request.n_inputs - job->request.cosine;
}

static struct str document(const struct job *job, size_t i)
{
	const struct api_request *r = &job->request;
	return r->cosine ? r->inputs[i + 1].text : r->inputs[i].pair;
}

static float relevance(const struct job *job, size_t i)
{
	size_t n = (size_t)job->n_dims;
	if (job->request.cosine)
		return cosine(job->vectors, job->vectors + (i + 1) * n, n);
	float score = job->vectors[i * n];
	return job->request.raw_scores ? score : sigmoid(score);
}

/* The documents, best first; the caller frees. */
static struct scored *rank(const struct job *job, size_t *ret_n)
{
	size_t n = n_documents(job), top = (size_t)job->request.top_n;
	struct scored *ranked = mem_realloc(NULL, n * sizeof(*ranked));
	for (size_t i = 0; i < n; i++)
		ranked[i] = (struct scored){ relevance(job, i), i };
	qsort(ranked, n, sizeof(*ranked), by_score);
	*ret_n = top > 0 && top < n ? top : n;
	return ranked;
}

static void put_usage(struct json *j, const struct job *job)
{
	json_key(j, "usage");
	json_object_open(j);
	json_put_int(j, "prompt_tokens", job->n_prompt);
	json_put_int(j, "total_tokens", job->n_prompt);
	json_object_close(j);
}

void answer_rerank(struct buf *out, const struct job *job, const char *model)
{
	size_t n;
	AUTO(auto_free) struct scored *ranked = rank(job, &n);
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	json_put_string(&j, "id", job->id);
	json_put_string(&j, "model", model);
	put_usage(&j, job);
	json_key(&j, "results");
	json_array_open(&j);
	for (size_t i = 0; i < n; i++) {
		json_object_open(&j);
		json_put_int(&j, "index", (int64_t)ranked[i].index);
		put_float(&j, "relevance_score", ranked[i].score);
		if (job->request.return_texts) {
			json_key(&j, "document");
			json_object_open(&j);
			json_key(&j, "text");
			json_str(&j, document(job, ranked[i].index));
			json_object_close(&j);
		}
		json_object_close(&j);
	}
	json_array_close(&j);
	json_object_close(&j);
}

void answer_tei_rerank(struct buf *out, const struct job *job)
{
	size_t n;
	AUTO(auto_free) struct scored *ranked = rank(job, &n);
	struct json j;
	json_init(&j, out, false);
	json_array_open(&j);
	for (size_t i = 0; i < n; i++) {
		json_object_open(&j);
		json_put_int(&j, "index", (int64_t)ranked[i].index);
		if (job->request.return_texts) {
			json_key(&j, "text");
			json_str(&j, document(job, ranked[i].index));
		}
		put_float(&j, "score", ranked[i].score);
		json_object_close(&j);
	}
	json_array_close(&j);
}

/* ---- classes ---- */

/*
 * What the classes of one input score: raw, each a probability of its own (one class, or several
 * labels at once), or together one.
 */
static void activate(const struct job *job, const struct executor *x, size_t i, float *scores)
{
	size_t n = (size_t)job->n_dims;
	const float *raw = job->vectors + i * n;
	double sum = 0, top = raw[0];
	bool alone = n == 1 || x->multi_label;
	for (size_t k = 1; k < n; k++)
		top = fmax(top, (double)raw[k]);
	for (size_t k = 0; k < n; k++)
		sum += exp((double)raw[k] - top);
	for (size_t k = 0; k < n; k++) {
		if (job->request.raw_scores)
			scores[k] = raw[k];
		else
			scores[k] =
			        alone ? sigmoid(raw[k]) : (float)(exp((double)raw[k] - top) / sum);
	}
}

static void put_label(struct json *j, const struct executor *x, size_t k)
{
	char text[32];
	if (x->labels && k < (size_t)x->n_labels) {
		json_put_string(j, "label", x->labels[k]);
		return;
	}
	snprintf(text, sizeof(text), "LABEL_%zu", k);
	json_put_string(j, "label", text);
}

void answer_classify(struct buf *out, const struct job *job, const struct executor *x)
{
	size_t n = (size_t)job->n_dims;
	AUTO(auto_free) float *scores = mem_realloc(NULL, n * sizeof(*scores));
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	json_put_string(&j, "id", job->id);
	json_put_string(&j, "object", "list");
	json_put_int(&j, "created", job->created_s);
	json_put_string(&j, "model", x->model_name);
	json_key(&j, "data");
	json_array_open(&j);
	for (size_t i = 0; i < job->request.n_inputs; i++) {
		size_t best = 0;
		activate(job, x, i, scores);
		for (size_t k = 1; k < n; k++)
			best = scores[k] > scores[best] ? k : best;
		json_object_open(&j);
		json_put_int(&j, "index", (int64_t)i);
		put_label(&j, x, best);
		json_key(&j, "probs");
		AUTO(auto_buf) struct buf probs = { 0 };
		shortest_add_array(&probs, scores, n);
		json_raw(&j, buf_str(&probs));
		json_put_int(&j, "num_classes", (int64_t)n);
		json_object_close(&j);
	}
	json_array_close(&j);
	put_usage(&j, job);
	json_object_close(&j);
}

void answer_tei_predict(struct buf *out, const struct job *job, const struct executor *x)
{
	size_t n = (size_t)job->n_dims;
	AUTO(auto_free) struct scored *sorted = mem_realloc(NULL, n * sizeof(*sorted));
	AUTO(auto_free) float *scores = mem_realloc(NULL, n * sizeof(*scores));
	struct json j;
	json_init(&j, out, false);
	if (!job->request.single)
		json_array_open(&j);
	for (size_t i = 0; i < job->request.n_inputs; i++) {
		activate(job, x, i, scores);
		for (size_t k = 0; k < n; k++)
			sorted[k] = (struct scored){ scores[k], k };
		qsort(sorted, n, sizeof(*sorted), by_score);
		json_array_open(&j);
		for (size_t k = 0; k < n; k++) {
			json_object_open(&j);
			put_float(&j, "score", sorted[k].score);
			put_label(&j, x, sorted[k].index);
			json_object_close(&j);
		}
		json_array_close(&j);
	}
	if (!job->request.single)
		json_array_close(&j);
}
