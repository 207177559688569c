#include "stats/quantile.h"

#include "base/rng.h"
#include "tap.h"

static void ranks_are_the_ceiling_of_the_share(void)
{
	static const struct {
		int64_t n;
		double q;
		int64_t want;
	} cases[] = {
		{ 1, 0.5, 1 },
		{ 2, 0.5, 1 },
		{ 3, 0.5, 2 },
		{ 4, 0.5, 2 },
		{ 10, 0, 1 },
		{ 10, 1, 10 },
		{ 10, 0.91, 10 },
		{ 100, 0.99, 99 },
		{ 100, 0.999, 100 },
		{ 1000, 0.999, 999 },
		/* products that doubles put just over a whole number */
		{ 100, 0.07, 7 },
		{ 100, 0.14, 14 },
		{ 100, 0.28, 28 },
		{ 100, 0.55, 55 },
		{ 1000000000, 0.999, 999000000 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!CHECK_INT(quantile_rank(cases[i].n, cases[i].q), cases[i].want))
			printf("#   n %lld, q %g\n", (long long)cases[i].n, cases[i].q);
	static const double sorted[] = { 1, 2, 4, 8, 16 };
	CHECK_NEAR(quantile_sorted(sorted, 5, 0.5), 4, 0);
	CHECK_NEAR(quantile_sorted(sorted, 5, 0.8), 8, 0);
	CHECK_NEAR(quantile_sorted(sorted, 5, 0.81), 16, 0);
}

enum { N_MAX = 1000000 };

/*
 * P(B = k) of the binomial for every k: ratios of neighbours from the mode outwards, then divided
 * by their sum, so that there is no gamma function in it.
 */
static const long double *binomial(int n, long double q)
{
	static long double p[N_MAX + 1];
	int mode = (int)(n * q);
	long double total = 0;
	p[mode] = 1;
	for (int k = mode; k > 0; k--)
		p[k - 1] = p[k] * k * (1 - q) / ((n - k + 1) * q);
	for (int k = mode; k < n; k++)
		p[k + 1] = p[k] * (n - k) * q / ((k + 1) * (1 - q));
	for (int k = 0; k <= n; k++)
		total += p[k];
	for (int k = 0; k <= n; k++)
		p[k] /= total;
	return p;
}

static long double sum(const long double *p, int64_t from, int64_t to)
{
	long double total = 0;
	for (int64_t k = from; k < to; k++)
		total += p[k];
	return total;
}

/*
 * The floors that the rule is known by: those of MLPerf Inference for P90, P99, P99.9; a loop over
 * n that stops when q**n + n * q**(n-1) * (1-q) <= 0.01 gives all of them (Python).
 */
static void a_quantile_needs_the_samples_of_the_binomial_rule(void)
{
	static const struct {
		double q;
		int64_t want;
	} cases[] = { { 0.5, 11 }, { 0.9, 64 }, { 0.95, 130 }, { 0.99, 662 }, { 0.999, 6636 },
		{ 0.9999, 66381 } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double q = cases[i].q;
		CHECK_INT(quantile_floor(q), cases[i].want);
		CHECK(quantile_enough(cases[i].want, q));
		CHECK(!quantile_enough(cases[i].want - 1, q));
		CHECK(quantile_enough(1000000000000, q));
	}
	static const double none[] = { 0, 1, -1, NAN };
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		CHECK(!quantile_enough(1000000, none[i]));
		CHECK_INT(quantile_floor(none[i]), INT64_MAX);
	}
	CHECK(!quantile_enough(0, 0.5));
	CHECK(!quantile_enough(-1, 0.5));
}

/* The rule by direct sums: too few samples leave more than 1 % above the largest but one. */
static void the_floor_is_where_the_tail_of_the_binomial_is_a_hundredth(void)
{
	for (double q = 0.3; q < 0.9995; q = 1 - (1 - q) / 1.3) {
		int n = (int)quantile_floor(q);
		const long double *p = binomial(n, 1 - (long double)q);
		CHECK(p[0] + p[1] <= 0.01L);
		p = binomial(n - 1, 1 - (long double)q);
		CHECK(p[0] + p[1] > 0.01L);
	}
}

