/*
 * Which step something belongs to.
 */
#include "trace/view/view.h"

#include <stdlib.h>

uint32_t trace_step_at(const struct trace_view *v, int64_t time_ns)
{
	size_t a = 0, z = v->n_steps;
	while (a < z) {
		size_t m = a + (z - a) / 2;
		if (v->steps[m].start_ns <= time_ns)
			a = m + 1;
		else
			z = m;
	}
	return a > 0 && time_ns < v->steps[a - 1].end_ns ? (uint32_t)(a - 1) : NONE32;
}

int64_t trace_asked_ns(const struct trace_view *v, uint32_t device_event)
{
	uint32_t launch = v->launch[device_event];
	return launch == NONE32 || v->steps_on_device
	               ? v->t->lists[GROUP_DEVICE].v[device_event].start_ns
	               : v->t->lists[GROUP_CALL].v[launch].start_ns;
}

uint32_t trace_step_of(const struct trace_view *v, uint32_t device_event)
{
	return trace_step_at(v, trace_asked_ns(v, device_event));
}

struct step_reach trace_step_reach(const struct trace_view *v, const struct device_view *d)
{
	const struct event *work = v->t->lists[GROUP_DEVICE].v;
	struct step_reach r = { .start_ns = INT64_MAX, .end_ns = INT64_MIN };
	uint8_t *seen = mem_zeroed(v->n_steps, 1);
	for (size_t i = 0; v->n_steps && i < d->n; i++) {
		const struct event *e = &work[d->order[i]];
		uint32_t step = trace_step_of(v, d->order[i]);
		if (step == NONE32)
			continue;
		r.n_steps += !seen[step];
		seen[step] = 1;
		r.start_ns = e->start_ns < r.start_ns ? e->start_ns : r.start_ns;
		r.end_ns = e->start_ns + e->dur_ns > r.end_ns ? e->start_ns + e->dur_ns : r.end_ns;
	}
	free(seen);
	for (size_t i = 0; i < d->n_gaps; i++) {
		const struct gap *g = &d->gaps[i];
		if (!g->between_steps || g->start_ns < r.start_ns || g->end_ns > r.end_ns)
			continue;
		r.between_ns += g->end_ns - g->start_ns;
		r.n_between++;
	}
	return r;
}
