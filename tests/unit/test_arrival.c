#include "load/arrival.h"
#include "load/schedule.h"
#include "tap.h"

enum { N_DRAWS = 100000 };

/*
 * No sample of n exceeds this distance from its own distribution more often than once in 10^9.
 * Source: Massart 1990, P(D > c / sqrt(n)) <= 2 exp(-2 c^2).
 */
static double ks_bound(double n)
{
	return sqrt(log(2e9) / 2 / n);
}

/* P(X <= x) of a gamma with shape a and scale 1. Source: Abramowitz and Stegun, 6.5.29. */
static double gamma_cdf(double a, double x)
{
	double term, sum = 0;
	if (x <= 0)
		return 0;
	term = exp(a * log(x) - x - lgamma(a + 1));
	for (int n = 1; n < 20000 && (term > 1e-17 * sum || n < x); n++) {
		sum += term;
		term *= x / (a + n);
	}
	return sum;
}

static double exponential_cdf(double a, double x)
{
	(void)a;
	return 1 - exp(-x);
}

static double uniform_cdf(double a, double x)
{
	(void)a;
	return x;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Kolmogorov's distance of values, which are sorted here. */
static double ks_distance(double *values, size_t n, double (*cdf)(double a, double x), double a)
{
	double worst = 0;
	qsort(values, n, sizeof(*values), by_value);
	for (size_t i = 0; i < n; i++) {
		double f = cdf(a, values[i]);
		worst = fmax(
		        worst, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
	}
	return worst;
}

static struct arrival_law law_of(const char *text, struct arena *run)
{
	struct arrival_law law = { 0 };
	struct err err = { 0 };
	if (!CHECK(arrival_parse(text, 1, run, &law, &err)))
		printf("# %s\n", err.text);
	return law;
}

static struct arrival_law ramp_of(const char *kind, const char *rate, int64_t duration_ns,
        double *ret_rate, struct arena *run)
{
	struct arrival_law law = law_of(kind, run);
	struct err err = { 0 };
	if (!CHECK(arrival_parse_rate(rate, duration_ns, run, &law, ret_rate, &err)))
		printf("# %s\n", err.text);
	return law;
}

static void a_constant_rate_never_drifts(void)
{
	static const struct arrival_law law = { ARRIVAL_CONSTANT };
	struct arrival a;
	arrival_init(&a, &law, 3, 1, 0, 1);
	for (int64_t k = 0; k < 3000001; k++) {
		int64_t i, t = arrival_next_ns(&a, &i);
		if (k == 3000000) {
			CHECK_INT(t, INT64_C(1000000) * 1000000000);
			CHECK_INT(i, k);
		}
	}
}

/* Fills gaps in units of their mean. */
static void draw_gaps(const struct arrival_law *law, double rate, uint64_t seed, double *gaps)
{
	struct arrival a;
	arrival_init(&a, law, rate, seed, 0, 1);
	int64_t last = arrival_next_ns(&a, NULL);
	CHECK_INT(last, 0);
	for (int i = 0; i < N_DRAWS; i++) {
		int64_t t = arrival_next_ns(&a, NULL);
		gaps[i] = (double)(t - last) / 1e9 * rate;
		last = t;
	}
}

/*
 * Within five standard errors: cv / sqrt(n) of the mean; of the variance, with the fourth moment of
 * a gamma, sqrt((2 + 6 cv^2) / n).
 */
static void check_moments(const double *gaps, double cv)
{
	double sum = 0, squares = 0;
	for (int i = 0; i < N_DRAWS; i++)
		sum += gaps[i];
	double mean = sum / N_DRAWS;
	for (int i = 0; i < N_DRAWS; i++)
		squares += (gaps[i] - mean) * (gaps[i] - mean);
	CHECK_NEAR(mean, 1, 5 * cv / sqrt(N_DRAWS));
	CHECK_NEAR(
	        squares / (N_DRAWS - 1), cv * cv, 5 * cv * cv * sqrt((2 + 6 * cv * cv) / N_DRAWS));
}

static void poisson_gaps_are_exponential(void)
{
	static double gaps[N_DRAWS];
	static const struct arrival_law law = { ARRIVAL_POISSON };
	draw_gaps(&law, 50, 42, gaps);
	check_moments(gaps, 1);
	CHECK(ks_distance(gaps, N_DRAWS, exponential_cdf, 0) < ks_bound(N_DRAWS));
}

static double scaled_gamma_cdf(double cv, double x)
{
	double shape = 1 / (cv * cv);
	return gamma_cdf(shape, x * shape);
}

static void gamma_gaps_have_the_distribution_of_their_cv(void)
{
	static const struct {
		const char *text;
		double cv;
	} cases[] = { { "gamma:0.1", 0.1 }, { "gamma:0.5", 0.5 }, { "gamma:1", 1 },
		{ "gamma:2", 2 } };
	static double gaps[N_DRAWS];
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena run = { 0 };
		struct arrival_law law = law_of(cases[i].text, &run);
		/* A slow rate, so that gaps which are almost 0 are not lost in a nanosecond. */
		draw_gaps(&law, 1e-3, 7 + i, gaps);
		check_moments(gaps, cases[i].cv);
		double d = ks_distance(gaps, N_DRAWS, scaled_gamma_cdf, cases[i].cv);
		if (!CHECK(d < ks_bound(N_DRAWS)))
			printf("# %s: distance %g\n", cases[i].text, d);
		arena_release(&run);
	}
}

static void a_cv_of_one_is_exponential_and_of_none_constant(void)
{
	static double gaps[N_DRAWS];
	struct arena run = { 0 };
	struct arrival_law one = law_of("gamma:1", &run), none = law_of("gamma:0", &run);
	draw_gaps(&one, 1e-3, 3, gaps);
	CHECK(ks_distance(gaps, N_DRAWS, exponential_cdf, 0) < ks_bound(N_DRAWS));
	/* And the test can tell: the same gaps are not those of another CV. */
	CHECK(ks_distance(gaps, N_DRAWS, scaled_gamma_cdf, 1.1) > ks_bound(N_DRAWS));
	struct arrival a;
	arrival_init(&a, &none, 8, 3, 0, 1);
	for (int k = 0; k < 1000; k++)
		CHECK_INT(arrival_next_ns(&a, NULL), k * INT64_C(125000000));
	arena_release(&run);
}

/* Expected requests until t of 10@0s,30@10s,30@20s,5@20s, by hand. */
static double expected_by_hand(double t)
{
	if (t <= 10)
		return 10 * t + t * t;
	if (t <= 20)
		return 200 + 30 * (t - 10);
	return 500 + 5 * (t - 20);
}

static const char steps[] = "10@0s,30@10s,30@20s,5@20s";

static void constant_arrivals_on_a_ramp_are_where_they_are_expected(void)
{
	struct arena run = { 0 };
	double rate;
	struct arrival_law law = ramp_of("constant", steps, 0, &rate, &run);
	struct arrival a;
	CHECK_NEAR(rate, 25, 1e-12);
	CHECK_STR(arrival_text(&law), "constant rate:10@0s,30@10s,30@20s,5@20s");
	arrival_init(&a, &law, rate, 1, 0, 1);
	for (int k = 0; k < 1000; k++) {
		double t = (double)arrival_next_ns(&a, NULL) / 1e9;
		CHECK_NEAR(expected_by_hand(t), k, 1e-7);
	}
	for (double t = 0; t < 40; t += 0.5)
		CHECK_NEAR(arrival_expected(&law, rate, 3, 3 + t),
		        expected_by_hand(3 + t) - expected_by_hand(3), 1e-9);
	arena_release(&run);
}

/* Half of r t^2 / T are expected until t: the k-th is due at sqrt(2 k T / r). */
static void a_ramp_over_the_duration_starts_from_nothing_too(void)
{
	struct arena run = { 0 };
	double rate;
	struct arrival_law law = ramp_of("constant", "0..100", INT64_C(8000000000), &rate, &run);
	struct arrival a;
	CHECK_NEAR(rate, 50, 1e-12);
	arrival_init(&a, &law, rate, 1, 0, 1);
	for (int k = 0; k <= 400; k++)
		CHECK_NEAR((double)arrival_next_ns(&a, NULL) / 1e9, sqrt(2 * k * 8 / 100.0), 1e-9);
	/* Level after the end. */
	for (int k = 1; k < 100; k++)
		CHECK_NEAR((double)arrival_next_ns(&a, NULL) / 1e9, 8 + k / 100.0, 1e-8);
	arena_release(&run);
}

static void a_rate_that_goes_to_nothing_ends_the_arrivals(void)
{
	struct arena run = { 0 };
	double rate;
	struct arrival_law law = ramp_of("constant", "0@5s,100@5s,0@7s", 0, &rate, &run);
	struct arrival a;
	arrival_init(&a, &law, rate, 1, 0, 1);
	int64_t last = 0, t = arrival_next_ns(&a, NULL);
	int n = 0;
	CHECK_INT(t, INT64_C(5000000000));
	for (; t != ARRIVAL_END && n < 1000; n++) {
		last = t;
		t = arrival_next_ns(&a, NULL);
	}
	/* 100 are expected: numbers 0 to 100. */
	CHECK_INT(n, 101);
	CHECK_INT(last, INT64_C(7000000000));
	CHECK_INT(arrival_next_ns(&a, NULL), ARRIVAL_END);
	arena_release(&run);
}

/* Given their number, the arrivals of a Poisson process lie as its expected count does. */
static void a_poisson_ramp_has_its_rate_everywhere(void)
{
	enum { SCALE = 200 };
	static double places[N_DRAWS + 2];
	struct arena run = { 0 };
	double rate;
	struct arrival_law law =
	        ramp_of("poisson", "2000@0s,6000@10s,6000@20s,1000@20s", 0, &rate, &run);
	struct arrival a;
	size_t n = 0;
	arrival_init(&a, &law, rate, 5, 0, 1);
	arrival_next_ns(&a, NULL); /* the one at the start is no draw */
	double end = expected_by_hand(15);
	for (;;) {
		double place = expected_by_hand((double)arrival_next_ns(&a, NULL) / 1e9) / end;
		if (place >= 1 || n == N_DRAWS)
			break;
		places[n++] = place;
	}
	CHECK_NEAR((double)n, SCALE * end, 5 * sqrt(SCALE * end));
	CHECK(ks_distance(places, n, uniform_cdf, 0) < ks_bound((double)n));
	arena_release(&run);
}

static void gamma_gaps_keep_their_cv_on_a_ramp(void)
{
	static double gaps[N_DRAWS];
	struct arena run = { 0 };
	double rate;
	struct arrival_law law = ramp_of("gamma:2", steps, 0, &rate, &run);
	struct arrival a;
	double last = 0;
	arrival_init(&a, &law, rate, 11, 0, 1);
	arrival_next_ns(&a, NULL);
	for (int i = 0; i < N_DRAWS; i++) {
		double place = expected_by_hand((double)arrival_next_ns(&a, NULL) / 1e9);
		gaps[i] = place - last;
		last = place;
	}
	check_moments(gaps, 2);
	arena_release(&run);
}

static void threads_share_out_exactly_the_arrivals_of_one(void)
{
	enum { THREADS_MAX = 5 };
	static const char *const kinds[] = { "constant", "poisson", "gamma:0.5", "gamma:3",
		"schedule" };
	static const char rows[] = "0.5\n0.1\n0.1\n7\n2.25\n3\n4\n5\n5\n5\n6.5\n";
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct arena run = { 0 };
		struct err err;
		double rate;
		struct arrival_law law = { ARRIVAL_SCHEDULE };
		if (strcmp(kinds[i], "schedule") == 0)
			CHECK(schedule_parse(STR(rows), "rows", 1, &run, &law.schedule, &err));
		else
			law = ramp_of(kinds[i], steps, 0, &rate, &run);
		for (int n = 1; n <= THREADS_MAX; n++) {
			struct arrival whole, part[THREADS_MAX];
			arrival_init(&whole, &law, 25, 7, 0, 1);
			for (int k = 0; k < n; k++)
				arrival_init(&part[k], &law, 25, 7, k, n);
			for (int64_t k = 0; k < 999; k++) {
				int64_t mine, its;
				int64_t t = arrival_next_ns(&part[k % n], &mine);
				CHECK_INT(t, arrival_next_ns(&whole, &its));
				CHECK_INT(mine, k);
				CHECK_INT(its, k);
			}
		}
		arena_release(&run);
	}
}

