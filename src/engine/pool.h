/*
 * pool.h - threads that share the tiles of one operator.
 *
 * The caller is one of them. Tiles are small and taken one by one, so a thread that the system has
 * put aside costs a tile, not a step. Who waits sleeps on a futex, at once or after spinning for as
 * long as the options say: on a machine with a busy neighbour a pool that spins at its barrier
 * loses most of its speed.
 *
 * One caller at a time.
 */
#ifndef VENTURI_ENGINE_POOL_H
#define VENTURI_ENGINE_POOL_H

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>

enum { POOL_THREADS_MAX = 1024 };

struct pool;

struct pool_options {
	int n_threads;   /* the caller among them; 0: one for each CPU that this process may use */
	const int *cpus; /* [n_cpus]: thread i runs on cpus[i % n_cpus] only; NULL: anywhere */
	int n_cpus;
	int spin_us; /* before a waiting thread sleeps; 0: at once; -1: never sleeps */
	/* Around each tile, in the thread that has it; NULL: nothing. For what stops threads. */
	void (*enter)(void *ctx), (*leave)(void *ctx);
	void *ctx;
};

typedef void pool_fn(void *ctx, int i_tile, int i_thread);

bool pool_open(
        const struct pool_options *options, struct pool **ret_pool, struct err *err) NODISCARD;
void pool_close(struct pool *pool);
int pool_n_threads(const struct pool *pool);

/* Calls fn for each tile 0 to n_tiles - 1, each once, from any thread; returns when all are done.
 */
void pool_run(struct pool *pool, int n_tiles, pool_fn *fn, void *ctx);

#endif
