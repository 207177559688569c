/* The plan alone, in simulated time: a unit of time is a millisecond. */
#include "serve/batcher.h"

#include "base/rng.h"
#include "tap.h"

enum { MS = 1000000, N_MAX = 4096 };

static struct batcher_item items[N_MAX];
static struct batcher_item *taken[N_MAX];
static struct batch batch;
static int64_t wake;

static struct batcher *make(struct batcher_options o)
{
	memset(items, 0, sizeof(items));
	o.max_batch = o.max_batch ? o.max_batch : 8;
	batch = (struct batch){ .items = taken };
	return batcher_new(&o);
}

static struct batcher_item *put(struct batcher *b, int i, int n_tokens, int64_t now)
{
	items[i].n_tokens = n_tokens;
	items[i].arrived_ns = now;
	batcher_put(b, &items[i]);
	return &items[i];
}

static bool take(struct batcher *b, int64_t now)
{
	return batcher_take(b, now, &batch, &wake);
}

/* A batch of so many is taken now and computed in took. */
static void check_take(struct batcher *b, int64_t now, int n, int64_t took)
{
	if (CHECK(take(b, now))) {
		CHECK_INT(batch.n, n);
		batcher_done(b, &batch, took, now + took);
	}
}

static void without_batching_each_goes_alone_in_order(void)
{
	struct batcher *b = make((struct batcher_options){ .batching = BATCHING_NONE });
	for (int i = 0; i < 3; i++)
		put(b, i, 10, i);
	for (int i = 0; i < 3; i++) {
		check_take(b, 5, 1, 1);
		CHECK(taken[0] == &items[i]);
		CHECK_INT(batch.pad_to, 0);
	}
	CHECK(!take(b, 100));
	CHECK_INT(wake, INT64_MAX);
	batcher_free(b);
}

static void a_static_batch_goes_when_full_or_when_its_first_has_waited(void)
{
	struct batcher *b = make((struct batcher_options){
	        .batching = BATCHING_STATIC, .max_batch = 4, .max_wait_ns = 10 * MS });
	put(b, 0, 5, 100 * MS);
	put(b, 1, 5, 103 * MS);
	CHECK(!take(b, 105 * MS));
	CHECK_INT(wake, 110 * MS);
	check_take(b, 110 * MS, 2, MS);
	for (int i = 2; i < 8; i++)
		put(b, i, 5, 120 * MS);
	check_take(b, 120 * MS, 4, MS);
	CHECK(!take(b, 121 * MS));
	CHECK_INT(wake, 130 * MS);
	check_take(b, 130 * MS, 2, MS);
	batcher_free(b);
}

static void a_dynamic_batch_goes_at_once_when_idle(void)
{
	struct batcher *b = make(
	        (struct batcher_options){ .batching = BATCHING_DYNAMIC, .max_wait_ns = 10 * MS });
	put(b, 0, 5, 100 * MS);
	check_take(b, 100 * MS, 1, 20 * MS); /* ends at 120 */
	put(b, 1, 5, 118 * MS);
	/* Busy until just now: held back until it has waited 10 ms. */
	CHECK(!take(b, 120 * MS));
	CHECK_INT(wake, 128 * MS);
	check_take(b, 128 * MS, 1, 2 * MS);
	put(b, 2, 5, 129 * MS);
	CHECK(!take(b, 131 * MS));
	CHECK_INT(wake, 139 * MS);
	check_take(b, 139 * MS, 1, MS);
	/* Idle for longer than 10 ms: at once. */
	put(b, 3, 5, 151 * MS);
	check_take(b, 151 * MS, 1, MS);
	batcher_free(b);
}

static void a_dynamic_batch_without_wait_is_pulled(void)
{
	struct batcher *b = make((struct batcher_options){ .batching = BATCHING_DYNAMIC });
	for (int i = 0; i < 11; i++)
		put(b, i, 5, i);
	check_take(b, 11, 8, 5);
	check_take(b, 16, 3, 5);
	CHECK(!take(b, 21));
	batcher_free(b);
}

