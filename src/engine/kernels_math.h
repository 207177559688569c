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
 * The upper tail of the normal distribution, for 0 <= a < 5.25; |error * a| <= 3e-7. In steps of
 * s = 2 a / 5.25 - 1, where a polynomial of this degree loses nothing to cancellation.
 */
INLINE vf normal_tail(vf a)
{
	static const float c[] = { 5.78738243e-3f, 1.73365438e-2f, -3.74436454e-2f, -1.65119771e-2f,
		9.84121532e-2f, -6.33567742e-2f, -9.55746864e-2f, 1.96753603e-1f, -9.77060465e-2f,
		-1.20997397e-1f, 2.57116911e-1f, -2.25942529e-1f, 1.15075424e-1f, -3.34012592e-2f,
		4.33245895e-3f };
	vf s = vf_fma(a, vf_set(2 / 5.25f), vf_set(-1));
	vf p = vf_set(-3.88009524e-3f);
	for (int i = 0; i < (int)(sizeof(c) / sizeof(c[0])); i++)
		p = vf_fma(p, s, vf_set(c[i]));
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
