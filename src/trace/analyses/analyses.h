/*
 * analyses.h - the analyses, one file each; analyses.c puts them in order.
 */
#ifndef VENTURI_TRACE_ANALYSES_ANALYSES_H
#define VENTURI_TRACE_ANALYSES_ANALYSES_H

#include "trace/analysis.h"

extern const struct trace_analysis allocations_analysis;
extern const struct trace_analysis concentration_analysis;
extern const struct trace_analysis copies_analysis;
extern const struct trace_analysis cpu_fallback_analysis;
extern const struct trace_analysis device_timeline_analysis;
extern const struct trace_analysis gaps_analysis;
extern const struct trace_analysis launch_bound_analysis;
extern const struct trace_analysis ort_runs_analysis;
extern const struct trace_analysis prefill_decode_analysis;
extern const struct trace_analysis profiler_honesty_analysis;
extern const struct trace_analysis shape_churn_analysis;
extern const struct trace_analysis streams_analysis;
extern const struct trace_analysis synchronisation_analysis;
extern const struct trace_analysis unfused_attention_analysis;
extern const struct trace_analysis warm_up_analysis;
extern const struct trace_analysis roofline_analysis;
extern const struct trace_analysis fill_analysis;
extern const struct trace_analysis reshapes_casts_analysis;
extern const struct trace_analysis fusible_chains_analysis;
extern const struct trace_analysis precision_analysis;
extern const struct trace_analysis concentration_analysis;
extern const struct trace_analysis ncu_speed_of_light_analysis;
extern const struct trace_analysis ncu_occupancy_analysis;
extern const struct trace_analysis ncu_coalescing_analysis;
extern const struct trace_analysis ncu_bank_conflicts_analysis;
extern const struct trace_analysis ncu_divergence_analysis;
extern const struct trace_analysis ncu_tail_analysis;
extern const struct trace_analysis ncu_rules_analysis;
extern const struct trace_analysis launch_counters_analysis;

#endif
