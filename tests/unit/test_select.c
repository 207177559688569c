#include "stats/select.h"

#include "base/rng.h"
#include "tap.h"

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void the_kth_smallest_is_that_of_the_sorted_values(void)
{
	static int64_t v[200], sorted[200];
	struct rng rng;
	rng_init(&rng, 11);
	for (int round = 0; round < 2000; round++) {
		size_t n = 1 + rng_below(&rng, 200);
		uint64_t range = 1 + rng_below(&rng, round % 2 ? 5 : 1000000);
		for (size_t i = 0; i < n; i++)
			sorted[i] = v[i] = (int64_t)rng_below(&rng, range) - 2;
		qsort(sorted, n, sizeof *sorted, by_value);
		size_t k = rng_below(&rng, n);
		CHECK_INT(select_i64(v, n, k), sorted[k]);
		CHECK_INT(select_median(v, n), sorted[(n - 1) / 2]);
	}
}

static void orders_that_part_badly_are_no_slower_than_sorting(void)
{
	enum { N = 200000 };
	int64_t *v = malloc(N * sizeof *v);
	for (int i = 0; i < N; i++)
		v[i] = i < N / 2 ? i : N - i;
	CHECK_INT(select_i64(v, N, N - 1), N / 2);
	for (int i = 0; i < N; i++)
		v[i] = 7;
	CHECK_INT(select_i64(v, N, 3), 7);
	free(v);
}

int main(void)
{
	TAP_RUN(the_kth_smallest_is_that_of_the_sorted_values);
	TAP_RUN(orders_that_part_badly_are_no_slower_than_sorting);
	return tap_done();
}
