#include "base/rng.h"

#include "base/attr.h"
#include "tap.h"

static void the_generator_is_xoshiro256starstar(void)
{
	/* From the state 1, 2, 3, 4 the first values follow from the reference code by hand. */
	struct rng rng = { { 1, 2, 3, 4 } };
	CHECK(rng_u64(&rng) == UINT64_C(11520));
	CHECK(rng_u64(&rng) == 0);
	CHECK(rng_u64(&rng) == UINT64_C(1509978240));
	CHECK(rng_u64(&rng) == UINT64_C(1215971899390074240));
}

static void the_seed_goes_through_splitmix64(void)
{
	/* The published first outputs of splitmix64 for seed 0. */
	struct rng rng;
	rng_init(&rng, 0);
	CHECK(rng.s[0] == UINT64_C(0xe220a8397b1dcdaf));
	CHECK(rng.s[1] == UINT64_C(0x6e789e6aa1b965f4));
	CHECK(rng.s[2] == UINT64_C(0x06c45d188009454f));
	CHECK(rng.s[3] == UINT64_C(0xf88bb8a8724c81ec));
}

enum { N = 1000000 };

/* Mean and mean of squares of N draws, within five standard errors of the given moments. */
static void check_moments(double (*draw)(struct rng *), double mean, double square, double fourth)
{
	struct rng rng;
	double sum = 0, squares = 0;
	rng_init(&rng, 20);
	for (int i = 0; i < N; i++) {
		double x = draw(&rng);
		sum += x;
		squares += x * x;
	}
	CHECK_NEAR(sum / N, mean, 5 * sqrt((square - mean * mean) / N));
	CHECK_NEAR(squares / N, square, 5 * sqrt((fourth - square * square) / N));
}

static void draws_have_the_moments_of_their_distributions(void)
{
	check_moments(rng_uniform, 0.5, 1.0 / 3, 1.0 / 5);
	check_moments(rng_exponential, 1, 2, 24);
	check_moments(rng_normal, 0, 1, 3);
}

/* The n-th moment is shape (shape + 1) ... (shape + n - 1). */
static void gamma_draws_have_their_moments_at_any_shape(void)
{
	static const double shapes[] = { 1.0 / 16, 0.25, 0.99, 1, 1.5, 4, 100 };
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		double k = shapes[i], square = k * (k + 1), fourth = square * (k + 2) * (k + 3);
		double sum = 0, squares = 0;
		struct rng rng;
		rng_init(&rng, 30 + i);
		for (int n = 0; n < N; n++) {
			double x = rng_gamma(&rng, k);
			sum += x;
			squares += x * x;
		}
		CHECK_NEAR(sum / N, k, 5 * sqrt(k / N));
		CHECK_NEAR(squares / N, square, 5 * sqrt((fourth - square * square) / N));
	}
}

static void normal_tails_are_as_heavy_as_they_should_be(void)
{
	struct rng rng;
	int n_beyond = 0;
	rng_init(&rng, 4);
	for (int i = 0; i < N; i++)
		n_beyond += fabs(rng_normal(&rng)) > 3;
	/* P(|Z| > 3) = erfc(3 / sqrt 2) */
	CHECK_NEAR(n_beyond, N * erfc(3 / sqrt(2)), 5 * sqrt(2700));
}

static void uniform_draws_stay_below_one(void)
{
	struct rng rng;
	double least = 1, most = 0;
	rng_init(&rng, 8);
	for (int i = 0; i < N; i++) {
		double x = rng_uniform(&rng);
		least = fmin(least, x);
		most = fmax(most, x);
	}
	CHECK(least >= 0 && least < 1e-5);
	CHECK(most < 1 && most > 1 - 1e-5);
}

static void draws_below_n_are_even(void)
{
	static const uint64_t limits[] = { 1, 2, 3, 10 };
	for (size_t l = 0; l < ARRAY_LEN(limits); l++) {
		int seen[10] = { 0 };
		struct rng rng;
		double chi2 = 0, expected = 100000.0 / (double)limits[l];
		rng_init(&rng, 6);
		for (int i = 0; i < 100000; i++) {
			uint64_t x = rng_below(&rng, limits[l]);
			if (!CHECK(x < limits[l]))
				return;
			seen[x]++;
		}
		for (uint64_t i = 0; i < limits[l]; i++)
			chi2 += (seen[i] - expected) * (seen[i] - expected) / expected;
		/* The 99.99 % quantile of chi-square with 9 degrees of freedom. */
		CHECK(chi2 < 33.72);
	}
	/* A limit for which a plain remainder would hit the lower half twice as often. */
	struct rng rng;
	const uint64_t limit = UINT64_C(3) << 62;
	int n_low = 0;
	rng_init(&rng, 7);
	for (int i = 0; i < 100000; i++)
		n_low += rng_below(&rng, limit) < limit / 3;
	CHECK_NEAR(n_low, 100000.0 / 3, 5 * sqrt(100000 * 2.0 / 9));
}

int main(void)
{
	TAP_RUN(the_generator_is_xoshiro256starstar);
	TAP_RUN(the_seed_goes_through_splitmix64);
	TAP_RUN(draws_have_the_moments_of_their_distributions);
	TAP_RUN(gamma_draws_have_their_moments_at_any_shape);
	TAP_RUN(normal_tails_are_as_heavy_as_they_should_be);
	TAP_RUN(uniform_draws_stay_below_one);
	TAP_RUN(draws_below_n_are_even);
	return tap_done();
}
