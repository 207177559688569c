/*
 * The times at which a device had nothing to do, what ended each, and what the host was at.
 */
#include "trace/kinds/call_kind.h"
#include "trace/view/view_parts.h"

#include <stdlib.h>
#include <string.h>

/* Calls that can make the host late: blocking ones, and those that allocate. */
struct slow_calls {
	uint32_t *order; /* by track, start */
	uint32_t *first; /* [n tracks + 1] */
};

/* What the lookups for a gap go along. */
struct gap_context {
	struct trace_view *v;
	const struct event *work, *calls;
	struct slow_calls slow;
	uint8_t *reads_back; /* [n calls]: it copies to the host */
	struct sweep operators, annotations, frames;
};

static int64_t end_of(const struct event *e)
{
	return e->start_ns + e->dur_ns;
}

static bool is_copy_to_host(const struct timeline *t, const struct event *e)
{
	const struct copy_detail *c = e->kind == DEVICE_MEMCPY ? timeline_copy(t, e) : NULL;
	return c && c->kind == COPY_DTOH;
}

static uint8_t *find_reads_back(const struct trace_view *v)
{
	const struct event_list *work = &v->t->lists[GROUP_DEVICE];
	uint8_t *reads_back = mem_zeroed(v->t->lists[GROUP_CALL].n, 1);
	for (size_t i = 0; i < work->n; i++) {
		if (v->launch[i] != NONE32 && is_copy_to_host(v->t, &work->v[i]))
			reads_back[v->launch[i]] = 1;
	}
	return reads_back;
}

static bool is_slow(const struct gap_context *c, uint32_t call)
{
	enum call_kind kind = c->v->call_kinds[c->calls[call].name];
	return kind == CALL_SYNC || kind == CALL_COPY_BLOCKING || kind == CALL_ALLOCATE ||
	       c->reads_back[call];
}

static struct slow_calls find_slow(const struct gap_context *c)
{
	const struct trace_view *v = c->v;
	size_t n_tracks = v->t->tracks.n ? v->t->tracks.n : 1;
	struct slow_calls s = {
		.order = mem_realloc(NULL, (v->t->lists[GROUP_CALL].n + 1) * sizeof *s.order),
		.first = mem_zeroed(n_tracks + 1, sizeof *s.first),
	};
	uint32_t n = 0;
	for (size_t k = 0; k < n_tracks; k++) {
		s.first[k] = n;
		for (uint32_t i = v->calls_first[k]; i < v->calls_first[k + 1]; i++) {
			if (is_slow(c, v->calls_by_thread[i]))
				s.order[n++] = v->calls_by_thread[i];
		}
	}
	s.first[n_tracks] = n;
	return s;
}

/* The first of the slow calls of a track that starts after a time. */
static uint32_t first_after(const struct gap_context *c, uint32_t track, int64_t time_ns)
{
	uint32_t a = c->slow.first[track], z = c->slow.first[track + 1];
	while (a < z) {
		uint32_t m = a + (z - a) / 2;
		if (c->calls[c->slow.order[m]].start_ns <= time_ns)
			a = m + 1;
		else
			z = m;
	}
	return a;
}

/*
 * Why the host was late. It allocated: such a call lies in the gap or reaches into it. It waited:
 * it was blocked when the device ran out of work; or the last work was a copy to the host, and it
 * waited for that inside the gap; or it was blocked for most of the time until the launch, by work
 * of another device or work that the trace does not hold.
 */
static enum gap_cause host_cause(const struct gap_context *c, const struct gap *g, uint32_t launch)
{
	/* Calls of one thread nest at most as driver within runtime within a wrapper. */
	enum { NESTED_CALLS = 3 };
	uint32_t track = c->calls[launch].track, first = c->slow.first[track];
	uint32_t i = first_after(c, track, g->start_ns);
	int64_t launch_ns = c->calls[launch].start_ns, until_ns = g->start_ns, waited_ns = 0;
	bool copied_back = is_copy_to_host(c->v->t, &c->work[g->before]), waited = false;
	i = i - first > NESTED_CALLS ? i - NESTED_CALLS : first;
	for (; i < c->slow.first[track + 1]; i++) {
		const struct event *call = &c->calls[c->slow.order[i]];
		if (call->start_ns >= launch_ns)
			break;
		if (end_of(call) <= until_ns)
			continue;
		if (c->v->call_kinds[call->name] == CALL_ALLOCATE)
			return GAP_ALLOCATION;
		waited |= call->start_ns <= g->start_ns || copied_back;
		int64_t end_ns = end_of(call) < launch_ns ? end_of(call) : launch_ns;
		waited_ns += end_ns - (call->start_ns > until_ns ? call->start_ns : until_ns);
		until_ns = end_of(call);
	}
	return waited || 2 * waited_ns > launch_ns - g->start_ns ? GAP_SYNC : GAP_HOST;
}

