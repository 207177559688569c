/*
 * worker.h - one thread of the load generator: its connections, its event loop, and what it
 * counted. The controller (measure.c) starts workers, moves them from warm-up to window to end, and
 * merges what they counted.
 */
#ifndef VENTURI_LOAD_WORKER_H
#define VENTURI_LOAD_WORKER_H

#include "load/arrival.h"
#include "load/endpoint.h"
#include "load/load.h"
#include "load/series.h"
#include "load/workload.h"
#include "net/conn.h"
#include "net/loop.h"

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

/* What all workers of one measurement share. Atomics only, except what is fixed before the start. */
struct load_shared {
	const struct endpoint *endpoint;
	const struct workload *workload;
	const struct conn_target *target;
	const struct load_shape *shape;
	struct load_slo slo;
	bool streaming;
	int64_t timeout_ns;
	int64_t seed;
	uint64_t nonce; /* of the prompts */
	int n_threads;
	int64_t start_ns; /* of the warm-up; arrivals count from here */

	_Atomic int phase;
	_Atomic int64_t window_start_ns; /* INT64_MAX: still warming up */
	_Atomic int64_t window_end_ns;   /* INT64_MAX: not decided yet */
	_Atomic int64_t n_sent;          /* requests since the start */
	_Atomic int64_t n_window_sent;   /* of those inside the window */
	_Atomic int64_t n_open;          /* in flight */
	_Atomic int64_t n_done, n_failed, n_token_events; /* inside the window, for progress */
	_Atomic int64_t last_success_ns; /* 0: none yet */
	_Atomic int64_t n_all_failed;    /* warm-up included */
	_Atomic int64_t n_gone; /* of those: no connection, or one that broke; 0 after a success */
	_Atomic int64_t first_latencies[LOAD_FIRST_LATENCIES]; /* 0: not complete */
	pthread_mutex_t early_lock;
	double *early_ms; /* latencies in order of completion, during the warm-up */
	_Atomic int64_t n_early;
};

/* What one worker counted. Times in ns. */
struct load_counts {
	struct hist metrics[LOAD_N_METRICS];
	struct hist failed_latency;
	struct hist lateness;
	struct hist receive_delay;
	struct hist connect;
	struct hist body_delay;
	struct hist stream_share_pm;
	int64_t warmup_requests;
	int64_t attempted, ok, censored, retried, good;
	int64_t failures[LOAD_N_FAILURES];
	/* completions and tokens by when they arrived */
	int64_t window_completions, window_ok;
	double window_latency_s; /* sum over the completions */
	int64_t window_token_events;
	int64_t window_input_tokens;
	int64_t window_body_tokens; /* output tokens of answers that were no streams */
	/* tokens by request, to learn how many an event bears */
	int64_t n_with_usage, usage_output_tokens, usage_events, n_with_input;
	int64_t reads_with_tokens, token_events;
	int64_t connections_opened, server_closes;
	double in_flight_integral_s, streams_integral_s;
	int64_t streams_max; /* of this worker */
	int64_t cpu_ns, wall_ns; /* inside the window */
	int64_t last_end_ns;     /* of the requests sent inside the window */
	char first_error[320];
	int64_t first_error_ns;
	struct series series;
};

struct worker {
	struct load_shared *shared;
	int index;
	int64_t n_slots; /* closed loop: connections of this worker */
	pthread_t thread;
	struct load_counts counts;
	struct err err; /* the worker could not start */
	bool failed;
	int64_t connections_served;
	_Atomic bool finished; /* nothing left to send, nothing in flight */
};

/* The thread's function; arg is the worker. */
void *worker_run(void *arg);
void worker_init(struct worker *w, struct load_shared *shared, int index, int64_t n_slots,
	struct arena *run);
void worker_release(struct worker *w);

#endif