static void a_packed_batch_stays_within_its_tokens(void)
{
	struct batcher *b =
	        make((struct batcher_options){ .batching = BATCHING_DYNAMIC, .max_tokens = 100 });
	static const int lengths[] = { 40, 40, 30, 300, 100, 1 };
	for (int i = 0; i < 6; i++)
		put(b, i, lengths[i], i);
	static const int want[] = { 2, 1, 1, 1, 1 };
	for (int i = 0; i < 5; i++) {
		check_take(b, 10, want[i], 1);
		CHECK_INT(batch.n_rows, batch.n_tokens);
	}
	CHECK_INT(batcher_lane(b, 0).padding, 0);
	CHECK_INT(batcher_lane(b, 0).tokens, 511);
	CHECK_INT(batcher_lane(b, 0).batches, 5);
	batcher_free(b);
}

static void a_padded_batch_counts_its_padding(void)
{
	struct batcher *b = make((struct batcher_options){
	        .batching = BATCHING_DYNAMIC, .max_tokens = 100, .padded = true });
	put(b, 0, 10, 0);
	put(b, 1, 30, 1);
	put(b, 2, 20, 2);
	put(b, 3, 20, 3); /* would be 4 * 30 */
	check_take(b, 4, 3, 1);
	CHECK_INT(batch.pad_to, 30);
	CHECK_INT(batch.n_rows, 90);
	CHECK_INT(batch.n_tokens, 60);
	check_take(b, 5, 1, 1);
	CHECK_INT(batch.pad_to, 20);
	CHECK_INT(batcher_lane(b, 0).padding, 30);
	batcher_free(b);
}

static void a_padded_batch_has_one_bucket_and_its_edge(void)
{
	struct batcher *b = make((struct batcher_options){ .batching = BATCHING_DYNAMIC,
	        .padded = true,
	        .buckets = { .n = 2, .at = { 16, 64 } } });
	static const int lengths[] = { 40, 10, 16, 17, 100, 80 };
	for (int i = 0; i < 6; i++)
		put(b, i, lengths[i], i);
	/* The oldest of all is of the middle one. */
	check_take(b, 10, 2, 1);
	CHECK(taken[0] == &items[0] && taken[1] == &items[3]);
	CHECK_INT(batch.pad_to, 64);
	check_take(b, 10, 2, 1);
	CHECK(taken[0] == &items[1]);
	CHECK_INT(batch.pad_to, 16);
	check_take(b, 10, 2, 1);
	CHECK_INT(batch.pad_to, 100);
	batcher_free(b);
}

static void nothing_is_padded_to_less_than_the_least(void)
{
	struct batcher *b = make((struct batcher_options){
	        .batching = BATCHING_DYNAMIC, .padded = true, .pad_least = 512 });
	put(b, 0, 10, 0);
	check_take(b, 0, 1, 1);
	CHECK_INT(batch.pad_to, 512);
	batcher_free(b);
}

static void learned_buckets_sort_what_waits_and_lose_none(void)
{
	struct batcher *b = make((struct batcher_options){ .batching = BATCHING_DYNAMIC,
	        .padded = true,
	        .learn_buckets = true,
	        .lanes = { .n = 1, .at = { 100 } } });
	static const int kinds[] = { 8, 30, 200, 400 };
	for (int i = 0; i < 400; i++)
		put(b, i, kinds[i % 4], i);
	CHECK_INT(batcher_buckets(b).n, 4);
	int n = 0;
	while (take(b, 1000)) {
		for (int i = 0; i < batch.n; i++)
			CHECK_INT(taken[i]->n_tokens, taken[0]->n_tokens);
		CHECK_INT(batch.pad_to, taken[0]->n_tokens);
		n += batch.n;
		batcher_done(b, &batch, 1, 1000);
	}
	CHECK_INT(n, 400);
	batcher_free(b);
}

static void a_short_one_does_not_wait_for_the_long_ones_before_it(void)
{
	struct batcher *b = make((struct batcher_options){
	        .batching = BATCHING_DYNAMIC, .max_batch = 2, .lanes = { .n = 1, .at = { 64 } } });
	for (int i = 0; i < 20; i++)
		put(b, i, 500, i);
	check_take(b, 20, 2, 1);
	CHECK_INT(batch.lane, 1);
	put(b, 20, 10, 21);
	check_take(b, 22, 1, 1);
	CHECK_INT(batch.lane, 0);
	batcher_free(b);
}

