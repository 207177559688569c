/*
 * readers.h - the readers, one row each in trace_readers.
 */
#ifndef VENTURI_TRACE_READERS_READERS_H
#define VENTURI_TRACE_READERS_READERS_H

#include "trace/reader.h"

extern const struct trace_reader rocprof_csv_reader;
extern const struct trace_reader kineto_reader;
extern const struct trace_reader nsys_sqlite_reader;
extern const struct trace_reader rocprof_json_reader;
extern const struct trace_reader xplane_reader;

#endif
