/*
 * hist.h - values (mostly ns) in fixed memory, every quantile within 0.2 % of its true value.
 *
 * Always: n is the sum of counts[]. Values are counted from HIST_MIN_NS with 2^HIST_SUB_BITS
 * buckets per octave; what lies below is exact (linear buckets), what lies over the top is counted
 * in the last bucket and in n_clipped, never dropped. min, max, sum and sum of squares are exact.
 * One writer: threads record into their own and merge at the end. A zeroed struct is empty and
 * takes no memory until the first record.
 *
 * Source: Tene, HdrHistogram.
 */
#ifndef VENTURI_STATS_HIST_H
#define VENTURI_STATS_HIST_H

#include "base/arena.h"
#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>

enum { HIST_SUB_BITS = 8, HIST_MAX_BITS = 43 }; /* 2^43 ns is 2.4 hours */

struct hist {
	uint64_t *counts;
	int64_t n;
	int64_t n_clipped;
	int64_t min;
	int64_t max;
	double sum;
	double sum_squares;
};

/* Memory for the buckets from the arena; recording into a hist without it is an error. */
void hist_init(struct hist *h, struct arena *run);
/* Forgets the values, keeps the memory. */
void hist_clear(struct hist *h);
/* Negative values count as 0. Allocates nothing. */
void hist_record(struct hist *h, int64_t value);
void hist_record_n(struct hist *h, int64_t value, int64_t times);
/* Adds the values of other; exact. other may be empty. */
void hist_merge(struct hist *h, const struct hist *other);

double hist_mean(const struct hist *h); /* NAN when empty */
double hist_sd(const struct hist *h);   /* sample deviation (n - 1); NAN below 2 */

/*
 * The k-th smallest value, k from 1 to n: the middle of its bucket, held inside min and max.
 */
int64_t hist_rank(const struct hist *h, int64_t k);

/*
 * The value that a share q of the recorded values do not exceed.
 *
 * q        0 to 1; 0.99 is p99
 * returns  0 when nothing was recorded
 * source   nearest rank: the ceil(q * n)-th smallest
 */
int64_t hist_quantile(const struct hist *h, double q);

/* How many values lie at or below v, to the resolution of the buckets. */
int64_t hist_count_at_or_below(const struct hist *h, int64_t v);

/*
 * The next non-empty bucket at or after index *i (start with 0), or false at the end.
 * ret_upper is the largest value that the bucket holds.
 */
bool hist_next(const struct hist *h, int *i, int64_t *ret_upper, int64_t *ret_count);

#endif
