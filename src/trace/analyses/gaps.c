/*
 * The times at which a device had nothing to do: how long they are, which are the largest and what
 * the host was at, and whether they lie inside the steps or between them.
 *
 * gap_ratio                gaps / device time
 * between_step_gap_ratio   gaps between steps / device time from the first work of the first step
 *                          to the last work of the last one
 * in_step_gap_ratio        the other gaps in that time / the same
 * host_step_gap_ratio      of the gaps between steps those in pauses without copies, as long as
 * usual ones at most / the same input_gap_ratio          of them those that end with the copy of an
 * input / the same
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/measures.h"
#include "trace/analyses/pauses.h"

#include "base/i18n.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>

/* Source: causes.md, host_step_serial: "gap between steps at least 10 % of the step". */
#define BETWEEN_STEPS_ANCHOR 0.10

/* Upper edges of the classes of length. Source: trace.md 6, item 2. */
static const struct {
	const char *name;
	int64_t below_ns;
} size_classes[] = {
	{ "below 10 us", 10 * 1000 },
	{ "10 to 100 us", 100 * 1000 },
	{ "100 us to 1 ms", 1000 * 1000 },
	{ "1 ms and above", INT64_MAX },
};

static size_t size_class(int64_t ns)
{
	size_t k = 0;
	while (ns >= size_classes[k].below_ns)
		k++;
	return k;
}

static int64_t length_of(const struct gap *g)
{
	return g->end_ns - g->start_ns;
}

static void table_of_sizes(const struct trace_view *v, const struct device_sums *s,
        struct arena *run, struct trace_finding *f)
{
	struct name_sum sums[ARRAY_LEN(size_classes)] = { 0 };
	for (size_t i = 0; i < v->n_devices; i++) {
		for (size_t k = 0; k < v->devices[i].n_gaps; k++) {
			int64_t ns = length_of(&v->devices[i].gaps[k]);
			sums[size_class(ns)].n++;
			sums[size_class(ns)].ns += ns;
		}
	}
	struct trace_table *t = finding_table(f, run, "sizes");
	table_column(t, run, "length", "");
	table_column(t, run, "gaps", "");
	table_column(t, run, "time", "ns");
	table_column(t, run, "share", "ratio");
	for (size_t k = 0; k < ARRAY_LEN(size_classes); k++) {
		table_text(t, run, str_of(size_classes[k].name));
		table_number(t, run, (double)sums[k].n);
		table_number(t, run, (double)sums[k].ns);
		table_number(t, run, ratio_of(sums[k].ns, s->span_ns));
	}
}

/* A gap and whose it is. */
struct ranked {
	const struct device_view *d;
	const struct gap *g;
};

static int longest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int64_t p = length_of(x->g), q = length_of(y->g);
	if (p != q)
		return p > q ? -1 : 1;
	return (x->g->start_ns > y->g->start_ns) - (x->g->start_ns < y->g->start_ns);
}

static void table_of_largest(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f, const struct ranked *all, size_t n)
{
	struct trace_table *t = finding_table(f, run, "largest");
	table_column(t, run, "device", "");
	table_column(t, run, "start", "ns");
	table_column(t, run, "time", "ns");
	table_column(t, run, "until_launch", "ns");
	table_column(t, run, "cause", "");
	table_column(t, run, "between_steps", "");
	table_column(t, run, "operator", "");
	table_column(t, run, "annotation", "");
	table_column(t, run, "python", "");
	table_column(t, run, "next", "");
	for (size_t i = 0; i < n && i < (size_t)limits->top; i++) {
		const struct gap *g = all[i].g;
		table_number(t, run, all[i].d->id == TRACE_NONE ? NAN : (double)all[i].d->id);
		table_number(t, run, (double)(g->start_ns - v->t->span_start_ns));
		table_number(t, run, (double)length_of(g));
		table_number(t, run, (double)g->host_ns);
		table_text(t, run, str_of(gap_cause_names[g->cause]));
		table_number(t, run, v->n_steps ? g->between_steps : NAN);
		table_text(t, run, name_at(v->t, GROUP_OPERATOR, g->operator));
		table_text(t, run, name_at(v->t, GROUP_ANNOTATION, g->annotation));
		table_text(t, run, name_at(v->t, GROUP_PYTHON, g->python));
		table_text(t, run, name_at(v->t, GROUP_DEVICE, g->after));
	}
}

