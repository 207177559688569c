#include "stats/hist.h"
#include "stats/quantile.h"

#include "base/rng.h"
#include "tap.h"

/* Just under, on and just over every power of two, and 2000 values spread over all octaves. */
static int64_t probe(int i)
{
	static struct rng rng;
	if (i == 0)
		rng_init(&rng, 7);
	if (i < 3 * HIST_MAX_BITS)
		return (INT64_C(1) << (i / 3)) + i % 3 - 1;
	return (int64_t)(rng_u64(&rng) >>
	                 (64 - HIST_MAX_BITS + (int)rng_below(&rng, HIST_MAX_BITS)));
}

enum { N_PROBES = 3 * HIST_MAX_BITS + 2000 };

static void a_bucket_is_at_most_a_256th_of_its_values_wide(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct hist h;
	hist_init(&h, &run);
	for (int i = 0; i < N_PROBES; i++) {
		int64_t v = probe(i), upper, count;
		int at = 0;
		hist_clear(&h);
		hist_record_n(&h, v, 3);
		if (!CHECK(hist_next(&h, &at, &upper, &count)))
			return;
		CHECK_INT(count, 3);
		CHECK(upper >= v);
		CHECK((double)(upper - v) <= (double)v / 256);
		CHECK_INT(at - 1, hist_bucket(v));
		CHECK(!hist_next(&h, &at, &upper, &count));
	}
}

static void every_value_comes_back_within_a_fifth_of_a_percent(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct hist h;
	hist_init(&h, &run);
	for (int i = 0; i < N_PROBES; i++) {
		int64_t v = probe(i);
		hist_clear(&h);
		hist_record(&h, 0);
		hist_record(&h, v);
		hist_record(&h, HIST_TOP);
		double got = (double)hist_rank(&h, 2);
		if (!CHECK_NEAR(got, (double)v, (double)v * 0.002))
			return;
		if (v < 512)
			CHECK_INT(got, v);
	}
}

static void buckets_rise_with_their_values_and_fill_the_memory_exactly(void)
{
	CHECK_INT(hist_bucket(0), 0);
	CHECK_INT(hist_bucket(HIST_TOP), HIST_N_BUCKETS - 1);
	CHECK_INT(HIST_N_BUCKETS * sizeof(uint64_t), 72 * 1024);
	for (int i = 0; i < N_PROBES; i++) {
		int64_t v = probe(i);
		int step = hist_bucket(v + 1) - hist_bucket(v);
		CHECK(v == HIST_TOP || step == 0 || step == 1);
	}
}

static void nothing_is_dropped_over_the_top_or_under_zero(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct hist h;
	int64_t upper = 0, count = 0, n = 0;
	hist_init(&h, &run);
	hist_record(&h, -5);
	hist_record(&h, HIST_TOP);
	hist_record(&h, HIST_TOP + 1);
	hist_record(&h, INT64_MAX);
	hist_record_n(&h, 3, 0);
	CHECK_INT(h.n, 4);
	CHECK_INT(h.n_clipped, 2);
	CHECK_INT(h.min, 0);
	CHECK_INT(h.max, INT64_MAX);
	CHECK_INT(hist_quantile(&h, 1), INT64_MAX);
	CHECK(hist_rank(&h, 3) > HIST_TOP - (HIST_TOP >> 8));
	CHECK_INT(hist_count_at_or_below(&h, INT64_MAX - 1), 3);
	for (int i = 0; hist_next(&h, &i, &upper, &count);)
		n += count;
	CHECK_INT(n, 4);
	CHECK_INT(upper, INT64_MAX);
}

static void only_clipped_values_still_have_a_min_and_a_max(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct hist h;
	hist_init(&h, &run);
	hist_record(&h, HIST_TOP + 10);
	hist_record(&h, HIST_TOP + 20);
	hist_record(&h, HIST_TOP + 30);
	CHECK_INT(hist_rank(&h, 1), HIST_TOP + 10);
	CHECK_INT(hist_rank(&h, 2), HIST_TOP + 10);
	CHECK_INT(hist_rank(&h, 3), HIST_TOP + 30);
	CHECK_INT(hist_count_at_or_below(&h, HIST_TOP), 0);
}

static void quantiles_are_nearest_rank(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct hist h;
	hist_init(&h, &run);
	for (int v = 1; v <= 100; v++)
		hist_record(&h, v);
	CHECK_INT(hist_quantile(&h, 0), 1);
	CHECK_INT(hist_quantile(&h, 0.005), 1);
	CHECK_INT(hist_quantile(&h, 0.5), 50);
	CHECK_INT(hist_quantile(&h, 0.501), 51);
	CHECK_INT(hist_quantile(&h, 0.9), 90);
	CHECK_INT(hist_quantile(&h, 0.99), 99);
	CHECK_INT(hist_quantile(&h, 0.999), 100);
	CHECK_INT(hist_quantile(&h, 1), 100);
}

