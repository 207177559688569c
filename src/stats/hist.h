/*
 * hist.h - values (mostly ns) in fixed memory, every quantile within 0.2 % of its true value.
 *
 * Always: n is the sum of counts[]. Each octave has 2^HIST_SUB_BITS buckets of equal width, so a
 * bucket is at most 1/256 of its values wide and its middle at most 0.2 % off; what lies below
 * 2^(HIST_SUB_BITS + 1) is exact. What lies over the top is counted in the last bucket and in
 * n_clipped, never dropped, and enters the sums as the top. min and max are exact always, the sums
 * while n_clipped is 0. One writer: threads record into their own and merge at the end. A zeroed
 * struct is empty and may be read and merged from; hist_init comes before recording.
 *
 * Source: Tene, HdrHistogram.
 */
#ifndef VENTURI_STATS_HIST_H
#define VENTURI_STATS_HIST_H

#include "base/arena.h"
#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	HIST_SUB_BITS = 8,
	HIST_MAX_BITS = 43, /* 2^43 ns is 2.4 hours */
	HIST_N_BUCKETS = (HIST_MAX_BITS - HIST_SUB_BITS + 1) << HIST_SUB_BITS,
};

/* The largest value that has a bucket of its own. */
#define HIST_TOP ((INT64_C(1) << HIST_MAX_BITS) - 1)

/* Squares of ns overflow 64 bits, and doubles would lose the deviation of a narrow sample. */
__extension__ typedef unsigned __int128 hist_sum_t;

struct hist {
	uint64_t *counts; /* [HIST_N_BUCKETS], 72 KiB; NULL before hist_init */
	int64_t n;
	int64_t n_clipped;
	int64_t min; /* both 0 when empty */
	int64_t max;
	hist_sum_t sum;
	hist_sum_t sum_squares;
};

/* Empties h and takes the memory of the buckets from the arena. */
void hist_init(struct hist *h, struct arena *run);
/* Forgets the values, keeps the memory. */
void hist_clear(struct hist *h);

/* Where a value from 0 to HIST_TOP is counted. */
static inline int hist_bucket(int64_t value)
{
	/* The or makes everything below the first octave linear without a branch. */
	int shift = 63 - HIST_SUB_BITS -
	            __builtin_clzll((uint64_t)value | (UINT64_C(1) << HIST_SUB_BITS));
	return (shift << HIST_SUB_BITS) + (int)(value >> shift);
}

/* Counts value times times; times >= 0. Negative values count as 0. Allocates nothing. */
static inline void hist_record_n(struct hist *h, int64_t value, int64_t times)
{
	if (times <= 0)
		return;
	if (value < 0)
		value = 0;
	if (h->n == 0 || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	if (value > HIST_TOP) {
		h->n_clipped += times;
		value = HIST_TOP;
	}
	h->counts[hist_bucket(value)] += (uint64_t)times;
	h->n += times;
	h->sum += (hist_sum_t)value * (uint64_t)times;
	h->sum_squares += (hist_sum_t)value * (uint64_t)value * (uint64_t)times;
}

/* A couple of ns: it is called for every token. */
static inline void hist_record(struct hist *h, int64_t value)
{
	hist_record_n(h, value, 1);
}

/* Adds the values of other; exact. other may be empty. */
void hist_merge(struct hist *h, const struct hist *other);

double hist_sum(const struct hist *h);  /* 0 when empty */
double hist_mean(const struct hist *h); /* NAN when empty */
double hist_sd(const struct hist *h);   /* sample deviation (n - 1); NAN below 2 */

/*
 * The k-th smallest value, k from 1 to n: the middle of its bucket, held inside min and max; the
 * first and the last are min and max themselves.
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

/*
 * How many values lie at or below v, to the resolution of the buckets: for every k from 1 to n,
 * hist_rank(h, k) <= v when and only when k <= the count.
 */
int64_t hist_count_at_or_below(const struct hist *h, int64_t v);

/*
 * The next non-empty bucket at or after index *i (start with 0), or false at the end.
 * ret_upper is the largest value that the bucket holds, for the last bucket of all h->max.
 */
bool hist_next(const struct hist *h, int *i, int64_t *ret_upper, int64_t *ret_count);

#endif
