/*
 * The products of one instruction set. meson compiles this for each, with
 *
 *	PRODUCTS_NAME  its name       PRODUCTS_BYTES  of a vector register
 *	PRODUCTS_ROWS  of x that are multiplied at once: as many as there are registers for
 *
 * Weights and x are taken in groups of 32 bits: one float32, or as many smaller ones as the set
 * has an instruction to multiply and sum up at once. Where it has none, they are widened to
 * float32 on the way.
 *
 * Source: Goto 2008, Anatomy of high-performance matrix multiplication: a panel of weights stays in
 * the first cache while all rows pass by it.
 */
#include "engine/products.h"

#include <stdint.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

#ifdef __AVX512BF16__
#define GROUP_BF16 2
#else
#define GROUP_BF16 1
#endif
#ifdef __AVX512VNNI__
#define GROUP_S8 4
#else
#define GROUP_S8 1
#endif

enum {
	WIDTH = PRODUCTS_BYTES / 4,
	N_VECTORS = 2,
	PANEL = N_VECTORS * WIDTH,
	ROWS = PRODUCTS_ROWS,
	/*
	 * Groups that are summed up in one go, so that their part of a panel stays in the first
	 * cache. Of bytes that are widened not more than 512: the sum is kept in float32, which
	 * holds whole numbers up to 2^24 = 16777216, and 512 * 255 * 128 = 16711680.
	 */
	DEPTH = PRODUCTS_BYTES >= 64 ? 256 : 512,
};

typedef float vec __attribute__((vector_size(PRODUCTS_BYTES)));
typedef int32_t vec_s32 __attribute__((vector_size(PRODUCTS_BYTES)));
typedef uint32_t vec_u32 __attribute__((vector_size(PRODUCTS_BYTES)));
typedef uint16_t vec_u16 __attribute__((vector_size(PRODUCTS_BYTES / 2)));
typedef int8_t vec_s8 __attribute__((vector_size(PRODUCTS_BYTES / 4)));

INLINE int group_of(enum dtype type)
{
	return type == DTYPE_S8 ? GROUP_S8 : type == DTYPE_BF16 ? GROUP_BF16 : 1;
}

/* Smaller than a group, hence to be widened. */
INLINE int is_widened(enum dtype type)
{
	return type != DTYPE_F32 && group_of(type) == 1;
}

/* The compilers' own way to the one instruction that this is goes by pieces. */
INLINE vec_s32 widen(vec_s8 v)
{
#if defined(__AVX512F__)
	return (vec_s32)_mm512_cvtepi8_epi32((__m128i)v);
#elif defined(__AVX2__)
	return (vec_s32)_mm256_cvtepi8_epi32(_mm_set1_epi64x((int64_t)v));
#else
	return __builtin_convertvector(v, vec_s32);
#endif
}

/* The i-th vector of groups of a panel. */
INLINE vec load_weights(enum dtype type, const char *w, size_t i)
{
	vec v;
	vec_u16 half;
	vec_s8 quarter;
	if (!is_widened(type)) {
		memcpy(&v, w + i * sizeof(v), sizeof(v));
		return v;
	}
	if (type == DTYPE_BF16) {
		memcpy(&half, w + i * sizeof(half), sizeof(half));
		return (vec)(__builtin_convertvector(half, vec_u32) << 16);
	}
	memcpy(&quarter, w + i * sizeof(quarter), sizeof(quarter));
	return __builtin_convertvector(widen(quarter), vec);
}

/* One group of x for all columns. */
INLINE vec load_x(const char *x)
{
	int32_t group;
	memcpy(&group, x, sizeof(group));
	return (vec)(group - (vec_s32){ 0 });
}

INLINE vec multiply_add(enum dtype type, vec sum, vec x, vec w)
{
#ifdef __AVX512BF16__
	if (type == DTYPE_BF16)
		return (vec)_mm512_dpbf16_ps((__m512)sum, (__m512bh)x, (__m512bh)w);
#endif
#ifdef __AVX512VNNI__
	/* By hand: a sum that is cast to integers and back is kept twice by gcc, half in memory. */
	if (type == DTYPE_S8) {
		__asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
		return sum;
	}
#endif
	(void)type;
	return sum + x * w;
}

INLINE void store(enum dtype type, float *acc, vec sum, int first)
{
	vec old;
	if (type == DTYPE_S8 && is_widened(type))
		sum = (vec) __builtin_convertvector(sum, vec_s32);
	if (!first) {
		memcpy(&old, acc, sizeof(old));
		sum = type == DTYPE_S8 ? (vec)((vec_s32)sum + (vec_s32)old) : sum + old;
	}
	memcpy(acc, &sum, sizeof(sum));
}

