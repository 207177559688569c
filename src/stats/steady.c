#include "stats/steady.h"

#include <math.h>

enum { DRIFT_MIN = 2 * STEADY_HALF_BATCHES * 5 };

/* The 97.5 % quantile of Student's t with STEADY_HALF_BATCHES - 1 degrees of freedom. */
static const double t_nine = 2.262157;

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

static struct moments of_batches(const double *x, size_t n)
{
	size_t batch = n / STEADY_HALF_BATCHES;
	struct moments m = { 0 };
	for (size_t i = 0; i < STEADY_HALF_BATCHES; i++)
		add(&m, mean_of(x + i * batch, batch));
	return m;
}

bool steady_drift(const double *x, size_t n, double tolerance_ratio, struct steady_drift *ret)
{
	if (n < DRIFT_MIN)
		return false;
	struct moments first = of_batches(x, n / 2);
	struct moments second = of_batches(x + n / 2, n / 2);
	double freedom = STEADY_HALF_BATCHES - 1;
	double margin =
	        t_nine * sqrt((first.squares + second.squares) / freedom / STEADY_HALF_BATCHES);
	double change = fabs(second.mean - first.mean);
	*ret = (struct steady_drift){
		.first = first.mean,
		.second = second.mean,
		.margin = margin,
		.drifts = change > margin && change > tolerance_ratio * fabs(first.mean),
	};
	return true;
}
