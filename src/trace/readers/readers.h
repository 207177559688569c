/*
 * readers.h - the readers, one row each in trace_readers.
 */
#ifndef VENTURI_TRACE_READERS_READERS_H
#define VENTURI_TRACE_READERS_READERS_H

#include "trace/reader.h"

extern const struct trace_reader chrome_reader;
extern const struct trace_reader kineto_reader;
extern const struct trace_reader llama_opencl_reader;
extern const struct trace_reader ncu_reader;
extern const struct trace_reader nsys_sqlite_reader;
extern const struct trace_reader nsys_stats_reader;
extern const struct trace_reader ort_reader;
extern const struct trace_reader rocprof_csv_reader;
extern const struct trace_reader rocprof_json_reader;
extern const struct trace_reader torch_legacy_reader;
extern const struct trace_reader xplane_reader;
extern const struct trace_reader xprof_json_reader;

#endif
