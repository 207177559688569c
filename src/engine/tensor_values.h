/*
 * tensor_values.h - the types of safetensors, and how their values become float32.
 */
#ifndef VENTURI_ENGINE_TENSOR_VALUES_H
#define VENTURI_ENGINE_TENSOR_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tensor_type {
	const char *name; /* "BF16" */
	unsigned bytes;
	bool is_float32;
	/* NULL: no weights are of it. in need not be aligned. */
	void (*to_f32)(float *out, const unsigned char *in, size_t n);
};

/* NULL: not one that is known. */
const struct tensor_type *tensor_type(const char *name);

/*
 * n values around a mean, which depend on the seed, the name and their place only: the sum of four
 * uniform ones, which is nearly normal.
 *
 * source   splitmix64 (Steele 2014) of a counter
 */
void tensor_values_random(
        float *out, size_t n, uint64_t seed, const char *name, float mean, float spread);

#endif