/* Both lanes always have something: tokens are shared equally, whatever the lengths. */
static void lanes_with_work_share_the_tokens_equally(void)
{
	struct batcher *b = make((struct batcher_options){ .batching = BATCHING_DYNAMIC,
	        .max_batch = 4,
	        .lanes = { .n = 2, .at = { 32, 128 } } });
	static const int lengths[] = { 10, 100, 400 };
	int n = 0;
	int64_t tokens[3] = { 0 };
	for (; n < 300; n++)
		put(b, n, lengths[n % 3], n);
	for (int turn = 0; turn < 500; turn++) {
		if (!CHECK(take(b, 1000 + turn)))
			break;
		tokens[batch.lane] += batch.n_tokens;
		for (int i = 0; i < batch.n; i++) /* comes again */
			put(b, (int)(taken[i] - items), taken[i]->n_tokens, 1000 + turn);
		batcher_done(b, &batch, 1, 1000 + turn);
	}
	int64_t total = tokens[0] + tokens[1] + tokens[2];
	for (int i = 0; i < 3; i++)
		CHECK_NEAR((double)tokens[i] / (double)total, 1.0 / 3, 0.02);
	batcher_free(b);
}

static void a_lane_that_was_empty_has_no_claim_to_missed_turns(void)
{
	struct batcher *b = make((struct batcher_options){
	        .batching = BATCHING_DYNAMIC, .max_batch = 1, .lanes = { .n = 1, .at = { 64 } } });
	for (int i = 0; i < 200; i++)
		put(b, i, 100, i);
	for (int i = 0; i < 100; i++)
		check_take(b, 1000, 1, 1);
	for (int i = 200; i < 300; i++)
		put(b, i, 50, 1000);
	int n_long = 0;
	for (int i = 0; i < 30; i++) {
		check_take(b, 1001, 1, 1);
		n_long += batch.lane == 1;
	}
	CHECK_NEAR(n_long, 10, 1); /* two short ones for a long one */
	batcher_free(b);
}

static void the_oldest_that_starves_is_next_but_not_always(void)
{
	struct batcher *b = make((struct batcher_options){ .batching = BATCHING_DYNAMIC,
	        .max_batch = 1,
	        .starve_ns = 100 * MS,
	        .lanes = { .n = 1, .at = { 64 } } });
	put(b, 0, 10, 0);
	put(b, 1, 1000, 0);
	put(b, 2, 10, 1);
	put(b, 3, 1000, 1);
	for (int i = 4; i < 40; i++)
		put(b, i, 10, 150 * MS);
	check_take(b, 2 * MS, 1, MS);
	CHECK_INT(batch.lane, 0);
	check_take(b, 3 * MS, 1, MS);
	CHECK_INT(batch.lane, 1); /* 1000 tokens: by its share it is not next for a long time */
	check_take(b, 4 * MS, 1, MS);
	CHECK_INT(batch.lane, 0);
	/* Item 3 has waited for more than 100 ms. */
	check_take(b, 160 * MS, 1, MS);
	CHECK(taken[0] == &items[3]);
	put(b, 40, 1000, 20 * MS);
	check_take(b, 160 * MS, 1, MS);
	CHECK_INT(batch.lane, 0);
	check_take(b, 160 * MS, 1, MS);
	CHECK(taken[0] == &items[40]);
	batcher_free(b);
}

static void a_full_queue_refuses_and_says_for_how_long(void)
{
	int64_t retry = -1;
	struct batcher *b = make((struct batcher_options){
	        .batching = BATCHING_DYNAMIC, .max_batch = 4, .queue_max = 8 });
	for (int i = 0; i < 4; i++)
		put(b, i, 10, 0);
	check_take(b, 0, 4, 40 * MS); /* 1 ms for a token */
	for (int i = 0; i < 8; i++) {
		items[i].n_tokens = 10;
		CHECK_INT(batcher_add(b, &items[i], 50 * MS, &retry), BATCHER_QUEUED);
	}
	items[8].n_tokens = 10;
	CHECK_INT(batcher_add(b, &items[8], 50 * MS, &retry), BATCHER_FULL);
	CHECK_NEAR((double)retry, 80 * MS, MS);
	CHECK_INT(batcher_waiting(b), 8);
	check_take(b, 50 * MS, 4, 40 * MS);
	CHECK_INT(batcher_add(b, &items[8], 90 * MS, &retry), BATCHER_QUEUED);
	/* Many that belong together are only too many while others wait. */
	CHECK_INT(batcher_admit(b, 100, 1000, 10, 0, 90 * MS, &retry), BATCHER_FULL);
	check_take(b, 90 * MS, 4, MS);
	check_take(b, 91 * MS, 1, MS);
	CHECK_INT(batcher_admit(b, 100, 1000, 10, 0, 95 * MS, &retry), BATCHER_QUEUED);
	batcher_free(b);
}

