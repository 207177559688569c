/*
 * Where the time of each device went, every nanosecond once: kernels that compute, communication,
 * copies and memsets that nothing hid, and gaps by what they waited for.
 *
 *     span = compute + exposed communication + exposed copies + exposed memsets + gaps
 *
 * A gap before which the host was late counts under its cause up to the moment at which the launch
 * began, and from there to the start of the work as gap_launch: what a launch takes, and what held
 * the work back after it.
 *
 * compute                 union of the kernels that do not communicate
 * exposed communication   union of all kernels - compute
 * exposed copies          union of kernels and copies - union of kernels
 * exposed memsets         union of all work - union of kernels and copies
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/measures.h"

#include "base/i18n.h"

#include <math.h>

enum part {
	PART_COMPUTE,
	PART_COMMUNICATION,
	PART_COPY,
	PART_MEMSET,
	PART_LAUNCH,
	PART_GAPS, /* one for each cause */
	N_PARTS = PART_GAPS + N_GAP_CAUSES,
};

static const char *part_name(enum part part)
{
	static const char *const names[PART_GAPS] = { "compute", "exposed_communication",
		"exposed_copy", "exposed_memset", "gap_launch" };
	static const char *const gaps[N_GAP_CAUSES] = { [GAP_HOST] = "gap_host",
		[GAP_QUEUED] = "gap_queued",
		[GAP_SYNC] = "gap_sync",
		[GAP_ALLOCATION] = "gap_allocation",
		[GAP_UNKNOWN] = "gap_unknown" };
	return part < PART_GAPS ? names[part] : gaps[part - PART_GAPS];
}

static bool is_kernel_or_copy(const struct trace_view *v, uint32_t device_event)
{
	return v->t->lists[GROUP_DEVICE].v[device_event].kind != DEVICE_MEMSET;
}

struct cover {
	int64_t ns[N_PARTS];
};

static struct cover cover_of(const struct trace_view *v, const struct device_view *d)
{
	struct cover c = { 0 };
	struct arena tmp = { 0 };
	int64_t compute = intervals_length_ns(union_of(v, d, is_other_kernel, &tmp));
	int64_t moved = intervals_length_ns(union_of(v, d, is_kernel_or_copy, &tmp));
	c.ns[PART_COMPUTE] = compute;
	c.ns[PART_COMMUNICATION] = d->kernel_busy_ns - compute;
	c.ns[PART_COPY] = moved - d->kernel_busy_ns;
	c.ns[PART_MEMSET] = d->busy_ns - moved;
	for (size_t i = 0; i < d->n_gaps; i++) {
		const struct gap *g = &d->gaps[i];
		int64_t ns = g->end_ns - g->start_ns;
		bool late = g->cause != GAP_QUEUED && g->cause != GAP_UNKNOWN;
		c.ns[PART_GAPS + g->cause] += late ? g->host_ns : ns;
		c.ns[PART_LAUNCH] += late ? ns - g->host_ns : 0;
	}
	arena_release(&tmp);
	return c;
}

static void show_cover(struct trace_table *t, struct arena *run, const struct device_view *d,
        const struct cover *c)
{
	for (int k = 0; k < N_PARTS; k++) {
		table_number(t, run, d->id == TRACE_NONE ? NAN : (double)d->id);
		table_text(t, run, str_of(part_name(k)));
		table_number(t, run, (double)c->ns[k]);
		table_number(t, run, ratio_of(c->ns[k], d->end_ns - d->start_ns));
	}
}

/* What was seen and what to do, by what most of the idle time waited for. */
static const struct {
	const char *seen, *cure;
} verdicts[N_PARTS] = {
	[PART_LAUNCH] = {
		N_("the device was idle for %.0f %% of %s; in %.0f %% of that the next work was "
		   "just being launched, or was held back after its launch"),
		N_("Launch fewer and larger pieces of work: capture the step as a CUDA or HIP graph "
		   "or compile it; where single gaps are long, look for streams that wait for each "
		   "other."),
	},
	[PART_GAPS + GAP_HOST] = {
		N_("the device was idle for %.0f %% of %s; in %.0f %% of that the host had not yet "
		   "launched the next work"),
		N_("Give the host less to do for each launch: capture the step as a CUDA or HIP "
		   "graph or compile it, make the batch larger, and keep work in Python out of the "
		   "loop; the gaps name the operators."),
	},
	[PART_GAPS + GAP_QUEUED] = {
		N_("the device was idle for %.0f %% of %s; in %.0f %% of that the next work was "
		   "launched already and had not begun"),
		N_("The work was launched in time: look for streams that wait for each other, and "
		   "for many small kernels one after the other, which a graph or fusion would join."),
	},
	[PART_GAPS + GAP_SYNC] = {
		N_("the device was idle for %.0f %% of %s; in %.0f %% of that the host had waited "
		   "for it and had not yet launched again"),
		N_("Let the host run ahead: read results back less often, into pinned memory, "
		   "asynchronously, and launch the next step before working on the results of the "
		   "last one."),
	},
	[PART_GAPS + GAP_ALLOCATION] = {
		N_("the device was idle for %.0f %% of %s; in %.0f %% of that the host took or gave "
		   "back memory of the device"),
		N_("Keep memory in a pool: set the caching allocator's limits so that nothing is "
		   "taken from or given back to the device in steady state."),
	},
	[PART_GAPS + GAP_UNKNOWN] = {
		N_("the device was idle for %.0f %% of %s; in %.0f %% of that the trace does not "
		   "hold the launch of the next work"),
		N_("Record the calls of the runtime as well, so that the gaps can be told apart."),
	},
};

