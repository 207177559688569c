/*
 * pauses.h - what the device's gaps between two steps are made of: the host's own work, or the
 * copies of results and inputs.
 *
 * A pause is the time from the end of a kernel to the start of the next one while no kernel runs.
 * It holds a copy when one between host and device in it is not small (64 KiB and more, or of a
 * size that is not told), or takes a tenth of it: the few bytes of the tokens that every step of a
 * decoder copies are none.
 */
#ifndef VENTURI_TRACE_ANALYSES_PAUSES_H
#define VENTURI_TRACE_ANALYSES_PAUSES_H

#include "trace/view/view.h"

/*
 * Gaps between steps, from the first work of a step to the last.
 *
 * What the host does between two steps is there at each of them: a pause counts for the host up to
 * twice the median of all. A few far longer ones, as where a shape is compiled, are something else.
 */
struct step_pauses {
	int64_t host_ns;  /* those in pauses that hold no copy and before which the host was late */
	int64_t input_ns; /* those that end with a copy to the device which their pause holds */
	size_t n_host, n_input;
};
struct step_pauses trace_step_pauses(
        const struct trace_view *v, const struct device_view *d, const struct step_reach *r);

#endif