static void another_seed_gives_other_moments(void)
{
	static const struct arrival_law law = { ARRIVAL_POISSON };
	struct arrival a, b;
	arrival_init(&a, &law, 100, 7, 0, 1);
	arrival_init(&b, &law, 100, 8, 0, 1);
	arrival_next_ns(&a, NULL);
	arrival_next_ns(&b, NULL);
	CHECK(arrival_next_ns(&a, NULL) != arrival_next_ns(&b, NULL));
}

static void what_is_exported_is_read_back_the_same(void)
{
	struct arena run = { 0 };
	struct err err;
	struct arrival_law law = law_of("gamma:2", &run), again = { ARRIVAL_SCHEDULE };
	AUTO(auto_buf) struct buf csv = { 0 };
	struct arrival a, b;
	CHECK(arrival_export(&law, 300, 9, INT64_C(10000000000), 0, &csv, &err));
	CHECK(schedule_parse(buf_str(&csv), "csv", 1, &run, &again.schedule, &err));
	arrival_init(&a, &law, 300, 9, 0, 1);
	arrival_init(&b, &again, 300, 9, 0, 1);
	for (size_t i = 0; i < again.schedule->n; i++)
		CHECK_INT(arrival_next_ns(&b, NULL), arrival_next_ns(&a, NULL));
	CHECK(arrival_next_ns(&a, NULL) >= INT64_C(10000000000));
	CHECK_INT(arrival_next_ns(&b, NULL), ARRIVAL_END);

	buf_clear(&csv);
	CHECK(arrival_export(&law, 300, 9, 0, 17, &csv, &err));
	CHECK(schedule_parse(buf_str(&csv), "csv", 1, &run, &again.schedule, &err));
	CHECK_INT(again.schedule->n, 17);
	CHECK(!arrival_export(&law, 300, 9, 0, 0, &csv, &err));
	arena_release(&run);
}