/* What single stall there was comes before what the many short ones have in common. */
static const char *cure_of(const struct device_sums *s, enum part wait)
{
	if (s->n_gaps > 1 && s->longest_gap_ns > s->idle_ns / 2)
		return _("One gap is more than half of the idle time: begin with it; the finding "
		         "on gaps says what the host was in.");
	return _(verdicts[wait].cure);
}

static enum part largest_wait(const struct cover *all)
{
	enum part best = PART_LAUNCH;
	for (int k = PART_LAUNCH; k < N_PARTS; k++) {
		if (all->ns[k] > all->ns[best])
			best = k;
	}
	return best;
}

static void say(struct trace_finding *f, struct arena *run, const struct device_sums *s,
        const struct cover *all)
{
	double idle = ratio_of(s->idle_ns, s->span_ns);
	const char *span = device_time_text(s, run);
	if (idle >= MEASURES_NOISE_RATIO) {
		enum part wait = largest_wait(all);
		finding_found(f, idle,
		        arena_printf(run, _(verdicts[wait].seen), 100 * idle, span,
		                100 * ratio_of(all->ns[wait], s->idle_ns)),
		        cure_of(s, wait));
		return;
	}
	finding_clear(f,
	        arena_printf(run,
	                _("the device was busy for %.1f %% of %s: %.1f %% with kernels "
	                  "that compute, %.1f %% with communication and %.1f %% with "
	                  "copies beside which nothing else ran"),
	                100 * (1 - idle), span, 100 * ratio_of(all->ns[PART_COMPUTE], s->span_ns),
	                100 * ratio_of(all->ns[PART_COMMUNICATION], s->span_ns),
	                100 * ratio_of(all->ns[PART_COPY], s->span_ns)));
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	(void)limits;
	struct device_sums s = device_sums_of(v);
	if (s.span_ns == 0) {
		finding_abstain(f, _("the trace holds no work of a device"));
		return;
	}
	struct trace_table *t = finding_table(f, run, "cover");
	table_column(t, run, "device", "");
	table_column(t, run, "part", "");
	table_column(t, run, "time", "ns");
	table_column(t, run, "share", "ratio");
	struct cover all = { 0 };
	for (size_t i = 0; i < v->n_devices; i++) {
		struct cover c = cover_of(v, &v->devices[i]);
		for (int k = 0; k < N_PARTS; k++)
			all.ns[k] += c.ns[k];
		show_cover(t, run, &v->devices[i], &c);
	}
	say(f, run, &s, &all);
	finding_fact(f, run, "device_time_ns", (double)s.span_ns, "ns", (int64_t)v->n_devices,
	        "device timeline");
	finding_fact_anchor(f, run, "idle_ratio", ratio_of(s.idle_ns, s.span_ns), "ratio",
	        MEASURES_NOISE_RATIO, (int64_t)s.n_gaps, "device timeline");
	static const char *const names[N_PARTS] = { "compute_ratio", "exposed_communication_ratio",
		"exposed_copy_ratio", "exposed_memset_ratio", "gap_launch_ratio", "gap_host_ratio",
		"gap_queued_ratio", "gap_sync_ratio", "gap_allocation_ratio", "gap_unknown_ratio" };
	for (int k = 0; k < N_PARTS; k++)
		finding_fact(f, run, names[k], ratio_of(all.ns[k], s.span_ns), "ratio",
		        (int64_t)s.n_work, "device timeline");
}

const struct trace_analysis device_timeline_analysis = { "device_timeline", analyse };
