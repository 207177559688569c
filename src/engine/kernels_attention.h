/*
 * kernels_attention.h - softmax(q times the transposed k) times v, of one head.
 *
 * Keys and values are laid out once per call so that both products read their right side as panels
 * of PANEL columns, front to back: [panel][depth][PANEL]. Then BLOCK_ROWS queries at a time go
 * through scores, softmax and the weighted sum without leaving the cache.
 *
 * Everything is made of words of 32 bits: floats, or pairs of bf16 that lie behind one another in
 * the sum of a product, where the instruction set multiplies those. Then a product has half the
 * depth. The scores and their sums are float32 in both.
 *
 * Source: Dao 2022, FlashAttention, without its running maximum: a row of scores fits the cache.
 */
#ifndef VENTURI_ENGINE_KERNELS_ATTENTION_H
#define VENTURI_ENGINE_KERNELS_ATTENTION_H

#include "engine/kernels_math.h"
#include "engine/kernels_rows.h"

#include <stdbool.h>
#include <stddef.h>

enum { PANEL = 2 * LANES };

/* All in words. The scratch memory is cut up in this order. */
struct attention_plan {
	const struct attention *a;
	bool pairs;
	int keys_padded, dim_padded; /* to whole panels */
	int depth_scores, depth_sums;
	int ld_probabilities;
	float *keys;          /* [keys_padded / PANEL][depth_scores][PANEL] */
	float *values;        /* [dim_padded / PANEL][depth_sums][PANEL] */
	float *query;         /* [BLOCK_ROWS][depth_scores] */
	float *scores;        /* [BLOCK_ROWS][keys_padded] */
	float *probabilities; /* [BLOCK_ROWS][ld_probabilities]: the scores' place, or behind */
	float *sums;          /* [BLOCK_ROWS][dim_padded] */
	float totals[BLOCK_ROWS];
};

INLINE int round_up(int n, int step)
{
	return (n + step - 1) / step * step;
}

INLINE void attention_plan(
        struct attention_plan *p, const struct attention *a, float *scratch, bool pairs)
{
	*p = (struct attention_plan){
		.a = a,
		.pairs = pairs,
		.keys_padded = round_up(a->n_keys, PANEL),
		.dim_padded = round_up(a->dim, PANEL),
		.depth_scores = pairs ? a->dim / 2 : a->dim,
		.depth_sums = pairs ? (a->n_keys + 1) / 2 : a->n_keys,
		.keys = scratch,
	};
	p->values = p->keys + (size_t)p->keys_padded * (size_t)p->depth_scores;
	p->query = p->values + (size_t)p->dim_padded * (size_t)p->depth_sums;
	p->sums = p->query + (size_t)BLOCK_ROWS * (size_t)p->depth_scores;
	p->scores = p->sums + (size_t)BLOCK_ROWS * (size_t)p->dim_padded;
	p->probabilities = p->scores;
	p->ld_probabilities = p->keys_padded;
	if (pairs) {
		p->probabilities += (size_t)BLOCK_ROWS * (size_t)p->keys_padded;
		p->ld_probabilities /= 2;
	}
}

/* n words of a row from word w on, the rest 0. */
INLINE vf load_words(const void *x, int ld, int row, int w, int n, enum dtype type, bool pairs)
{
	size_t at = (size_t)row * (size_t)ld;
	if (pairs)
		return vf_load_any((const float *)((const uint16_t *)x + at) + w, n);
	return load_typed(x, at + (size_t)w, n, type);
}

/* LANES keys times LANES words at a time. */
INLINE void pack_keys(const struct attention_plan *p, enum dtype type, bool pairs)
{
	const struct attention *a = p->a;
	for (int key = 0; key < p->keys_padded; key += LANES) {
		size_t panel = (size_t)(key / PANEL) * (size_t)p->depth_scores * PANEL;
		float *out = p->keys + panel + key % PANEL;
		for (int w = 0; w < p->depth_scores; w += LANES) {
			int n = p->depth_scores - w;
			vf t[LANES];
			for (int i = 0; i < LANES; i++)
				t[i] = key + i < a->n_keys
				               ? load_words(a->k, a->ld, key + i, w, n, type, pairs)
				               : vf_set(0);
			vf_transpose(t);
			for (int i = 0; i < LANES && i < n; i++)
				vf_store(out + (size_t)(w + i) * PANEL, t[i]);
		}
	}
}

/* The columns j to j + LANES of the values of one key, or of a pair of keys. */
INLINE vf value_words(const struct attention *a, int depth, int j, enum dtype type, bool pairs)
{
	int n = a->dim - j;
	if (n <= 0)
		return vf_set(0);
#ifdef KERNELS_PAIRS
	if (pairs) {
		const uint16_t *v =
		        (const uint16_t *)a->v + (size_t)(2 * depth) * (size_t)a->ld + j;
		vf second = vf_set(0);
		if (2 * depth + 1 < a->n_keys)
			second = vf_load_bf16_any(v + a->ld, n);
		return vf_pair_bf16(vf_load_bf16_any(v, n), second);
	}
#endif
	(void)pairs;
	return load_typed(a->v, (size_t)depth * (size_t)a->ld + (size_t)j, n, type);
}

INLINE void pack_values(const struct attention_plan *p, enum dtype type, bool pairs)
{
	float *out = p->values;
	for (int first = 0; first < p->dim_padded; first += PANEL)
		for (int depth = 0; depth < p->depth_sums; depth++, out += PANEL) {
			vf_store(out, value_words(p->a, depth, first, type, pairs));
			vf_store(out + LANES, value_words(p->a, depth, first + LANES, type, pairs));
		}
}

