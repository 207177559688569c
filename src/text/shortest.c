#include "text/shortest.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	POWER_LEAST = -31, /* the powers of ten that floats need */
	MANTISSA_BITS = 23,
	EXPONENT_BIAS = 127 + MANTISSA_BITS,
	PLAIN_LEAST = -6, /* from 1e-6 on and below 1e16 without an exponent */
	PLAIN_MOST = 16,
};

/*
 * powers[k - POWER_LEAST]: the 64 leading bits of 10 to the k, rounded up where they are not all:
 * ceil(10^k * 2^(63 - floor(log2(10^k)))).
 */
static const uint64_t powers[] = {
	/* clang-format off */
	0x81ceb32c4b43fcf5, 0xa2425ff75e14fc32, 0xcad2f7f5359a3b3f, 0xfd87b5f28300ca0e,
	0x9e74d1b791e07e49, 0xc612062576589ddb, 0xf79687aed3eec552, 0x9abe14cd44753b53,
	0xc16d9a0095928a28, 0xf1c90080baf72cb2, 0x971da05074da7bef, 0xbce5086492111aeb,
	0xec1e4a7db69561a6, 0x9392ee8e921d5d08, 0xb877aa3236a4b44a, 0xe69594bec44de15c,
	0x901d7cf73ab0acda, 0xb424dc35095cd810, 0xe12e13424bb40e14, 0x8cbccc096f5088cc,
	0xafebff0bcb24aaff, 0xdbe6fecebdedd5bf, 0x89705f4136b4a598, 0xabcc77118461cefd,
	0xd6bf94d5e57a42bd, 0x8637bd05af6c69b6, 0xa7c5ac471b478424, 0xd1b71758e219652c,
	0x83126e978d4fdf3c, 0xa3d70a3d70a3d70b, 0xcccccccccccccccd, 0x8000000000000000,
	0xa000000000000000, 0xc800000000000000, 0xfa00000000000000, 0x9c40000000000000,
	0xc350000000000000, 0xf424000000000000, 0x9896800000000000, 0xbebc200000000000,
	0xee6b280000000000, 0x9502f90000000000, 0xba43b74000000000, 0xe8d4a51000000000,
	0x9184e72a00000000, 0xb5e620f480000000, 0xe35fa931a0000000, 0x8e1bc9bf04000000,
	0xb1a2bc2ec5000000, 0xde0b6b3a76400000, 0x8ac7230489e80000, 0xad78ebc5ac620000,
	0xd8d726b7177a8000, 0x878678326eac9000, 0xa968163f0a57b400, 0xd3c21bcecceda100,
	0x84595161401484a0, 0xa56fa5b99019a5c8, 0xcecb8f27f4200f3a, 0x813f3978f8940985,
	0xa18f07d736b90be6, 0xc9f2c9cd04674edf, 0xfc6f7c4045812297, 0x9dc5ada82b70b59e,
	0xc5371912364ce306, 0xf684df56c3e01bc7, 0x9a130b963a6c115d, 0xc097ce7bc90715b4,
	0xf0bdc21abb48db21, 0x96769950b50d88f5, 0xbc143fa4e250eb32, 0xeb194f8e1ae525fe,
	0x92efd1b8d0cf37bf, 0xb7abc627050305ae, 0xe596b7b0c643c71a, 0x8f7e32ce7bea5c70,
	0xb35dbf821ae4f38c,
	/* clang-format on */
};

/* Floors of a logarithm times an integer, exact in the range of floats. Source: Giulietti 9. */
static int floor_log10_pow2(int e)
{
	return (e * 1262611) >> 22;
}

static int floor_log10_three_quarters_pow2(int e)
{
	return (e * 1262611 - 524031) >> 22;
}

static int floor_log2_pow10(int e)
{
	return (e * 1741647) >> 19;
}

/* g * cp / 2^64, whose last bit tells whether there was a rest. */
static uint32_t round_to_odd(uint64_t g, uint32_t cp)
{
	uint64_t p = (g >> 32) * cp + ((g & UINT32_MAX) * cp >> 32);
	return (uint32_t)(p >> 32) | ((uint32_t)p > 1);
}

struct decimal {
	uint32_t digits;
	int exponent; /* of ten */
};

/*
 * Of the decimals inside the rounding interval of c * 2^q the shortest, and of those the nearest.
 * lower, v and upper are four times the ends and the value itself, in units of 10^k.
 */
