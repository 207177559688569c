/*
 * trace_diff.h - two traces side by side as JSON and as text for a terminal; everything is appended
 * to a buffer, cmd writes it out.
 */
#ifndef VENTURI_REPORT_TRACE_DIFF_H
#define VENTURI_REPORT_TRACE_DIFF_H

#include "base/str.h"
#include "record/trace_diff.h"

/*
 * Schema venturi.trace-diff/1. Pairs are arrays [first, second]. calls and total_us are of all that
 * is compared and exact; the other times are per step where "per_step" is true.
 */
void report_trace_diff_json(const struct trace_diff *d, struct buf *out);

/* A screen of at most 100 columns: the gate's answer, the whole, what changed most. */
void report_trace_diff_text(const struct trace_diff *d, struct buf *out);

#endif
