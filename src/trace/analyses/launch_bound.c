/*
 * Whether the device waits for launches: many short kernels, each launched by a host that is slower
 * than the device.
 *
 * host_gap_ratio     gaps before which the host was late (for whatever reason) / device time
 * launch_gap_ratio   of these the ones that speak of launching: inside a step, shorter than
 *                    LAUNCH_GAP_MAX_NS, without a wait or an allocation / device time
 * short_kernel_ratio kernels that took less than the call that launched them / linked kernels
 * queue_delay        work's start - end of its launch, at least 0; when it is long, the device is
 *                    the slower one: the negative control
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/measures.h"
#include "trace/kinds/call_kind.h"

#include "base/i18n.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>

/* Source: trace.md 6, item 3. */
#define HOST_GAP_ANCHOR 0.30
/* Source: causes.md, launch_bound: "median kernel < 10 us". */
#define SHORT_KERNEL_NS (10 * 1000)
/*
 * A longer gap is no late launch: the host did something else. An operator of a framework in eager
 * mode, with profiling, takes 20 to 300 us before its launch.
 *
 * Source: trace.md 6, item 2, the upper class of gaps.
 */
#define LAUNCH_GAP_MAX_NS (1000 * 1000)
/* Work that waits this long in its queue had been launched well ahead. Source: HTA's flag for a
 * long launch delay, trace.md 2. */
#define LONG_QUEUE_NS (100 * 1000)

struct launches {
	int64_t n, ns; /* calls that launch, and their time */
	int64_t graphs;
	size_t n_linked, n_short, n_in_graphs; /* kernels */
	double median_kernel_ns, median_queue_ns;
	int64_t launch_gap_ns;
	size_t n_launch_gaps;
};

static bool is_launch(enum call_kind kind)
{
	return kind == CALL_LAUNCH || kind == CALL_GRAPH_LAUNCH;
}

static void count_calls(const struct trace_view *v, struct launches *l)
{
	const struct event_list *calls = &v->t->lists[GROUP_CALL];
	for (size_t i = 0; i < calls->n; i++) {
		enum call_kind kind = v->call_kinds[calls->v[i].name];
		if (!is_launch(kind))
			continue;
		l->n++;
		l->ns += calls->v[i].dur_ns;
		l->graphs += kind == CALL_GRAPH_LAUNCH;
	}
}

static void look_at_kernels(const struct trace_view *v, struct launches *l)
{
	const struct event_list *work = &v->t->lists[GROUP_DEVICE];
	int64_t *kernels = mem_zeroed(work->n, sizeof *kernels);
	int64_t *queues = mem_zeroed(work->n, sizeof *queues);
	size_t n = 0;
	for (size_t i = 0; i < work->n; i++) {
		const struct event *e = &work->v[i];
		if (e->kind != DEVICE_KERNEL)
			continue;
		kernels[n++] = e->dur_ns;
		if (v->launch[i] == NONE32)
			continue;
		const struct event *call = &v->t->lists[GROUP_CALL].v[v->launch[i]];
		bool in_graph = v->call_kinds[call->name] == CALL_GRAPH_LAUNCH;
		int64_t delay_ns = e->start_ns - (call->start_ns + call->dur_ns);
		queues[l->n_linked++] = delay_ns > 0 ? delay_ns : 0;
		l->n_short += !in_graph && e->dur_ns < call->dur_ns;
		l->n_in_graphs += in_graph;
	}
	l->median_kernel_ns = median_of(kernels, n);
	l->median_queue_ns = median_of(queues, l->n_linked);
	free(kernels);
	free(queues);
}

static void look_at_gaps(const struct trace_view *v, struct launches *l)
{
	for (size_t i = 0; i < v->n_devices; i++) {
		for (size_t k = 0; k < v->devices[i].n_gaps; k++) {
			const struct gap *g = &v->devices[i].gaps[k];
			int64_t ns = g->end_ns - g->start_ns;
			if (g->cause != GAP_HOST || g->between_steps || ns >= LAUNCH_GAP_MAX_NS)
				continue;
			l->launch_gap_ns += ns;
			l->n_launch_gaps++;
		}
	}
}