/* Rows beyond the last query are 0. */
INLINE void load_queries(
        const struct attention_plan *p, int first, int rows, enum dtype type, bool pairs)
{
	const struct attention *a = p->a;
	for (int i = 0; i < BLOCK_ROWS; i++)
		for (int w = 0; w < p->depth_scores; w += LANES) {
			int n = p->depth_scores - w;
			vf v = i < rows ? load_words(a->q, a->ld, first + i, w, n, type, pairs)
			                : vf_set(0);
			vf_store_any(p->query + i * p->depth_scores + w, v, n);
		}
}

INLINE vf multiply_add(vf a, vf b, vf sum, bool pairs)
{
#ifdef KERNELS_PAIRS
	if (pairs)
		return vf_dot_bf16(a, b, sum);
#endif
	(void)pairs;
	return vf_fma(a, b, sum);
}

/* out [BLOCK_ROWS][PANEL], its rows ld_out apart, = left [BLOCK_ROWS][depth] times a panel. */
INLINE void block_product(float *out, int ld_out, const float *left, int ld_left,
        const float *panel, int depth, bool pairs)
{
	vf sum[BLOCK_ROWS][2];
	for (int i = 0; i < BLOCK_ROWS; i++)
		sum[i][0] = sum[i][1] = vf_set(0);
	for (int k = 0; k < depth; k++, panel += PANEL) {
		vf b0 = vf_load(panel), b1 = vf_load(panel + LANES);
		for (int i = 0; i < BLOCK_ROWS; i++) {
			vf x = vf_set(left[i * ld_left + k]);
			sum[i][0] = multiply_add(x, b0, sum[i][0], pairs);
			sum[i][1] = multiply_add(x, b1, sum[i][1], pairs);
		}
	}
	for (int i = 0; i < BLOCK_ROWS; i++) {
		vf_store(out + i * ld_out, sum[i][0]);
		vf_store(out + i * ld_out + LANES, sum[i][1]);
	}
}

/*
 * The exponentials of one row of scores less its largest; returns their sum. Keys that only fill
 * the panel get minus infinity, whose exponential is as good as 0.
 */
INLINE float exponentials(const struct attention_plan *p, int i, bool pairs)
{
	float *scores = p->scores + i * p->keys_padded;
	float *out = p->probabilities + i * p->ld_probabilities;
	for (int j = p->a->n_keys; j < p->keys_padded; j++)
		scores[j] = -INFINITY;
	float factor = p->a->scale * 0x1.715476p+0f; /* log2 e */
	float shift = -row_top(scores, p->keys_padded) * factor;
	vf sum = vf_set(0);
	for (int j = 0; j < p->keys_padded; j += LANES) {
		vf x = vf_fma(vf_load(scores + j), vf_set(factor), vf_set(shift));
		x = vf_max(vf_set(-126), x);
		vf whole = vf_round(x);
		vf v = vf_exp2_parts(whole, x - whole);
		sum = sum + v;
		if (pairs)
			vf_store_bf16((uint16_t *)out + j, v);
		else
			vf_store(out + j, v);
	}
	return vf_sum(sum);
}

INLINE void store_sums(const struct attention_plan *p, int first, int rows, enum dtype type)
{
	const struct attention *a = p->a;
	for (int i = 0; i < rows; i++) {
		vf factor = vf_set(1 / p->totals[i]);
		for (int d = 0; d < a->dim; d += LANES) {
			int n = a->dim - d;
			size_t at = (size_t)(first + i) * (size_t)a->ld_out + (size_t)d;
			vf v = vf_load(p->sums + i * p->dim_padded + d) * factor;
			if (type == DTYPE_BF16)
				vf_store_bf16_any((uint16_t *)a->out + at, v, n);
			else
				vf_store_any((float *)a->out + at, v, n);
		}
	}
}

INLINE void attention_of(const struct attention *a, float *scratch, enum dtype type, bool pairs)
{
	struct attention_plan p;
	attention_plan(&p, a, scratch, pairs);
	pack_keys(&p, type, pairs);
	pack_values(&p, type, pairs);
	for (int first = 0; first < a->n_q; first += BLOCK_ROWS) {
		int rows = a->n_q - first < BLOCK_ROWS ? a->n_q - first : BLOCK_ROWS;
		load_queries(&p, first, rows, type, pairs);
		for (int j = 0; j < p.keys_padded; j += PANEL)
			block_product(p.scores + j, p.keys_padded, p.query, p.depth_scores,
			        p.keys + (size_t)j * (size_t)p.depth_scores, p.depth_scores, pairs);
		for (int i = 0; i < BLOCK_ROWS; i++)
			p.totals[i] = exponentials(&p, i, pairs);
		for (int j = 0; j < p.dim_padded; j += PANEL)
			block_product(p.sums + j, p.dim_padded, p.probabilities, p.ld_probabilities,
			        p.values + (size_t)j * (size_t)p.depth_sums, p.depth_sums, pairs);
		store_sums(&p, first, rows, type);
	}
}

static void attention(const struct attention *a, void *scratch)
{
	if (a->type == DTYPE_F32)
		attention_of(a, scratch, DTYPE_F32, false);
#ifdef KERNELS_PAIRS
	else if (a->dim % 2 == 0)
		attention_of(a, scratch, DTYPE_BF16, true);
#endif
	else
		attention_of(a, scratch, DTYPE_BF16, false);
}

#endif
