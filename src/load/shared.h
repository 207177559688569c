/*
 * shared.h - what all workers of one measurement share: fixed before the start, or atomic.
 */
#ifndef VENTURI_LOAD_SHARED_H
#define VENTURI_LOAD_SHARED_H

#include "load/endpoint.h"
#include "load/load.h"
#include "load/target.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	LOAD_THREADS_MAX = 64,
	LOAD_CONNECTIONS_MAX = 65536,
	LOAD_FIRST_LATENCIES = 256, /* kept of the first requests, in order of sending */
	LOAD_EARLY_MAX = 20000,     /* completions that the search for the steady state may use */
};

enum load_phase {
	PHASE_RUN,   /* sending */
	PHASE_DRAIN, /* nothing new is sent; what is under way may finish */
	PHASE_STOP,  /* end now */
};

/* Objectives that a good request meets all of; INT64_MAX where none was set. */
struct load_slo {
	bool present;
	int64_t ttft_ns;
	int64_t itl_ns; /* mean gap between the token events of the request */
	int64_t e2e_ns;
};

struct load_shared {
	const struct endpoint *endpoint;
	const struct load_target *targets;
	int n_targets;
	enum load_balance balance;
	const struct load_shape *shape;
	struct load_slo slo;
	bool streaming;
	int64_t timeout_ns;
	int64_t seed;
	uint64_t nonce; /* of the prompts */
	struct recorder *recorder; /* NULL: no records */
	int n_threads;
	int64_t start_ns; /* of the warm-up; arrivals count from here; set when the gate opens */

	/* Threads that are made wait here for the last one, so that no first request is late. */
	pthread_mutex_t gate_lock;
	pthread_cond_t gate; /* also told when a thread has finished; on the monotonic clock */
	int n_at_gate;
	bool gate_open;

	_Atomic int phase;
	_Atomic int64_t window_start_ns; /* INT64_MAX: still warming up */
	_Atomic int64_t window_end_ns;   /* INT64_MAX: not decided yet */
	_Atomic int64_t n_sent;          /* requests since the start */
	_Atomic int64_t n_window_sent;   /* of those inside the window */
	_Atomic int64_t n_open;          /* in flight */
	_Atomic int64_t n_taken;         /* of max_in_flight, where there is such a cap */
	_Atomic int64_t open_at[LOAD_TARGETS_MAX]; /* of those; with LOAD_LEAST_OUTSTANDING only */
	_Atomic int64_t n_done, n_failed, n_token_events; /* inside the window, for progress */
	_Atomic int64_t n_sessions;        /* that were begun */
	_Atomic int64_t n_window_sessions; /* of those inside the window, or meant to be */
	_Atomic int64_t session_bytes;     /* of all histories */
	_Atomic int64_t last_success_ns; /* 0: none yet */
	_Atomic int64_t n_all_failed;    /* warm-up included */
	_Atomic int64_t ok_latency_us;   /* sum over all that were ok, likewise */
	_Atomic int64_t n_gone; /* of those: no connection, or one that broke; 0 after a success */
	_Atomic int64_t first_latencies[LOAD_FIRST_LATENCIES]; /* 0: not complete */
	pthread_mutex_t early_lock;
	double *early_ms; /* latencies in order of completion, during the warm-up */
	_Atomic int64_t n_early;
};

static inline int64_t load_window_start(const struct load_shared *shared)
{
	return atomic_load_explicit(&shared->window_start_ns, memory_order_relaxed);
}

static inline int64_t load_window_end(const struct load_shared *shared)
{
	return atomic_load_explicit(&shared->window_end_ns, memory_order_relaxed);
}

static inline bool load_in_window(const struct load_shared *shared, int64_t t_ns)
{
	return t_ns >= load_window_start(shared) && t_ns < load_window_end(shared);
}

static inline void load_shared_add(_Atomic int64_t *counter, int64_t by)
{
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

#endif
