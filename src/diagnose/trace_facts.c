#include "diagnose/trace_facts.h"

#include "base/i18n.h"
#include "diagnose/finding.h"
#include "record/trace_run.h"

#include <math.h>
#include <string.h>

/* Which finding of a trace speaks of a cause; of several rows of a cause the first that is past its
 * threshold decides, else the first. */
struct trace_rule {
	const char *cause;
	const char *finding;
	const char *fact; /* the one that decides, against its threshold */
	const char
	        *share; /* share of the time that would go if the cause did; NULL: cannot be said */
	const char *bound; /* below noise this excludes the cause; NULL: nothing does */
	const char *rule;  /* of the catalogue's gain rules */
	bool by_name;      /* what kernels do is told by their names */
};

static const struct trace_rule rules[] = {
	{ "launch_bound", "launch_bound", "launch_gap_ratio", "launch_gap_ratio",
	        "launch_gap_ratio", "G9" },
	{ "op_cpu_fallback", "cpu_fallback", "cpu_fallback_ratio", "cpu_fallback_ratio",
	        "cpu_fallback_ratio", "G1" },
	{ "layout_copies", "reshapes_casts", "layout_ratio", "layout_exposed_ratio",
	        "layout_exposed_ratio", "G1", true },
	{ "unfused_graph", "fusible_chains", "elementwise_norm_ratio", "fusible_ratio",
	        "fusible_ratio", "G8", true },
	{ "precision_fallback", "precision", "wide_gemm_ratio", "wide_gemm_ratio",
	        "wide_gemm_ratio", "G8", true },
	{ "quant_no_gain", "precision", "quantise_ratio", "quantise_ratio", "quantise_ratio", "G8",
	        true },
	{ "kernel_choice_bad", "roofline", "far_below_roofline_ratio", "far_below_roofline_ratio",
	        "far_below_roofline_ratio", "G1" },
	{ "mem_bandwidth_bound", "roofline", "bandwidth_ratio", NULL, NULL, "G8" },
	{ "compute_bound", "roofline", "arithmetic_ratio", NULL, NULL, "G8" },
	{ "per_step_copies", "copies", "exposed_copy_ratio", "exposed_copy_ratio",
	        "exposed_copy_ratio", "G10" },
	{ "pageable_copy", "copies", "pageable_copy_ratio", "pageable_copy_ratio",
	        "pageable_copy_ratio", "G10" },
	/* Which of these two a gap belongs to is told by the copies in it: only that there are no
	 * gaps at all excludes either. */
	{ "host_step_serial", "gaps", "host_step_gap_ratio", "host_step_gap_ratio",
	        "between_step_gap_ratio", "G1" },
	{ "sync_preprocess", "gaps", "input_gap_ratio", "input_gap_ratio", "between_step_gap_ratio",
	        "G2" },
	{ "dynamic_shape_recompile", "shape_churn", "first_of_shape_over_repeats",
	        "shape_churn_ratio", NULL, "G1" },
	{ "dynamic_shape_recompile", "shape_churn", "shape_churn_ratio", "shape_churn_ratio", NULL,
	        "G1" },
	{ "gpu_mem_fragmentation", "allocations", "growing_unused_ratio", NULL, NULL, "G15" },
	{ "gpu_mem_fragmentation", "allocations", "steady_allocation_ratio",
	        "steady_allocation_ratio", NULL, "G15" },
	{ "tp_comm_bound", "streams", "exposed_communication_ratio", "exposed_communication_ratio",
	        "exposed_communication_ratio", "G12", true },
};

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

/* A finding of the trace under a rule. */
struct witness {
	const struct trace_rule *rule;
	const struct trace_finding *finding; /* NULL: the trace has none */
	const struct fact *deciding;         /* NULL: it does not tell */
};

static struct witness witness_of(const struct trace_run *t, const struct trace_rule *rule)
{
	struct witness w = { .rule = rule, .finding = finding_of(t, rule) };
	w.deciding = w.finding ? fact_of(w.finding, rule->fact) : NULL;
	return w;
}

/* A fact counts only where the analysis itself says that there is something: it has seen what
 * else would have to be true. */
static bool accuses(const struct witness *w)
{
	return w->deciding && w->finding->state == TRACE_FOUND &&
	       w->deciding->value >= w->deciding->threshold;
}

/* The share of kernel time whose kind or type the names of kernels do not tell: what a cause that
 * is told by names may have beyond what was seen. */
static double unseen_share(const struct trace_run *t, const struct witness *w)
{
	double sum = 0;
	const struct fact *type = fact_of(w->finding, "unknown_type_ratio");
	if (!w->rule->by_name)
		return 0;
	for (size_t i = 0; i < t->n_findings; i++) {
		const struct trace_finding *f = &t->findings[i];
		const struct fact *other = fact_of(f, "other_ratio");
		if (f->file == w->finding->file && other)
			sum += other->value;
	}
	return sum + (type ? type->value : 0);
}

static struct witness best_witness(const struct trace_run *t, const char *cause)
{
	struct witness best = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		if (strcmp(rules[i].cause, cause) != 0)
			continue;
		struct witness w = witness_of(t, &rules[i]);
		if (accuses(&w))
			return w;
		if (!best.rule || (!best.deciding && w.deciding))
			best = w;
	}
	return best;
}

void examine_by_trace(struct examination *x)
{
	const struct trace_run *t = x->evidence->trace;
	if (!t)
		return;
	struct witness w = best_witness(t, x->finding->id);
	const struct trace_finding *f = w.finding;
	if (!w.deciding) {
		if (f && f->reason)
			finding_needs(x,
			        arena_printf(x->run, _("The trace cannot tell: %s."), f->reason));
		return;
	}
	const struct fact *share = fact_of(f, w.rule->share);
	const struct fact *bound = fact_of(f, w.rule->bound);
	cite(x, f, w.deciding);
	if (accuses(&w)) {
		promise(x, w.rule, share ? share->value : NAN);
		finding_conclude(x, CAUSE_PROBABLE, "%s", f->text ? f->text : "");
	} else if (bound && bound->value + unseen_share(t, &w) < anchor(ANCHOR_NOISE)) {
		finding_conclude(x, CAUSE_EXCLUDED,
		        _("By the trace it takes %.1f %% of the time; without it the service would "
		          "be "
		          "faster by less than noise."),
		        bound->value * 100);
	} else {
		finding_needs(x, _("What the trace shows of it neither accuses nor excludes: only "
		                   "an experiment can tell."));
	}
}
