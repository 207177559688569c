#include "engine/encoder_ops.h"

#include <string.h>

struct pooling_stage {
	struct encoder_session *s;
	float *out;
};

static bool any_not_finite(const float *x, size_t n)
{
	float sum = 0;
#pragma omp simd reduction(+ : sum)
	for (size_t i = 0; i < n; i++)
		sum += x[i] * 0;
	return sum != 0;
}

/* One sequence; a value that is none in any of its rows is found, wherever it would end. */
static void pool_tile(void *ctx, int i, int i_thread)
{
	const struct pooling_stage *stage = ctx;
	struct encoder_session *s = stage->s;
	const struct encoder_config *c = &s->e->config;
	const struct kernels *k = s->e->kernels;
	size_t dim = (size_t)c->dim;
	const float *x = s->x + (size_t)s->first_row[i] * dim;
	float *out = stage->out + (size_t)i * dim;
	int n = s->batch->lengths[i];
	(void)i_thread;
	if (any_not_finite(x, (size_t)n * dim))
		__atomic_store_n(&s->not_finite, true, __ATOMIC_RELAXED);
	if (c->pooling == ENCODER_POOL_MEAN)
		k->mean_rows(out, x, n, c->dim);
	else
		memcpy(out, x, dim * sizeof(*out));
	if (c->normalize)
		k->unit(out, 1, c->dim);
}

void encoder_pool(struct encoder_session *s, float *out)
{
	struct pooling_stage stage = { s, out };
	int64_t start = profile_start(s->profile);
	launch(s->pool, &s->e->options.faults, s->batch->n, pool_tile, &stage);
	profile_operator(s->profile, "pool", start,
	        &(struct profile_inputs){ { { s->n_rows, s->e->config.dim } } });
}

static void gather_first_rows(struct encoder_session *s)
{
	size_t dim = (size_t)s->e->config.dim;
	for (int i = 0; i < s->batch->n; i++) {
		const float *x = s->x + (size_t)s->first_row[i] * dim;
		if (any_not_finite(x, (size_t)s->batch->lengths[i] * dim))
			s->not_finite = true;
		memcpy(s->first + (size_t)i * dim, x, dim * sizeof(*x));
	}
}

void encoder_head(struct encoder_session *s, enum encoder_output output, float *out)
{
	const struct encoder *e = s->e;
	int n = s->batch->n, dim = e->config.dim, n_labels = e->config.n_labels;
	struct matrix first = { DTYPE_F32, s->first, NULL, n, dim, dim };
	struct matrix pooled = { DTYPE_F32, s->sum, NULL, n, dim, dim };
	struct matrix logits = { DTYPE_F32, s->logits, NULL, n, n_labels, n_labels };
	const struct matrix *result = &first;
	gather_first_rows(s);
	if (e->pooler) {
		encoder_linear(s, e->pooler, "linear_tanh", &first, &pooled);
		result = &pooled;
	}
	if (output == ENCODER_LOGITS) {
		encoder_linear(s, e->head, "linear", result, &logits);
		result = &logits;
	}
	memcpy(out, result->data, (size_t)n * (size_t)result->cols * sizeof(*out));
}
