/*
 * What stands between the trace and the truth: how far the recording itself may mislead.
 *
 * Each check gives a number, the anchor from which it matters, and a sentence of what follows from
 * it. The finding is found when any check is at or above its anchor.
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/measures.h"
#include "trace/analyses/stream_load.h"
#include "trace/kinds/call_kind.h"

#include "base/i18n.h"

#include <math.h>
#include <stdlib.h>

/* Clocks further apart than this reorder launches and work, which are some us apart. A choice of
 * ours; kineto #1380 saw 9 us. */
#define SKEW_ANCHOR_NS 1000
/* From so many frames of Python for each operator the host is mostly busy recording. A choice of
 * ours: traces with stacks have 3 to 15, without none. */
#define PYTHON_ANCHOR_RATIO 1

static double overhead(const struct trace_view *v)
{
	const struct event_list *list = &v->t->lists[GROUP_OVERHEAD];
	struct interval *all = mem_zeroed(list->n, sizeof *all);
	struct arena tmp = { 0 };
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		all[i] = (struct interval){ e->start_ns, e->start_ns + e->dur_ns };
	}
	int64_t ns = intervals_length_ns(intervals_union(all, list->n, &tmp));
	free(all);
	arena_release(&tmp);
	return ratio_of(ns, timeline_length_ns(v->t));
}

static double python_frames(const struct trace_view *v)
{
	return ratio_of(v->t->n_python, (int64_t)v->t->lists[GROUP_OPERATOR].n);
}

static double unlinked(const struct trace_view *v)
{
	size_t n = v->t->lists[GROUP_DEVICE].n, without = 0;
	for (size_t i = 0; i < n; i++)
		without += v->launch[i] == NONE32;
	return ratio_of((int64_t)without, (int64_t)n);
}

static bool launches(const struct trace_view *v, size_t call, enum call_kind kind)
{
	const struct event *e = &v->t->lists[GROUP_CALL].v[call];
	return e->link && v->call_kinds[e->name] == kind;
}

/* Calls of a kind that have a link, and to how many of them no device work has it. */
static double without_work(const struct trace_view *v, enum call_kind kind, size_t *ret_without)
{
	size_t n_calls = v->t->lists[GROUP_CALL].n, n = 0, without = 0;
	uint8_t *has_work = mem_zeroed(n_calls, 1);
	for (size_t i = 0; i < v->t->lists[GROUP_DEVICE].n; i++) {
		if (v->launch[i] != NONE32)
			has_work[v->launch[i]] = 1;
	}
	for (size_t i = 0; i < n_calls; i++) {
		if (!launches(v, i, kind))
			continue;
		n++;
		without += !has_work[i];
	}
	free(has_work);
	*ret_without = without;
	return ratio_of((int64_t)without, (int64_t)n);
}

static double missing_kernels(const struct trace_view *v)
{
	size_t without;
	return without_work(v, CALL_LAUNCH, &without);
}

static double opaque_graphs(const struct trace_view *v)
{
	size_t without;
	double ratio = without_work(v, CALL_GRAPH_LAUNCH, &without);
	return isfinite(ratio) ? (double)without : NAN;
}

/* What work of one stream has in common with other work of it. */
static double same_stream_overlap(const struct trace_view *v)
{
	int64_t sum_ns = 0, busy_ns = 0;
	struct arena tmp = { 0 };
	for (size_t i = 0; i < v->n_devices; i++) {
		struct stream_loads loads = stream_loads_of(v, &v->devices[i], &tmp);
		for (size_t k = 0; k < loads.n; k++) {
			sum_ns += loads.v[k].ns;
			busy_ns += loads.v[k].busy_ns;
		}
	}
	arena_release(&tmp);
	return ratio_of(sum_ns - busy_ns, sum_ns);
}

static double clock_skew(const struct trace_view *v)
{
	return v->n_devices ? (double)-v->clock_skew_ns : NAN;
}

static double zero_times(const struct trace_view *v)
{
	return (double)v->t->lost[LOST_ZERO_TIME];
}

static double losses(const struct trace_view *v)
{
	int64_t sum = 0;
	for (int k = 0; k < N_LOSSES; k++) {
		if (k != LOST_ZERO_TIME && k != LOST_BAD_NUMBER && k != LOST_BAD_ESCAPE)
			sum += v->t->lost[k];
	}
	return (double)sum;
}

