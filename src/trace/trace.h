/*
 * trace.h - traces of profilers, read and analysed: files in, a trace_run out.
 */
#ifndef VENTURI_TRACE_TRACE_H
#define VENTURI_TRACE_TRACE_H

#include "record/trace_run.h"
#include "trace/timeline.h"

struct trace_options {
	int64_t top;            /* rows of lists; at least 1 */
	int64_t from_ns, to_ns; /* only what starts here, since the start of the file; TRACE_NONE:
	                           no bound */
	int64_t step;           /* only this step, counted from 0; -1: all */
	const char *by;         /* "name", "class", "shape", "stream", "step" */
};

struct trace {
	struct timeline *timelines;
	size_t n;
};

/*
 * Reads files, and those of folders (not deeper than 4 levels) that are recognised. A file that
 * cannot be read is an error unless others can: then it is listed with its reason.
 */
bool trace_open(
        struct trace *trace, const char *const *paths, size_t n_paths, struct err *err) NODISCARD;
void trace_close(struct trace *trace);

/* All analyses of all files; memory from run. */
void trace_analyse(const struct trace *trace, const struct trace_options *options,
        struct arena *run, struct trace_run *ret);

#endif
