#include "trace/view/warm_steps.h"

#include "stats/select.h"
#include "trace/kinds/phases.h"

#include <stdlib.h>

/* A median absolute deviation times this estimates the standard deviation of a normal sample. */
#define MAD_SCALE 1.4826
#define MAD_MULTIPLE 3
#define USUAL_RATIO 1.1

static int64_t step_ns(const struct step *s)
{
	return s->end_ns - s->start_ns;
}

/* The longest that a step of the later half usually takes. */
static double usual_ns(const struct trace_view *v)
{
	size_t from = v->n_steps / 2, n = v->n_steps - from;
	int64_t *ns = mem_zeroed(n, sizeof *ns);
	for (size_t i = 0; i < n; i++)
		ns[i] = step_ns(&v->steps[from + i]);
	int64_t median = select_median(ns, n);
	for (size_t i = 0; i < n; i++)
		ns[i] = llabs(ns[i] - median);
	double deviation = MAD_SCALE * (double)select_median(ns, n);
	free(ns);
	double limit = (double)median + MAD_MULTIPLE * deviation;
	double least = (double)median * USUAL_RATIO;
	return limit > least ? limit : least;
}

static enum phase phase_of_step(const struct trace_view *v, size_t step)
{
	return phase_of_name(timeline_name_of(v->t, v->steps[step].name)).phase;
}

size_t trace_warm_steps(const struct trace_view *v)
{
	size_t n = 0;
	if (v->n_steps < WARM_STEPS_MIN)
		return 0;
	double limit = usual_ns(v);
	enum phase later = phase_of_step(v, v->n_steps - 1);
	while (n <= v->n_steps / 2 && (double)step_ns(&v->steps[n]) > limit &&
	        phase_of_step(v, n) == later)
		n++;
	return n <= v->n_steps / 2 ? n : 0;
}

struct steady_part trace_steady_part(const struct trace_view *v)
{
	struct steady_part part = {
		.start_ns = v->t->span_start_ns,
		.end_ns = v->t->span_end_ns,
		.by_steps = v->n_steps >= 2,
	};
	if (part.end_ns < part.start_ns) /* a trace without spans */
		part.start_ns = part.end_ns = 0;
	if (part.by_steps) {
		size_t warm = trace_warm_steps(v);
		part.first_step = warm ? warm : 1;
		part.start_ns = v->steps[part.first_step].start_ns;
	}
	return part;
}