static double truncated(const struct trace_view *v)
{
	return v->t->truncated;
}

static double capped(const struct trace_view *v)
{
	return v->t->capped;
}

struct check {
	const char *name, *unit;
	double (*measure)(const struct trace_view *v);
	double anchor;
	const char *meaning;
};

static const struct check checks[] = {
	{ "truncated", "1", truncated, 1,
	        N_("the file ends inside an event: what came later is not in it") },
	{ "capped", "1", capped, 1,
	        N_("the profiler stopped at its own limit of events: what came later was never "
	           "written") },
	{ "lost_events", "1", losses, 1,
	        N_("some events could not be used; the list of the file says why") },
	{ "zero_time_events", "1", zero_times, 1,
	        N_("some device work has no time: its record was never completed, and busy time "
	           "is too small by it") },
	{ "missing_kernel_ratio", "ratio", missing_kernels, MEASURES_NOISE_RATIO,
	        N_("launches have no kernel in the trace: it ended before they ran, or records "
	           "were dropped; idle time may be work that was not recorded") },
	{ "opaque_graphs", "1", opaque_graphs, 1,
	        N_("graphs were launched whose kernels are not in the trace: record with the "
	           "nodes of graphs") },
	{ "unlinked_ratio", "ratio", unlinked, MEASURES_NOISE_RATIO,
	        N_("device work has no launch in the trace: the cause of the gaps before it "
	           "is not known") },
	{ "overhead_ratio", "ratio", overhead, MEASURES_NOISE_RATIO,
	        N_("the profiler itself took a visible share of the time") },
	{ "python_frames_per_operator", "1", python_frames, PYTHON_ANCHOR_RATIO,
	        N_("frames of Python were recorded: the host was slowed down, and gaps that it "
	           "causes are longer than without; record again without stacks to measure "
	           "them") },
	{ "same_stream_overlap_ratio", "ratio", same_stream_overlap, MEASURES_NOISE_RATIO,
	        N_("work overlaps other work of its own stream: sums of durations are too large; "
	           "busy times are not, because overlaps count once") },
	{ "clock_skew_ns", "ns", clock_skew, SKEW_ANCHOR_NS,
	        N_("work begins before its launch: the clocks of host and device differ by this "
	           "at least, and delays shorter than it mean nothing") },
};

static void say(struct trace_finding *f, struct arena *run, size_t n_bad, size_t n_applied,
        const char *meaning)
{
	if (n_bad == 0)
		finding_clear(f,
		        arena_printf(run,
		                _("the recording passes all %zu checks of its honesty that apply "
		                  "to it"),
		                n_applied));
	else if (n_bad == 1)
		finding_found(f, NAN, arena_printf(run, "%s", _(meaning)), NULL);
	else
		finding_found(f, NAN,
		        arena_printf(run,
		                _("%zu of %zu checks of the recording's honesty fail; the first: "
		                  "%s"),
		                n_bad, n_applied, _(meaning)),
		        _("Record a few steps in steady state only, without stacks and shapes, and "
		          "measure again before acting on small gaps."));
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	(void)limits;
	size_t n_bad = 0, n_applied = 0;
	const char *meaning = NULL;
	struct trace_table *t = finding_table(f, run, "checks");
	table_column(t, run, "check", "");
	table_column(t, run, "value", "");
	table_column(t, run, "anchor", "");
	table_column(t, run, "meaning", "");
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		const struct check *c = &checks[i];
		double value = c->measure(v);
		if (!isfinite(value)) {
			finding_fact_absent(f, run, c->name, c->unit,
			        _("the trace holds nothing that it could be told from"));
			continue;
		}
		n_applied++;
		finding_fact_anchor(
		        f, run, c->name, value, c->unit, c->anchor, v->t->n_events, "recording");
		if (value < c->anchor)
			continue;
		n_bad++;
		meaning = meaning ? meaning : c->meaning;
		table_text(t, run, str_of(c->name));
		table_number(t, run, value);
		table_number(t, run, c->anchor);
		table_text(t, run, str_of(_(c->meaning)));
	}
	say(f, run, n_bad, n_applied, meaning);
}

const struct trace_analysis profiler_honesty_analysis = { "profiler_honesty", analyse };
