#include "trace/readers/span_pairs.h"

#include <stdlib.h>

/* How far out an end is looked for by its name. */
enum { DEPTH_SEARCHED = 64 };

void span_pairs_add(struct span_pairs *pairs, const struct span_mark *mark)
{
	if (pairs->n == pairs->cap) {
		pairs->cap = pairs->cap ? pairs->cap * 2 : 64;
		pairs->v = mem_realloc(pairs->v, pairs->cap * sizeof *pairs->v);
	}
	pairs->v[pairs->n] = *mark;
	pairs->v[pairs->n].order = (uint32_t)pairs->n;
	pairs->n++;
}

static int by_key_and_time(const void *a, const void *b)
{
	const struct span_mark *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* What is open: places in pairs->v. */
struct open_spans {
	size_t *v;
	size_t n, cap;
};

static void push(struct open_spans *open, size_t place)
{
	if (open->n == open->cap) {
		open->cap = open->cap ? open->cap * 2 : 64;
		open->v = mem_realloc(open->v, open->cap * sizeof *open->v);
	}
	open->v[open->n++] = place;
}

/* How many of the innermost an end closes, itself the last of them; 0 when nothing is open. */
static size_t closed_by(
        const struct span_pairs *pairs, const struct open_spans *open, const struct span_mark *end)
{
	size_t limit = open->n < DEPTH_SEARCHED ? open->n : DEPTH_SEARCHED;
	for (size_t i = 1; end->name && i <= limit; i++)
		if (pairs->v[open->v[open->n - i]].name == end->name)
			return i;
	return open->n > 0;
}

static void close_span(struct span_pairs *pairs, struct open_spans *open,
        const struct span_mark *end, struct timeline *t)
{
	size_t n = closed_by(pairs, open, end);
	if (n == 0) {
		t->lost[LOST_UNMATCHED]++;
		return;
	}
	t->lost[LOST_UNMATCHED] += (int64_t)n - 1;
	open->n -= n;
	const struct span_mark *begin = &pairs->v[open->v[open->n]];
	struct event e = { .start_ns = begin->time_ns,
		.dur_ns = end->time_ns - begin->time_ns,
		.name = begin->name,
		.track = begin->track };
	timeline_add_checked(t, GROUP_OTHER, &e);
}

void span_pairs_close(struct span_pairs *pairs, struct timeline *t)
{
	struct open_spans open = { 0 };
	if (pairs->n)
		qsort(pairs->v, pairs->n, sizeof *pairs->v, by_key_and_time);
	for (size_t i = 0; i < pairs->n; i++) {
		const struct span_mark *mark = &pairs->v[i];
		if (i && mark->key != pairs->v[i - 1].key) {
			t->lost[LOST_UNMATCHED] += (int64_t)open.n;
			open.n = 0;
		}
		if (mark->is_end)
			close_span(pairs, &open, mark, t);
		else
			push(&open, i);
	}
	t->lost[LOST_UNMATCHED] += (int64_t)open.n;
	free(open.v);
	pairs->n = 0;
}

void span_pairs_release(struct span_pairs *pairs)
{
	free(pairs->v);
	*pairs = (struct span_pairs){ 0 };
}
