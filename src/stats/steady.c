#include "stats/steady.h"

#include <math.h>

/* Mean and sum of squared deviations, one value at a time. Source: Welford 1962. */
struct moments {
	double n, mean, squares;
};

static void add(struct moments *m, double x)
{
	double delta = x - m->mean;
	m->n++;
	m->mean += delta / m->n;
	m->squares += delta * (x - m->mean);
}

static double mean_of(const double *x, size_t n)
{
	/* About the first value, so that equal values have exactly their own mean. */
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i] - x[0];
	return x[0] + sum / (double)n;
}

bool steady_mser5(const double *x, size_t n, size_t *ret_cut)
{
	size_t n_batches = n / STEADY_BATCH, best = 0;
	double least = INFINITY;
	struct moments kept = { 0 };
	if (n_batches < STEADY_BATCHES_MIN)
		return false;
	/* From the end, so that what is kept grows by one batch a step. */
	for (size_t cut = n_batches; cut-- > 0;) {
		add(&kept, mean_of(x + cut * STEADY_BATCH, STEADY_BATCH));
		double error = kept.squares / (kept.n * kept.n);
		if (kept.n >= STEADY_TAIL && error <= least) {
			least = error;
			best = cut;
		}
	}
	if (best > n_batches / 2)
		return false;
	*ret_cut = best * STEADY_BATCH;
	return true;
}
