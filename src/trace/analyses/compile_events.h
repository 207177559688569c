/*
 * compile_events.h - what is compiled, loaded, tuned or captured while a trace runs, by the names
 * that frameworks and runtimes give to such events.
 */
#ifndef VENTURI_TRACE_ANALYSES_COMPILE_EVENTS_H
#define VENTURI_TRACE_ANALYSES_COMPILE_EVENTS_H

#include "trace/analysis.h"

struct compile_events {
	int64_t n;
	int64_t total_ns; /* length of their union: they hang in one another */
};

/* Those that start at from_ns or later; f gets a table of them by name. */
struct compile_events compile_events_find(
        const struct trace_view *v, int64_t from_ns, struct trace_finding *f, struct arena *run);

#endif
