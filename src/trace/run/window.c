#include "trace/run/run_parts.h"

#include <stdlib.h>
#include <string.h>

static void cut_list(const struct timeline *t, enum event_group group,
        const struct interval *window, const struct trace_view *issued, struct event_list *ret)
{
	const struct event_list *from = &t->lists[group];
	*ret = (struct event_list){ 0 };
	for (size_t i = 0; i < from->n; i++) {
		const struct event *e = &from->v[i];
		int64_t at = issued && group == GROUP_DEVICE ? trace_asked_ns(issued, (uint32_t)i)
		                                             : e->start_ns;
		if (at < window->start_ns || at >= window->end_ns)
			continue;
		if (ret->n == ret->cap) {
			ret->cap = ret->cap ? ret->cap * 2 : 64;
			ret->v = mem_realloc(ret->v, ret->cap * sizeof *ret->v);
		}
		ret->v[ret->n++] = *e;
	}
}

static void cut_counters(
        const struct timeline *t, const struct interval *window, struct timeline *ret)
{
	ret->counters = NULL;
	ret->n_counters = ret->cap_counters = 0;
	for (size_t i = 0; i < t->n_counters; i++) {
		int64_t at = t->counters[i].time_ns;
		if (at >= window->start_ns && at < window->end_ns)
			timeline_counter(ret, &t->counters[i]);
	}
}

/*
 * The events of a timeline that start in [from_ns, to_ns), as a timeline that shares everything
 * else with t, which must outlive it.
 *
 * issued  of t: device work counts from its launch on; NULL: from its own start
 */
static void cut(const struct timeline *t, int64_t from_ns, int64_t to_ns,
        const struct trace_view *issued, struct timeline *ret)
{
	const struct interval window = { from_ns, to_ns };
	*ret = *t;
	ret->span_start_ns = INT64_MAX;
	ret->span_end_ns = INT64_MIN;
	ret->n_lines = 0; /* those are sums of all of it, as the summaries are */
	ret->n_summaries = 0;
	for (int g = 0; g < N_GROUPS; g++) {
		cut_list(t, g, &window, issued, &ret->lists[g]);
		if (g == GROUP_INSTANT || g == GROUP_MEMORY)
			continue;
		for (size_t i = 0; i < ret->lists[g].n; i++)
			timeline_span(ret, ret->lists[g].v[i].start_ns, ret->lists[g].v[i].dur_ns);
	}
	cut_counters(t, &window, ret);
}

static void release(struct timeline *t)
{
	for (int g = 0; g < N_GROUPS; g++)
		free(t->lists[g].v);
	free(t->counters);
	memset(t, 0, sizeof *t);
}

static bool open_step(struct window *w, const struct timeline *t, int64_t step)
{
	trace_view_init(&w->whole, t);
	w->has_whole = true;
	if (step >= (int64_t)w->whole.n_steps)
		return false;
	const struct step *s = &w->whole.steps[step];
	cut(t, s->start_ns, s->end_ns, &w->whole, &w->cut);
	w->is_cut = true;
	return true;
}

const struct timeline *window_open(
        struct window *w, const struct timeline *t, const struct trace_options *o)
{
	*w = (struct window){ 0 };
	if (o->step >= 0)
		return open_step(w, t, o->step) ? &w->cut : NULL;
	if (o->from_ns == TRACE_NONE && o->to_ns == TRACE_NONE)
		return t;
	int64_t start_ns = t->span_start_ns <= t->span_end_ns ? t->span_start_ns : 0;
	int64_t from_ns = o->from_ns == TRACE_NONE ? INT64_MIN : start_ns + o->from_ns;
	int64_t to_ns = o->to_ns == TRACE_NONE ? INT64_MAX : start_ns + o->to_ns;
	cut(t, from_ns, to_ns, NULL, &w->cut);
	w->is_cut = true;
	return &w->cut;
}

void window_close(struct window *w)
{
	if (w->is_cut)
		release(&w->cut);
	if (w->has_whole)
		trace_view_release(&w->whole);
}
