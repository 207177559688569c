/*
 * Events that stand twice in a file, as where pieces of it were joined more than once.
 */
#include "trace/timeline/timeline.h"

#include <stdlib.h>

/*
 * Events without a link, or without an extent where times are whole microseconds, may well be
 * alike: they stay.
 */
static bool is_unique(const struct event *e)
{
	return e->link && e->dur_ns > 0;
}

static bool is_same(const struct event *a, const struct event *b)
{
	return a->start_ns == b->start_ns && a->dur_ns == b->dur_ns && a->link == b->link &&
	       a->name == b->name && a->track == b->track && a->kind == b->kind;
}

/* Whether every event starts after those before it on its track, as writers that sort make it: then
 * none can be there twice. */
static bool is_ordered(const struct timeline *t, const struct event_list *list)
{
	int64_t *last = mem_realloc(NULL, ((size_t)t->tracks.n + 1) * sizeof *last);
	bool ordered = true;
	for (uint32_t i = 0; i <= t->tracks.n; i++)
		last[i] = INT64_MIN;
	for (size_t i = 0; i < list->n && ordered; i++) {
		const struct event *e = &list->v[i];
		if (!is_unique(e))
			continue;
		ordered = e->start_ns > last[e->track];
		last[e->track] = e->start_ns;
	}
	free(last);
	return ordered;
}

static uint64_t hash_of(const struct event *e)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t h = (uint64_t)e->start_ns * odd;
	h = (h ^ (h >> 29) ^ e->link) * odd;
	return (h ^ (h >> 32) ^ e->name) * odd >> 20;
}

/* Keeps the first of each; returns how many were dropped. */
static int64_t drop(struct event_list *list)
{
	size_t n_slots = 64, n = 0;
	while (n_slots < list->n * 2)
		n_slots *= 2;
	size_t *slots = mem_zeroed(n_slots, sizeof *slots); /* place in list + 1; 0 is empty */
	for (size_t i = 0; i < list->n; i++) {
		const struct event e = list->v[i];
		size_t at = (size_t)hash_of(&e) & (n_slots - 1);
		while (is_unique(&e) && slots[at] && !is_same(&list->v[slots[at] - 1], &e))
			at = (at + 1) & (n_slots - 1);
		if (is_unique(&e) && slots[at])
			continue;
		list->v[n++] = e;
		if (is_unique(&e))
			slots[at] = n;
	}
	free(slots);
	int64_t n_dropped = (int64_t)(list->n - n);
	list->n = n;
	return n_dropped;
}

void timeline_drop_duplicates(struct timeline *t)
{
	static const enum event_group groups[] = { GROUP_DEVICE, GROUP_CALL };
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
		struct event_list *list = &t->lists[groups[i]];
		if (!is_ordered(t, list))
			t->lost[LOST_DUPLICATE] += drop(list);
	}
}
