#include "engine/launch.h"

#include "base/clock.h"

struct piece {
	pool_fn *fn;
	void *ctx;
	int first;
};

static void run_of_piece(void *ctx, int i_tile, int i_thread)
{
	const struct piece *p = ctx;
	p->fn(p->ctx, p->first + i_tile, i_thread);
}

static void run(struct pool *pool, int n_tiles, pool_fn *fn, void *ctx)
{
	if (pool)
		pool_run(pool, n_tiles, fn, ctx);
	else
		for (int i = 0; i < n_tiles; i++)
			fn(ctx, i, 0);
}

static void busy_for(int64_t ns)
{
	for (int64_t end = clock_now_ns() + ns; clock_now_ns() < end;)
		;
}

void launch(
        struct pool *pool, const struct engine_faults *faults, int n_tiles, pool_fn *fn, void *ctx)
{
	if (!faults || (faults->pieces <= 1 && faults->dispatch_ns <= 0)) {
		run(pool, n_tiles, fn, ctx);
		return;
	}
	/* More pieces than tiles are started all the same; they find nothing to do. */
	int64_t n = faults->pieces > 1 ? faults->pieces : 1;
	for (int64_t i = 0; i < n; i++) {
		struct piece p = { fn, ctx, (int)(i * n_tiles / n) };
		if (faults->dispatch_ns > 0)
			busy_for(faults->dispatch_ns);
		run(pool, (int)((i + 1) * n_tiles / n) - p.first, run_of_piece, &p);
	}
}
