/*
 * dist.h - distributions as people write them: 128, uniform:32..512, normal:MEAN,SD,
 * lognormal:MEAN,CV, file:PATH (one number a line), mix:0.98*20,0.02*200 (weighted constants).
 *
 * Samples are doubles >= 0 in whatever unit the caller means; normal is cut at 0.
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

struct dist {
	enum dist_kind kind;
	double a, b;     /* the two numbers of the text */
	double *values;  /* DIST_FILE, DIST_MIX */
	double *weights; /* DIST_MIX: cumulative, last is 1 */
	size_t n;
	const char *text; /* as given */
};

/* Errors name the text; min is the smallest value that makes sense to the caller. */
bool dist_parse(const char *text, double min, struct arena *run, struct dist *ret_dist,
	struct err *err) NODISCARD;
double dist_sample(const struct dist *d, struct rng *rng);
/* The mean; of the untruncated normal for DIST_NORMAL. */
double dist_mean(const struct dist *d);

#endif