/* Which operators the host was in while the device had nothing to do. */
static void table_of_operators(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f, const struct ranked *all, size_t n,
        int64_t idle_ns)
{
	struct name_sum *sums = mem_zeroed(n, sizeof *sums);
	for (size_t i = 0; i < n; i++) {
		uint32_t op = all[i].g->operator;
		sums[i] = (struct name_sum){ .name = NONE32, .n = 1, .ns = length_of(all[i].g) };
		if (op != NONE32)
			sums[i].name = v->t->lists[GROUP_OPERATOR].v[op].name;
	}
	size_t n_names = name_sums_join(v->t, sums, n);
	struct trace_table *t = finding_table(f, run, "operators");
	table_column(t, run, "operator", "");
	table_column(t, run, "gaps", "");
	table_column(t, run, "time", "ns");
	table_column(t, run, "share_of_idle", "ratio");
	for (size_t i = 0; i < n_names && i < (size_t)limits->top; i++) {
		struct str name =
		        sums[i].name == NONE32 ? STR("") : timeline_name_of(v->t, sums[i].name);
		table_text(t, run, name);
		table_number(t, run, (double)sums[i].n);
		table_number(t, run, (double)sums[i].ns);
		table_number(t, run, ratio_of(sums[i].ns, idle_ns));
	}
	free(sums);
}

struct in_steps {
	int64_t reach_ns, between_ns, in_step_ns;
	size_t n_steps, n_between;
	struct step_pauses pauses;
};

static void add_pauses(struct step_pauses *sum, struct step_pauses p)
{
	sum->host_ns += p.host_ns;
	sum->input_ns += p.input_ns;
	sum->n_host += p.n_host;
	sum->n_input += p.n_input;
}

/* Over the devices that see two steps or more. */
static struct in_steps look_at_steps(const struct trace_view *v)
{
	struct in_steps all = { 0 };
	for (size_t i = 0; i < v->n_devices; i++) {
		const struct device_view *d = &v->devices[i];
		struct step_reach r = trace_step_reach(v, d);
		if (r.n_steps < 2)
			continue;
		all.reach_ns += r.end_ns - r.start_ns;
		all.between_ns += r.between_ns;
		all.n_between += r.n_between;
		all.n_steps += r.n_steps;
		add_pauses(&all.pauses, trace_step_pauses(v, d, &r));
		for (size_t k = 0; k < d->n_gaps; k++) {
			const struct gap *g = &d->gaps[k];
			if (!g->between_steps && g->start_ns >= r.start_ns && g->end_ns <= r.end_ns)
				all.in_step_ns += length_of(g);
		}
	}
	return all;
}

static void facts(const struct device_sums *s, const struct in_steps *steps, struct arena *run,
        struct trace_finding *f)
{
	int64_t n = (int64_t)s->n_gaps;
	finding_fact_anchor(f, run, "gap_ratio", ratio_of(s->idle_ns, s->span_ns), "ratio",
	        MEASURES_NOISE_RATIO, n, "gaps");
	if (steps->n_steps) {
		finding_fact_anchor(f, run, "between_step_gap_ratio",
		        ratio_of(steps->between_ns, steps->reach_ns), "ratio", BETWEEN_STEPS_ANCHOR,
		        (int64_t)steps->n_between, "gaps between steps");
		finding_fact(f, run, "in_step_gap_ratio",
		        ratio_of(steps->in_step_ns, steps->reach_ns), "ratio",
		        (int64_t)steps->n_steps, "gaps inside steps");
		finding_fact_anchor(f, run, "host_step_gap_ratio",
		        ratio_of(steps->pauses.host_ns, steps->reach_ns), "ratio",
		        BETWEEN_STEPS_ANCHOR, (int64_t)steps->pauses.n_host,
		        "gaps between steps without a copy beside them");
		finding_fact_anchor(f, run, "input_gap_ratio",
		        ratio_of(steps->pauses.input_ns, steps->reach_ns), "ratio",
		        BETWEEN_STEPS_ANCHOR, (int64_t)steps->pauses.n_input,
		        "gaps between steps that end with a copy to the device");
	} else {
		finding_fact_absent(f, run, "between_step_gap_ratio", "ratio",
		        _("fewer than two steps are known"));
	}
	finding_fact(f, run, "longest_gap_ns", (double)s->longest_gap_ns, "ns", n, "gaps");
}

