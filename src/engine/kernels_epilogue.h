/*
 * kernels_epilogue.h - from the sums of a product to the input of the next operator.
 *
 * Follows every tile of every product, so it must not read more than it has to: what belongs to a
 * column is loaded once for EPILOGUE_ROWS rows.
 */
#ifndef VENTURI_ENGINE_KERNELS_EPILOGUE_H
#define VENTURI_ENGINE_KERNELS_EPILOGUE_H

#include "engine/kernels_math.h"

#include <stdbool.h>

enum { EPILOGUE_ROWS = 4 };

/* Some rows of a tile: as many as the call that inlines this says. */
struct epilogue_block {
	const struct epilogue *e;
	const char *acc;
	char *out;
	size_t acc_step, out_step; /* bytes from one row to the next */
	const float *row_scale;
	int cols;
};

/* The columns from j on, n of them at most. */
INLINE void epilogue_columns(const struct epilogue_block *b, int j, int n, int rows,
        enum dtype out_type, bool integer, enum activation activation)
{
	const struct epilogue *e = b->e;
	vf bias = e->bias ? vf_load_any(e->bias + j, n) : vf_set(0);
	vf scale = integer ? vf_load_any(e->col_scale + j, n) : vf_set(1);
	vi offset = integer ? vi_load_any(e->col_offset + j, n) : vi_set(0);
	for (int i = 0; i < rows; i++) {
		const char *acc = b->acc + (size_t)i * b->acc_step;
		char *out = b->out + (size_t)i * b->out_step;
		vf v;
		if (integer) {
			vi sum = vi_sub(
			        vi_load_any((const int32_t *)(const void *)acc + j, n), offset);
			v = vf_fma(vf_from_vi(sum), scale * vf_set(b->row_scale[i]), bias);
		} else {
			v = vf_load_any((const float *)(const void *)acc + j, n) + bias;
		}
		v = vf_activate(v, activation);
		if (out_type == DTYPE_BF16)
			vf_store_bf16_any((uint16_t *)(void *)out + j, v, n);
		else
			vf_store_any((float *)(void *)out + j, v, n);
	}
}

/* What whole vectors of EPILOGUE_ROWS rows leave over: the last columns, and the last rows. */
INLINE void epilogue_edges(const struct epilogue_block *b, int rows, enum activation activation)
{
	struct epilogue_block row = *b;
	bool integer = b->e->row_scale != NULL;
	for (int i = 0; i < rows; i++) {
		int whole = i < rows - rows % EPILOGUE_ROWS ? b->cols - b->cols % LANES : 0;
		for (int j = whole; j < b->cols; j += LANES)
			epilogue_columns(
			        &row, j, b->cols - j, 1, b->e->out_type, integer, activation);
		row.acc += row.acc_step;
		row.out += row.out_step;
		row.row_scale += integer;
	}
}

INLINE void epilogue_tile(struct epilogue_block b, int rows, enum dtype out_type, bool integer,
        enum activation activation)
{
	for (; rows >= EPILOGUE_ROWS; rows -= EPILOGUE_ROWS) {
		for (int j = 0; j + LANES <= b.cols; j += LANES)
			epilogue_columns(
			        &b, j, LANES, EPILOGUE_ROWS, out_type, integer, activation);
		b.acc += EPILOGUE_ROWS * b.acc_step;
		b.out += EPILOGUE_ROWS * b.out_step;
		b.row_scale += integer ? EPILOGUE_ROWS : 0;
	}
}

/* Functions of their own, so that each has one loop in which all that can be known is. */
#define EPILOGUES(activation)                                                                      \
	static void epilogue_##activation(const struct epilogue_block *b, int rows)                \
	{                                                                                          \
		bool low = b->e->out_type == DTYPE_BF16, integer = b->e->row_scale != NULL;        \
		if (low && integer)                                                                \
			epilogue_tile(*b, rows, DTYPE_BF16, true, ACTIVATION_##activation);        \
		else if (low)                                                                      \
			epilogue_tile(*b, rows, DTYPE_BF16, false, ACTIVATION_##activation);       \
		else if (integer)                                                                  \
			epilogue_tile(*b, rows, DTYPE_F32, true, ACTIVATION_##activation);         \
		else                                                                               \
			epilogue_tile(*b, rows, DTYPE_F32, false, ACTIVATION_##activation);        \
		epilogue_edges(b, rows, ACTIVATION_##activation);                                  \
	}
EPILOGUES(NONE)
EPILOGUES(GELU)
EPILOGUES(GELU_TANH)
EPILOGUES(RELU)
EPILOGUES(TANH)
EPILOGUES(SILU)
#undef EPILOGUES

static void epilogue(const struct epilogue *e, const void *acc, int ld_acc, void *out, int ld_out,
        int rows, int cols)
{
	static void (*const by_activation[])(const struct epilogue_block *b, int rows) = {
		[ACTIVATION_NONE] = epilogue_NONE,
		[ACTIVATION_GELU] = epilogue_GELU,
		[ACTIVATION_GELU_TANH] = epilogue_GELU_TANH,
		[ACTIVATION_RELU] = epilogue_RELU,
		[ACTIVATION_TANH] = epilogue_TANH,
		[ACTIVATION_SILU] = epilogue_SILU,
	};
	const struct epilogue_block b = {
		.e = e,
		.acc = acc,
		.out = out,
		.acc_step = (size_t)ld_acc * sizeof(int32_t),
		.out_step = (size_t)ld_out * dtype_bytes(e->out_type),
		.row_scale = e->row_scale,
		.cols = cols,
	};
	by_activation[e->activation](&b, rows);
}

static void activate(float *x, size_t n, enum activation activation)
{
	struct epilogue e = { .activation = activation, .out_type = DTYPE_F32 };
	enum { PIECE = 1 << 20 };
	for (size_t i = 0; i < n; i += PIECE) {
		int cols = n - i < PIECE ? (int)(n - i) : PIECE;
		epilogue(&e, x + i, cols, x + i, cols, 1, cols);
	}
}

#endif