static void wrong_arrivals_and_rates_are_refused(void)
{
	static const char *const arrivals[] = { "", "gamma", "gamma:", "gamma:-1", "gamma:nan",
		"gamma:21", "poisson:2", "schedule", "schedule:", "normal" };
	static const char *const rates[] = { "", "x", "0", "-3", "1e8", "nan", "3..", "..3", "5..x",
		"0..0", "1@", "1@5", "@1s", "5@2s,5@1s", "0@0s,0@9s", "1@0s,,2@1s", "1@0s;2@1s" };
	struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(arrivals); i++) {
		struct err err = { 0 };
		struct arrival_law law;
		if (!CHECK(!arrival_parse(arrivals[i], 1, &run, &law, &err)))
			printf("# '%s'\n", arrivals[i]);
		CHECK_INT(err.kind, ERR_USAGE);
	}
	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		struct err err = { 0 };
		struct arrival_law law = { 0 };
		double rate;
		if (!CHECK(!arrival_parse_rate(
		            rates[i], INT64_C(1000000000), &run, &law, &rate, &err)))
			printf("# '%s'\n", rates[i]);
		CHECK_INT(err.kind, ERR_USAGE);
	}
	struct err err = { 0 };
	struct arrival_law law = { 0 };
	double rate;
	CHECK(!arrival_parse_rate("1..2", 0, &run, &law, &rate, &err));
	CHECK(strstr(err.text, "--duration") != NULL);
	arena_release(&run);
}

int main(void)
{
	TAP_RUN(a_constant_rate_never_drifts);
	TAP_RUN(poisson_gaps_are_exponential);
	TAP_RUN(gamma_gaps_have_the_distribution_of_their_cv);
	TAP_RUN(a_cv_of_one_is_exponential_and_of_none_constant);
	TAP_RUN(constant_arrivals_on_a_ramp_are_where_they_are_expected);
	TAP_RUN(a_ramp_over_the_duration_starts_from_nothing_too);
	TAP_RUN(a_rate_that_goes_to_nothing_ends_the_arrivals);
	TAP_RUN(a_poisson_ramp_has_its_rate_everywhere);
	TAP_RUN(gamma_gaps_keep_their_cv_on_a_ramp);
	TAP_RUN(threads_share_out_exactly_the_arrivals_of_one);
	TAP_RUN(another_seed_gives_other_moments);
	TAP_RUN(what_is_exported_is_read_back_the_same);
	TAP_RUN(wrong_arrivals_and_rates_are_refused);
	return tap_done();
}
