/*
 * trace_parts.h - the sections of the screen of a trace; each begins with an empty line, and prints
 * nothing when there is nothing to say.
 */
#ifndef VENTURI_REPORT_TRACE_PARTS_H
#define VENTURI_REPORT_TRACE_PARTS_H

#include "report/trace.h"
#include "report/trace_words.h"

/* One or two sentences: what the device did, or what there is when there is no device. */
void trace_verdict(const struct trace_run *r, struct arena *tmp, struct buf *out);

/* A line with a bar for each device. */
void trace_devices(const struct trace_run *r, struct arena *tmp, struct buf *out);

/* What was found, by the share at stake; then what was looked at, then what abstained. */
void trace_findings(const struct trace_run *r, const struct report_trace_options *options,
        struct arena *tmp, struct buf *out);

/* Those of a state, the larger share at stake first; the verdict, which stands on top already, only
 * with all. */
size_t trace_pick(const struct trace_run *r, enum trace_finding_state state, bool all,
        struct arena *tmp, const struct trace_finding ***ret);

/* Kernels, operators, calls, copies. */
void trace_lists(const struct trace_run *r, const struct report_trace_options *options,
        struct arena *tmp, struct buf *out);

/* The files: what they are, and what of them was lost. */
void trace_files(const struct trace_run *r, struct arena *tmp, struct buf *out);

/* The finding whose sentence is the verdict: of a timeline, or of launches profiled alone. */
bool trace_is_verdict(const struct trace_finding *f);

/* A paragraph after a mark of two columns, indented below a finding. */
void trace_indented(const char *mark, const char *text, struct buf *out);

/* The last part of a path. */
const char *trace_base_name(const char *path);

#endif
