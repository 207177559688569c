/*
 * sim_schedule.h - when a simulated service does what: queue, slots, steps and stalls as pure
 * arithmetic on time.
 *
 * The caller brings the clock: it adds requests as they arrive, asks when the next thing is due,
 * and runs the schedule up to now. What follows from what was due at t happens relative to t, not
 * to when the caller came round to it, so lateness never adds up. First come, first served.
 *
 * Every sequence added gets exactly one SIM_ENDED. Not for several threads at once.
 *
 * Continuous batching: when a step ends, waiting requests move into free slots; the next step is
 * a prefill of those new ones, which gives each its first token, or else one decode step of all.
 */
#ifndef VENTURI_SERVE_SIM_SCHEDULE_H
#define VENTURI_SERVE_SIM_SCHEDULE_H

#include "serve/sim_config.h"

#include <stdbool.h>
#include <stdint.h>

struct sim_seq {
	/* given */
	int64_t arrival_ns;
	int64_t n_prompt;
	int64_t n_output;   /* tokens that its time is spread over; may be 0 */
	int64_t n_made_max; /* it ends after so many of them */
	double service_ms;  /* drawn by the caller where the config has a distribution */
	double extra_ms;    /* before the first token */
	void *owner;

	/* read by the callback */
	int64_t n_made;
	bool cancelled; /* set by the callback: nothing more is wanted */

	/* inside */
	enum { SIM_SEQ_NEW, SIM_SEQ_WAITING, SIM_SEQ_RUNNING, SIM_SEQ_ENDED } state;
	int64_t started_ns, due_ns;
	size_t index; /* in running */
	struct sim_seq *prev, *next;
};

enum sim_event {
	SIM_STARTED,
	SIM_TOKEN,
	SIM_ENDED,
};

struct sim_callbacks {
	/* at_ns: when it was due. After SIM_ENDED the schedule does not touch seq again. */
	void (*event)(void *ctx, enum sim_event event, struct sim_seq *seq, int64_t at_ns);
	/* A step of n sequences ended. */
	void (*step)(void *ctx, int64_t n);
	void *ctx;
};

struct sim_schedule {
	const struct sim_config *config;
	struct sim_callbacks callbacks;
	int64_t now_ns;               /* nothing happens before it any more */
	int64_t epoch_ns;             /* the first arrival, which stalls count from; -1: none yet */
	struct sim_seq *first, *last; /* waiting */
	struct sim_seq **running;     /* [slots]; a heap by due_ns unless continuous */
	size_t n_running;
	int64_t step_due_ns; /* continuous: when the step ends */
	size_t n_prefill;    /* continuous: the last so many of running are in their prefill */
};

void sim_schedule_init(
        struct sim_schedule *s, const struct sim_config *config, struct sim_callbacks callbacks);
void sim_schedule_release(struct sim_schedule *s);

/* Queues seq; it starts at once when a slot is free. seq stays the caller's. */
void sim_schedule_add(struct sim_schedule *s, struct sim_seq *seq);

/* Takes seq out of the queue or its slot at now_ns; it gets its SIM_ENDED. Nothing after that. */
void sim_schedule_cancel(struct sim_schedule *s, struct sim_seq *seq, int64_t now_ns);

/* When the next thing is due; INT64_MAX: never without a new arrival. */
int64_t sim_schedule_due_ns(const struct sim_schedule *s);

/* Lets happen what is due up to and including now_ns. */
void sim_schedule_run(struct sim_schedule *s, int64_t now_ns);

/* When work_ms of work begun at from_ns is finished, with the stalls in between. */
int64_t sim_schedule_after(const struct sim_schedule *s, int64_t from_ns, double work_ms);

#endif
