/*
 * Copies: how many, how large, how fast, from what memory, and how much of their time nothing hid.
 *
 * exposed_copy_ratio    copies between host and device while no kernel runs / device time
 * pageable_copy_ratio   of that the part of copies from or to pageable memory / device time
 * rate                  bytes / time, of the copies whose size is told and that took time
 * small                 below 64 KiB; copies whose size is not told are counted apart
 * direction changes     between copies to and from the device, in order of start
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/measures.h"
#include "trace/kinds/call_kind.h"
#include "trace/run/aggregate.h"

#include "base/i18n.h"

#include <math.h>

/* Source: causes.md, per_step_copies: exposed copy time at least 10 % of the step. */
#define EXPOSED_COPY_ANCHOR 0.10
/* Source: trace.md 6, item 5. */
#define SMALL_COPY_BYTES (64 * 1024)
/* Rates of smaller copies speak of their latency, not of the link. A choice of ours: at 25 GB/s
 * 1 MiB takes 42 us, ten times the latency of a copy. */
#define RATE_BYTES_MIN (1024 * 1024)
/* Source: causes.md, pageable_copy: below half the rate of a pinned copy. */
#define PAGEABLE_RATE_ANCHOR 0.5

struct kind_sum {
	int64_t n, ns, bytes, small, unknown, pageable;
	int64_t rated_bytes, rated_ns;
};

struct copy_sums {
	struct kind_sum kinds[N_COPY_KINDS];
	struct kind_sum large_pageable, large_pinned; /* between host and device */
	int64_t n, direction_changes;
};

static bool is_pageable(const struct copy_detail *c)
{
	return c->from == MEMORY_PAGEABLE || c->to == MEMORY_PAGEABLE;
}

static bool is_pinned(const struct copy_detail *c)
{
	return c->from == MEMORY_PINNED || c->to == MEMORY_PINNED;
}

static bool is_pageable_host_copy(const struct trace_view *v, uint32_t device_event)
{
	const struct event *e = &v->t->lists[GROUP_DEVICE].v[device_event];
	return is_host_copy(v, device_event) && is_pageable(timeline_copy(v->t, e));
}

static bool is_any_kernel(const struct trace_view *v, uint32_t device_event)
{
	return v->t->lists[GROUP_DEVICE].v[device_event].kind == DEVICE_KERNEL;
}

static void add_copy(struct kind_sum *s, const struct event *e, const struct copy_detail *c)
{
	s->n++;
	s->ns += e->dur_ns;
	s->small += c->bytes >= 0 && c->bytes < SMALL_COPY_BYTES;
	s->unknown += c->bytes < 0;
	s->pageable += is_pageable(c);
	if (c->bytes < 0)
		return;
	s->bytes = add_held(s->bytes, c->bytes);
	if (e->dur_ns == 0)
		return;
	s->rated_bytes = add_held(s->rated_bytes, c->bytes);
	s->rated_ns += e->dur_ns;
}

static bool between_host_and_device(const struct copy_detail *c)
{
	return c->kind == COPY_HTOD || c->kind == COPY_DTOH;
}

static void add_device(const struct trace_view *v, const struct device_view *d, struct copy_sums *s)
{
	const struct event *work = v->t->lists[GROUP_DEVICE].v;
	uint32_t last = N_COPY_KINDS;
	for (size_t i = 0; i < d->n; i++) {
		const struct event *e = &work[d->order[i]];
		const struct copy_detail *c =
		        e->kind == DEVICE_MEMCPY ? timeline_copy(v->t, e) : NULL;
		if (!c || c->kind >= N_COPY_KINDS)
			continue;
		s->n++;
		add_copy(&s->kinds[c->kind], e, c);
		if (!between_host_and_device(c))
			continue;
		s->direction_changes += last != N_COPY_KINDS && last != c->kind;
		last = c->kind;
		if (c->bytes >= RATE_BYTES_MIN && is_pageable(c))
			add_copy(&s->large_pageable, e, c);
		else if (c->bytes >= RATE_BYTES_MIN && is_pinned(c))
			add_copy(&s->large_pinned, e, c);
	}
}

