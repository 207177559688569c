/*
 * analyses.h - the analyses, one file each; analyses.c puts them in order.
 * analyses.h - the analyses that there are; the list with their order is analyses.c.
 */
#ifndef VENTURI_TRACE_ANALYSES_ANALYSES_H
#define VENTURI_TRACE_ANALYSES_ANALYSES_H

#include "trace/analysis.h"

extern const struct trace_analysis allocations_analysis;
extern const struct trace_analysis cpu_fallback_analysis;
extern const struct trace_analysis ort_runs_analysis;
extern const struct trace_analysis prefill_decode_analysis;
extern const struct trace_analysis shape_churn_analysis;
extern const struct trace_analysis warm_up_analysis;
extern const struct trace_analysis concentration_analysis;

#endif
