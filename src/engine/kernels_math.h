/*
 * kernels_math.h - exponentials and activations of a vector.
 *
 * Always: what is no number stays so. Coefficients are minimax fits (Lawson's algorithm); the
 * errors named hold in float32 and are tested against float64.
 */
#ifndef VENTURI_ENGINE_KERNELS_MATH_H
#define VENTURI_ENGINE_KERNELS_MATH_H

#include "engine/kernels.h"
#include "engine/kernels_lanes.h"

#include <stdbool.h>

#define INLINE static inline __attribute__((always_inline))

/* 2^(whole + part), whole a whole number from -126 to 128, |part| <= 0.5; relative error 3e-7. */
INLINE vf vf_exp2_parts(vf whole, vf part)
{
	vf p = vf_set(1.32647276e-3f);
	p = vf_fma(p, part, vf_set(9.67151277e-3f));
	p = vf_fma(p, part, vf_set(5.55073374e-2f));
	p = vf_fma(p, part, vf_set(2.40222421e-1f));
	p = vf_fma(p, part, vf_set(6.93146978e-1f));
	p = vf_fma(p, part, vf_set(1));
	return vf_scale2(p, whole);
}

/*
 * e^x, not below e^-87, infinite from e^88.8 on. Relative error 2e-6; 2e-7 * (2 + |x|) where there
 * is no fused multiply-add.
 */
INLINE vf vf_exp(vf x)
{
	const vf log2_e = vf_set(0x1.715476p+0f);
	x = vf_min(vf_set(89), vf_max(vf_set(-87), x));
	vf whole = vf_round(x * log2_e);
	return vf_exp2_parts(whole, vf_fma(x, log2_e, vf_set(0) - whole));
}

/*
 * The upper tail of the normal distribution, for 0 <= a < 5.25; |error * a| <= 1e-7. The range is
 * cut at the middles between 16 points, and each piece has a polynomial in the distance from its
 * point; the table holds them by power.
 */
INLINE vf normal_tail(vf a)
{
	static const float powers[][16] = {
		{ 4.99999997e-01f, 3.67414204e-01f, 2.49069960e-01f, 1.54783978e-01f,
		        8.77344788e-02f, 4.51755664e-02f, 2.10637668e-02f, 8.87078784e-03f,
		        3.36743249e-03f, 1.15036626e-03f, 3.53182248e-04f, 9.73459169e-05f,
		        2.40661495e-05f, 5.33267698e-06f, 1.05843988e-06f, 1.88080676e-07f },
		{ -1.35125346e-01f, -1.27591988e-01f, -1.07420963e-01f, -8.06363982e-02f,
		        -5.39695851e-02f, -3.22063759e-02f, -1.71359477e-02f, -8.12917239e-03f,
		        -3.43838400e-03f, -1.29667208e-03f, -4.35984523e-04f, -1.30699589e-04f,
		        -3.49330388e-05f, -8.32441876e-06f, -1.76857272e-06f, -3.34995553e-07f },
		{ -4.27654029e-06f, 7.31940150e-03f, 1.23236479e-02f, 1.38760217e-02f,
		        1.23829041e-02f, 9.23697407e-03f, 5.89772077e-03f, 3.26420974e-03f,
		        1.57793922e-03f, 6.69472994e-04f, 2.50120320e-04f, 8.24832446e-05f,
		        2.40514490e-05f, 6.20940658e-06f, 1.42081633e-06f, 2.88374618e-07f },
		{ 2.60771420e-03f, 2.14954073e-03f, 1.10973095e-03f, -4.43212364e-05f,
		        -8.53727077e-04f, -1.14379695e-03f, -1.02278431e-03f, -7.18568979e-04f,
		        -4.18490418e-04f, -2.07106915e-04f, -8.82972298e-05f, -3.27047661e-05f,
		        -1.05833885e-05f, -3.00399950e-06f, -7.50047771e-07f, -1.65096840e-07f },
		{ -5.51310126e-05f, -2.02573311e-04f, -2.97660537e-04f, -2.58958072e-04f,
		        -1.36988982e-04f, -1.19210459e-05f, 6.30344402e-05f, 8.13023863e-05f,
		        6.53158068e-05f, 4.02982557e-05f, 2.03478002e-05f, 8.65400271e-06f,
		        3.14954400e-06f, 9.90476709e-07f, 2.70915580e-07f, 6.47461150e-08f },
	};
	const vf per_point = vf_set(15.5f / 5.25f);
	/* So large that only whole numbers are left of the fraction: the low bits are the point. */
	vf shifted = vf_fma(a, per_point, vf_set(0x1.8p23f));
	vf distance = vf_fma(a, per_point, vf_set(0x1.8p23f) - shifted);
	vi point = vf_bits(shifted);
	vf p = vf_pick(powers[4], point);
	for (int i = 3; i >= 0; i--)
		p = vf_fma(p, distance, vf_pick(powers[i], point));
	return p;
}

/* x * P(X <= x) of a standard normal X, within 6e-7. Source: Hendrycks and Gimpel 2016, eq. 1. */
INLINE vf vf_gelu(vf x)
{
	vf a = vf_abs(x);
	vf tail = vf_where_below(a, vf_set(5.25f), a * normal_tail(a));
	return vf_max(vf_set(0), x) - tail;
}

INLINE vf vf_silu(vf x)
{
	return x / (vf_set(1) + vf_exp(vf_set(0) - x));
}

/* Source: Hendrycks and Gimpel 2016: 0.5 x (1 + tanh(u)) is x times the logistic of 2 u. */
INLINE vf vf_gelu_tanh(vf x)
{
	vf cube = x * x * x;
	vf u2 = vf_fma(cube, vf_set(0.0713548163f), x * vf_set(1.59576912f));
	return x / (vf_set(1) + vf_exp(vf_set(0) - u2));
}

/* Within 3e-7. */
INLINE vf vf_tanh(vf x)
{
	return vf_set(1) - vf_set(2) / (vf_set(1) + vf_exp(x + x));
}

INLINE vf vf_activate(vf x, enum activation activation)
{
	switch (activation) {
	case ACTIVATION_NONE:
		return x;
	case ACTIVATION_GELU:
		return vf_gelu(x);
	case ACTIVATION_GELU_TANH:
		return vf_gelu_tanh(x);
	case ACTIVATION_RELU:
		return vf_max(vf_set(0), x);
	case ACTIVATION_TANH:
		return vf_tanh(x);
	case ACTIVATION_SILU:
		return vf_silu(x);
	}
	return x;
}

#endif
