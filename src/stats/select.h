/*
 * select.h - order statistics without sorting.
 */
#ifndef VENTURI_STATS_SELECT_H
#define VENTURI_STATS_SELECT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The k-th smallest of n values, from 0; reorders v.
 *
 * n       above 0; k below n
 * cost    O(n) as a rule, O(n log n) at most
 * source  Hoare, FIND (1961), with the median of three as pivot; sorts what is left when the parts
 *         do not shrink
 */
int64_t select_i64(int64_t *v, size_t n, size_t k);

/* The lower median: the ((n - 1) / 2)-th smallest. */
int64_t select_median(int64_t *v, size_t n);

#endif
