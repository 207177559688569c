#include "load/arrival.h"

#include <math.h>

void arrival_init(struct arrival *a, double rate_per_s, bool poisson, uint64_t seed, int64_t index,
	int64_t n_threads)
{
	*a = (struct arrival){
		.rate_per_s = rate_per_s,
		.poisson = poisson,
		.index = index,
		.n_threads = n_threads,
	};
	rng_init(&a->rng, seed ^ UINT64_C(0x6172726976616c73));
}

int64_t arrival_next_ns(struct arrival *a)
{
	/* Every thread walks the whole process, so that the moments do not depend on the threads. */
	for (;;) {
		bool mine = a->k % a->n_threads == a->index;
		double t_s = a->poisson ? a->t_s : (double)a->k / a->rate_per_s;
		a->k++;
		if (a->poisson)
			a->t_s += rng_exponential(&a->rng) / a->rate_per_s;
		if (mine)
			return llround(t_s * 1e9);
	}
}