static double share_of_largest(const struct ranked *all, size_t n, size_t top, int64_t idle_ns)
{
	int64_t sum = 0;
	for (size_t i = 0; i < n && i < top; i++)
		sum += length_of(all[i].g);
	return ratio_of(sum, idle_ns);
}

/* How long the longest gap is, and what the host was in meanwhile. */
static const char *longest_text(const struct trace_view *v, const struct device_sums *s,
        const struct gap *g, struct arena *run)
{
	enum { NAME_BYTES = 80 }; /* a longer one would hide the figures */
	const char *time = time_text((double)s->longest_gap_ns, run);
	if (!g)
		return time;
	struct str name = name_at(v->t, GROUP_OPERATOR, g->operator);
	if (name.len == 0)
		name = name_at(v->t, GROUP_ANNOTATION, g->annotation);
	if (name.len == 0 || name.len > NAME_BYTES)
		return time;
	return arena_printf(run, _("%s, with the host in %.*s"), time, STR_ARG(name));
}

static char *sizes_text(const struct device_sums *s, const struct ranked *all, double share,
        const char *span, const char *longest, struct arena *run)
{
	enum { FEW = 10 };
	if (s->n_gaps <= FEW)
		return arena_printf(run,
		        _("the device was idle for %.1f %% of %s (gaps: %zu); the longest gap is "
		          "%s"),
		        100 * share, span, s->n_gaps, longest);
	return arena_printf(run,
	        _("the device was idle for %.1f %% of %s (gaps: %zu); the longest gap is %s, and "
	          "the longest %d are %.0f %% of the idle time"),
	        100 * share, span, s->n_gaps, longest, FEW,
	        100 * share_of_largest(all, s->n_gaps, FEW, s->idle_ns));
}

static void say(const struct trace_view *v, struct trace_finding *f, struct arena *run,
        const struct device_sums *s, const struct in_steps *steps, const struct ranked *all)
{
	double share = ratio_of(s->idle_ns, s->span_ns);
	double between = ratio_of(steps->between_ns, steps->reach_ns);
	const char *span = device_time_text(s, run);
	const char *longest = longest_text(v, s, s->n_gaps ? all[0].g : NULL, run);
	if (steps->n_steps && between >= BETWEEN_STEPS_ANCHOR) {
		finding_found(f, between,
		        arena_printf(run,
		                _("of the time of the steps the device was idle between them for "
		                  "%.1f %% and inside them for %.1f %%; the longest gap is %s"),
		                100 * between, 100 * ratio_of(steps->in_step_ns, steps->reach_ns),
		                longest),
		        _("Between two steps the host schedules, samples and collects: launch the "
		          "next step before collecting the last one, run several steps for each "
		          "decision, and move tokenizing and sampling out of the loop."));
	} else if (share >= MEASURES_NOISE_RATIO) {
		finding_found(f, share, sizes_text(s, all, share, span, longest, run),
		        _("Begin with the largest gaps: their table (--all shows it) names the "
		          "operator, "
		          "the range and the line of Python that the host was in."));
	} else {
		finding_clear(f, arena_printf(run,
		                         _("the device was idle for %.1f %% of %s (gaps: %zu); "
		                           "the longest gap is %s"),
		                         100 * share, span, s->n_gaps, longest));
	}
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	struct device_sums s = device_sums_of(v);
	if (s.span_ns == 0) {
		finding_abstain(f, _("the trace holds no work of a device"));
		return;
	}
	struct ranked *all = mem_zeroed(s.n_gaps, sizeof *all);
	size_t n = 0;
	for (size_t i = 0; i < v->n_devices; i++) {
		for (size_t k = 0; k < v->devices[i].n_gaps; k++)
			all[n++] = (struct ranked){ &v->devices[i], &v->devices[i].gaps[k] };
	}
	qsort(all, n, sizeof *all, longest_first);
	struct in_steps steps = look_at_steps(v);
	facts(&s, &steps, run, f);
	say(v, f, run, &s, &steps, all);
	table_of_sizes(v, &s, run, f);
	table_of_largest(v, limits, run, f, all, n);
	table_of_operators(v, limits, run, f, all, n, s.idle_ns);
	free(all);
}

const struct trace_analysis gaps_analysis = { "gaps", analyse };
