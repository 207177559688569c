/*
 * kernels_lanes.h - a vector of as many floats as the instruction set holds, for one source of all.
 *
 * Which one is chosen by the compiler's flags of the file that includes it. Besides the functions
 * here, vf has the operators + - * / of C. The _n forms touch n elements only, 0 <= n <= LANES: the
 * rest is read as 0 and not written.
 *
 * Where one of two numbers is no number, vf_max and vf_min give the second.
 */
#ifndef VENTURI_ENGINE_KERNELS_LANES_H
#define VENTURI_ENGINE_KERNELS_LANES_H

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#include "engine/kernels_lanes_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "engine/kernels_lanes_avx2.h"
#else
#include "engine/kernels_lanes_plain.h"
#endif

static inline vf vf_load_any(const float *x, int n)
{
	return n >= LANES ? vf_load(x) : vf_load_n(x, n);
}

static inline void vf_store_any(float *x, vf v, int n)
{
	if (n >= LANES)
		vf_store(x, v);
	else
		vf_store_n(x, v, n);
}

static inline vf vf_load_bf16_any(const uint16_t *x, int n)
{
	return n >= LANES ? vf_load_bf16(x) : vf_load_bf16_n(x, n);
}

static inline void vf_store_bf16_any(uint16_t *x, vf v, int n)
{
	if (n >= LANES)
		vf_store_bf16(x, v);
	else
		vf_store_bf16_n(x, v, n);
}

static inline vi vi_load_any(const int32_t *x, int n)
{
	return n >= LANES ? vi_load(x) : vi_load_n(x, n);
}

#endif