static void intervals_of_the_median_are_those_of_the_tables(void)
{
	/* Ranks and coverage at 95 %: Conover, table A3 gives the same binomial tails. */
	static const struct {
		int n;
		int64_t low, high;
		double coverage;
	} cases[] = {
		{ 6, 1, 6, 0.9688 },
		{ 9, 2, 8, 0.9609 },
		{ 10, 2, 9, 0.9785 },
		{ 20, 6, 15, 0.9586 },
		{ 30, 10, 21, 0.9572 },
		{ 100, 40, 61, 0.9648 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t low = 0, high = 0;
		CHECK(quantile_ci_ranks(cases[i].n, 0.5, 0.95, &low, &high));
		CHECK_INT(low, cases[i].low);
		CHECK_INT(high, cases[i].high);
		CHECK_NEAR((double)sum(binomial(cases[i].n, 0.5L), low, high), cases[i].coverage,
		        5e-5);
	}
}

/* What defines the ranks: each tail holds at most half the error, one rank further in holds more.
 */
static void check_against_sums(int n, double q, double confidence)
{
	const long double *p = binomial(n, q);
	long double limit = (1 - (long double)confidence) / 2;
	int64_t low = -1, high = -1;
	bool got = quantile_ci_ranks(n, q, confidence, &low, &high);
	bool ok = CHECK(got == (p[0] <= limit && p[n] <= limit));
	if (got) {
		ok &= CHECK(low >= 1 && low < high && high <= n);
		ok &= CHECK(sum(p, 0, low) <= limit);
		ok &= CHECK(sum(p, 0, low + 1) > limit);
		ok &= CHECK(sum(p, high, n + 1) <= limit);
		ok &= CHECK(sum(p, high - 1, n + 1) > limit);
	} else {
		ok &= CHECK(low == -1 && high == -1);
	}
	if (!ok)
		printf("#   n %d, q %g, confidence %g\n", n, q, confidence);
}

static void intervals_agree_with_direct_sums(void)
{
	static const double shares[] = { 0.001, 0.05, 0.5, 0.9, 0.99, 0.999 };
	static const double confidences[] = { 0.5, 0.9, 0.95, 0.99, 0.999999 };
	for (int n = 1; n <= 3000; n += 1 + n / 8)
		for (size_t s = 0; s < sizeof(shares) / sizeof(shares[0]); s++)
			for (size_t c = 0; c < sizeof(confidences) / sizeof(confidences[0]); c++)
				check_against_sums(n, shares[s], confidences[c]);
}

static void an_interval_that_does_not_exist_is_not_made_up(void)
{
	int64_t low = 0, high = 0;
	/* 0.99^n <= 0.025 from n = ln 0.025 / ln 0.99 = 367.04 on */
	CHECK(!quantile_ci_ranks(367, 0.99, 0.95, &low, &high));
	CHECK(quantile_ci_ranks(368, 0.99, 0.95, &low, &high));
	CHECK_INT(high, 368);
	CHECK(!quantile_ci_ranks(0, 0.5, 0.95, &low, &high));
	CHECK(!quantile_ci_ranks(100, 0, 0.95, &low, &high));
	CHECK(!quantile_ci_ranks(100, 1, 0.95, &low, &high));
	CHECK(!quantile_ci_ranks(100, NAN, 0.95, &low, &high));
	CHECK(!quantile_ci_ranks(100, 0.5, 1, &low, &high));
}

static void a_million_samples_are_exact_too(void)
{
	static const double shares[] = { 0.5, 0.99, 0.999 };
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		check_against_sums(N_MAX, shares[i], 0.95);
}

/* The normal limit with the first term for skewness (Cornish and Fisher). */
static void a_thousand_million_samples_follow_the_normal_limit(void)
{
	static const double shares[] = { 0.001, 0.5, 0.99, 0.999 };
	const double n = 1e9, z = 1.959963984540054;
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		double q = shares[i], skew = (z * z - 1) * (1 - 2 * q) / 6;
		int64_t low = 0, high = 0;
		CHECK(quantile_ci_ranks((int64_t)n, q, 0.95, &low, &high));
		CHECK_NEAR((double)low, n * q - z * sqrt(n * q * (1 - q)) + skew, 1);
		CHECK_NEAR((double)high, n * q + z * sqrt(n * q * (1 - q)) + skew + 1, 1);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* How often the interval holds the true quantile, against the exact share of such samples. */
static void check_coverage(double q, bool exponential, uint64_t seed)
{
	enum { N = 120, TRIALS = 4000 };
	double truth = exponential ? -log1p(-q) : q, x[N];
	int64_t low = 0, high = 0;
	int n_held = 0;
	struct rng rng;
	rng_init(&rng, seed);
	CHECK(quantile_ci_ranks(N, q, 0.95, &low, &high));
	for (int t = 0; t < TRIALS; t++) {
		for (int i = 0; i < N; i++)
			x[i] = exponential ? rng_exponential(&rng) : rng_uniform(&rng);
		qsort(x, N, sizeof(x[0]), by_value);
		n_held += x[low - 1] <= truth && truth < x[high - 1];
	}
	double want = (double)sum(binomial(N, q), low, high);
	CHECK(want >= 0.95);
	CHECK_NEAR((double)n_held / TRIALS, want, 4 * sqrt(want * (1 - want) / TRIALS));
}

static void intervals_hold_the_true_quantile_as_often_as_they_say(void)
{
	check_coverage(0.5, false, 1);
	check_coverage(0.9, false, 2);
	check_coverage(0.5, true, 3);
	check_coverage(0.9, true, 4);
}

static void the_interval_of_a_histogram_is_in_its_values(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct hist h;
	struct quantile_interval ci = { 0 };
	hist_init(&h, &run);
	CHECK(!quantile_ci_hist(&h, 0.5, 0.95, NAN, &ci));
	for (int v = 1; v <= 100; v++)
		hist_record(&h, v);
	CHECK(quantile_ci_hist(&h, 0.5, 0.95, NAN, &ci));
	CHECK_INT(ci.low, 40);
	CHECK_INT(ci.high, 61);
	/* worth 10: the 2nd to the 9th of ten, that is from above the first to the last tenth but one */
	CHECK(quantile_ci_hist(&h, 0.5, 0.95, 10.9, &ci));
	CHECK_INT(ci.low, 11);
	CHECK_INT(ci.high, 90);
	CHECK(quantile_ci_hist(&h, 0.5, 0.95, 1000, &ci));
	CHECK_INT(ci.low, 40);
	CHECK(!quantile_ci_hist(&h, 0.5, 0.95, 5.9, &ci));
	CHECK(!quantile_ci_hist(&h, 0.99, 0.95, NAN, &ci));
}

int main(void)
{
	TAP_RUN(ranks_are_the_ceiling_of_the_share);
	TAP_RUN(a_quantile_needs_the_samples_of_the_binomial_rule);
	TAP_RUN(the_floor_is_where_the_tail_of_the_binomial_is_a_hundredth);
	TAP_RUN(intervals_of_the_median_are_those_of_the_tables);
	TAP_RUN(intervals_agree_with_direct_sums);
	TAP_RUN(an_interval_that_does_not_exist_is_not_made_up);
	TAP_RUN(a_million_samples_are_exact_too);
	TAP_RUN(a_thousand_million_samples_follow_the_normal_limit);
	TAP_RUN(intervals_hold_the_true_quantile_as_often_as_they_say);
	TAP_RUN(the_interval_of_a_histogram_is_in_its_values);
	return tap_done();
}
