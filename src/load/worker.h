/*
 * worker.h - one thread of the load generator: its connections, its event loop, and what it
 * counted. The controller (measure.c) starts workers, moves them from warm-up to window to end, and
 * merges what they counted.
 */
#ifndef VENTURI_LOAD_WORKER_H
#define VENTURI_LOAD_WORKER_H

#include "load/counts.h"
#include "load/gauge.h"
#include "load/shared.h"

struct worker {
	struct load_shared *shared;
	int index;
	int64_t n_slots; /* closed loop: connections of this worker */
	pthread_t thread;
	struct load_counts counts;
	struct gauge gauge;
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
