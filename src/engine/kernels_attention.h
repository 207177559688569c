/*
 * kernels_attention.h - softmax(q times the transposed k) times v, of one head.
 *
 * Keys and values are laid out once per call so that both products read their right side as panels
 * of PANEL columns, front to back: [panel][depth][PANEL]. Then BLOCK_ROWS queries at a time go
 * through scores, softmax and the weighted sum without leaving the cache.
 */
#ifndef VENTURI_ENGINE_KERNELS_ATTENTION_H
#define VENTURI_ENGINE_KERNELS_ATTENTION_H

#include "engine/kernels_math.h"
#include "engine/kernels_rows.h"

#include <stddef.h>

enum { PANEL = 2 * LANES };

/* Everything padded to whole panels; scratch is cut up in this order. */
struct attention_plan {
	const struct attention *a;
	int keys_padded, dim_padded;
	float *keys;   /* [keys_padded / PANEL][dim][PANEL] */
	float *values; /* [dim_padded / PANEL][n_keys][PANEL] */
	float *query;  /* [BLOCK_ROWS][dim], scaled */
	float *scores; /* [BLOCK_ROWS][keys_padded] */
	float *sums;   /* [BLOCK_ROWS][dim_padded] */
};

INLINE int round_up(int n, int step)
{
	return (n + step - 1) / step * step;
}

static struct attention_plan attention_plan(const struct attention *a, float *scratch)
{
	struct attention_plan p = {
		.a = a,
		.keys_padded = round_up(a->n_keys, PANEL),
		.dim_padded = round_up(a->dim, PANEL),
		.keys = scratch,
	};
	p.values = p.keys + (size_t)p.keys_padded * (size_t)a->dim;
	p.query = p.values + (size_t)p.dim_padded * (size_t)a->n_keys;
	p.scores = p.query + (size_t)BLOCK_ROWS * (size_t)p.dim_padded;
	p.sums = p.scores + (size_t)BLOCK_ROWS * (size_t)p.keys_padded;
	return p;
}

INLINE float element(const void *x, size_t i, enum dtype type)
{
	if (type == DTYPE_F32)
		return ((const float *)x)[i];
	uint32_t bits = (uint32_t)((const uint16_t *)x)[i] << 16;
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void pack_keys(const struct attention_plan *p)
{
	const struct attention *a = p->a;
	float *out = p->keys;
	for (int first = 0; first < a->n_keys; first += PANEL)
		for (int d = 0; d < a->dim; d++)
			for (int key = first; key < first + PANEL; key++) {
				size_t at = (size_t)key * (size_t)a->ld + (size_t)d;
				*out++ = key < a->n_keys ? element(a->k, at, a->type) : 0;
			}
}

static void pack_values(const struct attention_plan *p)
{
	const struct attention *a = p->a;
	float *out = p->values;
	for (int first = 0; first < a->dim; first += PANEL)
		for (int key = 0; key < a->n_keys; key++)
			for (int j = first; j < first + PANEL; j += LANES, out += LANES) {
				int n = a->dim - j > 0 ? a->dim - j : 0;
				size_t at = (size_t)key * (size_t)a->ld + (size_t)j;
				vf_store(out, n ? load_typed(a->v, at, n, a->type) : vf_set(0));
			}
}

/* out [BLOCK_ROWS][PANEL], its rows ld_out apart, = left [BLOCK_ROWS][depth] times a panel. */
INLINE void block_product(
        float *out, int ld_out, const float *left, int ld_left, const float *panel, int depth)
{
	vf sum[BLOCK_ROWS][2];
	for (int i = 0; i < BLOCK_ROWS; i++)
		sum[i][0] = sum[i][1] = vf_set(0);
	for (int k = 0; k < depth; k++, panel += PANEL) {
		vf b0 = vf_load(panel), b1 = vf_load(panel + LANES);
		for (int i = 0; i < BLOCK_ROWS; i++) {
			vf x = vf_set(left[i * ld_left + k]);
			sum[i][0] = vf_fma(x, b0, sum[i][0]);
			sum[i][1] = vf_fma(x, b1, sum[i][1]);
		}
	}
	for (int i = 0; i < BLOCK_ROWS; i++) {
		vf_store(out + i * ld_out, sum[i][0]);
		vf_store(out + i * ld_out + LANES, sum[i][1]);
	}
}

/* Rows beyond the last query are 0. */
static void load_queries(const struct attention_plan *p, int first, int rows)
{
	const struct attention *a = p->a;
	for (int i = 0; i < BLOCK_ROWS; i++)
		for (int d = 0; d < a->dim; d += LANES) {
			int n = a->dim - d;
			size_t at = (size_t)(first + i) * (size_t)a->ld + (size_t)d;
			vf v = i < rows ? load_typed(a->q, at, n, a->type) : vf_set(0);
			vf_store_any(p->query + i * a->dim + d, v * vf_set(a->scale), n);
		}
}

static void store_sums(const struct attention_plan *p, int first, int rows)
{
	const struct attention *a = p->a;
	for (int i = 0; i < rows; i++)
		for (int d = 0; d < a->dim; d += LANES) {
			int n = a->dim - d;
			size_t at = (size_t)(first + i) * (size_t)a->ld_out + (size_t)d;
			vf v = vf_load(p->sums + i * p->dim_padded + d);
			if (a->type == DTYPE_BF16)
				vf_store_bf16_any((uint16_t *)a->out + at, v, n);
			else
				vf_store_any((float *)a->out + at, v, n);
		}
}

static void attention(const struct attention *a, void *scratch)
{
	struct attention_plan p = attention_plan(a, scratch);
	pack_keys(&p);
	pack_values(&p);
	for (int first = 0; first < a->n_q; first += BLOCK_ROWS) {
		int rows = a->n_q - first < BLOCK_ROWS ? a->n_q - first : BLOCK_ROWS;
		load_queries(&p, first, rows);
		for (int j = 0; j < p.keys_padded; j += PANEL)
			block_product(p.scores + j, p.keys_padded, p.query, a->dim,
			        p.keys + (size_t)j * (size_t)a->dim, a->dim);
		for (int i = 0; i < BLOCK_ROWS; i++)
			softmax(p.scores + i * p.keys_padded, 1, a->n_keys);
		for (int j = 0; j < p.dim_padded; j += PANEL)
			block_product(p.sums + j, p.dim_padded, p.scores, p.keys_padded,
			        p.values + (size_t)j * (size_t)a->n_keys, a->n_keys);
		store_sums(&p, first, rows);
	}
}

#endif
