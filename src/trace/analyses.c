/*
 * The list of analyses, in the order in which a person should hear of them.
 */
#include "trace/analyses/analyses.h"

#include <string.h>

const struct trace_analysis *const trace_analyses[] = {
	&device_timeline_analysis,
	&gaps_analysis,
	&launch_bound_analysis,
	&concentration_analysis,
	&roofline_analysis,
	&fill_analysis,
	&reshapes_casts_analysis,
	&fusible_chains_analysis,
	&unfused_attention_analysis,
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
	&ncu_speed_of_light_analysis,
	&ncu_occupancy_analysis,
	&ncu_coalescing_analysis,
	&ncu_bank_conflicts_analysis,
	&ncu_divergence_analysis,
	&ncu_tail_analysis,
	&ncu_rules_analysis,
	&launch_counters_analysis,
	NULL,
};

static enum analysis_of kind_of(const struct timeline *t)
{
	if (strcmp(t->format, "ncu-csv") == 0)
		return ANALYSIS_OF_NCU;
	for (int g = 0; g < N_GROUPS; g++)
		if (t->lists[g].n)
			return ANALYSIS_OF_EVENTS;
	return t->n_launches ? ANALYSIS_OF_COUNTERS : ANALYSIS_OF_EVENTS;
}

bool trace_analysis_applies(const struct trace_analysis *a, const struct timeline *t)
{
	/* A file of events may hold counters, too. */
	return a->of == kind_of(t) ||
	       (a->of == ANALYSIS_OF_COUNTERS && t->n_launches && kind_of(t) != ANALYSIS_OF_NCU);
}
