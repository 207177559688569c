/*
 * kernels_lanes_avx512.h - sixteen floats. See kernels_lanes.h.
 */
#ifndef VENTURI_ENGINE_KERNELS_LANES_AVX512_H
#define VENTURI_ENGINE_KERNELS_LANES_AVX512_H

#include <immintrin.h>
#include <stdint.h>

enum { LANES = 16, BLOCK_ROWS = 8 };

typedef __m512 vf;
typedef __m512i vi;

static inline __mmask16 lanes_mask(int n)
{
	return (__mmask16)((1U << n) - 1);
}

static inline vf vf_set(float x)
{
	return _mm512_set1_ps(x);
}

static inline vf vf_load(const float *x)
{
	return _mm512_loadu_ps(x);
}

static inline vf vf_load_n(const float *x, int n)
{
	return _mm512_maskz_loadu_ps(lanes_mask(n), x);
}

static inline void vf_store(float *x, vf v)
{
	_mm512_storeu_ps(x, v);
}

static inline void vf_store_n(float *x, vf v, int n)
{
	_mm512_mask_storeu_ps(x, lanes_mask(n), v);
}

static inline vf vf_of_bf16(__m256i x)
{
	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

static inline vf vf_load_bf16(const uint16_t *x)
{
	return vf_of_bf16(_mm256_loadu_si256((const __m256i *)(const void *)x));
}

static inline vf vf_load_bf16_n(const uint16_t *x, int n)
{
	return vf_of_bf16(_mm256_maskz_loadu_epi16(lanes_mask(n), x));
}

#ifdef __AVX512BF16__

/* Products of pairs of bf16 are there: vf_dot_bf16 and vf_pair_bf16. */
#define KERNELS_PAIRS

static inline __m256i vf_to_bf16(vf v)
{
	return (__m256i)_mm512_cvtneps_pbh(v);
}

/* sum + a.low * b.low + a.high * b.high, of pairs of bf16 in each lane. */
static inline vf vf_dot_bf16(vf a, vf b, vf sum)
{
	return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

/* Of two vectors whose floats are bf16: the first in the low halves, the second in the high. */
static inline vf vf_pair_bf16(vf first, vf second)
{
	vi low = _mm512_srli_epi32(_mm512_castps_si512(first), 16);
	return _mm512_castsi512_ps(_mm512_or_si512(low, _mm512_castps_si512(second)));
}

#else

static inline __m256i vf_to_bf16(vf v)
{
	vi bits = _mm512_castps_si512(v), high = _mm512_srli_epi32(bits, 16);
	vi odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
	vi half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
	vi near = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
	__mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
	near = _mm512_mask_or_epi32(near, is_nan, high, _mm512_set1_epi32(0x40));
	return _mm512_cvtepi32_epi16(near);
}

#endif

static inline void vf_store_bf16(uint16_t *x, vf v)
{
	_mm256_storeu_si256((__m256i *)(void *)x, vf_to_bf16(v));
}

static inline void vf_store_bf16_n(uint16_t *x, vf v, int n)
{
	_mm256_mask_storeu_epi16(x, lanes_mask(n), vf_to_bf16(v));
}

static inline void vf_store_u8_n(uint8_t *x, vf v, int n)
{
	vi whole = _mm512_add_epi32(_mm512_cvtps_epi32(v), _mm512_set1_epi32(128));
	_mm_mask_storeu_epi8(x, lanes_mask(n), _mm512_cvtepi32_epi8(whole));
}

/* Narrowing twos goes quarter by quarter: at the end the fours of bytes are put in order. */
static inline void vf_store_u8_4(uint8_t *x, const vf v[4])
{
	vi low = _mm512_packs_epi32(_mm512_cvtps_epi32(v[0]), _mm512_cvtps_epi32(v[1]));
	vi high = _mm512_packs_epi32(_mm512_cvtps_epi32(v[2]), _mm512_cvtps_epi32(v[3]));
	const vi order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
	vi bytes = _mm512_permutexvar_epi32(order, _mm512_packs_epi16(low, high));
	_mm512_storeu_si512(x, _mm512_xor_si512(bytes, _mm512_set1_epi8(-128)));
}

static inline vi vi_set(int32_t x)
{
	return _mm512_set1_epi32(x);
}

static inline vi vi_load(const int32_t *x)
{
	return _mm512_loadu_si512(x);
}

static inline vi vi_load_n(const int32_t *x, int n)
{
	return _mm512_maskz_loadu_epi32(lanes_mask(n), x);
}

static inline vi vi_sub(vi a, vi b)
{
	return _mm512_sub_epi32(a, b);
}

static inline vi vi_max(vi a, vi b)
{
	return _mm512_max_epi32(a, b);
}

static inline int32_t vi_top(vi v)
{
	return _mm512_reduce_max_epi32(v);
}

static inline vf vf_from_vi(vi v)
{
	return _mm512_cvtepi32_ps(v);
}

static inline vi vf_bits(vf v)
{
	return _mm512_castps_si512(v);
}

static inline vf vf_pick(const float table[16], vi i)
{
	return _mm512_permutexvar_ps(i, _mm512_loadu_ps(table));
}

static inline vi vf_abs_bits(vf v)
{
	return _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
}

static inline vf vf_fma(vf a, vf b, vf c)
{
	return _mm512_fmadd_ps(a, b, c);
}

static inline vf vf_max(vf a, vf b)
{
	return _mm512_max_ps(a, b);
}

static inline vf vf_min(vf a, vf b)
{
	return _mm512_min_ps(a, b);
}

static inline vf vf_abs(vf v)
{
	return _mm512_castsi512_ps(vf_abs_bits(v));
}

static inline vf vf_round(vf v)
{
	return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vf vf_scale2(vf v, vf n)
{
	return _mm512_scalef_ps(v, n);
}

static inline vf vf_where_below(vf a, vf limit, vf v)
{
	return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, limit, _CMP_LT_OQ), v);
}

static inline float vf_sum(vf v)
{
	return _mm512_reduce_add_ps(v);
}

static inline float vf_top(vf v)
{
	return _mm512_reduce_max_ps(v);
}

/* Pairs of rows, then of pairs, then blocks of four by four across the quarters. */
static inline void vf_transpose(vf r[LANES])
{
	vf t[LANES];
	for (int i = 0; i < LANES; i += 2) {
		t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
	}
	for (int i = 0; i < LANES; i += 4) {
		r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
		r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
		r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
		r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
	}
	for (int i = 0; i < 4; i++) {
		vf low01 = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
		vf high01 = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
		vf low23 = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
		vf high23 = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
		t[i] = _mm512_shuffle_f32x4(low01, low23, 0x88);
		t[i + 8] = _mm512_shuffle_f32x4(low01, low23, 0xdd);
		t[i + 4] = _mm512_shuffle_f32x4(high01, high23, 0x88);
		t[i + 12] = _mm512_shuffle_f32x4(high01, high23, 0xdd);
	}
	for (int i = 0; i < LANES; i++)
		r[i] = t[i];
}

#endif
