/*
 * timeline_same.h - whether two timelines say the same, whatever numbers their names have.
 */
#ifndef VENTURI_TESTS_TIMELINE_SAME_H
#define VENTURI_TESTS_TIMELINE_SAME_H

#include "trace/timeline/timeline.h"

#include <stdio.h>
#include <string.h>

struct timeline_pair {
	const struct timeline *a, *b;
};

static inline bool same_names(struct timeline_pair p, uint32_t a, uint32_t b)
{
	return str_eq(timeline_name_of(p.a, a), timeline_name_of(p.b, b));
}

static inline bool same_tracks(struct timeline_pair p, uint32_t a, uint32_t b)
{
	const struct track *x = timeline_track_of(p.a, a), *y = timeline_track_of(p.b, b);
	return x->device == y->device && same_names(p, x->pid, y->pid) &&
	       same_names(p, x->tid, y->tid) && same_names(p, x->stream, y->stream) &&
	       same_names(p, x->label, y->label);
}

static inline bool same_kernels(
        struct timeline_pair p, const struct event *x, const struct event *y)
{
	const struct kernel_detail *a = timeline_kernel(p.a, x), *b = timeline_kernel(p.b, y);
	return memcmp(a, b, offsetof(struct kernel_detail, op)) == 0 &&
	       same_names(p, a->graph, b->graph);
}

static inline bool same_copies(struct timeline_pair p, const struct event *x, const struct event *y)
{
	const struct copy_detail *a = timeline_copy(p.a, x), *b = timeline_copy(p.b, y);
	return a->bytes == b->bytes && a->kind == b->kind && a->from == b->from && a->to == b->to &&
	       same_names(p, a->kind_name, b->kind_name);
}

static inline bool same_operators(
        struct timeline_pair p, const struct event *x, const struct event *y)
{
	const struct operator_detail *a = timeline_operator(p.a, x), *b = timeline_operator(p.b, y);
	return a->sequence == b->sequence && same_names(p, a->dims, b->dims) &&
	       same_names(p, a->types, b->types) && same_names(p, a->strides, b->strides) &&
	       same_names(p, a->values, b->values);
}

static inline bool same_details(
        struct timeline_pair p, enum event_group g, const struct event *x, const struct event *y)
{
	if (!x->detail || !y->detail)
		return x->detail == y->detail;
	switch (detail_type_of(g, x->kind)) {
	case DETAIL_KERNEL:
		return same_kernels(p, x, y);
	case DETAIL_COPY:
		return same_copies(p, x, y);
	case DETAIL_OPERATOR:
		return same_operators(p, x, y);
	case DETAIL_MEMORY:
		return memcmp(timeline_memory(p.a, x), timeline_memory(p.b, y),
		               sizeof(struct memory_detail)) == 0;
	case DETAIL_SYNC:
		return timeline_sync(p.a, x)->kind == timeline_sync(p.b, y)->kind;
	default:
		return true;
	}
}

static inline bool same_events(
        struct timeline_pair p, enum event_group g, const struct event *x, const struct event *y)
{
	return x->start_ns == y->start_ns && x->dur_ns == y->dur_ns && x->link == y->link &&
	       x->kind == y->kind && same_names(p, x->name, y->name) &&
	       same_tracks(p, x->track, y->track) && same_details(p, g, x, y);
}

static inline bool same_lists(struct timeline_pair p, enum event_group g)
{
	const struct event_list *a = &p.a->lists[g], *b = &p.b->lists[g];
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!same_events(p, g, &a->v[i], &b->v[i]))
			return false;
	return true;
}

static inline int64_t tally_of(const struct timeline *t, struct str name)
{
	for (size_t i = 0; i < t->categories.n; i++)
		if (str_eq(timeline_name_of(t, t->categories.v[i].name), name))
			return t->categories.v[i].n;
	return 0;
}

static inline bool same_tallies(struct timeline_pair p)
{
	for (size_t i = 0; i < p.a->categories.n; i++) {
		struct tally k = p.a->categories.v[i];
		if (tally_of(p.b, timeline_name_of(p.a, k.name)) != k.n)
			return false;
	}
	return p.a->categories.n == p.b->categories.n;
}

static inline bool same_counters(struct timeline_pair p)
{
	if (p.a->n_counters != p.b->n_counters)
		return false;
	for (size_t i = 0; i < p.a->n_counters; i++) {
		const struct counter_sample *x = &p.a->counters[i], *y = &p.b->counters[i];
		if (x->time_ns != y->time_ns || !same_names(p, x->name, y->name))
			return false;
	}
	return true;
}

/* NULL when they say the same, else what differs. */
static inline const char *timeline_difference(const struct timeline *a, const struct timeline *b)
{
	struct timeline_pair p = { a, b };
	for (int g = 0; g < N_GROUPS; g++)
		if (!same_lists(p, (enum event_group)g))
			return event_group_names[g];
	if (a->n_events != b->n_events || a->n_bytes != b->n_bytes || a->n_python != b->n_python)
		return "counts";
	if (memcmp(a->lost, b->lost, sizeof a->lost) != 0)
		return "losses";
	if (memcmp(a->phases, b->phases, sizeof a->phases) != 0)
		return "phases";
	if (a->span_start_ns != b->span_start_ns || a->span_end_ns != b->span_end_ns)
		return "span";
	if (a->truncated != b->truncated || a->is_amd != b->is_amd)
		return "flags";
	if (a->has_shapes != b->has_shapes || a->has_stack != b->has_stack ||
	        a->has_memory != b->has_memory || a->rank != b->rank)
		return "facts";
	if (a->n_devices != b->n_devices || a->base_unix_ns != b->base_unix_ns)
		return "members";
	if (!same_tallies(p))
		return "categories";
	return same_counters(p) ? NULL : "counters";
}

#endif
