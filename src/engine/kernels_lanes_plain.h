/*
 * kernels_lanes_plain.h - one float at a time, in C alone. See kernels_lanes.h.
 */
#ifndef VENTURI_ENGINE_KERNELS_LANES_PLAIN_H
#define VENTURI_ENGINE_KERNELS_LANES_PLAIN_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 1, BLOCK_ROWS = 4 };

typedef float vf;
typedef int32_t vi;

static inline vi vf_bits(vf v)
{
	vi bits;
	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static inline vf vf_of_bits(vi bits)
{
	vf v;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

static inline vf vf_set(float x)
{
	return x;
}

static inline vf vf_load(const float *x)
{
	return *x;
}

static inline vf vf_load_n(const float *x, int n)
{
	return n ? *x : 0;
}

static inline void vf_store(float *x, vf v)
{
	*x = v;
}

static inline void vf_store_n(float *x, vf v, int n)
{
	if (n)
		*x = v;
}

static inline vf vf_load_bf16(const uint16_t *x)
{
	return vf_of_bits((vi)((uint32_t)*x << 16));
}

static inline vf vf_load_bf16_n(const uint16_t *x, int n)
{
	return n ? vf_load_bf16(x) : 0;
}

/* To nearest even; what is no number stays none, also when only low bits say so. */
static inline void vf_store_bf16(uint16_t *x, vf v)
{
	uint32_t bits = (uint32_t)vf_bits(v);
	*x = (uint16_t)(v != v ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline void vf_store_bf16_n(uint16_t *x, vf v, int n)
{
	if (n)
		vf_store_bf16(x, v);
}

/* Adding 1.5 * 2^23 leaves the nearest whole number in the low bits. */
static inline vi vi_nearest(vf v)
{
	return (vi)((uint32_t)vf_bits(v + 0x1.8p23f) - (uint32_t)vf_bits(0x1.8p23f));
}

/* The nearest whole numbers, from -128 to 127, plus 128. */
static inline void vf_store_u8_n(uint8_t *x, vf v, int n)
{
	if (n)
		*x = (uint8_t)(vi_nearest(v) + 128);
}

/* The same of four vectors, all of them. */
static inline void vf_store_u8_4(uint8_t *x, const vf v[4])
{
	for (int i = 0; i < 4; i++)
		vf_store_u8_n(x + i, v[i], 1);
}

static inline vi vi_set(int32_t x)
{
	return x;
}

static inline vi vi_load(const int32_t *x)
{
	return *x;
}

static inline vi vi_load_n(const int32_t *x, int n)
{
	return n ? *x : 0;
}

static inline vi vi_sub(vi a, vi b)
{
	return a - b;
}

static inline vi vi_max(vi a, vi b)
{
	return a > b ? a : b;
}

static inline int32_t vi_top(vi v)
{
	return v;
}

static inline vf vf_from_vi(vi v)
{
	return (vf)v;
}

/* The value at the low four bits of i. */
static inline vf vf_pick(const float table[16], vi i)
{
	return table[i & 15];
}

/* |v| as whole numbers that order as the floats do, with what is no number above all. */
static inline vi vf_abs_bits(vf v)
{
	return vf_bits(v) & 0x7fffffff;
}

static inline vf vf_fma(vf a, vf b, vf c)
{
	return a * b + c;
}

static inline vf vf_max(vf a, vf b)
{
	return a > b ? a : b;
}

static inline vf vf_min(vf a, vf b)
{
	return a < b ? a : b;
}

static inline vf vf_abs(vf v)
{
	return vf_of_bits(vf_abs_bits(v));
}

static inline vf vf_round(vf v)
{
	return (v + 0x1.8p23f) - 0x1.8p23f;
}

/* v * 2^n, n a whole number from -126 to 128; infinite at 128. */
static inline vf vf_scale2(vf v, vf n)
{
	return v * vf_of_bits((vi)((uint32_t)(vi_nearest(n) + 127) << 23));
}

/* v where a < limit, else 0. */
static inline vf vf_where_below(vf a, vf limit, vf v)
{
	return a < limit ? v : 0;
}

static inline float vf_sum(vf v)
{
	return v;
}

static inline float vf_top(vf v)
{
	return v;
}

/* r[i] of lane j becomes r[j] of lane i. */
static inline void vf_transpose(vf r[LANES])
{
	(void)r;
}

#endif
