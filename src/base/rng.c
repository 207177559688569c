#include "base/rng.h"

#include <math.h>

static uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

void rng_init(struct rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		seed += UINT64_C(0x9e3779b97f4a7c15);
		uint64_t z = seed;
		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		rng->s[i] = z ^ (z >> 31);
	}
}

uint64_t rng_u64(struct rng *rng)
{
	uint64_t *s = rng->s;
	uint64_t result = rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

double rng_uniform(struct rng *rng)
{
	return (double)(rng_u64(rng) >> 11) * 0x1.0p-53;
}

uint64_t rng_below(struct rng *rng, uint64_t n)
{
	uint64_t limit = UINT64_MAX - UINT64_MAX % n;
	uint64_t x;
	do
		x = rng_u64(rng);
	while (x >= limit);
	return x % n;
}

double rng_exponential(struct rng *rng)
{
	return -log1p(-rng_uniform(rng));
}

double rng_normal(struct rng *rng)
{
	double radius = sqrt(2 * rng_exponential(rng));
	return radius * cos(2 * M_PI * rng_uniform(rng));
}

double rng_gamma(struct rng *rng, double shape)
{
	if (shape < 1)
		return rng_gamma(rng, shape + 1) * exp(-rng_exponential(rng) / shape);
	double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
	for (;;) {
		double x = rng_normal(rng), v = 1 + c * x;
		if (v <= 0)
			continue;
		v = v * v * v;
		/* The quick test of the paper only saves logarithms. */
		if (-rng_exponential(rng) < x * x / 2 + d - d * v + d * log(v))
			return d * v;
	}
}