/* The exponential's quantile is -mean * ln(1 - q); the values stand on an even grid of shares. */
static void quantiles_follow_the_closed_form_from_a_microsecond_to_an_hour(void)
{
	static const double means[] = { 1e3, 1e6, 1e9, 3600e9 / 12 };
	static const double shares[] = { 0.01, 0.5, 0.9, 0.99, 0.999 };
	enum { N = 100000 };
	AUTO(arena_release) struct arena run = { 0 };
	struct hist h;
	hist_init(&h, &run);
	for (size_t m = 0; m < sizeof(means) / sizeof(means[0]); m++) {
		hist_clear(&h);
		for (int i = 0; i < N; i++)
			hist_record(&h, llround(-means[m] * log1p(-(i + 0.5) / N)));
		for (size_t s = 0; s < sizeof(shares) / sizeof(shares[0]); s++) {
			double want = -means[m] * log1p(-shares[s]);
			CHECK_NEAR((double)hist_quantile(&h, shares[s]), want, want * 0.01);
		}
		/* Mean and deviation of an exponential are equal; the grid cuts off the far tail.
		 */
		CHECK_NEAR(hist_mean(&h), means[m], means[m] * 1e-3);
		CHECK_NEAR(hist_sd(&h), means[m], means[m] * 1e-3);
	}
}

static void the_deviation_of_a_narrow_sample_far_from_zero_survives(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct hist h;
	hist_init(&h, &run);
	/* 0 to 9 equally often: variance (100 - 1) / 12, times n / (n - 1). */
	for (int i = 0; i < 1000000; i++)
		hist_record(&h, INT64_C(1000000000000) + i % 10);
	CHECK_NEAR(hist_mean(&h), 1e12 + 4.5, 1e-3);
	CHECK_NEAR(hist_sd(&h), sqrt(99.0 / 12 * 1e6 / (1e6 - 1)), 1e-6);
}

static void merged_parts_equal_the_whole(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct hist whole, parts[3], empty = { 0 };
	struct rng rng;
	rng_init(&rng, 3);
	hist_init(&whole, &run);
	for (int i = 0; i < 3; i++)
		hist_init(&parts[i], &run);
	for (int i = 0; i < 20000; i++) {
		int64_t v = (int64_t)(rng_u64(&rng) >> (18 + rng_below(&rng, 45)));
		hist_record(&whole, v);
		hist_record(&parts[rng_below(&rng, 3)], v);
	}
	hist_merge(&parts[0], &parts[1]);
	hist_merge(&parts[0], &empty);
	hist_merge(&parts[0], &parts[2]);
	CHECK(whole.n_clipped > 0);
	CHECK(memcmp(whole.counts, parts[0].counts, HIST_N_BUCKETS * sizeof(uint64_t)) == 0);
	CHECK_INT(parts[0].n, whole.n);
	CHECK_INT(parts[0].n_clipped, whole.n_clipped);
	CHECK_INT(parts[0].min, whole.min);
	CHECK_INT(parts[0].max, whole.max);
	CHECK(parts[0].sum == whole.sum);
	CHECK(parts[0].sum_squares == whole.sum_squares);
}

static void counting_is_the_inverse_of_ranking(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct hist h;
	struct rng rng;
	hist_init(&h, &run);
	rng_init(&rng, 11);
	for (int i = 0; i < 500; i++)
		hist_record(&h, (int64_t)(1000 * rng_exponential(&rng)));
	for (int64_t k = 1; k <= h.n; k++) {
		for (int64_t v = hist_rank(&h, k) - 2; v <= hist_rank(&h, k) + 2; v++)
			if (!CHECK((hist_rank(&h, k) <= v) == (k <= hist_count_at_or_below(&h, v))))
				return;
	}
}

static void an_empty_histogram_says_so(void)
{
	struct hist h = { 0 };
	int i = 0;
	int64_t upper, count;
	CHECK(isnan(hist_mean(&h)));
	CHECK(isnan(hist_sd(&h)));
	CHECK_INT(hist_quantile(&h, 0.5), 0);
	CHECK_INT(hist_count_at_or_below(&h, 100), 0);
	CHECK(!hist_next(&h, &i, &upper, &count));
	hist_clear(&h);
	CHECK_INT(h.n, 0);
}

int main(void)
{
	TAP_RUN(a_bucket_is_at_most_a_256th_of_its_values_wide);
	TAP_RUN(every_value_comes_back_within_a_fifth_of_a_percent);
	TAP_RUN(buckets_rise_with_their_values_and_fill_the_memory_exactly);
	TAP_RUN(nothing_is_dropped_over_the_top_or_under_zero);
	TAP_RUN(only_clipped_values_still_have_a_min_and_a_max);
	TAP_RUN(quantiles_are_nearest_rank);
	TAP_RUN(quantiles_follow_the_closed_form_from_a_microsecond_to_an_hour);
	TAP_RUN(the_deviation_of_a_narrow_sample_far_from_zero_survives);
	TAP_RUN(merged_parts_equal_the_whole);
	TAP_RUN(counting_is_the_inverse_of_ranking);
	TAP_RUN(an_empty_histogram_says_so);
	return tap_done();
}