static void who_would_come_too_late_is_refused_at_once(void)
{
	int64_t retry = -1;
	struct batcher *b = make((struct batcher_options){
	        .batching = BATCHING_DYNAMIC, .max_batch = 4, .max_tokens = 40 });
	/* Nothing is known yet: only who is late already is refused. */
	CHECK_INT(batcher_admit(b, 1, 10, 10, 5, 4, &retry), BATCHER_QUEUED);
	CHECK_INT(batcher_admit(b, 1, 10, 10, 5, 5, &retry), BATCHER_TOO_LATE);
	for (int i = 0; i < 4; i++)
		put(b, i, 10, 0);
	check_take(b, 0, 4, 40 * MS);
	for (int i = 0; i < 4; i++)
		put(b, i, 10, 40 * MS);
	/* 40 ms of others and 10 ms of its own. */
	CHECK_INT(batcher_admit(b, 1, 10, 10, 91 * MS, 40 * MS, &retry), BATCHER_QUEUED);
	CHECK_INT(batcher_admit(b, 1, 10, 10, 70 * MS, 40 * MS, &retry), BATCHER_TOO_LATE);
	CHECK_NEAR((double)retry, 20 * MS, MS / 2);
	/* The same while the four are computed for 30 ms already. */
	CHECK(take(b, 40 * MS));
	CHECK_INT(batcher_admit(b, 1, 10, 10, 91 * MS, 70 * MS, &retry), BATCHER_QUEUED);
	CHECK_INT(batcher_admit(b, 1, 10, 10, 85 * MS, 70 * MS, &retry), BATCHER_TOO_LATE);
	batcher_free(b);
}

static void a_short_one_is_admitted_past_a_long_backlog_of_another_lane(void)
{
	int64_t retry;
	struct batcher *b = make((struct batcher_options){ .batching = BATCHING_DYNAMIC,
	        .max_tokens = 100,
	        .lanes = { .n = 1, .at = { 64 } } });
	put(b, 0, 100, 0);
	check_take(b, 0, 1, 100 * MS);
	for (int i = 0; i < 50; i++)
		put(b, i, 100, 100 * MS);
	/* 5 s of the long ones, but its lane is next after a batch of them and its own length. */
	CHECK_INT(batcher_admit(b, 1, 10, 10, 330 * MS, 100 * MS, &retry), BATCHER_QUEUED);
	CHECK_INT(batcher_admit(b, 1, 100, 100, 330 * MS, 100 * MS, &retry), BATCHER_TOO_LATE);
	batcher_free(b);
}

static void a_deadline_ends_the_wait_for_a_fuller_batch(void)
{
	struct batcher *b = make((struct batcher_options){
	        .batching = BATCHING_STATIC, .max_batch = 4, .max_wait_ns = 1000 * MS });
	items[0].deadline_ns = 50 * MS;
	put(b, 0, 10, 0);
	CHECK(!take(b, 10 * MS));
	CHECK_INT(wake, 50 * MS);
	check_take(b, 50 * MS, 1, 20 * MS); /* 2 ms a token */
	items[1].deadline_ns = 150 * MS;
	put(b, 1, 10, 100 * MS);
	CHECK(!take(b, 100 * MS));
	CHECK_NEAR((double)wake, 130 * MS, MS);
	batcher_free(b);
}

static void who_is_late_is_handed_back(void)
{
	struct batcher *b = make((struct batcher_options){ .batching = BATCHING_DYNAMIC });
	items[0].deadline_ns = 10;
	items[1].deadline_ns = 20;
	put(b, 0, 5, 0);
	put(b, 1, 5, 0);
	CHECK(batcher_take_late(b, 9) == NULL);
	CHECK(batcher_take_late(b, 10) == &items[0]);
	CHECK(batcher_take_late(b, 10) == NULL);
	check_take(b, 15, 1, 1);
	CHECK(taken[0] == &items[1]);
	batcher_free(b);
}

