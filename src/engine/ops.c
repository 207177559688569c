#include "engine/ops.h"

#include <math.h>
#include <stddef.h>

/*
 * Sums may be taken in any order: that lets the compiler keep one partial sum in each lane of a
 * vector register, without -ffast-math for all the rest.
 */
float ops_dot(const float *a, const float *b, int n)
{
	float sum = 0;
#pragma omp simd reduction(+ : sum)
	for (int i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Four rows of w at a time: x is loaded once for all four, and their sums do not wait for another.
 */
static void dot4(float *restrict out, const float *restrict x, const float *restrict w, int n_in)
{
	const float *w1 = w + n_in, *w2 = w1 + n_in, *w3 = w2 + n_in;
	float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
	for (int i = 0; i < n_in; i++) {
		s0 += w[i] * x[i];
		s1 += w1[i] * x[i];
		s2 += w2[i] * x[i];
		s3 += w3[i] * x[i];
	}
	out[0] = s0;
	out[1] = s1;
	out[2] = s2;
	out[3] = s3;
}

void ops_matmul(float *out, const float *x, const float *w, int n, int n_in, int n_out)
{
	size_t in = (size_t)n_in, rows = (size_t)n_out, row = 0;
	for (; row + 4 <= rows; row += 4)
		for (size_t i = 0; i < (size_t)n; i++)
			dot4(out + i * rows + row, x + i * in, w + row * in, n_in);
	for (; row < rows; row++)
		for (size_t i = 0; i < (size_t)n; i++)
			out[i * rows + row] = ops_dot(x + i * in, w + row * in, n_in);
}

void ops_rmsnorm(float *out, const float *x, const float *weight, int n, int dim, float eps)
{
	for (int i = 0; i < n; i++, x += dim, out += dim) {
		float scale = 1.0f / sqrtf(ops_dot(x, x, dim) / (float)dim + eps);
		for (int j = 0; j < dim; j++)
			out[j] = x[j] * scale * weight[j];
	}
}

void ops_rope(float *x, const float *cos, const float *sin, int n_heads, int head_dim, int n_rot)
{
	for (int head = 0; head < n_heads; head++, x += head_dim) {
		for (int i = 0; i < n_rot / 2; i++) {
			float a = x[2 * i], b = x[2 * i + 1];
			x[2 * i] = a * cos[i] - b * sin[i];
			x[2 * i + 1] = a * sin[i] + b * cos[i];
		}
	}
}

void ops_softmax(float *x, int n)
{
	float max = x[0], sum = 0;
	for (int i = 1; i < n; i++)
		max = x[i] > max ? x[i] : max;
	for (int i = 0; i < n; i++) {
		x[i] = expf(x[i] - max);
		sum += x[i];
	}
	for (int i = 0; i < n; i++)
		x[i] /= sum;
}

void ops_swiglu(float *gate, const float *up, int n)
{
	for (int i = 0; i < n; i++)
		gate[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
}

void ops_add(float *x, const float *y, int n)
{
	for (int i = 0; i < n; i++)
		x[i] += y[i];
}

void ops_add_scaled(float *x, const float *y, float factor, int n)
{
	for (int i = 0; i < n; i++)
		x[i] += factor * y[i];
}
