#include "trace/view/view.h"

#include <stdlib.h>

static int by_start(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static bool in_order(const struct interval *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (v[i].start_ns < v[i - 1].start_ns)
			return false;
	}
	return true;
}

struct intervals intervals_union(struct interval *v, size_t n, struct arena *arena)
{
	struct intervals u = { .v = arena_new_n(arena, struct interval, n) };
	if (!in_order(v, n))
		qsort(v, n, sizeof *v, by_start);
	for (size_t i = 0; i < n; i++) {
		if (v[i].end_ns <= v[i].start_ns)
			continue;
		struct interval *last = u.n ? &u.v[u.n - 1] : NULL;
		if (!last || v[i].start_ns > last->end_ns)
			u.v[u.n++] = v[i];
		else if (v[i].end_ns > last->end_ns)
			last->end_ns = v[i].end_ns;
	}
	return u;
}

int64_t intervals_length_ns(struct intervals a)
{
	int64_t sum = 0;
	for (size_t i = 0; i < a.n; i++)
		sum += a.v[i].end_ns - a.v[i].start_ns;
	return sum;
}

int64_t intervals_overlap_ns(struct intervals a, struct intervals b)
{
	int64_t sum = 0;
	for (size_t i = 0, j = 0; i < a.n && j < b.n;) {
		const struct interval *x = &a.v[i], *y = &b.v[j];
		int64_t start = x->start_ns > y->start_ns ? x->start_ns : y->start_ns;
		int64_t end = x->end_ns < y->end_ns ? x->end_ns : y->end_ns;
		if (end > start)
			sum += end - start;
		if (x->end_ns < y->end_ns)
			i++;
		else
			j++;
	}
	return sum;
}
