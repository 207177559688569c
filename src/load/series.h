/*
 * series.h - what happened in each second of the window: one per thread, merged at the end.
 *
 * Latencies of a second are counted in 16 buckets an octave (middle within 3.2 %). When the next
 * second begins only the buckets that hold some are kept, a few hundred bytes, so that hours fit.
 */
#ifndef VENTURI_LOAD_SERIES_H
#define VENTURI_LOAD_SERIES_H

#include "base/arena.h"
#include "record/load_run.h"

#include <stdint.h>

enum {
	SERIES_SUB_BITS = 4,
	SERIES_N_BUCKETS = (HIST_MAX_BITS - SERIES_SUB_BITS + 1) << SERIES_SUB_BITS,
	SERIES_MAX_S = 7 * 24 * 3600, /* later seconds are added to the last */
};

/* How many were in the buckets from first on. */
struct series_latencies {
	int32_t first, n;
	uint32_t counts[];
};

struct series_second {
	int64_t requests;
	int64_t errors;
	int64_t token_events;
	int64_t body_tokens; /* of answers that were no streams */
	double in_flight_s; /* integral over the second */
	double ok_latency_s; /* sum over those that were ok */
	struct series_latencies *latencies; /* NULL: none, or in the series' counts */
};

struct series {
	struct series_second *seconds;
	int64_t n;
	int64_t cap;
	int64_t open; /* the second whose latencies are in counts */
	uint32_t counts[SERIES_N_BUCKETS];
};

void series_release(struct series *s);

/* The second that holds t_ns from the start of the window; t_ns >= 0. Valid until the next call. */
struct series_second *series_at(struct series *s, int64_t t_ns);

/*
 * A request that ended at t_ns. Stamps may lie a little before one that was recorded already: what
 * belongs to a second that is over counts in the one under way.
 */
void series_record(struct series *s, int64_t t_ns, bool ok, int64_t latency_ns);

/* Adds level requests in flight from from_ns to to_ns. */
void series_in_flight(struct series *s, int64_t from_ns, int64_t to_ns, int64_t level);

/*
 * Merges the series of all threads.
 *
 * duration_s         of the window: the last second may be a part of one
 * tokens_per_event   of streams
 * returns            [*ret_n], in the arena
 */
struct load_second *series_merge(const struct series *const *all, int n_threads, double duration_s,
	double tokens_per_event, struct arena *run, int64_t *ret_n);

#endif
