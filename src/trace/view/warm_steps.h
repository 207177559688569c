/*
 * warm_steps.h - which steps at the beginning of a trace are warm-up, and from when on the trace
 * shows the steady state.
 *
 * The first steps of a process compile, tune, load modules and fill caches. They are left out of
 * averages; what happens after them happens for ever.
 */
#ifndef VENTURI_TRACE_WARM_STEPS_H
#define VENTURI_TRACE_WARM_STEPS_H

#include "trace/view/view.h"

/* With fewer steps nothing can be said of a first one. */
#define WARM_STEPS_MIN 3

/*
 * How many leading steps are warm-up: those longer than all that is usual in the later half.
 *
 * returns  at most half of the steps; 0 with fewer than WARM_STEPS_MIN, and 0 when the steps have
 *          not settled by their middle; a step that reads a prompt before steps that write tokens
 *          is other work, not warm-up
 * source   usual is up to median + 3 scaled median absolute deviations (Leys et al. 2013, Detecting
 *          outliers), and at least 10 % above the median, so that equal steps do not differ by
 *          their last digits
 */
size_t trace_warm_steps(const struct trace_view *v);

/* The part of a trace that is not warm-up. */
struct steady_part {
	size_t first_step;        /* the first that belongs to it */
	int64_t start_ns, end_ns; /* until the end of the file's span */
	bool by_steps; /* false: the trace has fewer than two steps; the part is all of it, warm-up
	                  included */
};

/* Always leaves out the first step, where there are two: in it everything is new. */
struct steady_part trace_steady_part(const struct trace_view *v);

#endif
