/*
 * kernels_epilogue.h - from the sums of a product to the input of the next operator.
 */
#ifndef VENTURI_ENGINE_KERNELS_EPILOGUE_H
#define VENTURI_ENGINE_KERNELS_EPILOGUE_H

#include "engine/kernels_math.h"

/* The n values of a row from column j on, before the activation. */
INLINE vf epilogue_value(
        const struct epilogue *e, const void *acc, float row_scale, int j, int n, bool integer)
{
	vf bias = e->bias ? vf_load_any(e->bias + j, n) : vf_set(0);
	if (!integer)
		return vf_load_any((const float *)acc + j, n) + bias;
	vi sum = vi_load_any((const int32_t *)acc + j, n);
	vi offset = vi_load_any(e->col_offset + j, n);
	vf scale = vf_load_any(e->col_scale + j, n) * vf_set(row_scale);
	return vf_fma(vf_from_vi(vi_sub(sum, offset)), scale, bias);
}

INLINE void epilogue_row(const struct epilogue *e, const void *acc, float row_scale, void *out,
        int cols, bool integer, enum activation activation)
{
	for (int j = 0; j < cols; j += LANES) {
		int n = cols - j;
		vf v = epilogue_value(e, acc, row_scale, j, n, integer);
		v = vf_activate(v, activation);
		if (e->out_type == DTYPE_BF16)
			vf_store_bf16_any((uint16_t *)out + j, v, n);
		else
			vf_store_any((float *)out + j, v, n);
	}
}

INLINE void epilogue_rows(const struct epilogue *e, const char *acc, int ld_acc, char *out,
        int ld_out, int rows, int cols, enum activation activation)
{
	size_t acc_step = (size_t)ld_acc * sizeof(int32_t);
	size_t out_step = (size_t)ld_out * dtype_bytes(e->out_type);
	for (int i = 0; i < rows; i++, acc += acc_step, out += out_step) {
		if (e->row_scale)
			epilogue_row(e, acc, e->row_scale[i], out, cols, true, activation);
		else
			epilogue_row(e, acc, 1, out, cols, false, activation);
	}
}

static void epilogue(const struct epilogue *e, const void *acc, int ld_acc, void *out, int ld_out,
        int rows, int cols)
{
	switch (e->activation) {
#define CASE(activation)                                                                           \
	case activation:                                                                           \
		epilogue_rows(e, acc, ld_acc, out, ld_out, rows, cols, activation);                \
		break
		CASE(ACTIVATION_NONE);
		CASE(ACTIVATION_GELU);
		CASE(ACTIVATION_GELU_TANH);
		CASE(ACTIVATION_RELU);
		CASE(ACTIVATION_TANH);
		CASE(ACTIVATION_SILU);
#undef CASE
	}
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
