/*
 * The list of analyses, in the order in which a person should hear of them.
 */
#include "trace/analyses/analyses.h"

const struct trace_analysis *const trace_analyses[] = {
	&device_timeline_analysis,
	&gaps_analysis,
	&launch_bound_analysis,
	&concentration_analysis,
	&roofline_analysis,
	&fill_analysis,
	&reshapes_casts_analysis,
	&fusible_chains_analysis,
	&precision_analysis,
	&copies_analysis,
	&synchronisation_analysis,
	&streams_analysis,
	&warm_up_analysis,
	&prefill_decode_analysis,
	&shape_churn_analysis,
	&allocations_analysis,
	&cpu_fallback_analysis,
	&ort_runs_analysis,
	&profiler_honesty_analysis,
	NULL,
};
