#include "engine/tensor_values.h"

#include "base/attr.h"

#include <math.h>
#include <string.h>

/* Little-endian, as the format has it. */
static uint64_t bits_at(const unsigned char *in, unsigned bytes)
{
	uint64_t bits = 0;
	for (unsigned i = bytes; i > 0; i--)
		bits = bits << 8 | in[i - 1];
	return bits;
}

static float float_of(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

static void from_f64(float *out, const unsigned char *in, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t bits = bits_at(in + 8 * i, 8);
		double x;
		memcpy(&x, &bits, sizeof(x));
		out[i] = (float)x;
	}
}

static void from_f32(float *out, const unsigned char *in, size_t n)
{
	memcpy(out, in, n * sizeof(*out));
}

static void from_bf16(float *out, const unsigned char *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = float_of((uint32_t)bits_at(in + 2 * i, 2) << 16);
}

/* Source: IEEE 754-2008, binary16: 5 bits of exponent biased by 15, 10 of fraction. */
static float half(uint32_t h)
{
	uint32_t sign = (h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
	if (exponent == 31)
		return float_of(sign | 0x7F800000 | fraction << 13);
	if (exponent > 0)
		return float_of(sign | (exponent + 127 - 15) << 23 | fraction << 13);
	float x = ldexpf((float)fraction, -24);
	return sign ? -x : x;
}

static void from_f16(float *out, const unsigned char *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = half((uint32_t)bits_at(in + 2 * i, 2));
}

const struct tensor_type *tensor_type(const char *name)
{
	static const struct tensor_type types[] = {
		{ "F32", 4, true, from_f32 },
		{ "F16", 2, false, from_f16 },
		{ "BF16", 2, false, from_bf16 },
		{ "F64", 8, false, from_f64 },
		{ "I64", 8, false, NULL },
		{ "U64", 8, false, NULL },
		{ "I32", 4, false, NULL },
		{ "U32", 4, false, NULL },
		{ "I16", 2, false, NULL },
		{ "U16", 2, false, NULL },
		{ "I8", 1, false, NULL },
		{ "U8", 1, false, NULL },
		{ "BOOL", 1, false, NULL },
		{ "F8_E4M3", 1, false, NULL },
		{ "F8_E5M2", 1, false, NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	return NULL;
}

static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void tensor_values_random(
        float *out, size_t n, uint64_t seed, const char *name, float mean, float spread)
{
	uint64_t state = mix(seed + UINT64_C(0x9e3779b97f4a7c15));
	for (; *name; name++)
		state = mix(state ^ (unsigned char)*name) + UINT64_C(0x9e3779b97f4a7c15);
	/* Four numbers of 16 bits: mean 2 * 65535, variance 4 * (2^32 - 1) / 12. */
	float factor = spread / sqrtf((65536.0f * 65536.0f - 1) / 3);
	for (size_t i = 0; i < n; i++) {
		uint64_t z = mix(state + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
		uint64_t pairs =
		        (z & UINT64_C(0xFFFF0000FFFF)) + (z >> 16 & UINT64_C(0xFFFF0000FFFF));
		int32_t sum = (int32_t)((pairs & 0xFFFFFFFF) + (pairs >> 32)) - 2 * 65535;
		out[i] = mean + factor * (float)sum;
	}
}
