/*
 * perf_scale.h - what a group of counters grew by, when the processor counted it only at times.
 */
#ifndef VENTURI_WATCH_PERF_SCALE_H
#define VENTURI_WATCH_PERF_SCALE_H

#include <stddef.h>
#include <stdint.h>

enum { PERF_GROUP_MAX = 5 };

/* As read(2) gives it with PERF_FORMAT_GROUP and both times. */
struct perf_reading {
	uint64_t n;
	uint64_t enabled_ns, running_ns; /* meant to count, and did count */
	uint64_t values[PERF_GROUP_MAX];
};

enum perf_growth {
	PERF_NOTHING, /* not understood, or it was not counted since: a later look has it */
	PERF_EXACT,
	PERF_SCALED, /* counted a part of the time: values are scaled to the whole of it */
};

/*
 * Growth since before, which becomes now.
 *
 * n_bytes  that read(2) returned
 * source   perf_event_open(2): value * time_enabled / time_running
 */
enum perf_growth perf_scale(const struct perf_reading *now, size_t n_bytes, int n_events,
        struct perf_reading *before, double growth[PERF_GROUP_MAX]);

#endif
