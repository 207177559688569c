#include "stats/hist.h"

#include "stats/quantile.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void hist_init(struct hist *h, struct arena *run)
{
	*h = (struct hist){ .counts = arena_new_n(run, uint64_t, HIST_N_BUCKETS) };
}

void hist_clear(struct hist *h)
{
	if (h->n)
		memset(h->counts, 0, HIST_N_BUCKETS * sizeof(*h->counts));
	*h = (struct hist){ .counts = h->counts };
}

void hist_merge(struct hist *h, const struct hist *other)
{
	if (other->n == 0)
		return;
	for (int i = 0; i < HIST_N_BUCKETS; i++)
		h->counts[i] += other->counts[i];
	if (h->n == 0 || other->min < h->min)
		h->min = other->min;
	if (other->max > h->max)
		h->max = other->max;
	h->n += other->n;
	h->n_clipped += other->n_clipped;
	h->sum += other->sum;
	h->sum_squares += other->sum_squares;
}

double hist_sum(const struct hist *h)
{
	return (double)h->sum;
}

double hist_mean(const struct hist *h)
{
	return h->n ? (double)h->sum / (double)h->n : NAN;
}

double hist_sd(const struct hist *h)
{
	if (h->n < 2)
		return NAN;
	/*
	 * The squares less sum * sum / n cancel nearly all digits of a narrow sample, so they do it
	 * in integers: with sum = n * mean + rest that is squares - mean * (sum + rest) - rest *
	 * rest / n.
	 */
	hist_sum_t n = (uint64_t)h->n, mean = h->sum / n, rest = h->sum % n;
	long double squares = (long double)(h->sum_squares - mean * (h->sum + rest));
	squares -= (long double)rest * (long double)rest / (long double)n;
	return squares > 0 ? (double)sqrtl(squares / (long double)(n - 1)) : 0;
}

/* The smallest value that bucket i counts, and how many values it spans. */
static int64_t bucket_low(int i, int64_t *ret_width)
{
	int shift = (i >> HIST_SUB_BITS) - 1;
	if (shift < 0)
		shift = 0;
	*ret_width = INT64_C(1) << shift;
	return (int64_t)(i - (shift << HIST_SUB_BITS)) << shift;
}

static int64_t bucket_middle(const struct hist *h, int i)
{
	int64_t width;
	int64_t middle = bucket_low(i, &width);
	middle += width / 2;
	return middle < h->min ? h->min : middle > h->max ? h->max : middle;
}

int64_t hist_rank(const struct hist *h, int64_t k)
{
	assert(k >= 1 && k <= h->n);
	if (k == 1 || k == h->n)
		return k == 1 ? h->min : h->max;
	int i = hist_bucket(h->min < HIST_TOP ? h->min : HIST_TOP);
	for (int64_t below = (int64_t)h->counts[i]; below < k;)
		below += (int64_t)h->counts[++i];
	return bucket_middle(h, i);
}

int64_t hist_quantile(const struct hist *h, double q)
{
	return h->n ? hist_rank(h, quantile_rank(h->n, q)) : 0;
}

int64_t hist_count_at_or_below(const struct hist *h, int64_t v)
{
	int64_t count = 0;
	if (h->n == 0 || v < h->min)
		return 0;
	if (v >= h->max)
		return h->n;
	int last = v > HIST_TOP ? HIST_N_BUCKETS - 1 : hist_bucket(v);
	for (int i = hist_bucket(h->min); i < last; i++)
		count += (int64_t)h->counts[i];
	if (v >= bucket_middle(h, last))
		count += (int64_t)h->counts[last];
	/* min is at or below v and max above it, whatever the middles say. */
	return count < 1 ? 1 : count >= h->n ? h->n - 1 : count;
}

bool hist_next(const struct hist *h, int *i, int64_t *ret_upper, int64_t *ret_count)
{
	if (h->n == 0)
		return false;
	while (*i < HIST_N_BUCKETS && h->counts[*i] == 0)
		(*i)++;
	if (*i >= HIST_N_BUCKETS)
		return false;
	int64_t width, low = bucket_low(*i, &width);
	bool clipped = *i == HIST_N_BUCKETS - 1 && h->n_clipped > 0;
	*ret_upper = clipped ? h->max : low + width - 1;
	*ret_count = (int64_t)h->counts[*i];
	(*i)++;
	return true;
}
