/*
 * stream_load.h - how the streams of a device share its time.
 */
#ifndef VENTURI_TRACE_ANALYSES_STREAM_LOAD_H
#define VENTURI_TRACE_ANALYSES_STREAM_LOAD_H

#include "trace/view/view.h"

struct stream_load {
	uint32_t name;
	size_t n;
	int64_t ns;      /* sum of its work */
	int64_t busy_ns; /* union of its work */
};

struct stream_loads {
	struct stream_load *v; /* in the order in which they begin */
	size_t n;
	int64_t overlap_ns; /* time in which two streams or more have work */
};

/* Memory from arena. O(n log n). */
struct stream_loads stream_loads_of(
        const struct trace_view *v, const struct device_view *d, struct arena *arena);

#endif