static void who_is_removed_is_not_computed(void)
{
	struct batcher *b = make((struct batcher_options){ .batching = BATCHING_DYNAMIC });
	for (int i = 0; i < 3; i++)
		put(b, i, 5, i);
	CHECK(batcher_remove(b, &items[1]));
	CHECK(!batcher_remove(b, &items[1]));
	CHECK_INT(batcher_lane(b, 0).waiting, 2);
	CHECK_INT(batcher_lane(b, 0).waiting_tokens, 10);
	check_take(b, 5, 2, 1);
	CHECK(taken[0] == &items[0] && taken[1] == &items[2]);
	CHECK(!batcher_remove(b, &items[0]));
	batcher_free(b);
}

/* Random traffic: everybody is taken or removed exactly once, every batch keeps the limits. */
static void nobody_is_lost_or_taken_twice(void)
{
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct batcher_options o = { .batching = (enum batching)(seed % 3),
			.max_batch = 5,
			.max_tokens = seed % 2 ? 300 : 0,
			.max_wait_ns = 3,
			.padded = seed % 4 > 1,
			.learn_buckets = seed % 4 == 3,
			.starve_ns = seed % 5 ? 50 : 0,
			.lanes = { .n = (int)(seed % 3), .at = { 20, 100 } } };
		struct batcher *b = make(o);
		struct rng rng;
		int n_put = 0, n_out = 0;
		rng_init(&rng, seed);
		for (int64_t now = 1; n_out < N_MAX && now < 100000; now++) {
			for (int k = (int)(rng_uniform(&rng) * 6); k > 0 && n_put < N_MAX; k--)
				put(b, n_put++, 1 + (int)(rng_uniform(&rng) * 200), now);
			int i = (int)(rng_uniform(&rng) * n_put);
			if (n_put > 0 && rng_uniform(&rng) < 0.1)
				n_out += batcher_remove(b, &items[i]);
			if (!take(b, now))
				continue;
			CHECK(batch.n >= 1 && batch.n <= (o.batching == BATCHING_NONE ? 1 : 5));
			CHECK(batch.n == 1 || o.max_tokens == 0 || batch.n_rows <= o.max_tokens);
			for (int k = 0; k < batch.n; k++) {
				CHECK(taken[k]->n_tokens > 0 && !taken[k]->waiting);
				taken[k]->n_tokens = -1; /* a second time would show */
			}
			n_out += batch.n;
			batcher_done(b, &batch, 1, now);
		}
		CHECK_INT(n_out, N_MAX);
		CHECK_INT(batcher_waiting(b), 0);
		batcher_free(b);
	}
}

/* A request's wait in a lane of short ones while the other lane is overloaded. */
static void overload_of_long_ones_leaves_short_ones_their_speed(void)
{
	struct batcher *b = make((struct batcher_options){ .batching = BATCHING_DYNAMIC,
	        .max_tokens = 512,
	        .starve_ns = 200 * MS,
	        .lanes = { .n = 1, .at = { 64 } } });
	int n = 0;
	int64_t free_at = 0, worst = 0;
	for (int64_t now = 0; now < 2000 * MS && n < N_MAX; now += MS) {
		if (now % (10 * MS) == 0)
			put(b, n++, 20, now); /* 2 tokens a ms */
		if (now % (20 * MS) == 0)
			put(b, n++, 400, now); /* 20 tokens a ms, of the 10 that can be computed */
		if (now < free_at || !take(b, now))
			continue;
		int64_t took = batch.n_rows * MS / 10;
		free_at = now + took;
		for (int i = 0; i < batch.n; i++)
			if (batch.lane == 0 && free_at - taken[i]->arrived_ns > worst)
				worst = free_at - taken[i]->arrived_ns;
		batcher_done(b, &batch, took, free_at);
	}
	CHECK(batcher_lane(b, 1).waiting > 20);
	CHECK(worst < 120 * MS); /* two long ones of 40 ms and its own */
	batcher_free(b);
}

/*
 * An hour of Poisson arrivals, 95 % of 4 to 28 tokens and 5 % of 384 to 512, at 70 % of what a
 * computer can that takes 1 ms a batch and 10 tokens a ms (of a batch of 512: 98 %).
 */
static int compare_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

struct arrival {
	int64_t at;
	int n_tokens;
};

