/*
 * kernels_sets.h - every instruction set that this machine runs, and the exact ends of buffers.
 */
#ifndef VENTURI_TESTS_KERNELS_SETS_H
#define VENTURI_TESTS_KERNELS_SETS_H

#include "base/attr.h"
#include "base/rng.h"
#include "engine/kernels.h"
#include "tap.h"

static const char *const set_names[] = { "plain", "avx2", "avx512", "avx512_bf16" };

/* for (const struct kernels *k ...) over those there are */
static inline const struct kernels *next_set(size_t *i)
{
	while (*i < ARRAY_LEN(set_names)) {
		const struct kernels *k = kernels_named(set_names[(*i)++]);
		if (k)
			return k;
	}
	return NULL;
}

#define FOR_EACH_SET(k)                                                                            \
	for (size_t i_set_ = 0, once_ = 1; once_; once_ = 0)                                       \
		for (const struct kernels *k; (k = next_set(&i_set_));)

/* Of exactly n elements, so that the address sanitizer sees a step beyond. */
static inline void *exactly(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);
	if (!p)
		abort();
	return p;
}

static inline float *random_floats(struct rng *rng, size_t n, double deviation)
{
	float *x = exactly(n, sizeof(*x));
	for (size_t i = 0; i < n; i++)
		x[i] = (float)(deviation * rng_normal(rng));
	return x;
}

static inline float float_of_bf16(uint16_t x)
{
	uint32_t bits = (uint32_t)x << 16;
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* To nearest even by arithmetic alone: 8 bits of mantissa. */
static inline float bf16_rounded(float x)
{
	if (x == 0 || !isfinite(x))
		return x;
	int exponent;
	double mantissa = frexp(x, &exponent);
	return (float)ldexp(nearbyint(ldexp(mantissa, 8)), exponent - 8);
}

#endif
