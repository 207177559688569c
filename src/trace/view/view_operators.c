/*
 * The tree of operators of each thread, what each took itself, and which one made which call.
 */
#include "trace/view/view_parts.h"

#include <string.h>

static int64_t end_of(const struct event *e)
{
	return e->start_ns + e->dur_ns;
}

/* Direct children of one operator do not overlap, so that what is left is never below 0. */
static void take_off_children(struct trace_view *v)
{
	const struct event_list *ops = &v->t->lists[GROUP_OPERATOR];
	for (size_t i = 0; i < ops->n; i++)
		v->self_ns[i] = ops->v[i].dur_ns;
	for (size_t i = 0; i < ops->n; i++) {
		uint32_t parent = v->parent[i];
		if (parent == NONE32)
			continue;
		int64_t end = end_of(&ops->v[i]), parent_end = end_of(&ops->v[parent]);
		v->self_ns[parent] -= (end < parent_end ? end : parent_end) - ops->v[i].start_ns;
	}
}

static void attribute_calls(struct trace_view *v, struct by_thread calls, struct by_thread ops)
{
	const struct event_list *list = &v->t->lists[GROUP_CALL];
	size_t n_tracks = v->t->tracks.n ? v->t->tracks.n : 1;
	v->call_operator = arena_new_n(&v->arena, uint32_t, list->n);
	memset(v->call_operator, 0xff, list->n * sizeof *v->call_operator);
	struct sweep s = sweep_over(v->t->lists[GROUP_OPERATOR].v, ops, v->parent, n_tracks);
	for (uint32_t track = 0; track < n_tracks; track++) {
		for (uint32_t i = calls.first[track]; i < calls.first[track + 1]; i++) {
			int64_t at = list->v[calls.order[i]].start_ns;
			v->call_operator[calls.order[i]] = sweep_at(&s, track, at, at);
		}
	}
	sweep_release(&s);
}

void view_operators(struct trace_view *v)
{
	const struct event_list *ops = &v->t->lists[GROUP_OPERATOR];
	size_t n_tracks = v->t->tracks.n ? v->t->tracks.n : 1;
	struct by_thread by = view_by_thread(v->t, ops, &v->arena);
	struct by_thread calls = view_by_thread(v->t, &v->t->lists[GROUP_CALL], &v->arena);
	v->operators_by_thread = by.order;
	v->operators_first = by.first;
	v->calls_by_thread = calls.order;
	v->calls_first = calls.first;
	v->parent = arena_new_n(&v->arena, uint32_t, ops->n);
	v->self_ns = arena_new_n(&v->arena, int64_t, ops->n);
	for (size_t k = 0; k < n_tracks; k++)
		view_nest(ops->v, by.order + by.first[k], by.first[k + 1] - by.first[k], v->parent);
	take_off_children(v);
	attribute_calls(v, calls, by);
}
