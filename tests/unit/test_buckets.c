#include "serve/buckets.h"

#include "base/rng.h"
#include "tap.h"

static void a_list_of_lengths_is_read(void)
{
	struct batcher_edges edges;
	struct err err;
	CHECK(edges_parse("64,128,512", &edges, &err));
	CHECK_INT(edges.n, 3);
	CHECK_INT(edges.at[0], 64);
	CHECK_INT(edges.at[2], 512);
	CHECK(edges_parse("7", &edges, &err));
	CHECK_INT(edges.n, 1);
}

static void what_is_no_ascending_list_is_refused(void)
{
	static const char *const bad[] = { "", ",", "a", "64,", "64,,128", "0,5", "-3", "128,64",
		"5,5", "64 128", "9999999999999999999",
		"1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17" };
	struct batcher_edges edges = { .n = 99 };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err err = { 0 };
		if (!CHECK(!edges_parse(bad[i], &edges, &err)))
			printf("# '%s'\n", bad[i]);
		CHECK_INT(err.kind, ERR_USAGE);
	}
	CHECK_INT(edges.n, 99);
}

static void a_length_belongs_to_the_first_edge_that_reaches_it(void)
{
	const struct batcher_edges edges = { .n = 2, .at = { 16, 64 } };
	CHECK_INT(edges_find(&edges, 1), 0);
	CHECK_INT(edges_find(&edges, 16), 0);
	CHECK_INT(edges_find(&edges, 17), 1);
	CHECK_INT(edges_find(&edges, 64), 1);
	CHECK_INT(edges_find(&edges, 65), 2);
	CHECK_INT(edges_find(&(struct batcher_edges){ 0 }, 5), 0);
}

static double padding_of(const int *lengths, int n, const struct batcher_edges *edges)
{
	double padding = 0;
	for (int i = 0; i < n; i++) {
		int class = edges_find(edges, lengths[i]);
		if (!CHECK(class < edges->n))
			return 0;
		padding += edges->at[class] - lengths[i];
	}
	return padding;
}

static void see_all(struct bucket_learner *l, const int *lengths, int n)
{
	for (int i = 0; i < n; i++)
		buckets_see(l, lengths[i]);
}

static void few_lengths_get_an_edge_each(void)
{
	static const int lengths[] = { 12, 12, 12, 40, 40, 7, 64, 64, 512 };
	struct bucket_learner l = { 0 };
	struct batcher_edges edges;
	see_all(&l, lengths, 9);
	buckets_learn(&l, 8, &edges);
	CHECK_INT(edges.n, 5);
	CHECK_INT(edges.at[0], 7);
	CHECK_INT(edges.at[1], 12);
	CHECK_INT(edges.at[4], 512);
	CHECK_NEAR(padding_of(lengths, 9, &edges), 0, 0);
}

/* All ways to choose three edges, by three loops. */
static double least_padding_of_three(const int *lengths, int n, int longest)
{
	double best = 1e300;
	for (int a = 1; a < longest; a++)
		for (int b = a + 1; b < longest; b++) {
			struct batcher_edges edges = { .n = 3, .at = { a, b, longest } };
			double padding = padding_of(lengths, n, &edges);
			best = padding < best ? padding : best;
		}
	return best;
}

static void three_learned_edges_are_the_best_three(void)
{
	enum { N = 300 };
	int lengths[N];
	struct rng rng;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct bucket_learner l = { 0 };
		struct batcher_edges edges;
		rng_init(&rng, seed);
		int longest = 1;
		for (int i = 0; i < N; i++) {
			double u = rng_uniform(&rng);
			lengths[i] = 1 + (int)(59 * u * u * u);
			longest = lengths[i] > longest ? lengths[i] : longest;
		}
		see_all(&l, lengths, N);
		buckets_learn(&l, 3, &edges);
		CHECK(edges.n <= 3);
		CHECK_INT(edges.at[edges.n - 1], longest);
		CHECK_NEAR(padding_of(lengths, N, &edges),
		        least_padding_of_three(lengths, N, longest), 0);
	}
}

static void long_lengths_stay_below_their_edge_by_a_thirtieth(void)
{
	for (int n = 1; n < 40000; n += 1 + n / 50) {
		struct bucket_learner l = { 0 };
		struct batcher_edges edges;
		buckets_see(&l, n);
		buckets_see(&l, n);
		buckets_learn(&l, 4, &edges);
		CHECK_INT(edges.n, 1);
		CHECK(edges.at[0] >= n && edges.at[0] - n <= n / 32);
	}
}

static void it_is_time_to_learn_now_and_then(void)
{
	struct bucket_learner l = { 0 };
	struct batcher_edges edges;
	int n_lessons = 0;
	for (int i = 0; i < 10000; i++)
		if (buckets_see(&l, 10 + i % 5)) {
			buckets_learn(&l, 8, &edges);
			n_lessons++;
		}
	CHECK(n_lessons >= 5 && n_lessons <= 40);
}

static void what_is_not_seen_any_more_fades(void)
{
	struct bucket_learner l = { 0 };
	struct batcher_edges edges = { 0 };
	for (int i = 0; i < 200; i++)
		buckets_see(&l, 500);
	for (int round = 0; round < 12; round++) {
		for (int i = 0; i < 200; i++)
			buckets_see(&l, 20);
		buckets_learn(&l, 8, &edges);
	}
	CHECK_INT(edges.n, 1);
	CHECK_INT(edges.at[0], 20);
}

int main(void)
{
	TAP_RUN(a_list_of_lengths_is_read);
	TAP_RUN(what_is_no_ascending_list_is_refused);
	TAP_RUN(a_length_belongs_to_the_first_edge_that_reaches_it);
	TAP_RUN(few_lengths_get_an_edge_each);
	TAP_RUN(three_learned_edges_are_the_best_three);
	TAP_RUN(long_lengths_stay_below_their_edge_by_a_thirtieth);
	TAP_RUN(it_is_time_to_learn_now_and_then);
	TAP_RUN(what_is_not_seen_any_more_fades);
	return tap_done();
}
