#include "stats/quantile.h"

#include <assert.h>
#include <math.h>

/*
 * 0.07 * 100 is 7.000000000000001 in doubles; without this hair the rank would be one too high.
 */
static const double rank_slack = 4 * 0x1p-52;

int64_t quantile_rank(int64_t n, double q)
{
	double rank = ceil(q * (double)n * (1 - rank_slack));
	return rank < 1 ? 1 : rank > (double)n ? n : (int64_t)rank;
}

double quantile_sorted(const double *sorted, size_t n, double q)
{
	assert(n > 0);
	return sorted[quantile_rank((int64_t)n, q) - 1];
}

static const long double floor_error = 0.01L;

bool quantile_enough(int64_t n, double q)
{
	long double in = q, out = 1 - in, count = (long double)n;
	if (n < 1 || !(q > 0 && q < 1))
		return false;
	return powl(in, count - 1) * (in + count * out) <= floor_error;
}

int64_t quantile_floor(double q)
{
	if (!(q > 0 && q < 1))
		return INT64_MAX;
	int64_t few = 0, many = 1;
	while (!quantile_enough(many, q)) {
		few = many;
		many *= 2;
	}
	while (many - few > 1) {
		int64_t middle = few + (many - few) / 2;
		if (quantile_enough(middle, q))
			many = middle;
		else
			few = middle;
	}
	return many;
}

static long double log_gamma(int64_t x)
{
	int sign; /* the plain function would write it to a global */
	return lgammal_r((long double)x, &sign);
}

/* A binomial distribution and a place in it: p is P(B = k). */
struct binomial {
	int64_t n, k;
	long double q, p;
};

static struct binomial binomial_at(int64_t n, long double q, int64_t k)
{
	long double log_p = log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1) +
	                    (long double)k * logl(q) + (long double)(n - k) * log1pl(-q);
	return (struct binomial){ n, k, q, expl(log_p) };
}

static void step_down(struct binomial *b)
{
	b->p *= (long double)b->k * (1 - b->q) / ((long double)(b->n - b->k + 1) * b->q);
	b->k--;
}

static void step_up(struct binomial *b)
{
	b->k++;
	b->p *= (long double)(b->n - b->k + 1) * b->q / ((long double)b->k * (1 - b->q));
}

/*
 * The largest k with P(B <= k) <= limit, or -1 when even P(B = 0) is more.
 *
 * Two deviations under the mean the probabilities are summed downwards until they no longer
 * count, a few deviations further; from there single steps lead to the limit. So the cost is
 * that of O(sqrt(n)) terms, about 1 ms at n = 10^9.
 */
static int64_t last_at_or_under(int64_t n, long double q, long double limit)
{
	long double mean = (long double)n * q;
	long double start = floorl(mean - 2 * sqrtl(mean * (1 - q)));
	struct binomial b = binomial_at(n, q, start > 0 ? (int64_t)start : 0);
	long double tail = b.p;
	for (struct binomial t = b; t.k > 0 && t.p > tail * 1e-20L; tail += t.p)
		step_down(&t);
	while (tail > limit) {
		tail -= b.p;
		if (b.k == 0)
			return -1;
		step_down(&b);
	}
	for (;;) {
		struct binomial above = b;
		step_up(&above);
		if (tail + above.p > limit || above.k == n)
			return b.k;
		tail += above.p;
		b = above;
	}
}

bool quantile_ci_ranks(int64_t n, double q, double confidence, int64_t *ret_low, int64_t *ret_high)
{
	if (n < 1 || !(q > 0 && q < 1) || !(confidence > 0 && confidence < 1))
		return false;
	long double limit = (1 - (long double)confidence) / 2;
	int64_t under = last_at_or_under(n, q, limit);
	/* P(B >= u) is P(n - B <= n - u), and n - B is binomial with 1 - q. */
	int64_t over = last_at_or_under(n, 1 - (long double)q, limit);
	if (under < 0 || over < 0)
		return false;
	*ret_low = under + 1;
	*ret_high = n - over;
	return true;
}

bool quantile_ci_hist(const struct hist *h, double q, double confidence, double n_eff,
        struct quantile_interval *ret)
{
	int64_t low, high, n = n_eff < (double)h->n ? (int64_t)n_eff : h->n;
	if (!quantile_ci_ranks(n, q, confidence, &low, &high))
		return false;
	/* Outwards, so that no rank of so few values is lost between those of the many. */
	double each = (double)h->n / (double)n;
	int64_t first = (int64_t)floor((double)(low - 1) * each) + 1;
	int64_t last = (int64_t)ceil((double)high * each);
	last = last < h->n ? last : h->n;
	*ret = (struct quantile_interval){ hist_rank(h, first), hist_rank(h, last) };
	return true;
}
