/*
 * rng.h - seeded random numbers: the same seed gives the same run on every machine.
 *
 * Source: Blackman and Vigna, xoshiro256** 1.0, seeded by splitmix64. One struct, one thread.
 */
#ifndef VENTURI_BASE_RNG_H
#define VENTURI_BASE_RNG_H

#include <stdint.h>

struct rng {
	uint64_t s[4];
};

void rng_init(struct rng *rng, uint64_t seed);
uint64_t rng_u64(struct rng *rng);
/* 0 <= x < 1, 53 random bits. */
double rng_uniform(struct rng *rng);
/* 0 <= x < n, without the bias of a remainder; n > 0. */
uint64_t rng_below(struct rng *rng, uint64_t n);
/* Exponential with mean 1. */
double rng_exponential(struct rng *rng);
/* Normal with mean 0 and deviation 1. Source: Box and Muller 1958. */
double rng_normal(struct rng *rng);
/*
 * Gamma with the given shape and scale 1, so that mean and variance are the shape.
 *
 * shape    > 0
 * source   Marsaglia and Tsang 2000, A simple method for generating gamma variables; below 1 by
 *          the power of a uniform that they give in section 6
 */
double rng_gamma(struct rng *rng, double shape);

#endif
