#include "trace/view/view_parts.h"

#include <stdlib.h>
#include <string.h>

/* Whether a must stand before b; equal ones keep their order. */
typedef bool precedes_fn(const struct event *a, const struct event *b);

static inline bool shorter_first(const struct event *a, const struct event *b)
{
	return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->dur_ns < b->dur_ns;
}

static inline bool longer_first(const struct event *a, const struct event *b)
{
	return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->dur_ns > b->dur_ns;
}

static inline bool link_first(const struct event *a, const struct event *b)
{
	return a->link != b->link ? a->link < b->link : a->start_ns < b->start_ns;
}

/* The end of the run that begins at i: no one in it must stand before the one before it. */
static inline size_t run_end(
        const struct event *v, const uint32_t *order, size_t i, size_t n, precedes_fn *precedes)
{
	while (++i < n && !precedes(&v[order[i]], &v[order[i - 1]]))
		;
	return i < n ? i : n;
}

/* Merges from[a..m) and from[m..z) into to[a..z). */
static inline void merge(const struct event *v, const uint32_t *from, uint32_t *to, size_t a,
        size_t m, size_t z, precedes_fn *precedes)
{
	size_t i = a, j = m, k = a;
	while (i < m && j < z)
		to[k++] = precedes(&v[from[j]], &v[from[i]]) ? from[j++] : from[i++];
	memcpy(to + k, from + i, (m - i) * sizeof *to);
	memcpy(to + k + (m - i), from + j, (z - j) * sizeof *to);
}

/* Merges runs in pairs until one is left; inlined for each order, so that comparing is no call. */
static inline __attribute__((always_inline)) void sort(
        const struct event *v, uint32_t *order, size_t n, precedes_fn *precedes)
{
	if (run_end(v, order, 0, n, precedes) >= n)
		return;
	uint32_t *spare = mem_realloc(NULL, n * sizeof *spare), *from = order, *to = spare;
	for (size_t longest = 0; longest < n;) {
		longest = 0;
		for (size_t a = 0; a < n;) {
			size_t m = run_end(v, from, a, n, precedes);
			size_t z = m < n ? run_end(v, from, m, n, precedes) : n;
			merge(v, from, to, a, m, z, precedes);
			longest = z - a > longest ? z - a : longest;
			a = z;
		}
		uint32_t *swap = from;
		from = to;
		to = swap;
	}
	if (from != order)
		memcpy(order, from, n * sizeof *order);
	free(spare);
}

void view_sort_by_time(const struct event *v, uint32_t *order, size_t n, bool longest_first)
{
	if (longest_first)
		sort(v, order, n, longer_first);
	else
		sort(v, order, n, shorter_first);
}

void view_sort_by_link(const struct event *v, uint32_t *order, size_t n)
{
	sort(v, order, n, link_first);
}

struct by_thread view_by_thread(
        const struct timeline *t, const struct event_list *list, struct arena *arena)
{
	uint32_t n_tracks = t->tracks.n ? t->tracks.n : 1;
	struct by_thread by = {
		.order = arena_new_n(arena, uint32_t, list->n),
		.first = arena_new_n(arena, uint32_t, (size_t)n_tracks + 2),
	};
	/* first[track + 2] counts; summed up, first[track + 1] is where the next one of it goes. */
	for (size_t i = 0; i < list->n; i++)
		by.first[list->v[i].track + 2]++;
	for (uint32_t k = 2; k < n_tracks + 2; k++)
		by.first[k] += by.first[k - 1];
	for (size_t i = 0; i < list->n; i++)
		by.order[by.first[list->v[i].track + 1]++] = (uint32_t)i;
	for (uint32_t k = 0; k < n_tracks; k++)
		view_sort_by_time(
		        list->v, by.order + by.first[k], by.first[k + 1] - by.first[k], true);
	return by;
}

void view_nest(const struct event *v, const uint32_t *order, size_t n, uint32_t *parent)
{
	uint32_t top = NONE32;
	for (size_t i = 0; i < n; i++) {
		const struct event *e = &v[order[i]];
		/* Below an open event lie its ancestors: the stack is the chain of parents. */
		while (top != NONE32 && v[top].start_ns + v[top].dur_ns <= e->start_ns)
			top = parent[top];
		parent[order[i]] = top;
		top = order[i];
	}
}

struct sweep sweep_over(
        const struct event *v, struct by_thread by, const uint32_t *parent, size_t n_tracks)
{
	struct sweep s = { .v = v,
		.order = by.order,
		.first = by.first,
		.parent = parent,
		.next = mem_zeroed(n_tracks, sizeof *s.next),
		.top = mem_zeroed(n_tracks, sizeof *s.top),
		.n_tracks = n_tracks };
	sweep_restart(&s);
	return s;
}

void sweep_restart(struct sweep *s)
{
	memcpy(s->next, s->first, s->n_tracks * sizeof *s->next);
	memset(s->top, 0xff, s->n_tracks * sizeof *s->top);
}

void sweep_release(struct sweep *s)
{
	free(s->next);
	free(s->top);
	*s = (struct sweep){ 0 };
}

uint32_t sweep_at(struct sweep *s, uint32_t track, int64_t from_ns, int64_t to_ns)
{
	uint32_t next = s->next[track], end = s->first[track + 1], top = s->top[track];
	while (next < end && s->v[s->order[next]].start_ns <= from_ns)
		top = s->order[next++];
	while (top != NONE32) {
		int64_t top_end = s->v[top].start_ns + s->v[top].dur_ns;
		if (top_end >= to_ns && top_end > from_ns)
			break;
		top = s->parent[top];
	}
	s->next[track] = next;
	return s->top[track] = top;
}
