/*
 * change.h - does a series stay at its level? A trend, or a jump at one moment.
 *
 * Either must show by two tests, and the larger probability counts: one of ranks, which some odd
 * values do not mislead, and one of sizes, whose standard error is that of as many independent
 * values as the given ones are worth, n (1 - r) / (1 + r), with r the correlation of neighbours
 * once the change itself is taken out. Up to r = 0.6 chance is held to its probability; at 0.8 a
 * level wanders so much that 1 % of such series pass for a change at 0.1 %. Pure functions: nothing
 * is allocated.
 *
 * Sources: Mann 1945, Nonparametric tests against trend; Pettitt 1979, A non-parametric approach to
 * the change-point problem; slopes with fewer degrees of freedom for correlated values: Santer and
 * others 2000; r of a short series is too small by about (1 + 4 r) / n: Kendall 1954, and by more
 * when a fit with parameters of its own has been taken out.
 */
#ifndef VENTURI_STATS_CHANGE_H
#define VENTURI_STATS_CHANGE_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>

/* With fewer, no verdict; 22 that jump in the middle are the first to pass Pettitt's at 0.1 %. */
enum { CHANGE_MIN = 20 };

struct change {
	bool is_shift;   /* a jump, else a trend: whichever leaves less of the series unexplained */
	double p;        /* probability of as clear a change in a series that stays at its level */
	double from, to; /* the levels before and after, or the ends of the line */
	size_t at;       /* the first value after the jump; of a trend 0 */
};

/*
 * x        n values at equal distances
 * returns  false when n < CHANGE_MIN
 * cost     O(n^2)
 */
bool change_find(const double *x, size_t n, struct change *ret) NODISCARD;

/*
 * The slope of a line through n values, in units of x per step, and its standard error.
 *
 * n  3 or more
 */
void change_slope(const double *x, size_t n, double *ret_slope, double *ret_error);

#endif
