/*
 * kernels_lanes_avx2.h - eight floats, with fused multiply-add. See kernels_lanes.h.
 */
#ifndef VENTURI_ENGINE_KERNELS_LANES_AVX2_H
#define VENTURI_ENGINE_KERNELS_LANES_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8, BLOCK_ROWS = 6 };

typedef __m256 vf;
typedef __m256i vi;

static inline __m256i lanes_mask(int n)
{
	static const int32_t mask[2 * LANES] = { -1, -1, -1, -1, -1, -1, -1, -1 };
	return _mm256_loadu_si256((const __m256i *)(const void *)(mask + LANES - n));
}

static inline vf vf_set(float x)
{
	return _mm256_set1_ps(x);
}

static inline vf vf_load(const float *x)
{
	return _mm256_loadu_ps(x);
}

static inline vf vf_load_n(const float *x, int n)
{
	return _mm256_maskload_ps(x, lanes_mask(n));
}

static inline void vf_store(float *x, vf v)
{
	_mm256_storeu_ps(x, v);
}

static inline void vf_store_n(float *x, vf v, int n)
{
	_mm256_maskstore_ps(x, lanes_mask(n), v);
}

static inline vf vf_load_bf16(const uint16_t *x)
{
	__m128i half = _mm_loadu_si128((const __m128i *)(const void *)x);
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

static inline vf vf_load_bf16_n(const uint16_t *x, int n)
{
	uint16_t some[LANES] = { 0 };
	memcpy(some, x, (size_t)n * sizeof(*x));
	return vf_load_bf16(some);
}

/* Eight whole numbers of 0 to 65535 as 16 bits each. */
static inline __m128i lanes_narrow(__m256i v)
{
	__m256i packed = _mm256_packus_epi32(v, v);
	return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
}

static inline void vf_store_bf16(uint16_t *x, vf v)
{
	vi bits = _mm256_castps_si256(v), high = _mm256_srli_epi32(bits, 16);
	vi odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
	vi half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
	vi near = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
	vi nan = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
	vi is_nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
	vi chosen = _mm256_blendv_epi8(near, nan, is_nan);
	_mm_storeu_si128((__m128i *)(void *)x, lanes_narrow(chosen));
}

static inline void vf_store_bf16_n(uint16_t *x, vf v, int n)
{
	uint16_t all[LANES];
	vf_store_bf16(all, v);
	memcpy(x, all, (size_t)n * sizeof(*x));
}

static inline void vf_store_u8_n(uint8_t *x, vf v, int n)
{
	uint8_t all[16];
	__m256i whole = _mm256_add_epi32(_mm256_cvtps_epi32(v), _mm256_set1_epi32(128));
	__m128i half = lanes_narrow(whole);
	_mm_storeu_si128((__m128i *)(void *)all, _mm_packus_epi16(half, half));
	memcpy(x, all, (size_t)n);
}

/* Narrowing twos goes half by half: at the end the fours of bytes are put in order. */
static inline void vf_store_u8_4(uint8_t *x, const vf v[4])
{
	vi low = _mm256_packs_epi32(_mm256_cvtps_epi32(v[0]), _mm256_cvtps_epi32(v[1]));
	vi high = _mm256_packs_epi32(_mm256_cvtps_epi32(v[2]), _mm256_cvtps_epi32(v[3]));
	const vi order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	vi bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
	bytes = _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
	_mm256_storeu_si256((__m256i *)(void *)x, bytes);
}

static inline vi vi_set(int32_t x)
{
	return _mm256_set1_epi32(x);
}

static inline vi vi_load(const int32_t *x)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)x);
}

static inline vi vi_load_n(const int32_t *x, int n)
{
	return _mm256_maskload_epi32(x, lanes_mask(n));
}

static inline vi vi_sub(vi a, vi b)
{
	return _mm256_sub_epi32(a, b);
}

static inline vi vi_max(vi a, vi b)
{
	return _mm256_max_epi32(a, b);
}

static inline int32_t vi_top(vi v)
{
	__m128i x = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
	x = _mm_max_epi32(x, _mm_shuffle_epi32(x, 0x4e));
	x = _mm_max_epi32(x, _mm_shuffle_epi32(x, 0xb1));
	return _mm_cvtsi128_si32(x);
}

static inline vf vf_from_vi(vi v)
{
	return _mm256_cvtepi32_ps(v);
}

static inline vi vf_bits(vf v)
{
	return _mm256_castps_si256(v);
}

static inline vf vf_pick(const float table[16], vi i)
{
	vf low = _mm256_permutevar8x32_ps(vf_load(table), i);
	vf high = _mm256_permutevar8x32_ps(vf_load(table + 8), i);
	return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(i, 28)));
}

static inline vi vf_abs_bits(vf v)
{
	return _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7fffffff));
}

static inline vf vf_fma(vf a, vf b, vf c)
{
	return _mm256_fmadd_ps(a, b, c);
}

static inline vf vf_max(vf a, vf b)
{
	return _mm256_max_ps(a, b);
}

static inline vf vf_min(vf a, vf b)
{
	return _mm256_min_ps(a, b);
}

static inline vf vf_abs(vf v)
{
	return _mm256_castsi256_ps(vf_abs_bits(v));
}

static inline vf vf_round(vf v)
{
	return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vf vf_scale2(vf v, vf n)
{
	__m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
	return v * _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
}

static inline vf vf_where_below(vf a, vf limit, vf v)
{
	return _mm256_and_ps(_mm256_cmp_ps(a, limit, _CMP_LT_OQ), v);
}

static inline float vf_sum(vf v)
{
	__m128 x = _mm256_castps256_ps128(v) + _mm256_extractf128_ps(v, 1);
	x = x + _mm_movehl_ps(x, x);
	return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}

static inline float vf_top(vf v)
{
	__m128 x = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
	x = _mm_max_ps(x, _mm_movehl_ps(x, x));
	return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}

/* Pairs of rows, then of pairs, then the halves. */
static inline void vf_transpose(vf r[LANES])
{
	vf t[LANES];
	for (int i = 0; i < LANES; i += 2) {
		t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
	}
	for (int i = 0; i < LANES; i += 4) {
		r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
		r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
		r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
		r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
	}
	for (int i = 0; i < 4; i++) {
		t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
		t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
	}
	for (int i = 0; i < LANES; i++)
		r[i] = t[i];
}

#endif