static double rate_of(const struct kind_sum *s)
{
	return s->rated_ns > 0 ? (double)s->rated_bytes / (double)s->rated_ns : NAN;
}

static void table_of_kinds(const struct copy_sums *s, const struct device_sums *all,
        struct arena *run, struct trace_finding *f)
{
	static const char *const names[N_COPY_KINDS] = { "HtoD", "DtoH", "DtoD", "PtoP", "HtoH",
		"other" };
	static const char *const columns[][2] = { { "kind", "" }, { "copies", "" },
		{ "time", "ns" }, { "share", "ratio" }, { "size", "bytes" }, { "rate", "GB/s" },
		{ "small", "" }, { "size_unknown", "" }, { "pageable", "" } };
	struct trace_table *t = finding_table(f, run, "kinds");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		table_column(t, run, columns[i][0], columns[i][1]);
	for (int k = 0; k < N_COPY_KINDS; k++) {
		const struct kind_sum *c = &s->kinds[k];
		if (c->n == 0)
			continue;
		table_text(t, run, str_of(names[k]));
		table_number(t, run, (double)c->n);
		table_number(t, run, (double)c->ns);
		table_number(t, run, ratio_of(c->ns, all->span_ns));
		table_number(t, run, c->unknown < c->n ? (double)c->bytes : NAN);
		table_number(t, run, rate_of(c));
		table_number(t, run, (double)c->small);
		table_number(t, run, (double)c->unknown);
		table_number(t, run, (double)c->pageable);
	}
}

struct exposure {
	double copies, pageable, on_device;
};

static bool is_device_copy(const struct trace_view *v, uint32_t device_event)
{
	const struct event *e = &v->t->lists[GROUP_DEVICE].v[device_event];
	return e->kind == DEVICE_MEMCPY && !is_host_copy(v, device_event);
}

static struct exposure measure_exposure(const struct trace_view *v, int64_t span_ns)
{
	return (struct exposure){
		.copies = ratio_of(exposed_work_ns(v, is_host_copy, is_any_kernel), span_ns),
		.pageable =
		        ratio_of(exposed_work_ns(v, is_pageable_host_copy, is_any_kernel), span_ns),
		.on_device = ratio_of(exposed_work_ns(v, is_device_copy, is_any_kernel), span_ns),
	};
}

static void rate_facts(const struct copy_sums *s, struct arena *run, struct trace_finding *f)
{
	double pageable = rate_of(&s->large_pageable), pinned = rate_of(&s->large_pinned);
	if (isfinite(pageable))
		finding_fact(f, run, "pageable_rate", pageable, "GB/s", s->large_pageable.n,
		        "copies of 1 MiB or more");
	if (isfinite(pinned))
		finding_fact(f, run, "pinned_rate", pinned, "GB/s", s->large_pinned.n,
		        "copies of 1 MiB or more");
	if (isfinite(pageable) && isfinite(pinned) && pinned > 0)
		finding_fact_anchor(f, run, "pageable_rate_ratio", pageable / pinned, "ratio",
		        PAGEABLE_RATE_ANCHOR, s->large_pageable.n, "copies of 1 MiB or more");
}

