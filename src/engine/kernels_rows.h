/*
 * kernels_rows.h - kernels that go through rows once or twice: norms, conversions, sums.
 */
#ifndef VENTURI_ENGINE_KERNELS_ROWS_H
#define VENTURI_ENGINE_KERNELS_ROWS_H

#include "engine/kernels_math.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Partial sums that do not wait for one another. */
enum { SUMS = 4 };

INLINE vf add_residual(float *out, const float *x, const float *residual, int n)
{
	vf v = vf_load_any(x, n);
	if (residual)
		v = v + vf_load_any(residual, n);
	vf_store_any(out, v, n);
	return v;
}

/* out = x + residual; returns its mean. */
INLINE float add_rows(float *out, const float *x, const float *residual, int dim)
{
	vf sum[SUMS] = { vf_set(0), vf_set(0), vf_set(0), vf_set(0) };
	int j = 0;
	for (; j + SUMS * LANES <= dim; j += SUMS * LANES)
		for (int i = 0; i < SUMS; i++) {
			int at = j + i * LANES;
			const float *more = residual ? residual + at : NULL;
			sum[i] = sum[i] + add_residual(out + at, x + at, more, LANES);
		}
	for (; j < dim; j += LANES) {
		const float *more = residual ? residual + j : NULL;
		sum[0] = sum[0] + add_residual(out + j, x + j, more, dim - j);
	}
	return vf_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) / (float)dim;
}

/* The mean square of x - mean. */
INLINE float variance(const float *x, float mean, int dim)
{
	vf sum[SUMS] = { vf_set(0), vf_set(0), vf_set(0), vf_set(0) };
	int j = 0;
	for (; j + SUMS * LANES <= dim; j += SUMS * LANES)
		for (int i = 0; i < SUMS; i++) {
			vf v = vf_load(x + j + i * LANES) - vf_set(mean);
			sum[i] = vf_fma(v, v, sum[i]);
		}
	float rest = 0;
	for (; j < dim; j++)
		rest += (x[j] - mean) * (x[j] - mean);
	return (vf_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest) / (float)dim;
}

/*
 * In two passes over the sums: the squares of one pass would cancel where a row's mean is large
 * against its deviation, as it is in the layers of real models. A row stays in the first cache.
 */
static void add_norm(float *out, uint16_t *out_low, const float *x, const float *residual,
        const float *gamma, const float *beta, int rows, int dim, float eps)
{
	for (int i = 0; i < rows; i++) {
		size_t row = (size_t)i * (size_t)dim;
		float *o = out + row;
		float mean = add_rows(o, x + row, residual ? residual + row : NULL, dim);
		float scale = 1 / sqrtf(variance(o, mean, dim) + eps);
		for (int j = 0; j < dim; j += LANES) {
			int n = dim - j;
			vf v = (vf_load_any(o + j, n) - vf_set(mean)) * vf_set(scale);
			v = vf_fma(v, vf_load_any(gamma + j, n), vf_load_any(beta + j, n));
			vf_store_any(o + j, v, n);
			if (out_low)
				vf_store_bf16_any(out_low + row + j, v, n);
		}
	}
}

INLINE vf load_typed(const void *x, size_t j, int n, enum dtype type)
{
	return type == DTYPE_BF16 ? vf_load_bf16_any((const uint16_t *)x + j, n)
	                          : vf_load_any((const float *)x + j, n);
}

/*
 * Rows whose largest value is below this are taken as 0: 127 / it would be infinite. A row in which
 * something is infinite or no number has no scale: so all that it is used in is no number either.
 */
#define QUANTIZE_MIN 1e-36f

INLINE void quantize_row(uint8_t *out, float *scale, const void *x, enum dtype type, int dim)
{
	vi top_bits = vi_set(0);
	for (int j = 0; j < dim; j += LANES)
		top_bits = vi_max(top_bits, vf_abs_bits(load_typed(x, (size_t)j, dim - j, type)));
	int32_t bits = vi_top(top_bits);
	float top;
	memcpy(&top, &bits, sizeof(top));

	bool usable = top >= QUANTIZE_MIN && top < INFINITY;
	*scale = usable ? top / 127 : top < QUANTIZE_MIN ? 0 : NAN;
	vf factor = vf_set(usable ? 127 / top : 0);
	int j = 0;
	for (; j + 4 * LANES <= dim; j += 4 * LANES) {
		vf v[4];
		for (int i = 0; i < 4; i++)
			v[i] = load_typed(x, (size_t)(j + i * LANES), LANES, type) * factor;
		vf_store_u8_4(out + j, v);
	}
	for (; j < dim; j += LANES) {
		vf v = load_typed(x, (size_t)j, dim - j, type) * factor;
		vf_store_u8_n(out + j, v, dim - j < LANES ? dim - j : LANES);
	}
}

