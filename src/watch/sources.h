/*
 * sources.h - the sources that there are; sources.c lists them in the order in which they are
 * shown.
 */
#ifndef VENTURI_WATCH_SOURCES_H
#define VENTURI_WATCH_SOURCES_H

#include "watch/source.h"

extern const struct watch_source connections_source; /* TCP connections of the watched ports */
extern const struct watch_source perf_counts_source; /* counters by perf_event_open */

#endif
