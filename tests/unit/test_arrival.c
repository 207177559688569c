#include "load/arrival.h"
#include "tap.h"

static void a_constant_rate_never_drifts(void)
{
	struct arrival a;
	arrival_init(&a, 3, false, 1, 0, 1);
	for (int64_t k = 0; k < 3000001; k++) {
		int64_t t = arrival_next_ns(&a);
		if (k == 3000000)
			CHECK_INT(t, INT64_C(1000000) * 1000000000);
	}
}

/* Mean 1/r and deviation 1/r, within four standard errors of n draws. */
static void poisson_gaps_have_the_mean_and_the_deviation_of_an_exponential(void)
{
	enum { N = 200000 };
	struct arrival a;
	double sum = 0, squares = 0;
	arrival_init(&a, 50, true, 42, 0, 1);
	int64_t last = arrival_next_ns(&a);
	CHECK_INT(last, 0);
	for (int i = 0; i < N; i++) {
		int64_t t = arrival_next_ns(&a);
		double gap = (double)(t - last) / 1e9;
		sum += gap;
		squares += gap * gap;
		last = t;
	}
	double mean = sum / N, sd = sqrt(squares / N - mean * mean);
	CHECK_NEAR(mean, 0.02, 4 * 0.02 / sqrt(N));
	/* The deviation of an exponential sample has a standard error of about sqrt(2 / n). */
	CHECK_NEAR(sd, 0.02, 4 * 0.02 * sqrt(2.0 / N));
}

static void threads_share_out_exactly_the_arrivals_of_one(void)
{
	struct arrival whole, part[3];
	arrival_init(&whole, 100, true, 7, 0, 1);
	for (int i = 0; i < 3; i++)
		arrival_init(&part[i], 100, true, 7, i, 3);
	for (int k = 0; k < 999; k++)
		CHECK_INT(arrival_next_ns(&part[k % 3]), arrival_next_ns(&whole));
}

static void another_seed_gives_other_moments(void)
{
	struct arrival a, b;
	arrival_init(&a, 100, true, 7, 0, 1);
	arrival_init(&b, 100, true, 8, 0, 1);
	arrival_next_ns(&a);
	arrival_next_ns(&b);
	CHECK(arrival_next_ns(&a) != arrival_next_ns(&b));
}

int main(void)
{
	TAP_RUN(a_constant_rate_never_drifts);
	TAP_RUN(poisson_gaps_have_the_mean_and_the_deviation_of_an_exponential);
	TAP_RUN(threads_share_out_exactly_the_arrivals_of_one);
	TAP_RUN(another_seed_gives_other_moments);
	return tap_done();
}
