/*
 * steady.h - where a series has settled.
 *
 * Series are observations in the order of time: latencies in order of sending, or rates of equal
 * slices. Pure functions: nothing is allocated, any thread may call them.
 */
#ifndef VENTURI_STATS_STEADY_H
#define VENTURI_STATS_STEADY_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	STEADY_BATCH = 5,        /* observations a batch: the 5 of MSER-5 */
	STEADY_BATCHES_MIN = 10, /* with fewer, no verdict */
	STEADY_TAIL = 5,         /* batches that are always kept: a handful agrees by chance */
};

/*
 * The warm-up to discard: MSER-5.
 *
 * The cut makes the standard error of the mean of what is kept the smallest. A series whose best
 * cut lies past its middle has not settled yet, or not been watched for long enough.
 *
 * x         n observations
 * ret_cut   observations to discard, a multiple of 5, at most n / 2
 * returns   false when the best cut lies past the middle, or when n < 50
 * cost      O(n)
 * source    White 1997, An effective truncation heuristic for bias reduction in simulation output;
 *           the rules of the middle and of the last five batches: Hoad, Robinson, Davies 2010
 */
bool steady_mser5(const double *x, size_t n, size_t *ret_cut) NODISCARD;

#endif
