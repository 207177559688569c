#include "engine/launch.h"

#include "base/attr.h"
#include "base/clock.h"
#include "tap.h"

static void count(void *ctx, int i_tile, int i_thread)
{
	(void)i_thread;
	((int *)ctx)[i_tile]++;
}

static void every_tile_is_done_once_in_however_many_pieces(void)
{
	static const int64_t pieces[] = { 0, 1, 2, 3, 7, 1000 };
	struct pool *pool;
	struct err err;
	CHECK(pool_open(&(struct pool_options){ .n_threads = 2 }, &pool, &err));
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
		for (int n = 0; n < 20; n++) {
			struct engine_faults faults = { .pieces = pieces[i], .dispatch_ns = 1 };
			int counts[20] = { 0 };
			launch(pool, &faults, n, count, counts);
			launch(pool, NULL, n, count, counts);
			for (int t = 0; t < 20; t++)
				CHECK_INT(counts[t], t < n ? 2 : 0);
		}
	pool_close(pool);
}

static void each_piece_takes_its_time_to_start(void)
{
	struct pool *pool;
	struct err err;
	struct engine_faults faults = { .pieces = 10, .dispatch_ns = NS_PER_MS };
	int counts[4] = { 0 };
	CHECK(pool_open(&(struct pool_options){ .n_threads = 1 }, &pool, &err));
	int64_t start = clock_now_ns();
	launch(pool, &faults, 4, count, counts);
	CHECK(clock_now_ns() - start >= 10 * NS_PER_MS);
	pool_close(pool);
}

int main(void)
{
	TAP_RUN(every_tile_is_done_once_in_however_many_pieces);
	TAP_RUN(each_piece_takes_its_time_to_start);
	return tap_done();
}
