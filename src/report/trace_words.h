/*
 * trace_words.h - what the ids of a trace_run are called for a person, and names of kernels made
 * short enough for a line.
 */
#ifndef VENTURI_REPORT_TRACE_WORDS_H
#define VENTURI_REPORT_TRACE_WORDS_H

#include "record/trace_run.h"
#include "report/layout.h"

/* "gemm" is "matrix product": classes of kernels, in the user's language; an unknown id itself. */
const char *trace_class_word(const char *id);
/* Where steps are from: "profiler_step" is "steps that the profiler marked". */
const char *trace_steps_word(const char *id);

/*
 * Appends a name of at most columns: without parameters, lambdas, "void" and the namespaces of the
 * frameworks; what is still too long is cut in its middle. One line, safe to show.
 */
void trace_short_name(struct buf *out, struct str name, int columns);

/* "92 %", "0.4 %"; NAN is "-". */
const char *trace_percent(double ratio, char out[LAYOUT_NUMBER]);

/* A value as a person reads it: "92 %", "12.3 ms", "4.20 MiB", or the number alone. */
const char *trace_value(double value, const char *unit, char out[LAYOUT_NUMBER]);
/* Whether trace_value writes the unit beside the number, so that a title need not. */
bool trace_unit_is_written(const char *unit);

/* A fact in few words: "host_gap_ratio 92 % (anchor 30 %)". Text lives in tmp. */
const char *trace_fact(const struct fact *f, struct arena *tmp);

#endif
