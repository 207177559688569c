/*
 * Whether streams run beside each other, and whether communication hides behind kernels.
 *
 * overlap_ratio                 time with work on two streams or more / busy time of the devices
 * exposed_communication_ratio   communication kernels while no other kernel runs / device time
 * communication_ratio           union of the communication kernels / device time
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/measures.h"
#include "trace/analyses/stream_load.h"

#include "base/i18n.h"

#include <math.h>

/* Source: causes.md, tp_comm_bound: exposed collective time at least 15 % of the step. */
#define EXPOSED_COMMUNICATION_ANCHOR 0.15
/* Streams that share less of their time than this run one after the other: a choice of ours. */
#define SERIAL_OVERLAP_RATIO 0.01

struct communication {
	size_t n;
	int64_t ns, busy_ns, exposed_ns;
};

static struct communication look_at_communication(const struct trace_view *v)
{
	struct communication c = { 0 };
	struct arena tmp = { 0 };
	for (size_t i = 0; i < v->n_devices; i++) {
		const struct device_view *d = &v->devices[i];
		for (size_t k = 0; k < d->n; k++) {
			if (!is_communication(v, d->order[k]))
				continue;
			c.n++;
			c.ns += v->t->lists[GROUP_DEVICE].v[d->order[k]].dur_ns;
		}
		struct intervals all = union_of(v, d, is_communication, &tmp);
		c.busy_ns += intervals_length_ns(all);
		c.exposed_ns += exposed_ns(all, union_of(v, d, is_other_kernel, &tmp));
	}
	arena_release(&tmp);
	return c;
}

/* The stream of who names none: 7 in CUPTI's numbers, 0 elsewhere. */
static bool is_default(struct str stream)
{
	return str_eq(stream, STR("0")) || str_eq(stream, STR("7"));
}

struct sharing {
	size_t n_streams;
	int64_t overlap_ns, default_ns;
	size_t n_default; /* work on the default stream */
};

static struct sharing table_of_streams(const struct trace_view *v,
        const struct analysis_limits *limits, struct arena *run, struct trace_finding *f)
{
	static const char *const columns[][2] = { { "device", "" }, { "stream", "" },
		{ "operations", "" }, { "time", "ns" }, { "share_of_busy", "ratio" } };
	struct trace_table *t = finding_table(f, run, "streams");
	struct sharing all = { 0 };
	struct arena tmp = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		table_column(t, run, columns[i][0], columns[i][1]);
	for (size_t i = 0; i < v->n_devices; i++) {
		const struct device_view *d = &v->devices[i];
		struct stream_loads loads = stream_loads_of(v, d, &tmp);
		all.n_streams += loads.n;
		all.overlap_ns += loads.overlap_ns;
		for (size_t k = 0; k < loads.n; k++) {
			const struct stream_load *s = &loads.v[k];
			struct str name = timeline_name_of(v->t, s->name);
			all.default_ns += is_default(name) ? s->busy_ns : 0;
			all.n_default += is_default(name) ? s->n : 0;
			if (k >= (size_t)limits->top)
				continue;
			table_number(t, run, d->id == TRACE_NONE ? NAN : (double)d->id);
			table_text(t, run, name);
			table_number(t, run, (double)s->n);
			table_number(t, run, (double)s->busy_ns);
			table_number(t, run, ratio_of(s->busy_ns, d->busy_ns));
		}
	}
	arena_release(&tmp);
	return all;
}

static void facts(const struct device_sums *s, const struct communication *c,
        const struct sharing *sharing, struct arena *run, struct trace_finding *f)
{
	int64_t n = (int64_t)c->n, streams = (int64_t)sharing->n_streams;
	finding_fact_anchor(f, run, "exposed_communication_ratio",
	        ratio_of(c->exposed_ns, s->span_ns), "ratio", EXPOSED_COMMUNICATION_ANCHOR, n,
	        "communication kernels");
	finding_fact(f, run, "communication_ratio", ratio_of(c->busy_ns, s->span_ns), "ratio", n,
	        "communication kernels");
	if (c->n)
		finding_fact(f, run, "mean_communication_ns", ratio_of(c->ns, n), "ns", n,
		        "communication kernels");
	finding_fact(f, run, "streams", (double)streams, "1", streams, "streams");
	finding_fact(f, run, "overlap_ratio", ratio_of(sharing->overlap_ns, s->busy_ns), "ratio",
	        streams, "streams");
	finding_fact(f, run, "default_stream_ratio", ratio_of(sharing->default_ns, s->busy_ns),
	        "ratio", (int64_t)sharing->n_default, "streams");
}

static void say(const struct trace_view *v, const struct device_sums *s,
        const struct communication *c, const struct sharing *sharing, struct arena *run,
        struct trace_finding *f)
{
	double exposed = ratio_of(c->exposed_ns, s->span_ns);
	double overlap = ratio_of(sharing->overlap_ns, s->busy_ns);
	const char *span = device_time_text(s, run);
	if (exposed >= EXPOSED_COMMUNICATION_ANCHOR) {
		finding_found(f, exposed,
		        arena_printf(run,
		                _("communication ran without another kernel beside it for %.1f %% "
		                  "of %s (its kernels: %zu)"),
		                100 * exposed, span, c->n),
		        _("Use fewer ways of tensor parallelism if the model fits, or replicas "
		          "instead; a direct link between the devices, a one-shot reduction for "
		          "small messages, or a larger batch also shorten it."));
	} else if (sharing->n_streams <= v->n_devices) {
		finding_clear(f, arena_printf(run,
		                         _("each device has one stream, so that nothing runs "
		                           "beside anything else; communication took %.1f %% of "
		                           "%s"),
		                         100 * exposed, span));
	} else if (overlap < SERIAL_OVERLAP_RATIO && sharing->n_default > 0) {
		finding_clear(f, arena_printf(run,
		                         _("the %zu streams run one after the other (%.1f %% of "
		                           "the busy time is shared), the default stream, which "
		                           "waits for all others, among them; communication "
		                           "without a kernel beside it took %.1f %% of %s"),
		                         sharing->n_streams, 100 * overlap, 100 * exposed, span));
	} else {
		finding_clear(f, arena_printf(run,
		                         _("two streams or more have work in %.1f %% of the "
		                           "busy time (%zu streams); communication without a "
		                           "kernel beside it took %.1f %% of %s"),
		                         100 * overlap, sharing->n_streams, 100 * exposed, span));
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
	struct communication c = look_at_communication(v);
	struct sharing sharing = table_of_streams(v, limits, run, f);
	facts(&s, &c, &sharing, run, f);
	say(v, &s, &c, &sharing, run, f);
}

const struct trace_analysis streams_analysis = { "streams", analyse };
