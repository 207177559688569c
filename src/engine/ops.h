/*
 * ops.h - the float32 operators of a decoder. Matrices are row-major, the slowest index first.
 */
#ifndef VENTURI_ENGINE_OPS_H
#define VENTURI_ENGINE_OPS_H

/*
 * out = x times the transposed w.
 *
 * x        [n, n_in]
 * w        [n_out, n_in], read once
 * out      [n, n_out], must not overlap the others
 * cost     2 * n * n_in * n_out flop
 */
void ops_matmul(float *out, const float *x, const float *w, int n, int n_in, int n_out);

/*
 * Each row divided by its root mean square, times weight.
 *
 * x, out   [n, dim]; out may be x
 * weight   [dim]
 * source   Zhang and Sennrich 2019, eq. 4
 */
void ops_rmsnorm(float *out, const float *x, const float *weight, int n, int dim, float eps);

/*
 * Turns the first n_rot values of each head in pairs that stand side by side, as GGUF orders them.
 *
 * x          [n_heads, head_dim], in place
 * cos, sin   [n_rot / 2], of the angles at this position
 * source     Su 2021, RoFormer, eq. 34
 */
void ops_rope(float *x, const float *cos, const float *sin, int n_heads, int head_dim, int n_rot);

/* The exponentials of n values, at least 1, divided by their sum; in place. */
void ops_softmax(float *x, int n);

/* gate = silu(gate) * up, n values. Source: Shazeer 2020, "GLU Variants", eq. 5 */
void ops_swiglu(float *gate, const float *up, int n);

/* x += y, n values. */
void ops_add(float *x, const float *y, int n);

/* The inner product of n values. */
float ops_dot(const float *a, const float *b, int n);

/* x += factor * y, n values. */
void ops_add_scaled(float *x, const float *y, float factor, int n);

#endif
