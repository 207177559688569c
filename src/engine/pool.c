#include "engine/pool.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "engine/cpus.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINE = 64 };

struct worker {
	struct pool *pool;
	int i; /* 1 and up: the caller is 0 */
	pthread_t thread;
};

/*
 * One run: the caller fills job, then n_left, then n_free. Who lowers n_free by one owns a tile,
 * and job stays as it is until n_left says that the tile is done; so job needs no lock.
 */
struct pool {
	int n_threads;
	int spin_us;
	void (*enter)(void *ctx), (*leave)(void *ctx);
	void *gate_ctx;
	int *cpus;
	int n_cpus;
	pthread_t caller; /* who was put on cpus[0] */
	bool caller_placed;

	struct {
		pool_fn *fn;
		void *ctx;
		int n_tiles;
	} job;
	alignas(LINE) atomic_int n_free; /* tiles that nobody took */
	alignas(LINE) atomic_int n_left; /* tiles that are not done */
	atomic_bool caller_sleeps;
	alignas(LINE) atomic_uint n_runs; /* what sleeping workers wait for a change of */
	atomic_int n_sleepers;
	atomic_bool stop;

	struct worker *workers; /* [n_threads]; the first is not used */
};

static void futex_wait(const void *word, uint32_t seen)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(const void *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static inline void pause_core(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Whether there is nothing more to wait for. */
typedef bool ready_fn(const struct pool *p, unsigned seen);

/* The clock is read now and then only: it costs as much as many looks. */
static bool spin(const struct pool *p, ready_fn *ready, unsigned seen)
{
	enum { LOOKS = 32 };
	int64_t end = p->spin_us > 0 ? clock_now_ns() + p->spin_us * INT64_C(1000) : 0;
	do {
		for (int i = 0; i < LOOKS; i++) {
			if (ready(p, seen))
				return true;
			pause_core();
		}
	} while (p->spin_us < 0 || (p->spin_us > 0 && clock_now_ns() < end));
	return false;
}

static bool new_run(const struct pool *p, unsigned seen)
{
	return atomic_load_explicit(&p->n_runs, memory_order_acquire) != seen;
}

static bool all_done(const struct pool *p, unsigned seen)
{
	(void)seen;
	return atomic_load_explicit(&p->n_left, memory_order_acquire) == 0;
}

/*
 * Sleeping and waking are each "tell, then look" on both sides: whoever comes second sees the
 * other, as all four are sequentially consistent.
 */
static unsigned wait_for_run(struct pool *p, unsigned seen)
{
	if (!spin(p, new_run, seen)) {
		atomic_fetch_add(&p->n_sleepers, 1);
		while (atomic_load(&p->n_runs) == seen)
			futex_wait(&p->n_runs, seen);
		atomic_fetch_sub(&p->n_sleepers, 1);
	}
	return atomic_load(&p->n_runs);
}

static void wait_for_tiles(struct pool *p)
{
	if (spin(p, all_done, 0))
		return;
	atomic_store(&p->caller_sleeps, true);
	for (int left; (left = atomic_load(&p->n_left)) > 0;)
		futex_wait(&p->n_left, (uint32_t)left);
	atomic_store(&p->caller_sleeps, false);
}

static void do_tile(const struct pool *p, int i_tile, int i_thread)
{
	if (p->enter)
		p->enter(p->gate_ctx);
	p->job.fn(p->job.ctx, i_tile, i_thread);
	if (p->leave)
		p->leave(p->gate_ctx);
}

static void do_tiles(struct pool *p, int i_thread)
{
	int n = atomic_load_explicit(&p->n_free, memory_order_relaxed);
	while (n > 0) {
		if (!atomic_compare_exchange_weak_explicit(
		            &p->n_free, &n, n - 1, memory_order_acquire, memory_order_relaxed))
			continue;
		do_tile(p, p->job.n_tiles - n, i_thread);
		if (atomic_fetch_sub(&p->n_left, 1) == 1 && atomic_load(&p->caller_sleeps))
			futex_wake(&p->n_left, 1);
		n = atomic_load_explicit(&p->n_free, memory_order_relaxed);
	}
}

/* A wish: a CPU that went away meanwhile leaves the thread where the system puts it. */
static void place(const struct pool *p, pthread_t thread, int i)
{
	if (p->n_cpus == 0)
		return;
	size_t cpu = (size_t)p->cpus[i % p->n_cpus];
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	size_t bytes = CPU_ALLOC_SIZE(CPUS_MAX);
	if (!set)
		return;
	CPU_ZERO_S(bytes, set);
	CPU_SET_S(cpu, bytes, set);
	(void)pthread_setaffinity_np(thread, bytes, set);
	CPU_FREE(set);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct pool *p = w->pool;
	unsigned seen = 0;
	for (;;) {
		seen = wait_for_run(p, seen);
		if (atomic_load(&p->stop))
			return NULL;
		do_tiles(p, w->i);
	}
}

static bool start_workers(struct pool *p, int n, struct err *err)
{
	for (p->n_threads = 1; p->n_threads < n; p->n_threads++) {
		struct worker *w = &p->workers[p->n_threads];
		*w = (struct worker){ .pool = p, .i = p->n_threads };
		int code = pthread_create(&w->thread, NULL, work, w);
		if (code != 0)
			return err_set(
			        err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(code));
		char name[16]; /* the kernel's limit */
		snprintf(name, sizeof(name), "pool-%d", w->i);
		(void)pthread_setname_np(w->thread, name);
		place(p, w->thread, w->i);
	}
	return true;
}

static bool fill(struct pool *p, const struct pool_options *o, int n)
{
	p->spin_us = o->spin_us;
	p->enter = o->enter;
	p->leave = o->leave;
	p->gate_ctx = o->ctx;
	p->workers = calloc((size_t)n, sizeof(*p->workers));
	if (o->cpus && o->n_cpus > 0) {
		p->n_cpus = o->n_cpus;
		p->cpus = calloc((size_t)o->n_cpus, sizeof(int));
		if (p->cpus)
			memcpy(p->cpus, o->cpus, (size_t)o->n_cpus * sizeof(int));
	}
	return p->workers && (p->n_cpus == 0 || p->cpus);
}

bool pool_open(const struct pool_options *options, struct pool **ret_pool, struct err *err)
{
	int n = options->n_threads > 0 ? options->n_threads : cpus_usable();
	n = n < POOL_THREADS_MAX ? n : POOL_THREADS_MAX;
	struct pool *p = aligned_alloc(LINE, sizeof(*p));
	if (p)
		memset(p, 0, sizeof(*p));
	if (!p || !fill(p, options, n)) {
		pool_close(p);
		return err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(ENOMEM));
	}
	if (!start_workers(p, n, err)) {
		pool_close(p);
		return false;
	}
	*ret_pool = p;
	return true;
}

void pool_close(struct pool *p)
{
	if (!p)
		return;
	atomic_store(&p->stop, true);
	atomic_fetch_add(&p->n_runs, 1);
	futex_wake(&p->n_runs, INT_MAX);
	for (int i = 1; i < p->n_threads; i++)
		pthread_join(p->workers[i].thread, NULL);
	free(p->workers);
	free(p->cpus);
	free(p);
}

int pool_n_threads(const struct pool *p)
{
	return p->n_threads;
}

static void place_caller(struct pool *p)
{
	pthread_t self = pthread_self();
	if (p->n_cpus == 0 || (p->caller_placed && pthread_equal(p->caller, self)))
		return;
	p->caller = self;
	p->caller_placed = true;
	place(p, self, 0);
}

void pool_run(struct pool *p, int n_tiles, pool_fn *fn, void *ctx)
{
	place_caller(p);
	p->job.fn = fn;
	p->job.ctx = ctx;
	if (n_tiles <= 1 || p->n_threads == 1) {
		for (int i = 0; i < n_tiles; i++)
			do_tile(p, i, 0);
		return;
	}
	p->job.n_tiles = n_tiles;
	atomic_store_explicit(&p->n_left, n_tiles, memory_order_relaxed);
	atomic_store_explicit(&p->n_free, n_tiles, memory_order_release);
	atomic_fetch_add(&p->n_runs, 1);
	if (atomic_load(&p->n_sleepers) > 0)
		futex_wake(&p->n_runs, n_tiles - 1);
	do_tiles(p, 0);
	wait_for_tiles(p);
}