static void quantize(
        uint8_t *out, float *row_scale, const void *x, enum dtype type, int rows, int dim)
{
	for (int i = 0; i < rows; i++, out += dim) {
		size_t row = (size_t)i * (size_t)dim;
		if (type == DTYPE_BF16)
			quantize_row(
			        out, &row_scale[i], (const uint16_t *)x + row, DTYPE_BF16, dim);
		else
			quantize_row(out, &row_scale[i], (const float *)x + row, DTYPE_F32, dim);
	}
}

/* How many of n - i values a vector takes. */
INLINE int at_most_lanes(size_t left)
{
	return left < LANES ? (int)left : LANES;
}

static void to_bf16(uint16_t *out, const float *x, size_t n)
{
	for (size_t i = 0; i < n; i += LANES) {
		int lanes = at_most_lanes(n - i);
		vf_store_bf16_any(out + i, vf_load_any(x + i, lanes), lanes);
	}
}

static void from_bf16(float *out, const uint16_t *x, size_t n)
{
	for (size_t i = 0; i < n; i += LANES) {
		int lanes = at_most_lanes(n - i);
		vf_store_any(out + i, vf_load_bf16_any(x + i, lanes), lanes);
	}
}

static void add(float *x, const float *y, size_t n)
{
	for (size_t i = 0; i < n; i += LANES) {
		int lanes = at_most_lanes(n - i);
		vf_store_any(x + i, vf_load_any(x + i, lanes) + vf_load_any(y + i, lanes), lanes);
	}
}

static void add_bias(float *x, const float *bias, int rows, int cols)
{
	for (int i = 0; i < rows; i++, x += cols)
		add(x, bias, (size_t)cols);
}

static void scale(float *x, float factor, size_t n)
{
	for (size_t i = 0; i < n; i += LANES) {
		int lanes = at_most_lanes(n - i);
		vf_store_any(x + i, vf_load_any(x + i, lanes) * vf_set(factor), lanes);
	}
}

INLINE float row_top(const float *x, int n)
{
	vf top = vf_set(-INFINITY);
	int j = 0;
	for (; j + LANES <= n; j += LANES)
		top = vf_max(vf_load(x + j), top);
	float rest = vf_top(top);
	for (; j < n; j++)
		rest = x[j] > rest ? x[j] : rest;
	return rest;
}

static void softmax(float *x, int rows, int n)
{
	for (int i = 0; i < rows; i++, x += n) {
		vf top = vf_set(row_top(x, n)), sum = vf_set(0);
		int j = 0;
		for (; j + LANES <= n; j += LANES) {
			vf v = vf_exp(vf_load(x + j) - top);
			vf_store(x + j, v);
			sum = sum + v;
		}
		float total = vf_sum(sum);
		if (j < n) {
			vf_store_n(x + j, vf_exp(vf_load_n(x + j, n - j) - top), n - j);
			total += vf_sum(vf_load_n(x + j, n - j));
		}
		scale(x, 1 / total, (size_t)n);
	}
}

static void mean_rows(float *out, const float *x, int rows, int dim)
{
	vf factor = vf_set(1 / (float)rows);
	for (int j = 0; j < dim; j += LANES) {
		vf sum = vf_set(0);
		for (int i = 0; i < rows; i++)
			sum = sum + vf_load_any(x + (size_t)i * (size_t)dim + j, dim - j);
		vf_store_any(out + j, sum * factor, dim - j);
	}
}

/* In float64, in which no square of a float32 is too large or too small. */
static void unit(float *x, int rows, int dim)
{
	for (int i = 0; i < rows; i++, x += dim) {
		double squares = 0;
		for (int j = 0; j < dim; j++)
			squares += (double)x[j] * x[j];
		double factor = squares > 0 || squares != squares ? 1 / sqrt(squares) : 0;
		for (int j = 0; j < dim; j++)
			x[j] = (float)(x[j] * factor);
	}
}

#endif
