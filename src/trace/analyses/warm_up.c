/*
 * How far the first steps are from the steady state, and which are left out of averages.
 *
 * warm_up_ratio   time of the steps left out / time of all steps
 * steady_median_ns, steady_mean_ns   of the steps that are not left out; the median is what a step
 *     takes, the mean also carries its stalls
 */
#include "trace/analyses/analyses.h"

#include "base/i18n.h"
#include "base/units.h"
#include "stats/select.h"
#include "trace/view/warm_steps.h"

#include <stdlib.h>

/* First steps beyond three medians of the rest are a cold start: the catalogue of causes,
 * cold_start. */
#define COLD_START_RATIO 3.0

struct warm_up {
	size_t n_steps, n_warm;
	int64_t first_ns, warm_ns, all_ns;
	int64_t median_ns; /* of those kept */
	double mean_ns, all_mean_ns;
};

static struct warm_up measure(const struct trace_view *v)
{
	struct warm_up w = { .n_steps = v->n_steps, .n_warm = trace_warm_steps(v) };
	int64_t *ns = mem_zeroed(v->n_steps, sizeof *ns);
	for (size_t i = 0; i < v->n_steps; i++) {
		ns[i] = v->steps[i].end_ns - v->steps[i].start_ns;
		w.all_ns += ns[i];
		if (i < w.n_warm)
			w.warm_ns += ns[i];
	}
	size_t n_kept = w.n_steps - w.n_warm;
	w.first_ns = ns[0];
	w.mean_ns = (double)(w.all_ns - w.warm_ns) / (double)n_kept;
	w.all_mean_ns = (double)w.all_ns / (double)w.n_steps;
	w.median_ns = select_median(ns + w.n_warm, n_kept);
	free(ns);
	return w;
}

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static void facts(const struct warm_up *w, struct trace_finding *f, struct arena *run)
{
	int64_t n = (int64_t)w->n_steps, n_kept = n - (int64_t)w->n_warm;
	finding_fact(f, run, "warm_up_steps", (double)w->n_warm, "1", n, "trace");
	finding_fact(f, run, "warm_up_ratio", ratio((double)w->warm_ns, (double)w->all_ns), "ratio",
	        n, "trace");
	finding_fact(f, run, "first_step_ns", (double)w->first_ns, "ns", 1, "trace");
	finding_fact_anchor(f, run, "first_step_over_steady",
	        ratio((double)w->first_ns, (double)w->median_ns), "x", COLD_START_RATIO, n_kept,
	        "trace");
	finding_fact(f, run, "steady_median_ns", (double)w->median_ns, "ns", n_kept, "trace");
	finding_fact(f, run, "steady_mean_ns", w->mean_ns, "ns", n_kept, "trace");
	finding_fact(f, run, "all_mean_ns", w->all_mean_ns, "ns", n, "trace");
}

static void tell(const struct warm_up *w, struct trace_finding *f, struct arena *run)
{
	char first[UNITS_TEXT], median[UNITS_TEXT];
	units_duration((double)w->first_ns, first);
	units_duration((double)w->median_ns, median);
	double times = ratio((double)w->first_ns, (double)w->median_ns);
	if (w->n_warm == 0) {
		finding_clear(f,
		        arena_printf(run,
		                _("the first step took %s, the median of all %lld steps is %s: no "
		                  "warm-up in this trace"),
		                first, (long long)w->n_steps, median));
		return;
	}
	double share = ratio((double)w->warm_ns, (double)w->all_ns);
	finding_found(f, share,
	        arena_printf(run,
	                _("the first step took %s, %.1f times the median of the later ones (%s); "
	                  "%lld of %lld steps are warm-up and take %.1f %% of the time of all "
	                  "steps"),
	                first, times, median, (long long)w->n_warm, (long long)w->n_steps,
	                100 * share),
	        _("Leave these steps out of averages; in service, warm up over the real set of "
	          "shapes before readiness, and record a trace only after it."));
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	(void)limits;
	if (v->n_steps < WARM_STEPS_MIN) {
		finding_abstain(f, _("the trace has fewer than three steps"));
		return;
	}
	struct warm_up w = measure(v);
	facts(&w, f, run);
	tell(&w, f, run);
}

const struct trace_analysis warm_up_analysis = { "warm_up", analyse };
