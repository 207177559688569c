#include "stats/change.h"

#include "base/attr.h"
#include "base/rng.h"
#include "tap.h"

enum { N = 50, TRIALS = 2000 };

static void a_jump_is_found_where_it_is(void)
{
	for (size_t at = 15; at <= 35; at += 5) {
		double x[N];
		struct change c = { 0 };
		for (size_t i = 0; i < N; i++)
			x[i] = (i < at ? 100 : 80) + (double)(i * 7 % 5);
		CHECK(change_find(x, N, &c));
		CHECK(c.is_shift);
		CHECK_INT(c.at, at);
		CHECK_NEAR(c.from, 102, 0.5);
		CHECK_NEAR(c.to, 82, 0.5);
		CHECK(c.p < 0.001);
	}
}

/* All of 20 values above all of 20: the ranks differ by 400, and the sizes leave no doubt. */
static void the_probability_of_a_clear_jump_is_that_of_pettitt(void)
{
	double x[40];
	struct change c = { 0 };
	for (size_t i = 0; i < 40; i++)
		x[i] = (i < 20 ? 1 : 2) + 1e-3 * (double)(i * 7 % 5);
	CHECK(change_find(x, 40, &c));
	CHECK(c.is_shift);
	double want = 2 * exp(-6.0 * 400 * 400 / (64000 + 1600));
	CHECK_NEAR(c.p, want, 1e-9 * want);
}

/* 1, 2 ... n: Mann's S is n (n - 1) / 2, its variance n (n - 1) (2 n + 5) / 18. */
static void the_probability_of_a_clear_trend_is_that_of_mann(void)
{
	double x[30], n = 30;
	struct change c = { 0 };
	for (size_t i = 0; i < 30; i++)
		x[i] = 10 - 0.5 * (double)i + 1e-3 * (double)(i * 7 % 5);
	CHECK(change_find(x, 30, &c));
	CHECK(!c.is_shift);
	CHECK_NEAR(c.from, 10, 0.01);
	CHECK_NEAR(c.to, -4.5, 0.01);
	double want = erfc((n * (n - 1) / 2 - 1) / sqrt(n * (n - 1) * (2 * n + 5) / 18) / M_SQRT2);
	CHECK_NEAR(c.p, want, 1e-9 * want);
}

/* A trend that bends, and a jump in values that wander a little: sizes tell, not only ranks. */
static void a_large_change_is_found_in_values_that_wander(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		double bent[N], step[N], state = 0;
		struct change c = { 0 };
		struct rng rng;
		rng_init(&rng, seed);
		for (size_t i = 0; i < N; i++) {
			state = 0.8 * state + 0.1 * rng_normal(&rng);
			bent[i] = 100 / (1 + 0.6 * (double)i / N) + state;
			step[i] = (i < 17 ? 50 : 20) + state;
		}
		CHECK(change_find(bent, N, &c));
		CHECK(!c.is_shift && c.p < 0.001);
		CHECK(change_find(step, N, &c));
		CHECK(c.is_shift && c.p < 0.001 && c.at == 17);
	}
}

static void odd_values_are_no_jump(void)
{
	for (size_t odd = 0; odd < N; odd++) {
		double x[N];
		struct change c = { 0 };
		for (size_t i = 0; i < N; i++)
			x[i] = 100 + (double)(i * 7 % 5);
		x[odd] = 1000;
		x[odd > 0 ? odd - 1 : 1] = 900;
		CHECK(change_find(x, N, &c));
		CHECK(c.p > 0.01);
	}
}

/* In a series that stays at its level, changes at 1 % are found about as seldom, however it
 * wanders. */
static void noise_changes_no_more_often_than_its_probability(void)
{
	static const double memories[] = { 0, 0.3, 0.6, 0.8 };
	for (size_t m = 0; m < ARRAY_LEN(memories); m++) {
		int n_found = 0, n_rare = 0;
		for (uint64_t seed = 1; seed <= TRIALS; seed++) {
			double x[N], state = 0;
			struct change c = { 0 };
			struct rng rng;
			rng_init(&rng, seed);
			for (int i = -50; i < N; i++) {
				state = memories[m] * state + rng_normal(&rng);
				if (i >= 0)
					x[i] = 100 + state;
			}
			CHECK(change_find(x, N, &c));
			n_found += c.p < 0.01;
			n_rare += c.p < 0.001;
		}
		printf("# memory %g: %d of %d at 1 %%, %d at 0.1 %%\n", memories[m], n_found,
		        TRIALS, n_rare);
		CHECK(n_found <= TRIALS * 3 / 100);
		CHECK(n_rare <= TRIALS * (memories[m] > 0.7 ? 2 : 1) / 100);
	}
}

/* A tenth over the window in noise of 3 %: seen nearly always. */
static void changes_that_matter_are_found(void)
{
	int n_trends = 0, n_shifts = 0;
	for (uint64_t seed = 1; seed <= TRIALS / 10; seed++) {
		double ramp[N], step[N];
		struct change a = { 0 }, b = { 0 };
		struct rng rng;
		rng_init(&rng, seed);
		for (size_t i = 0; i < N; i++) {
			ramp[i] = 100 - 10 * (double)i / N + 3 * rng_normal(&rng);
			step[i] = (i < 30 ? 100 : 90) + 3 * rng_normal(&rng);
		}
		CHECK(change_find(ramp, N, &a) && change_find(step, N, &b));
		n_trends += a.p < 0.001;
		n_shifts += b.p < 0.001 && b.is_shift && b.at >= 27 && b.at <= 33;
	}
	CHECK(n_trends >= TRIALS / 10 * 9 / 10);
	CHECK(n_shifts >= TRIALS / 10 * 9 / 10);
}

static void constants_and_short_series_show_no_change(void)
{
	double x[N];
	struct change c = { 0 };
	for (size_t i = 0; i < N; i++)
		x[i] = 0.1;
	CHECK(change_find(x, N, &c));
	CHECK(c.p == 1);
	CHECK(!change_find(x, CHANGE_MIN - 1, &c));
}

/* y = 3 + 2 x with errors 1, -2, 1 around the middle of three: slope 2, error sqrt(6 / 1 / 2). */
static void a_slope_has_the_error_of_the_textbook(void)
{
	static const double x[] = { 3 + 1, 5 - 2, 7 + 1 };
	double slope, error;
	change_slope(x, 3, &slope, &error);
	CHECK_NEAR(slope, 2, 1e-12);
	CHECK_NEAR(error, sqrt(6.0 / 1 / 2), 1e-12);
}

int main(void)
{
	TAP_RUN(a_jump_is_found_where_it_is);
	TAP_RUN(the_probability_of_a_clear_jump_is_that_of_pettitt);
	TAP_RUN(the_probability_of_a_clear_trend_is_that_of_mann);
	TAP_RUN(a_large_change_is_found_in_values_that_wander);
	TAP_RUN(odd_values_are_no_jump);
	TAP_RUN(noise_changes_no_more_often_than_its_probability);
	TAP_RUN(changes_that_matter_are_found);
	TAP_RUN(constants_and_short_series_show_no_change);
	TAP_RUN(a_slope_has_the_error_of_the_textbook);
	return tap_done();
}
