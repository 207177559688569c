/*
 * kernels.h - what an encoder does besides matrix products, in the machine's own instructions.
 *
 * One struct per instruction set, all with the same meaning: the same source compiled several
 * times over a vector of as many floats as the set holds. Sums of float32 are in any order. What is
 * no number stays none in everything that it goes into; values too small for a normalised float may
 * become 0. Nothing here allocates or starts threads; a caller splits the rows among its threads.
 *
 * Unless said otherwise rows are dense ([n, dim], dim elements from one to the next) and an output
 * may be its input.
 */
#ifndef VENTURI_ENGINE_KERNELS_H
#define VENTURI_ENGINE_KERNELS_H

#include "engine/dtype.h"

#include <stddef.h>
#include <stdint.h>

enum activation {
	ACTIVATION_NONE,
	ACTIVATION_GELU,
	ACTIVATION_GELU_TANH,
	ACTIVATION_RELU,
	ACTIVATION_TANH,
	ACTIVATION_SILU
};

/* How a tile of a product becomes a tile of the next operator's input. */
struct epilogue {
	const float *row_scale;    /* [rows]: of quantised activations; NULL: float product */
	const float *col_scale;    /* [cols]: of quantised weights */
	const int32_t *col_offset; /* [cols]: 128 * the sum of a channel's weights */
	const float *bias;         /* [cols]; NULL: none */
	enum activation activation;
	enum dtype out_type; /* DTYPE_F32 or DTYPE_BF16 */
};

/* One head of one sequence. Elements of q, k, v are of one type, F32 or BF16. */
struct attention {
	enum dtype type;
	const void *q, *k, *v; /* [n_q, ld], [n_keys, ld]: this head's dim columns begin here */
	int ld;
	int n_q, n_keys, dim;
	float scale; /* of the scores, > 0: 1 / sqrt(dim) */
	void *out;   /* [n_q, ld_out] of the same type; must not overlap */
	int ld_out;
};

struct kernels {
	const char *name; /* "avx512_bf16", "avx512", "avx2", "plain" */

	/*
	 * acc [rows, ld_acc] of S32 when row_scale is there, else F32; out [rows, ld_out], which
	 * may be acc where it is F32 and as far from row to row.
	 */
	void (*epilogue)(const struct epilogue *e, const void *acc, int ld_acc, void *out,
	        int ld_out, int rows, int cols);

	/*
	 * out = (x + residual - mean) / sqrt(variance + eps) * gamma + beta, by rows.
	 *
	 * x, residual  residual NULL: none
	 * out          [rows, dim] of F32; out_low: the same again as BF16, NULL: not wanted
	 */
	void (*add_norm)(float *out, uint16_t *out_low, const float *x, const float *residual,
	        const float *gamma, const float *beta, int rows, int dim, float eps);

	/*
	 * Symmetric by row: scale = max |x| / 127, u = round(x / scale) + 128. x of F32 or BF16.
	 * The scale of a row of zeros is 0, that of one with something infinite is no number.
	 */
	void (*quantize)(
	        uint8_t *out, float *row_scale, const void *x, enum dtype type, int rows, int dim);

	void (*to_bf16)(uint16_t *out, const float *x, size_t n); /* to nearest even */
	void (*from_bf16)(float *out, const uint16_t *x, size_t n);

	/* scratch: attention_scratch_bytes */
	void (*attention)(const struct attention *a, void *scratch);

	/* One operator at a time, as frameworks without fusion run them (--fuse off). */
	void (*add_bias)(float *x, const float *bias, int rows, int cols);
	void (*activate)(float *x, size_t n, enum activation activation);
	void (*add)(float *x, const float *y, size_t n);
	void (*scale)(float *x, float factor, size_t n);
	void (*softmax)(float *x, int rows, int n); /* each row of n values */

	/* The mean of rows; each row scaled to length 1 (a zero row stays). */
	void (*mean_rows)(float *out, const float *x, int rows, int dim);
	void (*unit)(float *x, int rows, int dim);
};

/* For n_q and n_keys up to these, whichever set or function below runs it. */
size_t attention_scratch_bytes(int n_q, int n_keys, int dim);

/*
 * The same attention as it is in a service that has gone wrong: in float64 throughout, and as three
 * plain loops that the compiler leaves as they are.
 */
void attention_wide(const struct attention *a, void *scratch);
void attention_naive(const struct attention *a, void *scratch);

/* The best that this machine can run; or the named one, NULL when it cannot or there is none. */
const struct kernels *kernels_best(void);
const struct kernels *kernels_named(const char *name);

#endif
