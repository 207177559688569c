#include "stats/steady.h"

#include "base/attr.h"
#include "base/rng.h"
#include "tap.h"

enum { N = 2000, TRIALS = 200 };

/* Level 100 with noise, above it a warm-up that decays with the given length. */
static void make_decay(double *x, size_t n, double height, double length, double sd, uint64_t seed)
{
	struct rng rng;
	rng_init(&rng, seed);
	for (size_t i = 0; i < n; i++)
		x[i] = 100 + height * exp(-(double)i / length) + sd * rng_normal(&rng);
}

static void a_step_is_cut_off_where_it_ends(void)
{
	double x[N];
	size_t cut = 0;
	for (size_t i = 0; i < N; i++)
		x[i] = (i < 300 ? 500 : 100) + (double)(i % 5);
	CHECK(steady_mser5(x, N, &cut));
	CHECK_INT(cut, 300);
}

static void a_step_inside_a_batch_takes_the_batch_with_it(void)
{
	double x[N];
	size_t cut = 0;
	for (size_t i = 0; i < N; i++)
		x[i] = i < 302 ? 500 : 100;
	CHECK(steady_mser5(x, N, &cut));
	CHECK_INT(cut, 305);
}

static void a_decaying_warm_up_is_cut_where_it_drowns_in_the_noise(void)
{
	double x[N];
	for (uint64_t seed = 1; seed <= 20; seed++) {
		size_t cut = 0;
		make_decay(x, N, 400, 50, 10, seed);
		if (!CHECK(steady_mser5(x, N, &cut)))
			continue;
		/* 400 * exp(-i / 50): still 147 at 50, under a tenth of the noise from 300 on. */
		CHECK(cut >= 100 && cut <= 500);
		double sum = 0;
		for (size_t i = cut; i < N; i++)
			sum += x[i];
		CHECK_NEAR(sum / (double)(N - cut), 100, 1.5);
	}
}

/* The statistic as the paper writes it, with every mean taken anew. */
static double mser_of(const double *batches, size_t n, size_t cut)
{
	double mean = 0, squares = 0, m = (double)(n - cut);
	for (size_t i = cut; i < n; i++)
		mean += batches[i] / m;
	for (size_t i = cut; i < n; i++)
		squares += (batches[i] - mean) * (batches[i] - mean);
	return squares / (m * m);
}

static void the_cut_minimises_the_statistic_of_the_paper(void)
{
	double x[500], batches[100];
	for (uint64_t seed = 1; seed <= 20; seed++) {
		size_t cut = 0, best = 0;
		make_decay(x, 500, 100, 20, 20, seed);
		for (size_t b = 0; b < 100; b++) {
			batches[b] = 0;
			for (size_t i = 0; i < 5; i++)
				batches[b] += x[5 * b + i] / 5;
		}
		for (size_t c = 1; c <= 95; c++)
			if (mser_of(batches, 100, c) < mser_of(batches, 100, best))
				best = c;
		CHECK(steady_mser5(x, 500, &cut) == (best <= 50));
		if (best <= 50)
			CHECK_INT(cut, 5 * best);
	}
}

static void a_constant_series_loses_nothing(void)
{
	double x[N];
	size_t cut = 99;
	for (size_t i = 0; i < N; i++)
		x[i] = 0.1;
	CHECK(steady_mser5(x, N, &cut));
	CHECK_INT(cut, 0);
}

static void pure_noise_is_nearly_always_steady_from_near_its_start(void)
{
	double x[N];
	int n_steady = 0, n_early = 0;
	for (uint64_t seed = 1; seed <= TRIALS; seed++) {
		size_t cut = N;
		make_decay(x, N, 0, 1, 10, seed);
		n_steady += steady_mser5(x, N, &cut);
		n_early += cut < N / 10;
	}
	CHECK(n_steady >= TRIALS * 9 / 10);
	CHECK(n_early >= TRIALS * 3 / 4);
}

static void a_ramp_never_settles(void)
{
	double x[N];
	struct rng rng;
	size_t cut = 7;
	rng_init(&rng, 3);
	for (size_t i = 0; i < N; i++)
		x[i] = (double)i + 5 * rng_normal(&rng);
	CHECK(!steady_mser5(x, N, &cut));
	CHECK_INT(cut, 7);
}

static void too_short_a_series_gets_no_verdict(void)
{
	double x[100] = { 0 };
	size_t cut;
	CHECK(!steady_mser5(x, 0, &cut));
	CHECK(!steady_mser5(x, 49, &cut));
	CHECK(steady_mser5(x, 50, &cut));
}

int main(void)
{
	TAP_RUN(a_step_is_cut_off_where_it_ends);
	TAP_RUN(a_step_inside_a_batch_takes_the_batch_with_it);
	TAP_RUN(a_decaying_warm_up_is_cut_where_it_drowns_in_the_noise);
	TAP_RUN(the_cut_minimises_the_statistic_of_the_paper);
	TAP_RUN(a_constant_series_loses_nothing);
	TAP_RUN(pure_noise_is_nearly_always_steady_from_near_its_start);
	TAP_RUN(a_ramp_never_settles);
	TAP_RUN(too_short_a_series_gets_no_verdict);
	return tap_done();
}