static void facts(const struct trace_view *v, const struct device_sums *s, const struct launches *l,
        struct arena *run, struct trace_finding *f)
{
	int64_t kernels = (int64_t)s->n_kernels, linked = (int64_t)l->n_linked;
	int64_t host_ns = s->gap_ns[GAP_HOST] + s->gap_ns[GAP_SYNC] + s->gap_ns[GAP_ALLOCATION];
	size_t host_gaps = s->gaps[GAP_HOST] + s->gaps[GAP_SYNC] + s->gaps[GAP_ALLOCATION];
	finding_fact_anchor(f, run, "launch_gap_ratio", ratio_of(l->launch_gap_ns, s->span_ns),
	        "ratio", HOST_GAP_ANCHOR, (int64_t)l->n_launch_gaps, "gaps before late launches");
	finding_fact_anchor(f, run, "host_gap_ratio", ratio_of(host_ns, s->span_ns), "ratio",
	        HOST_GAP_ANCHOR, (int64_t)host_gaps, "gaps before late launches");
	finding_fact_anchor(f, run, "median_kernel_ns", l->median_kernel_ns, "ns", SHORT_KERNEL_NS,
	        kernels, "kernels");
	finding_fact_anchor(f, run, "mean_kernel_ns", ratio_of(s->kernel_ns, kernels), "ns",
	        SHORT_KERNEL_NS, kernels, "kernels");
	finding_fact(f, run, "short_kernel_ratio", ratio_of((int64_t)l->n_short, linked), "ratio",
	        linked, "kernels and the calls that launched them");
	finding_fact_anchor(f, run, "median_queue_delay_ns", l->median_queue_ns, "ns",
	        LONG_QUEUE_NS, linked, "kernels and the calls that launched them");
	finding_fact(f, run, "launches", (double)l->n, "1", l->n, "calls");
	finding_fact(f, run, "launch_time_ns", (double)l->ns, "ns", l->n, "calls");
	finding_fact(f, run, "device_busy_ns", (double)s->busy_ns, "ns", (int64_t)s->n_work,
	        "device timeline");
	finding_fact(f, run, "graph_kernel_ratio", ratio_of((int64_t)l->n_in_graphs, linked),
	        "ratio", l->graphs, "launches of graphs");
	if (v->n_steps)
		finding_fact(f, run, "launches_per_step", (double)l->n / (double)v->n_steps, "1",
		        (int64_t)v->n_steps, "calls and steps");
}

static const char *cure_of(const struct launches *l)
{
	if (l->n_in_graphs > 0)
		return _("Graphs are in use, but not for all: capture the rest of the step as "
		         "well, and let the batch sizes in use be captured before traffic.");
	return _("Capture the step as a CUDA or HIP graph, or compile it so that kernels are "
	         "fused; serving engines do so unless run in eager mode; a larger batch gives "
	         "each launch more to do.");
}

static void say(struct trace_finding *f, struct arena *run, const struct device_sums *s,
        const struct launches *l)
{
	double gaps = ratio_of(l->launch_gap_ns, s->span_ns);
	char kernel[UNITS_TEXT], queue[UNITS_TEXT];
	units_duration(l->median_kernel_ns, kernel);
	units_duration(l->median_queue_ns, queue);
	const char *span = device_time_text(s, run);
	if (gaps >= HOST_GAP_ANCHOR) {
		finding_found(f, gaps,
		        arena_printf(run,
		                _("for %.0f %% of %s the device waited for the next launch: the "
		                  "median kernel takes %s, and %.0f %% of the kernels take less "
		                  "than the call that launches them"),
		                100 * gaps, span, kernel,
		                100 * ratio_of((int64_t)l->n_short, (int64_t)l->n_linked)),
		        cure_of(l));
	} else if (l->median_queue_ns >= LONG_QUEUE_NS) {
		finding_clear(f, arena_printf(run,
		                         _("the host is ahead of the device: the median kernel "
		                           "waits %s in its queue after its launch"),
		                         queue));
	} else {
		finding_clear(f, arena_printf(run,
		                         _("the device waited for the next launch for %.0f %% of "
		                           "%s; the median kernel takes %s"),
		                         100 * gaps, span, kernel));
	}
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	(void)limits;
	struct device_sums s = device_sums_of(v);
	struct launches l = { 0 };
	if (s.n_kernels == 0 || s.span_ns == 0) {
		finding_abstain(f, _("the trace holds no kernels"));
		return;
	}
	count_calls(v, &l);
	look_at_kernels(v, &l);
	look_at_gaps(v, &l);
	if (l.n_linked == 0) {
		finding_abstain(f, _("the trace does not tell which call launched which kernel"));
		return;
	}
	facts(v, &s, &l, run, f);
	say(f, run, &s, &l);
}

const struct trace_analysis launch_bound_analysis = { "launch_bound", analyse };