static void facts(const struct trace_view *v, const struct copy_sums *s, const struct exposure *x,
        struct arena *run, struct trace_finding *f)
{
	const struct kind_sum *to = &s->kinds[COPY_HTOD], *from = &s->kinds[COPY_DTOH];
	int64_t n = to->n + from->n;
	finding_fact_anchor(f, run, "exposed_copy_ratio", x->copies, "ratio", EXPOSED_COPY_ANCHOR,
	        n, "copies between host and device without a kernel beside them");
	finding_fact_anchor(f, run, "pageable_copy_ratio", x->pageable, "ratio",
	        MEASURES_NOISE_RATIO, to->pageable + from->pageable,
	        "copies from and to pageable memory without a kernel beside them");
	finding_fact(f, run, "exposed_device_copy_ratio", x->on_device, "ratio", s->n - n,
	        "copies on the device without a kernel beside them");
	finding_fact(f, run, "host_copies", (double)n, "1", n, "copies");
	finding_fact(f, run, "small_host_copies", (double)(to->small + from->small), "1", n,
	        "copies below 64 KiB");
	finding_fact(f, run, "unknown_size_host_copies", (double)(to->unknown + from->unknown), "1",
	        n, "copies whose size the trace does not tell");
	finding_fact(f, run, "direction_changes", (double)s->direction_changes, "1", n, "copies");
	if (v->n_steps)
		finding_fact(f, run, "copies_to_host_per_step",
		        (double)from->n / (double)v->n_steps, "1", (int64_t)v->n_steps,
		        "copies and steps");
	rate_facts(s, run, f);
}

static char *exposed_text(
        const struct copy_sums *s, const struct exposure *x, const char *span, struct arena *run)
{
	const struct kind_sum *to = &s->kinds[COPY_HTOD], *from = &s->kinds[COPY_DTOH];
	long long n = (long long)(to->n + from->n), small = (long long)(to->small + from->small);
	long long unknown = (long long)(to->unknown + from->unknown);
	if (unknown == n)
		return arena_printf(run,
		        _("for %.1f %% of %s the device did nothing but copy from or to the host "
		          "(copies: %lld; the trace does not tell their sizes)"),
		        100 * x->copies, span, n);
	if (unknown)
		return arena_printf(run,
		        _("for %.1f %% of %s the device did nothing but copy from or to the host "
		          "(copies: %lld, below 64 KiB: %lld, of unknown size: %lld)"),
		        100 * x->copies, span, n, small, unknown);
	return arena_printf(run,
	        _("for %.1f %% of %s the device did nothing but copy from or to the host (copies: "
	          "%lld, below 64 KiB: %lld)"),
	        100 * x->copies, span, n, small);
}

static void say(const struct copy_sums *s, const struct exposure *x, const struct device_sums *all,
        struct arena *run, struct trace_finding *f)
{
	const struct kind_sum *to = &s->kinds[COPY_HTOD], *from = &s->kinds[COPY_DTOH];
	long long n = (long long)(to->n + from->n);
	const char *span = device_time_text(all, run);
	if (x->pageable >= MEASURES_NOISE_RATIO) {
		finding_found(f, x->pageable,
		        arena_printf(run,
		                _("%lld of %lld copies between host and device use pageable "
		                  "memory; for %.1f %% of %s the device did nothing but these"),
		                (long long)(to->pageable + from->pageable), n, 100 * x->pageable,
		                span),
		        _("Keep the host's buffers in pinned memory and reuse them: pageable "
		          "copies go through a buffer of the driver and block the thread."));
	} else if (x->copies >= EXPOSED_COPY_ANCHOR) {
		finding_found(f, x->copies, exposed_text(s, x, span, run),
		        _("Keep tensors on the device and post-process there; join small copies; "
		          "copy from pinned memory on a stream of its own, beside the kernels."));
	} else {
		finding_clear(f, arena_printf(run,
		                         _("copies between host and device: %lld; for %.1f %% "
		                           "of %s they ran without a kernel beside them"),
		                         n, 100 * x->copies, span));
	}
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	(void)limits;
	struct device_sums all = device_sums_of(v);
	struct copy_sums s = { 0 };
	if (all.span_ns == 0) {
		finding_abstain(f, _("the trace holds no work of a device"));
		return;
	}
	for (size_t i = 0; i < v->n_devices; i++)
		add_device(v, &v->devices[i], &s);
	struct exposure x = measure_exposure(v, all.span_ns);
	facts(v, &s, &x, run, f);
	say(&s, &x, &all, run, f);
	table_of_kinds(&s, &all, run, f);
}

const struct trace_analysis copies_analysis = { "copies", analyse };
