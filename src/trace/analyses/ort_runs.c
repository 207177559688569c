/*
 * A profile of ONNX Runtime: runs of the model, the session's start, what nodes leave of a run to
 * the framework, and how many shapes they saw. Where nodes ran: cpu_fallback.c.
 *
 * framework overhead   1 - time of all nodes / time of all runs, as far as nodes do not overlap: a
 *     session with inter-op threads runs several at once, and then there is none to be told
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/providers.h"

#include "base/i18n.h"
#include "base/units.h"
#include "stats/select.h"
#include "trace/view/warm_steps.h"

#include <math.h>
#include <stdlib.h>

/* Of the time of runs: below a tenth the framework is no lever (the catalogue's line between what
 * is worth an experiment and what is noise). */
#define OVERHEAD_ANCHOR 0.10

/* Sums under a name. */
struct sum {
	uint32_t name;
	int64_t n, total_ns;
	struct str text;
};

struct ort {
	const struct trace_view *v;
	int64_t n_runs, runs_ns, first_run_ns, median_run_ns;
	int64_t n_nodes, nodes_ns; /* events, and their sum */
	int64_t n_distinct, n_many_shapes, most_shapes;
	bool parallel;                             /* nodes overlap */
	struct sum *by_op, *by_node, *by_provider; /* [names.n], by name */
};

static bool is_run(const struct trace_view *v, const struct event *e)
{
	return str_eq(timeline_name_of(v->t, e->name), STR("model_run"));
}

static void measure_runs(struct ort *o)
{
	const struct event_list *list = &o->v->t->lists[GROUP_ANNOTATION];
	int64_t *ns = mem_zeroed(list->n + 1, sizeof *ns);
	int64_t first_start_ns = INT64_MAX;
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		if (!is_run(o->v, e))
			continue;
		ns[o->n_runs++] = e->dur_ns;
		o->runs_ns += e->dur_ns;
		if (e->start_ns < first_start_ns) {
			first_start_ns = e->start_ns;
			o->first_run_ns = e->dur_ns;
		}
	}
	if (o->n_runs)
		o->median_run_ns = select_median(ns, (size_t)o->n_runs);
	free(ns);
}

static void add(struct sum *sums, uint32_t name, const struct event *e)
{
	sums[name].name = name;
	sums[name].n++;
	sums[name].total_ns += e->dur_ns;
}

static void sum_nodes(struct ort *o)
{
	const struct timeline *t = o->v->t;
	const struct event_list *list = &t->lists[GROUP_OPERATOR];
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		const struct operator_detail *d = timeline_operator(t, e);
		o->n_nodes++;
		o->nodes_ns += e->dur_ns;
		o->n_distinct += o->by_node[e->name].n == 0;
		add(o->by_node, e->name, e);
		if (d) {
			add(o->by_op, d->op_type, e);
			add(o->by_provider, d->provider, e);
		}
	}
}

static void count_shapes(struct ort *o)
{
	const struct timeline *t = o->v->t;
	const struct event_list *list = &t->lists[GROUP_OPERATOR];
	struct intern seen = { 0 };
	int64_t *shapes = mem_zeroed((size_t)t->names.n + 1, sizeof *shapes);
	for (size_t i = 0; i < list->n; i++) {
		const struct operator_detail *d = timeline_operator(t, &list->v[i]);
		if (!d || !d->dims)
			continue;
		uint32_t key[2] = { list->v[i].name, d->dims }, known = seen.n ? seen.n : 1;
		if (intern_add(&seen, (struct str){ (const char *)key, sizeof key }) < known)
			continue;
		int64_t n = ++shapes[key[0]];
		o->n_many_shapes += n == 2;
		if (n > o->most_shapes)
			o->most_shapes = n;
	}
	free(shapes);
	intern_release(&seen);
}

