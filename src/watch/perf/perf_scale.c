#include "watch/perf/perf_scale.h"

enum perf_growth perf_scale(const struct perf_reading *now, size_t n_bytes, int n_events,
        struct perf_reading *before, double growth[PERF_GROUP_MAX])
{
	size_t n_wanted =
	        offsetof(struct perf_reading, values) + (size_t)n_events * sizeof(uint64_t);
	if (n_bytes < n_wanted || now->n != (uint64_t)n_events)
		return PERF_NOTHING;
	if (now->running_ns <= before->running_ns || now->enabled_ns < before->enabled_ns)
		return PERF_NOTHING;
	uint64_t enabled = now->enabled_ns - before->enabled_ns;
	uint64_t running = now->running_ns - before->running_ns;
	/* The two times are stamped one after the other. */
	double scale = enabled > running + running / 1000 ? (double)enabled / (double)running : 1;
	for (int i = 0; i < n_events; i++) {
		uint64_t by = now->values[i] - before->values[i];
		growth[i] = now->values[i] >= before->values[i] ? (double)by * scale : 0;
	}
	*before = *now;
	return scale > 1 ? PERF_SCALED : PERF_EXACT;
}