static void explain(struct gap_context *c, struct gap *g)
{
	uint32_t launch = c->v->launch[g->after];
	g->operator= g->annotation = g->python = NONE32;
	g->between_steps = c->v->n_steps > 0 &&
	                   (trace_step_of(c->v, g->before) == NONE32 ||
	                           trace_step_of(c->v, g->before) != trace_step_of(c->v, g->after));
	int64_t to_ns = g->end_ns;
	if (launch == NONE32) {
		g->cause = GAP_UNKNOWN;
	} else if (c->calls[launch].start_ns < g->start_ns) {
		g->cause = GAP_QUEUED;
	} else {
		g->cause = host_cause(c, g, launch);
		if (c->calls[launch].start_ns < to_ns)
			to_ns = c->calls[launch].start_ns;
		g->host_ns = to_ns - g->start_ns;
	}
	if (c->annotations.n_tracks)
		g->annotation = sweep_at(&c->annotations, 0, g->start_ns, to_ns);
	if (launch == NONE32)
		return;
	uint32_t track = c->calls[launch].track;
	int64_t middle = g->start_ns + (to_ns - g->start_ns) / 2;
	g->operator= sweep_at(&c->operators, track, middle, middle);
	if (c->frames.n_tracks)
		g->python = sweep_at(&c->frames, track, g->start_ns, to_ns);
}

/* Fills gaps, or only counts them when it is NULL. */
static size_t find_gaps(const struct event *v, const struct device_view *d, struct gap *gaps)
{
	size_t n = 0;
	uint32_t last = d->order[0];
	for (size_t i = 1; i < d->n; i++) {
		const struct event *e = &v[d->order[i]];
		int64_t end_ns = end_of(&v[last]);
		if (e->start_ns > end_ns) {
			if (gaps)
				gaps[n] = (struct gap){ .start_ns = end_ns,
					.end_ns = e->start_ns,
					.before = last,
					.after = d->order[i] };
			n++;
		}
		if (end_of(e) > end_ns)
			last = d->order[i];
	}
	return n;
}

/* Over the annotations of all threads as if they were one. */
static struct sweep over_annotations(struct arena *tmp, const struct event_list *list)
{
	if (list->n == 0)
		return (struct sweep){ 0 };
	struct by_thread by = { arena_new_n(tmp, uint32_t, list->n),
		arena_new_n(tmp, uint32_t, 2) };
	uint32_t *parent = arena_new_n(tmp, uint32_t, list->n);
	for (size_t i = 0; i < list->n; i++)
		by.order[i] = (uint32_t)i;
	by.first[1] = (uint32_t)list->n;
	view_sort_by_time(list->v, by.order, list->n, true);
	view_nest(list->v, by.order, list->n, parent);
	return sweep_over(list->v, by, parent, 1);
}

static struct sweep over_frames(struct arena *tmp, const struct timeline *t)
{
	const struct event_list *list = &t->lists[GROUP_PYTHON];
	size_t n_tracks = t->tracks.n ? t->tracks.n : 1;
	if (list->n == 0)
		return (struct sweep){ 0 };
	struct by_thread by = view_by_thread(t, list, tmp);
	uint32_t *parent = arena_new_n(tmp, uint32_t, list->n);
	for (size_t k = 0; k < n_tracks; k++)
		view_nest(list->v, by.order + by.first[k], by.first[k + 1] - by.first[k], parent);
	return sweep_over(list->v, by, parent, n_tracks);
}

static void device_gaps(struct gap_context *c, struct device_view *d)
{
	d->n_gaps = find_gaps(c->work, d, NULL);
	d->gaps = arena_new_n(&c->v->arena, struct gap, d->n_gaps);
	find_gaps(c->work, d, d->gaps);
	sweep_restart(&c->operators);
	if (c->annotations.n_tracks)
		sweep_restart(&c->annotations);
	if (c->frames.n_tracks)
		sweep_restart(&c->frames);
	for (size_t i = 0; i < d->n_gaps; i++)
		explain(c, &d->gaps[i]);
}

void view_gaps(struct trace_view *v)
{
	const struct timeline *t = v->t;
	if (v->n_devices == 0)
		return;
	struct arena tmp = { 0 };
	struct gap_context c = { .v = v,
		.work = t->lists[GROUP_DEVICE].v,
		.calls = t->lists[GROUP_CALL].v,
		.reads_back = find_reads_back(v),
		.operators = sweep_over(t->lists[GROUP_OPERATOR].v,
		        (struct by_thread){ v->operators_by_thread, v->operators_first }, v->parent,
		        t->tracks.n ? t->tracks.n : 1),
		.annotations = over_annotations(&tmp, &t->lists[GROUP_ANNOTATION]),
		.frames = over_frames(&tmp, t) };
	c.slow = find_slow(&c);
	for (size_t i = 0; i < v->n_devices; i++)
		device_gaps(&c, &v->devices[i]);
	free(c.reads_back);
	free(c.slow.order);
	free(c.slow.first);
	sweep_release(&c.operators);
	sweep_release(&c.annotations);
	sweep_release(&c.frames);
	arena_release(&tmp);
}
