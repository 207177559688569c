/*
 * The list of analyses, in the order in which a person should hear of them.
 */
#include "trace/analyses/analyses.h"

const struct trace_analysis *const trace_analyses[] = {
	&warm_up_analysis,
	&prefill_decode_analysis,
	&cpu_fallback_analysis,
	&ort_runs_analysis,
	&shape_churn_analysis,
	&allocations_analysis,
	&concentration_analysis,
	NULL,
};