static int by_start(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static bool nodes_overlap(const struct trace_view *v)
{
	const struct event_list *list = &v->t->lists[GROUP_OPERATOR];
	struct interval *spans = mem_zeroed(list->n + 1, sizeof *spans);
	bool overlap = false;
	for (size_t i = 0; i < list->n; i++)
		spans[i] = (struct interval){ list->v[i].start_ns,
			list->v[i].start_ns + list->v[i].dur_ns };
	qsort(spans, list->n, sizeof *spans, by_start);
	for (size_t i = 1; i < list->n && !overlap; i++)
		overlap = spans[i].start_ns < spans[i - 1].end_ns;
	free(spans);
	return overlap;
}

static int by_total(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return str_compare(x->text, y->text);
}

/* The largest sums by time; all_ns is what their ratio is of. */
static void sums_table(const struct ort *o, const char *name, struct sum *sums, int64_t top,
        struct trace_finding *f, struct arena *run)
{
	const struct timeline *t = o->v->t;
	size_t n = 0;
	for (uint32_t i = 0; i < t->names.n; i++) {
		if (sums[i].n == 0)
			continue;
		sums[i].text = timeline_name_of(t, sums[i].name);
		sums[n++] = sums[i];
	}
	qsort(sums, n, sizeof *sums, by_total);
	struct trace_table *table = finding_table(f, run, name);
	table_column(table, run, "name", "");
	table_column(table, run, "calls", "");
	table_column(table, run, "total_ns", "ns");
	table_column(table, run, "ratio", "ratio");
	for (size_t i = 0; i < n && (int64_t)i < top; i++) {
		table_text(table, run, str_dup(sums[i].text, run));
		table_number(table, run, (double)sums[i].n);
		table_number(table, run, (double)sums[i].total_ns);
		table_number(table, run,
		        o->nodes_ns ? (double)sums[i].total_ns / (double)o->nodes_ns : NAN);
	}
}

/* What the session did before and around the runs: loading, initialization. */
static void session_table(const struct ort *o, struct trace_finding *f, struct arena *run)
{
	const struct timeline *t = o->v->t;
	const struct event_list *list = &t->lists[GROUP_ANNOTATION];
	struct sum *sums = mem_zeroed((size_t)t->names.n + 1, sizeof *sums);
	for (size_t i = 0; i < list->n; i++)
		add(sums, list->v[i].name, &list->v[i]);
	struct trace_table *table = finding_table(f, run, "session");
	table_column(table, run, "event", "");
	table_column(table, run, "calls", "");
	table_column(table, run, "total_ns", "ns");
	for (uint32_t i = 1; i < t->names.n; i++) {
		if (sums[i].n == 0)
			continue;
		table_text(table, run, str_dup(timeline_name_of(t, i), run));
		table_number(table, run, (double)sums[i].n);
		table_number(table, run, (double)sums[i].total_ns);
	}
	free(sums);
}

static double nodes_ratio(const struct ort *o)
{
	return o->runs_ns ? (double)o->nodes_ns / (double)o->runs_ns : NAN;
}

static void facts(const struct ort *o, struct trace_finding *f, struct arena *run)
{
	const struct {
		const char *name;
		double value;
		const char *unit;
		int64_t n;
	} plain[] = {
		{ "model_runs", (double)o->n_runs, "1", o->n_runs },
		{ "model_run_total_ns", (double)o->runs_ns, "ns", o->n_runs },
		{ "model_run_median_ns", (double)o->median_run_ns, "ns", o->n_runs },
		{ "model_run_first_ns", (double)o->first_run_ns, "ns", o->n_runs },
		{ "node_events", (double)o->n_nodes, "1", o->n_nodes },
		{ "node_total_ns", (double)o->nodes_ns, "ns", o->n_nodes },
		{ "distinct_nodes", (double)o->n_distinct, "1", o->n_nodes },
		{ "node_ratio_of_runs", nodes_ratio(o), "ratio", o->n_nodes },
		{ "nodes_with_more_than_one_shape", (double)o->n_many_shapes, "1", o->n_distinct },
		{ "shape_variants_max", (double)o->most_shapes, "1", o->n_distinct },
	};
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		finding_fact(
		        f, run, plain[i].name, plain[i].value, plain[i].unit, plain[i].n, "trace");
	if (o->n_runs && !o->parallel)
		finding_fact_anchor(f, run, "framework_overhead_ratio", 1 - nodes_ratio(o), "ratio",
		        OVERHEAD_ANCHOR, o->n_runs, "trace");
	else
		finding_fact_absent(f, run, "framework_overhead_ratio", "ratio",
		        o->parallel ? _("nodes ran at the same time")
		                    : _("the profile has no model_run"));
}

static void tell_overhead(const struct ort *o, struct trace_finding *f, struct arena *run)
{
	char each[UNITS_TEXT];
	double share = 1 - nodes_ratio(o);
	units_duration((double)(o->runs_ns - o->nodes_ns) / (double)o->n_nodes, each);
	finding_found(f, share,
	        arena_printf(run,
	                _("%.1f %% of the time of %lld runs is not in any of its nodes: the "
	                  "framework takes %s beside each of them (the profiler is a part of "
	                  "that)"),
	                100 * share, (long long)o->n_runs, each),
	        _("Many small nodes: raise the level of graph optimization, fuse them (the "
	          "transformer optimizer), bind inputs and outputs, or run larger batches."));
}

static void tell_clear(const struct ort *o, struct trace_finding *f, struct arena *run)
{
	char first[UNITS_TEXT], median[UNITS_TEXT];
	units_duration((double)o->first_run_ns, first);
	units_duration((double)o->median_run_ns, median);
	finding_clear(f,
	        arena_printf(run,
	                _("%lld runs, median %s, the first %s; %lld calls of %lld nodes, %lld of "
	                  "which saw more than one shape"),
	                (long long)o->n_runs, median, first, (long long)o->n_nodes,
	                (long long)o->n_distinct, (long long)o->n_many_shapes));
}

static void tell(const struct ort *o, struct trace_finding *f, struct arena *run)
{
	if (o->n_runs && !o->parallel && 1 - nodes_ratio(o) >= OVERHEAD_ANCHOR)
		tell_overhead(o, f, run);
	else
		tell_clear(o, f, run);
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	if (!trace_tells_providers(v)) {
		finding_abstain(f, _("the trace is no profile of ONNX Runtime"));
		return;
	}
	struct ort o = { .v = v };
	struct arena tmp = { 0 };
	size_t n = (size_t)v->t->names.n + 1;
	o.by_op = arena_new_n(&tmp, struct sum, n);
	o.by_node = arena_new_n(&tmp, struct sum, n);
	o.by_provider = arena_new_n(&tmp, struct sum, n);
	measure_runs(&o);
	sum_nodes(&o);
	count_shapes(&o);
	o.parallel = nodes_overlap(v);
	session_table(&o, f, run);
	sums_table(&o, "by_op_type", o.by_op, limits->top, f, run);
	sums_table(&o, "by_node", o.by_node, limits->top, f, run);
	sums_table(&o, "providers", o.by_provider, limits->top, f, run);
	facts(&o, f, run);
	tell(&o, f, run);
	arena_release(&tmp);
}

const struct trace_analysis ort_runs_analysis = { "ort_runs", analyse };