static void draw_arrivals(struct arrival *to, int n, double mean_ns)
{
	struct rng rng;
	double at = 0;
	rng_init(&rng, 7);
	for (int i = 0; i < n; i++) {
		at += -log(1 - rng_uniform(&rng)) * mean_ns;
		bool is_long = rng_uniform(&rng) < 0.05;
		to[i].at = (int64_t)at;
		to[i].n_tokens = is_long ? 384 + (int)(rng_uniform(&rng) * 129)
		                         : 4 + (int)(rng_uniform(&rng) * 25);
	}
}

static int64_t p99_of_short_ns(struct batcher_options o, const struct arrival *arrivals, int n)
{
	struct batcher *b = make(o);
	struct batcher_item *its = calloc((size_t)n, sizeof(*its));
	int64_t *latencies = malloc((size_t)n * sizeof(*latencies)), now = 0;
	int n_put = 0, n_latencies = 0, n_done = 0;
	while (n_done < n) {
		for (; n_put < n && arrivals[n_put].at <= now; n_put++) {
			its[n_put].n_tokens = arrivals[n_put].n_tokens;
			its[n_put].arrived_ns = arrivals[n_put].at;
			batcher_put(b, &its[n_put]);
		}
		if (!take(b, now)) {
			now = arrivals[n_put].at;
			continue;
		}
		int64_t took = MS + batch.n_rows * MS / 10;
		now += took;
		for (int i = 0; i < batch.n; i++)
			if (taken[i]->n_tokens <= 28)
				latencies[n_latencies++] = now - taken[i]->arrived_ns;
		n_done += batch.n;
		batcher_done(b, &batch, took, now);
	}
	qsort(latencies, (size_t)n_latencies, sizeof(*latencies), compare_ns);
	int64_t p99 = latencies[n_latencies * 99 / 100];
	free(latencies);
	free(its);
	batcher_free(b);
	return p99;
}

static void lanes_cut_the_tail_of_short_ones_to_a_third(void)
{
	enum { N = 200000 };
	static struct arrival arrivals[N + 1];
	struct batcher_options o = { .batching = BATCHING_DYNAMIC,
		.max_batch = 32,
		.max_tokens = 512,
		.starve_ns = 500 * MS };
	draw_arrivals(arrivals, N, 37.6 / 10 / 0.7 * MS);
	arrivals[N].at = INT64_MAX / 2;
	int64_t one_queue = p99_of_short_ns(o, arrivals, N);
	o.lanes = (struct batcher_edges){ .n = 1, .at = { 64 } };
	int64_t lanes = p99_of_short_ns(o, arrivals, N);
	printf("# P99 of short ones: %.1f ms in one queue, %.1f ms in lanes\n",
	        (double)one_queue / MS, (double)lanes / MS);
	CHECK(3 * lanes < one_queue);
}

int main(void)
{
	TAP_RUN(without_batching_each_goes_alone_in_order);
	TAP_RUN(a_static_batch_goes_when_full_or_when_its_first_has_waited);
	TAP_RUN(a_dynamic_batch_goes_at_once_when_idle);
	TAP_RUN(a_dynamic_batch_without_wait_is_pulled);
	TAP_RUN(a_packed_batch_stays_within_its_tokens);
	TAP_RUN(a_padded_batch_counts_its_padding);
	TAP_RUN(a_padded_batch_has_one_bucket_and_its_edge);
	TAP_RUN(nothing_is_padded_to_less_than_the_least);
	TAP_RUN(learned_buckets_sort_what_waits_and_lose_none);
	TAP_RUN(a_short_one_does_not_wait_for_the_long_ones_before_it);
	TAP_RUN(lanes_with_work_share_the_tokens_equally);
	TAP_RUN(a_lane_that_was_empty_has_no_claim_to_missed_turns);
	TAP_RUN(the_oldest_that_starves_is_next_but_not_always);
	TAP_RUN(a_full_queue_refuses_and_says_for_how_long);
	TAP_RUN(who_would_come_too_late_is_refused_at_once);
	TAP_RUN(a_short_one_is_admitted_past_a_long_backlog_of_another_lane);
	TAP_RUN(a_deadline_ends_the_wait_for_a_fuller_batch);
	TAP_RUN(who_is_late_is_handed_back);
	TAP_RUN(who_is_removed_is_not_computed);
	TAP_RUN(nobody_is_lost_or_taken_twice);
	TAP_RUN(overload_of_long_ones_leaves_short_ones_their_speed);
	TAP_RUN(lanes_cut_the_tail_of_short_ones_to_a_third);
	return tap_done();
}
