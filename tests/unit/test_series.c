/*
 * The seconds of a run, counted by two threads and merged.
 */
#include "load/series.h"

#include "base/clock.h"
#include "tap.h"

#include <math.h>

static const double bucket_tolerance = 0.032; /* 16 buckets an octave: half of one is 1/32 */

static void near(double got, double want)
{
	if (!CHECK(fabs(got - want) <= bucket_tolerance * want))
		printf("# got %g, want %g\n", got, want);
}

static struct load_second *merge(const struct series *a, const struct series *b, double duration_s,
	struct arena *run, int64_t *ret_n)
{
	const struct series *all[] = { a, b };
	return series_merge(all, 2, duration_s, 1, run, ret_n);
}

static void each_second_has_what_ended_in_it_over_all_threads(void)
{
	struct arena run = { 0 };
	struct series a = { 0 }, b = { 0 };
	int64_t n;
	/* 10 ms in the first second, 20 and 40 in the third, nothing in the second */
	for (int i = 0; i < 50; i++)
		series_record(&a, i * 10 * NS_PER_MS, true, 10 * NS_PER_MS);
	for (int i = 0; i < 50; i++) {
		series_record(&b, 2 * NS_PER_S + i * 10 * NS_PER_MS, true, 20 * NS_PER_MS);
		series_record(&a, 2 * NS_PER_S + i * 10 * NS_PER_MS, i % 2, 40 * NS_PER_MS);
	}
	struct load_second *s = merge(&a, &b, 2.5, &run, &n);
	CHECK_INT(n, 3);
	CHECK_INT(s[0].requests, 50);
	CHECK_INT(s[1].requests, 0);
	CHECK_INT(s[2].requests, 100);
	CHECK_INT(s[2].errors, 25);
	near(s[0].p50_ms, 10);
	CHECK(isnan(s[1].p50_ms) && isnan(s[1].mean_ms));
	/* 50 of 20 ms and 25 of 40 */
	near(s[2].p50_ms, 20);
	near(s[2].mean_ms, 2000.0 / 75);
	CHECK(isnan(s[2].p99_ms));
	series_release(&a);
	series_release(&b);
	arena_release(&run);
}

static void a_stamp_that_comes_late_counts_in_the_second_under_way(void)
{
	struct arena run = { 0 };
	struct series a = { 0 }, b = { 0 };
	int64_t n;
	for (int i = 0; i < 20; i++)
		series_record(&a, NS_PER_S + i, true, 5 * NS_PER_MS);
	for (int i = 0; i < 20; i++)
		series_record(&a, NS_PER_S - 1 - i, true, 5 * NS_PER_MS);
	struct load_second *s = merge(&a, &b, 2, &run, &n);
	CHECK_INT(n, 2);
	CHECK_INT(s[0].requests + s[1].requests, 40);
	CHECK_INT(s[1].requests, 40);
	near(s[1].p50_ms, 5);
	series_release(&a);
	arena_release(&run);
}

static void a_level_is_spread_over_the_seconds_that_it_held(void)
{
	struct arena run = { 0 };
	struct series a = { 0 }, b = { 0 };
	int64_t n;
	series_in_flight(&a, NS_PER_S / 2, 3 * NS_PER_S, 4);
	series_in_flight(&b, 0, 3 * NS_PER_S, 1);
	struct load_second *s = merge(&a, &b, 3, &run, &n);
	CHECK(fabs(s[0].in_flight - 3) < 1e-9);
	CHECK(fabs(s[1].in_flight - 5) < 1e-9);
	CHECK(fabs(s[2].in_flight - 5) < 1e-9);
	series_release(&a);
	series_release(&b);
	arena_release(&run);
}

int main(void)
{
	TAP_RUN(each_second_has_what_ended_in_it_over_all_threads);
	TAP_RUN(a_stamp_that_comes_late_counts_in_the_second_under_way);
	TAP_RUN(a_level_is_spread_over_the_seconds_that_it_held);
	return tap_done();
}
