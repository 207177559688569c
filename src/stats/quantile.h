/*
 * quantile.h - how far a quantile of a sample can be trusted.
 */
#ifndef VENTURI_STATS_QUANTILE_H
#define VENTURI_STATS_QUANTILE_H

#include "base/attr.h"
#include "stats/hist.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ceil(q * n)-th smallest of n sorted values; n > 0. */
double quantile_sorted(const double *sorted, size_t n, double q);
int64_t quantile_rank(int64_t n, double q);

/*
 * Ranks of the order statistics that hold the q-quantile with the given confidence, two-sided.
 *
 * confidence  e.g. 0.95
 * returns     false when n is too small for such an interval; then nothing is written
 * source      binomial: P(X_(l) <= Q_q < X_(u)) = sum_{i=l}^{u-1} C(n,i) q^i (1-q)^(n-i);
 *             Conover, Practical Nonparametric Statistics, 3.2. Exact also for large n (log-gamma).
 */
bool quantile_ci_ranks(
        int64_t n, double q, double confidence, int64_t *ret_low, int64_t *ret_high) NODISCARD;

/*
 * The fewest independent samples from which the q-quantile is given: 11 for P50, 64 for P90, 130
 * for P95, 662, 6636, 66381 for P99, P99.9, P99.99.
 *
 * returns  INT64_MAX unless 0 < q < 1
 * source   one-sided binomial rule at 99 %: the least n with P(at most one of n lies above the
 *          quantile) = q^n + n q^(n-1) (1-q) <= 0.01, so that the largest but one bounds it. These
 *          are the floors of MLPerf Inference for runs that stop early.
 */
int64_t quantile_floor(double q);

/* Are n samples enough to give the q-quantile? */
bool quantile_enough(int64_t n, double q);

struct quantile_interval {
	int64_t low, high;
};

/*
 * The interval in values of a histogram; false as quantile_ci_ranks.
 *
 * n_eff  how many independent values those of h are worth (batches.h); NAN: all of them. The ranks
 *        are those of so many values, and stand for the same shares of h.
 */
bool quantile_ci_hist(const struct hist *h, double q, double confidence, double n_eff,
        struct quantile_interval *ret) NODISCARD;

#endif
