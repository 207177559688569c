/*
 * Calls in which the host waits for the device: how often, how long, who makes them, and what the
 * device loses by it.
 *
 * blocked_ratio   of the thread that waits longest: union of its waiting calls / span of the file;
 *                 threads are never added up, so that it is at most 1
 * sync_gap_ratio  of the gaps before which the host had waited the part until it launched again /
 *                 device time: what a wait costs. A wait while the device works costs nothing.
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/measures.h"
#include "trace/kinds/call_kind.h"

#include "base/i18n.h"

#include <math.h>
#include <stdlib.h>

struct waits {
	struct name_sum *apis, *callers; /* [n] before they are joined */
	size_t n;
	int64_t ns;
	int64_t longest_blocked_ns; /* of one thread */
};

static bool waits_in(const struct trace_view *v, uint32_t call)
{
	enum call_kind kind = v->call_kinds[v->t->lists[GROUP_CALL].v[call].name];
	return kind == CALL_SYNC || kind == CALL_COPY_BLOCKING;
}

static void add_wait(const struct trace_view *v, uint32_t call, struct waits *w)
{
	const struct event *e = &v->t->lists[GROUP_CALL].v[call];
	uint32_t op = v->call_operator[call];
	w->apis[w->n] = (struct name_sum){ e->name, 1, e->dur_ns };
	w->callers[w->n] = (struct name_sum){ NONE32, 1, e->dur_ns };
	if (op != NONE32)
		w->callers[w->n].name = v->t->lists[GROUP_OPERATOR].v[op].name;
	w->n++;
	w->ns += e->dur_ns;
}

/* Calls of one thread in order of start; driver calls within runtime calls count once. */
static int64_t add_thread(const struct trace_view *v, uint32_t track, struct waits *w)
{
	int64_t blocked_ns = 0, until_ns = INT64_MIN;
	for (uint32_t i = v->calls_first[track]; i < v->calls_first[track + 1]; i++) {
		uint32_t call = v->calls_by_thread[i];
		if (!waits_in(v, call))
			continue;
		add_wait(v, call, w);
		const struct event *e = &v->t->lists[GROUP_CALL].v[call];
		int64_t from_ns = e->start_ns > until_ns ? e->start_ns : until_ns;
		int64_t end_ns = e->start_ns + e->dur_ns;
		if (end_ns <= from_ns)
			continue;
		blocked_ns += end_ns - from_ns;
		until_ns = end_ns;
	}
	return blocked_ns;
}

static struct waits find_waits(const struct trace_view *v)
{
	size_t n_calls = v->t->lists[GROUP_CALL].n, n_waits = 0;
	for (uint32_t i = 0; i < n_calls; i++)
		n_waits += waits_in(v, i);
	struct waits w = { .apis = mem_zeroed(n_waits, sizeof *w.apis),
		.callers = mem_zeroed(n_waits, sizeof *w.callers) };
	for (uint32_t track = 0; track < v->t->tracks.n; track++) {
		int64_t blocked_ns = add_thread(v, track, &w);
		if (blocked_ns > w.longest_blocked_ns)
			w.longest_blocked_ns = blocked_ns;
	}
	return w;
}

static void table_of(const struct trace_view *v, const char *name, struct name_sum *sums, size_t n,
        const struct analysis_limits *limits, struct arena *run, struct trace_finding *f)
{
	struct trace_table *t = finding_table(f, run, name);
	table_column(t, run, "name", "");
	table_column(t, run, "calls", "");
	table_column(t, run, "time", "ns");
	table_column(t, run, "calls_per_step", "");
	n = name_sums_join(v->t, sums, n);
	for (size_t i = 0; i < n && i < (size_t)limits->top; i++) {
		struct str text =
		        sums[i].name == NONE32 ? STR("") : timeline_name_of(v->t, sums[i].name);
		table_text(t, run, text);
		table_number(t, run, (double)sums[i].n);
		table_number(t, run, (double)sums[i].ns);
		table_number(t, run, v->n_steps ? (double)sums[i].n / (double)v->n_steps : NAN);
	}
}

static void facts(const struct trace_view *v, const struct device_sums *s, const struct waits *w,
        struct arena *run, struct trace_finding *f)
{
	int64_t n = (int64_t)w->n;
	if (s->span_ns > 0)
		finding_fact_anchor(f, run, "sync_gap_ratio", ratio_of(s->sync_host_ns, s->span_ns),
		        "ratio", MEASURES_NOISE_RATIO, (int64_t)s->gaps[GAP_SYNC], "gaps");
	else
		finding_fact_absent(f, run, "sync_gap_ratio", "ratio",
		        _("the trace holds no work of a device"));
	finding_fact(f, run, "blocked_ratio",
	        ratio_of(w->longest_blocked_ns, timeline_length_ns(v->t)), "ratio", n,
	        "waiting calls of one thread");
	finding_fact(f, run, "waits", (double)w->n, "1", n, "calls");
	finding_fact(f, run, "wait_time_ns", (double)w->ns, "ns", n, "calls");
	if (v->n_steps)
		finding_fact(f, run, "waits_per_step", (double)w->n / (double)v->n_steps, "1",
		        (int64_t)v->n_steps, "calls and steps");
}

static void say(const struct trace_view *v, const struct device_sums *s, const struct waits *w,
        struct arena *run, struct trace_finding *f)
{
	double gaps = ratio_of(s->sync_host_ns, s->span_ns);
	double blocked = ratio_of(w->longest_blocked_ns, timeline_length_ns(v->t));
	const char *span = device_time_text(s, run);
	if (isfinite(gaps) && gaps >= MEASURES_NOISE_RATIO) {
		finding_found(f, gaps,
		        arena_printf(run,
		                _("for %.1f %% of %s the device was idle after the host had "
		                  "waited for it, until the host had launched again (waiting "
		                  "calls: %zu)"),
		                100 * gaps, span, w->n),
		        _("Take the waits out of the step: item(), cpu(), nonzero() and printing "
		          "of tensors wait; read back one step late, work on the results on the "
		          "device or in another thread, and launch the next step first."));
		return;
	}
	finding_clear(f, arena_printf(run,
	                         _("the host waited for %.1f %% of the time on the thread that "
	                           "waited longest (waiting calls: %zu); the device lost next to "
	                           "nothing by it"),
	                         100 * (isfinite(blocked) ? blocked : 0), w->n));
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	if (v->t->lists[GROUP_CALL].n == 0) {
		finding_abstain(f, _("the trace holds no calls of the runtime"));
		return;
	}
	struct device_sums s = device_sums_of(v);
	struct waits w = find_waits(v);
	facts(v, &s, &w, run, f);
	say(v, &s, &w, run, f);
	table_of(v, "calls", w.apis, w.n, limits, run, f);
	table_of(v, "callers", w.callers, w.n, limits, run, f);
	free(w.apis);
	free(w.callers);
}

const struct trace_analysis synchronisation_analysis = { "synchronisation", analyse };
