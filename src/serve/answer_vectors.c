/*
 * Embeddings as OpenAI and TEI answer them.
 */
#include "serve/answer.h"

#include "text/base64.h"
#include "text/json.h"
#include "text/shortest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Vectors as they are answered: the model's own, or shortened copies. */
struct vectors {
	const float *values; /* [n, n_dims] */
	size_t n, n_dims;
	float *copy; /* NULL: none was needed */
};

static void normalize(float *v, size_t n)
{
	double squares = 0;
	for (size_t i = 0; i < n; i++)
		squares += (double)v[i] * v[i];
	float scale = squares > 0 ? (float)(1 / sqrt(squares)) : 0;
	for (size_t i = 0; i < n; i++)
		v[i] *= scale;
}

/*
 * The first dimensions of each, made to length 1 again.
 *
 * source  Kusupati 2022, Matryoshka representation learning: models trained for it may be cut
 */
static struct vectors take_vectors(const struct job *job)
{
	const struct api_request *r = &job->request;
	size_t from_dims = (size_t)job->n_dims, n_dims = from_dims;
	if (r->dimensions > 0 && (size_t)r->dimensions < n_dims)
		n_dims = (size_t)r->dimensions;
	struct vectors v = { .values = job->vectors, .n = r->n_inputs, .n_dims = n_dims };
	if (n_dims == from_dims && !r->normalize)
		return v;
	v.copy = mem_realloc(NULL, v.n * n_dims * sizeof(float));
	for (size_t i = 0; i < v.n; i++) {
		float *to = v.copy + i * n_dims;
		memcpy(to, job->vectors + i * from_dims, n_dims * sizeof(float));
		normalize(to, n_dims);
	}
	v.values = v.copy;
	return v;
}

static void vectors_release(struct vectors *v)
{
	free(v->copy);
}

static void add_base64(struct buf *out, const float *values, size_t n)
{
	buf_add_char(out, '"');
	base64_add(out, values, n * sizeof(*values)); /* little-endian, as is the host */
	buf_add_char(out, '"');
}

static void add_int(struct buf *out, int64_t value)
{
	struct json j;
	json_init(&j, out, false);
	json_int(&j, value);
}

/* Frames of an answer that is nearly all numbers: written as text, not through struct json. */
void answer_embeddings(struct buf *out, const struct job *job, const char *model)
{
	AUTO(vectors_release) struct vectors v = take_vectors(job);
	buf_add(out, STR("{\"object\":\"list\",\"data\":["));
	for (size_t i = 0; i < v.n; i++) {
		const float *values = v.values + i * v.n_dims;
		buf_add(out, i > 0 ? STR(",{\"object\":\"embedding\",\"index\":")
		                   : STR("{\"object\":\"embedding\",\"index\":"));
		add_int(out, (int64_t)i);
		buf_add(out, STR(",\"embedding\":"));
		if (job->request.base64)
			add_base64(out, values, v.n_dims);
		else
			shortest_add_array(out, values, v.n_dims);
		buf_add_char(out, '}');
	}
	buf_add(out, STR("],\"model\":"));
	json_escape(out, str_of(model));
	buf_add(out, STR(",\"usage\":{\"prompt_tokens\":"));
	add_int(out, job->n_prompt);
	buf_add(out, STR(",\"total_tokens\":"));
	add_int(out, job->n_prompt);
	buf_add(out, STR("}}"));
}

void answer_tei_embeddings(struct buf *out, const struct job *job)
{
	AUTO(vectors_release) struct vectors v = take_vectors(job);
	for (size_t i = 0; i < v.n; i++) {
		buf_add_char(out, i > 0 ? ',' : '[');
		shortest_add_array(out, v.values + i * v.n_dims, v.n_dims);
	}
	buf_add_char(out, ']');
}