static struct decimal to_decimal(uint32_t c, int q, bool closer_below)
{
	uint32_t odd = c & 1;
	int k = closer_below ? floor_log10_three_quarters_pow2(q) : floor_log10_pow2(q);
	int h = q + floor_log2_pow10(-k) + 1;
	uint64_t g = powers[-k - POWER_LEAST];
	uint32_t lower = round_to_odd(g, (4 * c - 2 + closer_below) << h) + odd;
	uint32_t v = round_to_odd(g, (4 * c) << h);
	uint32_t upper = round_to_odd(g, (4 * c + 2) << h) - odd;
	uint32_t s = v / 4;
	if (s >= 10) {
		uint32_t tens = s / 10;
		bool below_inside = lower <= 40 * tens, above_inside = 40 * tens + 40 <= upper;
		if (below_inside != above_inside)
			return (struct decimal){ tens + above_inside, k + 1 };
	}
	bool below_inside = lower <= 4 * s, above_inside = 4 * s + 4 <= upper;
	if (below_inside != above_inside)
		return (struct decimal){ s + above_inside, k };
	uint32_t middle = 4 * s + 2;
	return (struct decimal){ s + (v > middle || (v == middle && (s & 1))), k };
}

static struct decimal decimal_of(uint32_t bits)
{
	uint32_t mantissa = bits & ((1U << MANTISSA_BITS) - 1);
	int exponent = (int)(bits >> MANTISSA_BITS & 0xff);
	if (exponent == 0)
		return to_decimal(mantissa, 1 - EXPONENT_BIAS, false);
	uint32_t c = mantissa | 1U << MANTISSA_BITS;
	int q = exponent - EXPONENT_BIAS;
	if (q <= 0 && q >= -MANTISSA_BITS && (c & ((1U << -q) - 1)) == 0)
		return (struct decimal){ c >> -q, 0 }; /* whole */
	return to_decimal(c, q, mantissa == 0 && exponent > 1);
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

/* How many digits: the logarithm by that of two, one too small above a power of ten. */
static int count_digits(uint32_t digits)
{
	static const uint32_t tens[] = { 0, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
		100000000, 1000000000 };
	int guess = (32 - __builtin_clz(digits | 1)) * 1233 >> 12;
	return guess + (digits >= tens[guess]);
}

/* At most 10 digits; returns how many. */
static int write_digits(uint32_t digits, char *out)
{
	int n = count_digits(digits | (digits == 0));
	char *at = out + n;
	for (; digits >= 100; digits /= 100)
		memcpy(at -= 2, &pairs[digits % 100 * 2], 2);
	if (digits >= 10)
		memcpy(at - 2, &pairs[digits * 2], 2);
	else
		at[-1] = (char)('0' + digits);
	return n;
}

/* n digits lie at out; places of them, which may be below 0 or above n, stand before the point. */
static size_t place_point(char *out, int n, int places)
{
	if (places >= n) {
		memset(out + n, '0', (size_t)(places - n));
		return (size_t)places;
	}
	if (places > 0) {
		memmove(out + places + 1, out + places, (size_t)(n - places));
		out[places] = '.';
		return (size_t)n + 1;
	}
	memmove(out + 2 - places, out, (size_t)n);
	memset(out, '0', (size_t)(2 - places));
	out[1] = '.';
	return (size_t)(n + 2 - places);
}

static size_t write_exponent(char *out, int n, int exponent)
{
	size_t len = place_point(out, n, 1);
	out[len++] = 'e';
	if (exponent < 0)
		out[len++] = '-';
	return len +
	       (size_t)write_digits((uint32_t)(exponent < 0 ? -exponent : exponent), out + len);
}

size_t shortest_f32(float value, char *out)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	size_t sign = bits >> 31;
	if (sign)
		*out++ = '-';
	bits &= 0x7fffffff;
	if (bits == 0) {
		*out = '0';
		return sign + 1;
	}
	struct decimal d = decimal_of(bits);
	while (d.digits % 10 == 0) {
		d.digits /= 10;
		d.exponent++;
	}
	int n = write_digits(d.digits, out);
	int places = n + d.exponent;
	bool plain = places > PLAIN_LEAST && places <= PLAIN_MOST;
	return sign + (plain ? place_point(out, n, places) : write_exponent(out, n, places - 1));
}

void shortest_add_array(struct buf *out, const float *values, size_t n)
{
	buf_reserve(out, n * (SHORTEST_F32_MAX + 1) + 2);
	char *at = out->s + out->len;
	*at++ = '[';
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			*at++ = ',';
		if (isfinite(values[i])) {
			at += shortest_f32(values[i], at);
		} else {
			memcpy(at, "null", 4);
			at += 4;
		}
	}
	*at++ = ']';
	*at = '\0';
	out->len = (size_t)(at - out->s);
}
