/*
 * trace.h - traces of profilers as JSON and as text for a terminal; everything is appended to a
 * buffer, cmd writes it out.
 */
#ifndef VENTURI_REPORT_TRACE_H
#define VENTURI_REPORT_TRACE_H

#include "base/str.h"
#include "record/trace_run.h"

/*
 * Schema venturi.trace/1. Times in _us are exact: whole nanoseconds, printed with three decimals,
 * means aside. What the trace does not tell is null.
 */
void report_trace_json(const struct trace_run *r, struct buf *out);

struct report_trace_options {
	bool all;         /* every finding with all its facts and tables, also what was clear */
	bool top;         /* --top was given: lists are as long as they are */
	const char *by;   /* how the operators were counted: "name", "shape", ... */
	const char *part; /* a sentence that says that only a part was looked at; NULL: all was */
};

/*
 * The same as the screen in one HTML file that needs no network, with all findings and a picture of
 * each device's time. Readable without colours, and without scripts: it has none.
 */
void report_trace_html(
        const struct trace_run *r, const struct report_trace_options *options, struct buf *out);

/* A screen of at most 100 columns: the verdict, the devices, what was found, the longest lists. */
void report_trace_text(
        const struct trace_run *r, const struct report_trace_options *options, struct buf *out);

#endif
