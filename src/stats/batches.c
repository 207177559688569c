#include "stats/batches.h"

#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK = 64,               /* buckets that are compared at once */
	VALUES_MIN = 2 * BATCHES, /* in all */
};

void batches_init(struct batches *b, struct arena *run)
{
	*b = (struct batches){ .seen = arena_new_n(run, uint64_t, HIST_N_BUCKETS) };
}

void batches_release(struct batches *b)
{
	for (int i = 0; i < b->n; i++)
		free(b->slices[i].entries);
	*b = (struct batches){ 0 };
}

/* Adds the entries of from, which may overlap those of to, and empties it. */
static void join(struct batches_slice *to, struct batches_slice *from)
{
	if (to->n == 0 || from->n == 0) {
		struct batches_slice kept = to->n ? *to : *from;
		free(to->n ? from->entries : to->entries);
		*from = (struct batches_slice){ 0 };
		*to = kept;
		return;
	}
	struct batches_entry *sum = mem_realloc(NULL, (to->n + from->n) * sizeof(*sum));
	size_t n = 0, i = 0, k = 0;
	while (i < to->n || k < from->n) {
		bool first = i < to->n &&
		             (k == from->n || to->entries[i].bucket <= from->entries[k].bucket);
		struct batches_entry e = first ? to->entries[i++] : from->entries[k++];
		if (n > 0 && sum[n - 1].bucket == e.bucket)
			sum[n - 1].count += e.count;
		else
			sum[n++] = e;
	}
	free(to->entries);
	free(from->entries);
	*from = (struct batches_slice){ 0 };
	*to = (struct batches_slice){ mem_realloc(sum, n * sizeof(*sum)), n };
}

/* Every two slices become one. */
static void halve(struct batches *b)
{
	for (int i = 0; i < b->n; i += 2) {
		struct batches_slice even = b->slices[i], odd = { 0 };
		b->slices[i] = (struct batches_slice){ 0 };
		if (i + 1 < b->n) {
			odd = b->slices[i + 1];
			b->slices[i + 1] = (struct batches_slice){ 0 };
		}
		join(&even, &odd);
		b->slices[i / 2] = even;
	}
	b->n = (b->n + 1) / 2;
	b->doublings++;
}

static int bucket_of(int64_t value)
{
	return hist_bucket(value < HIST_TOP ? value : HIST_TOP);
}

/* What h has gained since the last time, by buckets. */
static struct batches_slice news(struct batches *b, const struct hist *h)
{
	struct batches_slice s = { 0 };
	int end = bucket_of(h->max) + 1;
	size_t room = 0;
	for (int i = bucket_of(h->min); i < end; i += BLOCK) {
		int stop = i + BLOCK < end ? i + BLOCK : end;
		size_t bytes = (size_t)(stop - i) * sizeof(*b->seen);
		if (memcmp(&h->counts[i], &b->seen[i], bytes) == 0)
			continue;
		for (int k = i; k < stop; k++) {
			if (h->counts[k] == b->seen[k])
				continue;
			if (s.n == room) {
				room = room ? 2 * room : BLOCK;
				s.entries = mem_realloc(s.entries, room * sizeof(*s.entries));
			}
			uint64_t gained = h->counts[k] - b->seen[k];
			s.entries[s.n++] = (struct batches_entry){ (uint32_t)k, (uint32_t)gained };
		}
		memcpy(&b->seen[i], &h->counts[i], bytes);
	}
	s.entries = mem_realloc(s.entries, s.n * sizeof(*s.entries));
	b->n_seen = h->n;
	return s;
}

void batches_take(struct batches *b, const struct hist *h, int64_t slice)
{
	while (slice >> b->doublings >= BATCHES_SLICES_MAX)
		halve(b);
	int place = (int)(slice >> b->doublings);
	if (place >= b->n)
		b->n = place + 1;
	if (h->n == b->n_seen)
		return;
	struct batches_slice s = news(b, h);
	join(&b->slices[place], &s);
}

/* Of each slice of all threads: how many values, and how many in buckets up to the edge. */
struct shares {
	int n;
	double values[BATCHES_SLICES_MAX], under[BATCHES_SLICES_MAX];
};

static void gather(const struct batches *const *all, int n_threads, int edge, struct shares *ret)
{
	int doublings = 0;
	*ret = (struct shares){ 0 };
	for (int t = 0; t < n_threads; t++)
		if (all[t]->doublings > doublings)
			doublings = all[t]->doublings;
	for (int t = 0; t < n_threads; t++) {
		int shift = doublings - all[t]->doublings;
		for (int i = 0; i < all[t]->n; i++) {
			const struct batches_slice *s = &all[t]->slices[i];
			int place = i >> shift;
			ret->n = place >= ret->n ? place + 1 : ret->n;
			for (size_t k = 0; k < s->n; k++) {
				ret->values[place] += s->entries[k].count;
				if ((int)s->entries[k].bucket <= edge)
					ret->under[place] += s->entries[k].count;
			}
		}
	}
}

/*
 * The bucket up to which the share of the values is the nearest to q without being 0 or 1; -1 when
 * one bucket holds all values.
 */
static int edge_near(const struct hist *h, double q)
{
	int64_t rank = quantile_rank(h->n, q);
	int i = bucket_of(h->min);
	int64_t before = 0, under = (int64_t)h->counts[i];
	while (under < rank) {
		before = under;
		under += (int64_t)h->counts[++i];
	}
	if (before == 0)
		return under < h->n ? i : -1;
	double want = q * (double)h->n;
	bool below = under == h->n || want - (double)before < (double)under - want;
	return below ? i - 1 : i;
}

double batches_n_eff(
        const struct batches *const *all, int n_threads, const struct hist *h, double q)
{
	struct shares s;
	double values = 0, under = 0, squares = 0, batch = 0;
	int edge = h->n >= VALUES_MIN ? edge_near(h, q) : -1;
	if (edge < 0)
		return NAN;
	gather(all, n_threads, edge, &s);
	if (s.n < BATCHES_SLICES_MIN)
		return NAN;
	for (int i = 0; i < s.n; i++) {
		values += s.values[i];
		under += s.under[i];
	}
	double p = under / values;
	int length = s.n / BATCHES;
	/* Every batch is the one before, with the next slice and without its first. */
	for (int i = 0; i < s.n; i++) {
		batch += s.under[i] - p * s.values[i];
		if (i >= length)
			batch -= s.under[i - length] - p * s.values[i - length];
		if (i >= length - 1)
			squares += batch * batch;
	}
	double n = s.n, m = length;
	double variance = n * n / (m * (n - m + 1) * (n - m)) * squares;
	double n_eff = values * values * p * (1 - p) / variance;
	return n_eff < (double)h->n ? fmax(n_eff, 1) : (double)h->n;
}