/* n_rows rows by one panel, depth groups. */
INLINE void multiply(enum dtype type, int n_rows, int depth, const char *x, size_t row_bytes,
        const char *w, float *acc, size_t ld_acc, int first)
{
	vec sum[ROWS][N_VECTORS];
#pragma GCC unroll 16
	for (int r = 0; r < n_rows; r++)
		sum[r][0] = sum[r][1] = (vec){ 0 };
	for (int i = 0; i < depth; i++) {
		vec w0 = load_weights(type, w, (size_t)i * N_VECTORS);
		vec w1 = load_weights(type, w, (size_t)i * N_VECTORS + 1);
#pragma GCC unroll 16
		for (int r = 0; r < n_rows; r++) {
			vec v = load_x(x + (size_t)r * row_bytes + (size_t)i * 4);
			sum[r][0] = multiply_add(type, sum[r][0], v, w0);
			sum[r][1] = multiply_add(type, sum[r][1], v, w1);
		}
	}
#pragma GCC unroll 16
	for (int r = 0; r < n_rows; r++) {
		store(type, acc + (size_t)r * ld_acc, sum[r][0], first);
		store(type, acc + (size_t)r * ld_acc + WIDTH, sum[r][1], first);
	}
}

/* n elements of a row as float32, or as they are with zeros after them up to a whole group. */
INLINE void copy_x(enum dtype type, const char *x, int n, float *out)
{
	if (!is_widened(type)) {
		size_t bytes = (size_t)n * dtype_bytes(type);
		memset((char *)out + bytes / 4 * 4, 0, 4);
		memcpy(out, x, bytes);
		return;
	}
	for (int i = 0; i < n; i++) {
		uint16_t half;
		uint32_t bits;
		if (type == DTYPE_BF16) {
			memcpy(&half, x + 2 * i, sizeof(half));
			bits = (uint32_t)half << 16;
			memcpy(out + i, &bits, sizeof(bits));
		} else {
			out[i] = (float)(uint8_t)x[i];
		}
	}
}

/* n elements, at least one, of n_rows rows by all panels. */
INLINE void pass_by(enum dtype type, int n_rows, int n, const char *x, size_t row_bytes,
        const char *w, size_t panel_bytes, int n_panels, float *acc, size_t ld_acc, int first)
{
	float copy[ROWS * (DEPTH + 1)];
	int group = group_of(type), depth = (n + group - 1) / group;
	if (is_widened(type) || n % group != 0) {
		for (int r = 0; r < n_rows; r++)
			copy_x(type, x + (size_t)r * row_bytes, n, copy + r * (DEPTH + 1));
		x = (const char *)copy;
		row_bytes = (DEPTH + 1) * sizeof(float);
	}
	for (int p = 0; p < n_panels; p++)
		multiply(type, n_rows, depth, x, row_bytes, w + (size_t)p * panel_bytes,
		        acc + p * PANEL, ld_acc, first);
}

/* As many rows at once as there are registers for, the rest in smaller steps. */
INLINE void run_depth(enum dtype type, int m, int n, const char *x, size_t row_bytes, const char *w,
        size_t panel_bytes, int n_panels, float *acc, size_t ld_acc, int first)
{
#define STEP(rows)                                                                                 \
	for (; m >= (rows); m -= (rows), x += (rows)*row_bytes, acc += (rows)*ld_acc)              \
	pass_by(type, rows, n, x, row_bytes, w, panel_bytes, n_panels, acc, ld_acc, first)
	STEP(ROWS);
#if PRODUCTS_ROWS > 8
	STEP(8);
#endif
#if PRODUCTS_ROWS > 4
	STEP(4);
#endif
	STEP(2);
	STEP(1);
#undef STEP
}

INLINE void run_typed(enum dtype type, const char *packed, int n_in, int n_out, const char *x,
        int ldx, int m, float *acc, int ld_acc)
{
	int group = group_of(type), n_panels = (n_out + PANEL - 1) / PANEL;
	size_t bytes = dtype_bytes(type), groups = (size_t)((n_in + group - 1) / group);
	size_t group_bytes = (size_t)group * bytes;
	for (int at = 0; at < n_in; at += DEPTH * group) {
		int n = n_in - at < DEPTH * group ? n_in - at : DEPTH * group;
		run_depth(type, m, n, x + (size_t)at * bytes, (size_t)ldx * bytes,
		        packed + (size_t)at / (size_t)group * PANEL * group_bytes,
		        groups * PANEL * group_bytes, n_panels, acc, (size_t)ld_acc, at == 0);
	}
}

static void run(enum dtype type, const void *packed, int n_in, int n_out, const void *x, int ldx,
        int m, void *acc, int ld_acc)
{
	switch (type) {
	case DTYPE_BF16:
		run_typed(DTYPE_BF16, packed, n_in, n_out, x, ldx, m, acc, ld_acc);
		break;
	case DTYPE_S8:
		run_typed(DTYPE_S8, packed, n_in, n_out, x, ldx, m, acc, ld_acc);
		break;
	default:
		run_typed(DTYPE_F32, packed, n_in, n_out, x, ldx, m, acc, ld_acc);
	}
}

extern const struct products PASTE(products_, PRODUCTS_NAME);
const struct products PASTE(products_, PRODUCTS_NAME) = {
	.name = TEXT(PRODUCTS_NAME),
	.panel = PANEL,
	.group_bf16 = GROUP_BF16,
	.group_s8 = GROUP_S8,
	.run = run,
};
