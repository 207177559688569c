#include "watch/sources.h"

#include "base/attr.h"

#include <stddef.h>

/* In the order in which they are shown; the last is no source. */
const struct watch_source *const watch_sources[] = {
	&connections_source,
	&perf_counts_source,
	NULL,
};
const size_t watch_n_sources = ARRAY_LEN(watch_sources) - 1;
