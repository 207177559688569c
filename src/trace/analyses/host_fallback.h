/*
 * host_fallback.h - operators of the host between a copy from the device and the next one to it:
 * what a framework does that has no kernel for an operator, or whose tensor lies on the host.
 */
#ifndef VENTURI_TRACE_ANALYSES_HOST_FALLBACK_H
#define VENTURI_TRACE_ANALYSES_HOST_FALLBACK_H

#include "trace/analysis.h"

/* Whether the timeline can show any: kernels, operators, launches. */
bool trace_shows_host_fallback(const struct trace_view *v);

/*
 * A fallback is a gap of a device inside a step, after a copy to the host and before a copy from
 * it, in which operators that launch nothing fill half of the time until that copy is launched.
 *
 * cpu_fallback_ratio  such gaps and the copies beside them / device time
 */
void analyse_host_fallback(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f);

#endif
