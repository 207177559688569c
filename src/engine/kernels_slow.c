/*
 * Attention as it should not be: what the faults wide_attention and naive_attention put in its
 * place. Both are right, and slow for the reason that the fault is called by.
 */
#include "engine/kernels.h"

#include "engine/kernels_lanes_plain.h"

static float element(const void *x, int ld, int row, int column, enum dtype type)
{
	size_t at = (size_t)row * (size_t)ld + (size_t)column;
	return type == DTYPE_F32 ? ((const float *)x)[at] : vf_load_bf16((const uint16_t *)x + at);
}

static void put(const struct attention *a, int row, int column, float value)
{
	size_t at = (size_t)row * (size_t)a->ld_out + (size_t)column;
	if (a->type == DTYPE_F32)
		((float *)a->out)[at] = value;
	else
		vf_store_bf16((uint16_t *)a->out + at, value);
}

static void wide_probabilities(const struct attention *a, int query, double *p)
{
	double top = -INFINITY, sum = 0;
	for (int key = 0; key < a->n_keys; key++) {
		double score = 0;
		for (int d = 0; d < a->dim; d++)
			score += (double)element(a->q, a->ld, query, d, a->type) *
			         (double)element(a->k, a->ld, key, d, a->type);
		p[key] = score * (double)a->scale;
		top = fmax(top, p[key]);
	}
	for (int key = 0; key < a->n_keys; key++)
		sum += p[key] = exp(p[key] - top);
	for (int key = 0; key < a->n_keys; key++)
		p[key] /= sum;
}

void attention_wide(const struct attention *a, void *scratch)
{
	double *p = scratch, *value = p + a->n_keys;
	for (int query = 0; query < a->n_q; query++) {
		wide_probabilities(a, query, p);
		for (int d = 0; d < a->dim; d++)
			value[d] = 0;
		for (int key = 0; key < a->n_keys; key++)
			for (int d = 0; d < a->dim; d++)
				value[d] += p[key] * (double)element(a->v, a->ld, key, d, a->type);
		for (int d = 0; d < a->dim; d++)
			put(a, query, d, (float)value[d]);
	}
}

static void naive_probabilities(const struct attention *a, int query, float *p)
{
	float top = -INFINITY, sum = 0;
	for (int key = 0; key < a->n_keys; key++) {
		float score = 0;
		for (int d = 0; d < a->dim; d++)
			score += element(a->q, a->ld, query, d, a->type) *
			         element(a->k, a->ld, key, d, a->type);
		p[key] = score * a->scale;
		top = p[key] > top ? p[key] : top;
	}
	for (int key = 0; key < a->n_keys; key++)
		sum += p[key] = expf(p[key] - top);
	for (int key = 0; key < a->n_keys; key++)
		p[key] /= sum;
}

void attention_naive(const struct attention *a, void *scratch)
{
	float *p = scratch;
	for (int query = 0; query < a->n_q; query++) {
		naive_probabilities(a, query, p);
		for (int d = 0; d < a->dim; d++) {
			float value = 0;
			for (int key = 0; key < a->n_keys; key++)
				value += p[key] * element(a->v, a->ld, key, d, a->type);
			put(a, query, d, value);
		}
	}
}
