/*
 * dist.h - distributions as people write them: 128, uniform:32..512, normal:MEAN,SD,
 * lognormal:MEAN,CV, file:PATH (one number a line), mix:0.98*20,0.02*200 (weighted constants).
 *
 * Samples are doubles in whatever unit the caller means, never below the least value that the
 * caller gave: constants, bounds, and the numbers of a file below it are refused, samples of
 * normal and lognormal are raised to it. uniform draws reals, both bounds possible after rounding.
 * A read-only struct: any number of threads may sample it, each with its own rng.
 */
#ifndef VENTURI_STATS_DIST_H
#define VENTURI_STATS_DIST_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>

enum dist_kind { DIST_CONSTANT, DIST_UNIFORM, DIST_NORMAL, DIST_LOGNORMAL, DIST_FILE, DIST_MIX };

enum { DIST_FILE_MAX_BYTES = 64 * 1024 * 1024, DIST_MIX_MAX = 64 };

/* No number of a distribution may be larger: it still fits the integers that a double holds. */
#define DIST_VALUE_MAX 1e15

struct dist {
	enum dist_kind kind;
	bool durations;  /* its values are written as 2s, 500ms, and are ns */
	double min;      /* no sample is less */
	double a, b;     /* the two numbers of the text */
	double *values;  /* DIST_FILE, DIST_MIX */
	double *weights; /* DIST_MIX: cumulative, last is 1 */
	size_t n;
	const char *text; /* as given, in the arena */
};

/*
 * min      the least value that makes sense to the caller, >= 0
 * errors   name the text and what is wrong with it: ERR_USAGE, for the contents of a file
 * ERR_INPUT. Weights that add up to anything but 1 (within 0.001) are refused, not normalised: the
 *          one who wrote 0.98 and 0.2 made a slip.
 */
bool dist_parse(const char *text, double min, struct arena *run, struct dist *ret_dist,
        struct err *err) NODISCARD;

/* The same of durations, which have their units (2s, lognormal:2s,0.5); samples are ns from 0. */
bool dist_parse_duration(const char *text, struct arena *run, struct dist *ret_dist,
        struct err *err) NODISCARD;

double dist_sample(const struct dist *d, struct rng *rng);

/*
 * The mean of the samples: that of the raised distribution for normal and lognormal.
 *
 * source   E[max(X, m)] in closed form; for the lognormal, Hogg and Klugman, limited expected value
 */
double dist_mean(const struct dist *d);

#endif
