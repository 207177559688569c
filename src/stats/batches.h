/*
 * batches.h - how many independent values a histogram is worth, for values that resemble their
 * neighbours.
 *
 * Requests that meet the same queue, and gaps of the same stream, are correlated: n of them tell
 * less than n independent ones. While values are recorded, what a histogram gained is put down for
 * each of 64 to 128 equal slices of time; two become one when there are too many, so memory does
 * not grow with the run. One writer; merged at the end.
 *
 * Sources: batch means: Conway 1963, Some tactical problems in digital simulation; 10 to 30 batches
 * are enough: Schmeiser 1982, Batch size effects; overlapping ones use every place where a batch
 * can lie: Meketon and Schmeiser 1984, Overlapping batch means: something for nothing?
 */
#ifndef VENTURI_STATS_BATCHES_H
#define VENTURI_STATS_BATCHES_H

#include "base/arena.h"
#include "base/attr.h"
#include "stats/hist.h"

#include <stdint.h>

enum {
	BATCHES_SLICES_MAX = 128,
	BATCHES_SLICES_MIN = 32, /* with fewer, no figure */
	BATCHES = 16,            /* that fit side by side into the run */
};

struct batches_entry {
	uint32_t bucket;
	uint32_t count;
};

/* What one slice of time brought, in ascending buckets. */
struct batches_slice {
	struct batches_entry *entries;
	size_t n;
};

struct batches {
	uint64_t *seen; /* [HIST_N_BUCKETS]: the histogram as it was at the end of the last slice */
	int64_t n_seen;
	struct batches_slice slices[BATCHES_SLICES_MAX];
	int n;         /* slices so far */
	int doublings; /* a slice spans 2^doublings slices of the caller */
};

void batches_init(struct batches *b, struct arena *run);
void batches_release(struct batches *b);

/*
 * The slice of time with this number, from 0 on and never falling, ends: what h has gained since
 * the last call belongs to it.
 *
 * cost  a comparison of the buckets between the smallest and the largest value; nothing without
 * news
 */
void batches_take(struct batches *b, const struct hist *h, int64_t slice);

/*
 * How many independent values tell as much of the q-quantile as those that were recorded.
 *
 * all      of the threads, whose slices are at the same times
 * h        all values together
 * returns  at most h->n; NAN when there are too few slices or values, or all values are equal
 * source   the share of values at or below the quantile, as a ratio over slices; its variance by
 *          overlapping batch means is p (1 - p) / n_eff
 */
double batches_n_eff(
        const struct batches *const *all, int n_threads, const struct hist *h, double q);

#endif
