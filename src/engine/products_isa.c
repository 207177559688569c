/*
 * The products of one instruction set. meson compiles this for each, with
 *
 *	PRODUCTS_NAME  its name       PRODUCTS_BYTES  of a vector register
 *	PRODUCTS_ROWS  of x that are multiplied at once: as many as there are registers for
 *
 * Source: Goto 2008, Anatomy of high-performance matrix multiplication: a panel of weights stays in
 * the first cache while all rows pass by it.
 */
#include "engine/products.h"

#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

enum {
	WIDTH = PRODUCTS_BYTES / 4,
	N_VECTORS = 2,
	PANEL = N_VECTORS * WIDTH,
	ROWS = PRODUCTS_ROWS,
	/*
	 * The inputs that are summed up in one go. Of int8 no more, because the sum is kept in
	 * float32, which holds whole numbers up to 2^24 = 16777216: 512 * 255 * 128 = 16711680.
	 */
	DEPTH = 512 / (PRODUCTS_BYTES >= 64 ? 2 : 1),
};

typedef float vec __attribute__((vector_size(PRODUCTS_BYTES)));
typedef int32_t vec_s32 __attribute__((vector_size(PRODUCTS_BYTES)));
typedef uint32_t vec_u32 __attribute__((vector_size(PRODUCTS_BYTES)));
typedef uint16_t vec_u16 __attribute__((vector_size(PRODUCTS_BYTES / 2)));
typedef int8_t vec_s8 __attribute__((vector_size(PRODUCTS_BYTES / 4)));

INLINE vec load_weights(enum dtype type, const void *w, size_t at)
{
	vec v;
	vec_u16 half;
	vec_s8 quarter;
	switch (type) {
	case DTYPE_BF16:
		memcpy(&half, (const uint16_t *)w + at, sizeof(half));
		vec_u32 bits = __builtin_convertvector(half, vec_u32) << 16;
		memcpy(&v, &bits, sizeof(v));
		return v;
	case DTYPE_S8:
		memcpy(&quarter, (const int8_t *)w + at, sizeof(quarter));
		return __builtin_convertvector(quarter, vec);
	default:
		memcpy(&v, (const float *)w + at, sizeof(v));
		return v;
	}
}

INLINE vec load_x(enum dtype type, const void *x, size_t at)
{
	float f;
	uint32_t bits;
	switch (type) {
	case DTYPE_BF16:
		bits = (uint32_t)((const uint16_t *)x)[at] << 16;
		memcpy(&f, &bits, sizeof(f));
		break;
	case DTYPE_S8:
		f = (float)((const uint8_t *)x)[at];
		break;
	default:
		f = ((const float *)x)[at];
	}
	return f - (vec){ 0 };
}

INLINE void add(enum dtype type, float *acc, vec sum, int first)
{
	if (type == DTYPE_S8) {
		vec_s32 whole = __builtin_convertvector(sum, vec_s32), old;
		memcpy(&old, acc, sizeof(old));
		whole = first ? whole : whole + old;
		memcpy(acc, &whole, sizeof(whole));
	} else {
		vec old;
		memcpy(&old, acc, sizeof(old));
		sum = first ? sum : sum + old;
		memcpy(acc, &sum, sizeof(sum));
	}
}

/* One panel, n_rows rows, depth inputs. */
INLINE void multiply(enum dtype type, int n_rows, int depth, const void *x, size_t ldx,
        const void *w, float *acc, size_t ld_acc, int first)
{
	vec sum[ROWS][N_VECTORS];
#pragma GCC unroll 16
	for (int r = 0; r < n_rows; r++)
		sum[r][0] = sum[r][1] = (vec){ 0 };
	for (int i = 0; i < depth; i++) {
		vec w0 = load_weights(type, w, (size_t)i * PANEL);
		vec w1 = load_weights(type, w, (size_t)i * PANEL + WIDTH);
#pragma GCC unroll 16
		for (int r = 0; r < n_rows; r++) {
			vec v = load_x(type, x, (size_t)r * ldx + (size_t)i);
			sum[r][0] += v * w0;
			sum[r][1] += v * w1;
		}
	}
#pragma GCC unroll 16
	for (int r = 0; r < n_rows; r++) {
		add(type, acc + (size_t)r * ld_acc, sum[r][0], first);
		add(type, acc + (size_t)r * ld_acc + WIDTH, sum[r][1], first);
	}
}

/* All rows by one panel: as many at once as there are registers for, the rest in smaller steps. */
INLINE void pass_by(enum dtype type, int m, int depth, const char *x, size_t ldx, const void *w,
        float *acc, size_t ld_acc, int first)
{
	size_t row_bytes = ldx * (type == DTYPE_S8 ? 1 : dtype_bytes(type));
#define STEP(n)                                                                                    \
	for (; m >= (n); m -= (n), x += (n)*row_bytes, acc += (n)*ld_acc)                          \
	multiply(type, n, depth, x, ldx, w, acc, ld_acc, first)
	STEP(ROWS);
	STEP(ROWS / 2);
	STEP(ROWS >= 12 ? 3 : 2);
	STEP(1);
#undef STEP
}

INLINE void run_typed(enum dtype type, const char *packed, int n_in, int n_out, const char *x,
        int ldx, int m, float *acc, int ld_acc)
{
	size_t bytes = dtype_bytes(type);
	for (int at = 0; at < n_in; at += DEPTH) {
		int depth = n_in - at < DEPTH ? n_in - at : DEPTH;
		for (int col = 0; col < n_out; col += PANEL) {
			size_t panel = (size_t)col * (size_t)n_in + (size_t)at * PANEL;
			pass_by(type, m, depth, x + (size_t)at * bytes, (size_t)ldx,
			        packed + panel * bytes, acc + col, (size_t)ld_acc, at == 0);
		}
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
	.run = run,
};
