/*
 * view_parts.h - the parts of view.c among themselves: each works out one thing, in the order of
 * this file; later ones rest on earlier ones.
 */
#ifndef VENTURI_TRACE_VIEW_PARTS_H
#define VENTURI_TRACE_VIEW_PARTS_H

#include "trace/view/view.h"

/*
 * Sorts indexes of events: by start, then end (or the longest first), then the order they stand in.
 * A natural merge sort: one pass when they are in order, one pass more for each doubling of the
 * number of runs, which is small in the files that profilers write.
 */
void view_sort_by_time(const struct event *v, uint32_t *order, size_t n, bool longest_first);
/* By link, then by start. */
void view_sort_by_link(const struct event *v, uint32_t *order, size_t n);

/* Events of a list by track, start, longest first, order in the file. */
struct by_thread {
	uint32_t *order;
	uint32_t *first; /* [n tracks + 1]: where the part of a track begins */
};
struct by_thread view_by_thread(
        const struct timeline *t, const struct event_list *list, struct arena *arena);

/*
 * What is inside what: the parent of an event is the innermost earlier one whose end is after its
 * start. order is sorted by start, longest first. Fills parent[i] for the i in order.
 */
void view_nest(const struct event *v, const uint32_t *order, size_t n, uint32_t *parent);

/*
 * Goes along the tracks of a list and tells the innermost event at a time; the times of a track
 * may not go back.
 */
struct sweep {
	const struct event *v;
	const uint32_t *order, *first, *parent;
	uint32_t *next, *top; /* [n tracks] */
	size_t n_tracks;
};
struct sweep sweep_over(
        const struct event *v, struct by_thread by, const uint32_t *parent, size_t n_tracks);
void sweep_restart(struct sweep *s);
void sweep_release(struct sweep *s);
/* The innermost event of the track that covers from to to; NONE32. */
uint32_t sweep_at(struct sweep *s, uint32_t track, int64_t from_ns, int64_t to_ns);

void view_devices(struct trace_view *v);
void view_links(struct trace_view *v);
void view_operators(struct trace_view *v);
void view_steps(struct trace_view *v);
void view_gaps(struct trace_view *v);

#endif
