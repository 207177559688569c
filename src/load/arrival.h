/*
 * arrival.h - when requests are due in an open loop: absolute moments, the same for every number
 * of threads, never drifting.
 *
 * The k-th arrival (k = 0, 1, ...) of a constant rate r is due at k / r; of a Poisson process the
 * gaps are exponential with mean 1 / r. With n threads, thread i takes the arrivals i, i + n, ...
 */
#ifndef VENTURI_LOAD_ARRIVAL_H
#define VENTURI_LOAD_ARRIVAL_H

#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

struct arrival {
	double rate_per_s;
	bool poisson;
	struct rng rng;
	int64_t k;     /* of the whole process */
	double t_s;    /* of arrival k, from the start */
	int64_t index; /* of this thread */
	int64_t n_threads;
};

void arrival_init(struct arrival *a, double rate_per_s, bool poisson, uint64_t seed, int64_t index,
	int64_t n_threads);

/* The next moment of this thread, in ns from the start. */
int64_t arrival_next_ns(struct arrival *a);

#endif
