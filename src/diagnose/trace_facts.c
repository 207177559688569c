#include "diagnose/trace_facts.h"

#include "base/i18n.h"
#include "diagnose/finding.h"
#include "record/trace_run.h"

#include <math.h>
#include <string.h>

/* Which finding of a trace speaks of a cause. */
struct trace_rule {
	const char *cause;
	const char *finding;
	const char *fact; /* the one that decides, against its threshold */
	const char
	        *share; /* share of the time that would go if the cause did; NULL: cannot be said */
	const char *rule; /* of the catalogue's gain rules */
};

static const struct trace_rule rules[] = {
	{ "launch_bound", "launch_bound", "launch_gap_ratio", "launch_gap_ratio", "G9" },
	{ "op_cpu_fallback", "cpu_fallback", "cpu_fallback_ratio", "cpu_fallback_ratio", "G1" },
	{ "layout_copies", "reshapes_casts", "layout_ratio", "layout_exposed_ratio", "G1" },
	{ "unfused_graph", "fusible_chains", "elementwise_norm_ratio", "fusible_ratio", "G8" },
	{ "precision_fallback", "precision", "wide_gemm_ratio", "wide_gemm_ratio", "G8" },
	{ "quant_no_gain", "precision", "quantise_ratio", "quantise_ratio", "G8" },
	{ "kernel_choice_bad", "roofline", "far_below_roofline_ratio", "far_below_roofline_ratio",
	        "G1" },
	{ "mem_bandwidth_bound", "roofline", "bandwidth_ratio", NULL, "G8" },
	{ "compute_bound", "roofline", "arithmetic_ratio", NULL, "G8" },
	{ "per_step_copies", "copies", "exposed_copy_ratio", "exposed_copy_ratio", "G10" },
	{ "pageable_copy", "copies", "pageable_copy_ratio", "pageable_copy_ratio", "G10" },
	{ "host_step_serial", "gaps", "between_step_gap_ratio", "between_step_gap_ratio", "G1" },
	{ "sync_preprocess", "gaps", "between_step_gap_ratio", "between_step_gap_ratio", "G2" },
	{ "dynamic_shape_recompile", "shape_churn", "first_of_shape_over_repeats", NULL, "G1" },
	{ "gpu_mem_fragmentation", "allocations", "reserved_unused_ratio", NULL, "G15" },
	{ "tp_comm_bound", "streams", "exposed_communication_ratio", "exposed_communication_ratio",
	        "G12" },
};

static const struct trace_rule *rule_of(const char *cause)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (strcmp(rules[i].cause, cause) == 0)
			return &rules[i];
	return NULL;
}

static const struct fact *fact_of(const struct trace_finding *f, const char *name)
{
	for (size_t i = 0; name && i < f->n_facts; i++)
		if (strcmp(f->facts[i].name, name) == 0 && isfinite(f->facts[i].value))
			return &f->facts[i];
	return NULL;
}

/* Of several files the one in which the deciding fact is largest; an abstention if there is no
 * more. */
static const struct trace_finding *finding_of(
        const struct trace_run *t, const struct trace_rule *rule)
{
	const struct trace_finding *best = NULL;
	double largest = -INFINITY;
	for (size_t i = 0; i < t->n_findings; i++) {
		const struct trace_finding *f = &t->findings[i];
		if (strcmp(f->id, rule->finding) != 0)
			continue;
		const struct fact *fact = fact_of(f, rule->fact);
		if (fact ? fact->value > largest : !best) {
			best = f;
			largest = fact ? fact->value : largest;
		}
	}
	return best;
}

/* The deciding fact first, then as many of the others as there is room for. */
static void cite(struct examination *x, const struct trace_finding *f, const struct fact *deciding)
{
	const char *source =
	        arena_printf(x->run, _("trace '%s'"), x->evidence->trace->files[f->file].path);
	finding_cite(x, deciding, source);
	for (size_t i = 0; i < f->n_facts; i++)
		if (&f->facts[i] != deciding)
			finding_cite(x, &f->facts[i], source);
}

static void promise(struct examination *x, const struct trace_rule *rule, double share)
{
	if (!isfinite(share) || share <= 0)
		return;
	/* All of it gone is the most that any cure can give: Amdahl. */
	double most = 1 / (1 - fmin(share, 0.99));
	finding_predict(x, "requests_per_s", 1, most, "ratio", rule->rule);
	x->throughput_gain = (1 + most) / 2;
}

void examine_by_trace(struct examination *x)
{
	const struct trace_run *t = x->evidence->trace;
	const struct trace_rule *rule = rule_of(x->finding->id);
	if (!t || !rule)
		return;
	const struct trace_finding *f = finding_of(t, rule);
	const struct fact *deciding = f ? fact_of(f, rule->fact) : NULL;
	if (!deciding) {
		if (f && f->reason)
			finding_needs(x,
			        arena_printf(x->run, _("The trace cannot tell: %s."), f->reason));
		return;
	}
	const struct fact *share = fact_of(f, rule->share);
	cite(x, f, deciding);
	if (deciding->value >= deciding->threshold) {
		promise(x, rule, share ? share->value : NAN);
		finding_conclude(x, CAUSE_PROBABLE, "%s", f->text ? f->text : "");
	} else if (share && share->value < anchor(ANCHOR_NOISE)) {
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("By the trace it takes %.1f %% of the time; without it the service would "
		          "be "
		          "faster by less than noise."),
		        share->value * 100);
	}
}
