/*
 * Is memory taken and given back while the service runs, does it lie in pieces, and does it grow?
 *
 * Three things, from two kinds of records:
 *   calls of the runtime that allocate or free (cudaMalloc, cudaFree ...) after warm-up: each may
 *     wait for the device. A caching allocator makes none once it is warm.
 *   events of the framework's allocator ("[memory]"): how many, how many bytes, by device type.
 *   reserved_unused_ratio: 1 - largest allocated / largest reserved. What a pool holds beyond the
 *     largest need it ever had is lost to fragmentation.
 *   growing_unused_ratio: the same where the reserve still grows in the later half; else 0.
 *   growth: what is allocated at the end of each step, from step to step. A leak grows in all.
 */
#include "trace/analyses/analyses.h"

#include "base/i18n.h"
#include "base/units.h"
#include "trace/kinds/call_kind.h"
#include "trace/view/warm_steps.h"

#include <math.h>
#include <stdlib.h>

/* Reserved beyond allocated by a fifth, and growing: the catalogue of causes,
 * gpu_mem_fragmentation. */
#define UNUSED_ANCHOR 0.20
/* Less than a hundredth of the time is not worth a change: no comparison of runs would show it. */
#define WORTH_RATIO 0.01

/* Types of devices as PyTorch numbers them: CPU 0, CUDA 1, HIP 6. Others are counted as the last.
 */
enum { N_DEVICE_TYPES = 32 };

struct pool {
	int64_t allocs, alloc_bytes, frees, free_bytes;
	int64_t peak_allocated, peak_reserved; /* -1: not told */
	int64_t early_reserved; /* the largest of the first half of its events; -1: not told */
	int64_t n_seen;
};

struct allocations {
	const struct trace_view *v;
	struct steady_part steady;
	struct pool pools[N_DEVICE_TYPES];
	int64_t n_events, n_steady_events;
	int64_t n_calls, calls_ns; /* after warm-up; the length of their union */
	/* At the end of the steps of the steady state, on devices: -1 where not known. */
	int64_t n_ends, n_grown, first_end, last_end;
};

static size_t type_of(const struct memory_detail *d)
{
	return d->device_type >= 0 && d->device_type < N_DEVICE_TYPES ? (size_t)d->device_type
	                                                              : N_DEVICE_TYPES - 1;
}

/* More than this in one place, 2^50 bytes, is damage. It keeps sums from an overflow. */
#define BYTES_MAX (INT64_C(1) << 50)

static int64_t plausible(int64_t bytes)
{
	return bytes < BYTES_MAX && bytes > -BYTES_MAX ? bytes : 0;
}

static void raise_to(int64_t *largest, int64_t value)
{
	if (value > *largest && value < BYTES_MAX)
		*largest = value;
}

static void add_event(struct pool *p, const struct memory_detail *d, int64_t n_of_type)
{
	int64_t bytes = plausible(d->bytes);
	if (bytes >= 0) {
		p->allocs++;
		p->alloc_bytes += bytes;
	} else {
		p->frees++;
		p->free_bytes -= bytes;
	}
	raise_to(&p->peak_allocated, d->total_allocated);
	raise_to(&p->peak_reserved, d->total_reserved);
	if (p->n_seen++ < n_of_type / 2)
		raise_to(&p->early_reserved, d->total_reserved);
}

static void sum_events(struct allocations *a)
{
	const struct timeline *t = a->v->t;
	const struct event_list *list = &t->lists[GROUP_MEMORY];
	int64_t n_of_type[N_DEVICE_TYPES] = { 0 };
	for (size_t i = 0; i < N_DEVICE_TYPES; i++)
		a->pools[i].peak_allocated = a->pools[i].peak_reserved =
		        a->pools[i].early_reserved = -1;
	for (size_t i = 0; i < list->n; i++) {
		const struct memory_detail *d = timeline_memory(t, &list->v[i]);
		if (d)
			n_of_type[type_of(d)]++;
	}
	for (size_t i = 0; i < list->n; i++) {
		const struct memory_detail *d = timeline_memory(t, &list->v[i]);
		if (!d)
			continue;
		add_event(&a->pools[type_of(d)], d, n_of_type[type_of(d)]);
		a->n_events++;
		a->n_steady_events += list->v[i].start_ns >= a->steady.start_ns;
	}
}

/* Of the devices' pools the one that reserved most: the host's are of no interest here. NULL: none
 * tells. */
static const struct pool *main_pool(const struct allocations *a)
{
	const struct pool *best = NULL;
	for (size_t i = 1; i < N_DEVICE_TYPES; i++)
		if (a->pools[i].peak_reserved > 0 &&
		        (!best || a->pools[i].peak_reserved > best->peak_reserved))
			best = &a->pools[i];
	return best;
}

/* What is allocated on a device, at a time. */
struct level {
	int64_t time_ns, allocated;
};

static int by_time(const void *a, const void *b)
{
	const struct level *x = a, *y = b;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static size_t levels_of(const struct allocations *a, const struct pool *pool, struct level *levels)
{
	const struct timeline *t = a->v->t;
	const struct event_list *list = &t->lists[GROUP_MEMORY];
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++) {
		const struct memory_detail *d = timeline_memory(t, &list->v[i]);
		if (d && d->total_allocated >= 0 && &a->pools[type_of(d)] == pool)
			levels[n++] = (struct level){ list->v[i].start_ns, d->total_allocated };
	}
	qsort(levels, n, sizeof *levels, by_time);
	return n;
}

/* From step to step of the steady state. */
static void measure_growth(struct allocations *a)
{
	const struct pool *pool = main_pool(a);
	if (!pool || !a->steady.by_steps)
		return;
	struct level *levels = mem_zeroed(a->v->t->lists[GROUP_MEMORY].n + 1, sizeof *levels);
	size_t n = levels_of(a, pool, levels), i = 0;
	for (size_t s = a->steady.first_step; s < a->v->n_steps; s++) {
		while (i < n && levels[i].time_ns < a->v->steps[s].end_ns)
			i++;
		if (i == 0)
			continue;
		int64_t end = levels[i - 1].allocated;
		if (a->n_ends == 0)
			a->first_end = end;
		else
			a->n_grown += end > a->last_end;
		a->last_end = end;
		a->n_ends++;
	}
	free(levels);
}

static void measure_calls(struct allocations *a, struct arena *tmp)
{
	const struct event_list *list = &a->v->t->lists[GROUP_CALL];
	struct interval *spans = mem_zeroed(list->n + 1, sizeof *spans);
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		if (a->v->call_kinds[e->name] == CALL_ALLOCATE && e->start_ns >= a->steady.start_ns)
			spans[a->n_calls++] =
			        (struct interval){ e->start_ns, e->start_ns + e->dur_ns };
	}
	a->calls_ns = intervals_length_ns(intervals_union(spans, (size_t)a->n_calls, tmp));
	free(spans);
}

static double or_absent(int64_t value)
{
	return value < 0 ? NAN : (double)value;
}

static void events_table(const struct allocations *a, struct trace_finding *f, struct arena *run)
{
	static const char *const columns[][2] = {
		{ "device_type", "" },
		{ "allocs", "" },
		{ "alloc_bytes", "B" },
		{ "frees", "" },
		{ "free_bytes", "B" },
		{ "peak_total_allocated", "B" },
		{ "peak_total_reserved", "B" },
	};
	struct trace_table *table = finding_table(f, run, "memory_events");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		table_column(table, run, columns[i][0], columns[i][1]);
	for (size_t i = 0; i < N_DEVICE_TYPES; i++) {
		const struct pool *p = &a->pools[i];
		if (p->n_seen == 0)
			continue;
		const double cells[] = { (double)i, (double)p->allocs, (double)p->alloc_bytes,
			(double)p->frees, (double)p->free_bytes, or_absent(p->peak_allocated),
			or_absent(p->peak_reserved) };
		for (size_t k = 0; k < ARRAY_LEN(cells); k++)
			table_number(table, run, cells[k]);
	}
}

static double unused_ratio(const struct pool *p)
{
	return p && p->peak_allocated >= 0
	               ? 1 - (double)p->peak_allocated / (double)p->peak_reserved
	               : NAN;
}

static bool reserve_grows(const struct pool *p)
{
	return p->early_reserved >= 0 && p->peak_reserved > p->early_reserved;
}

static double calls_ratio(const struct allocations *a)
{
	int64_t wall_ns = a->steady.end_ns - a->steady.start_ns;
	return wall_ns > 0 ? (double)a->calls_ns / (double)wall_ns : 0;
}

/* Two steps always differ one way or the other: three make a trend. */
static bool leaks(const struct allocations *a)
{
	return a->n_ends >= 3 && a->n_grown == a->n_ends - 1;
}

static void facts(const struct allocations *a, struct trace_finding *f, struct arena *run)
{
	const struct pool *p = main_pool(a);
	double n_steps = (double)(a->v->n_steps - a->steady.first_step);
	finding_fact(f, run, "allocation_calls", (double)a->n_calls, "1",
	        (int64_t)a->v->t->lists[GROUP_CALL].n, "trace");
	finding_fact_anchor(f, run, "allocation_call_ratio", calls_ratio(a), "ratio", WORTH_RATIO,
	        a->n_calls, "trace");
	/* Without steps the calls may be those of warm-up, which speak of no cause. */
	if (a->steady.by_steps)
		finding_fact_anchor(f, run, "steady_allocation_ratio", calls_ratio(a), "ratio",
		        WORTH_RATIO, a->n_calls, "trace");
	finding_fact(f, run, "memory_events", (double)a->n_events, "1", a->n_events, "trace");
	if (a->steady.by_steps)
		finding_fact(f, run, "memory_events_per_step", (double)a->n_steady_events / n_steps,
		        "1", a->n_steady_events, "trace");
	if (p && p->peak_allocated >= 0) {
		finding_fact_anchor(f, run, "reserved_unused_ratio", unused_ratio(p), "ratio",
		        UNUSED_ANCHOR, p->n_seen, "trace");
		finding_fact_anchor(f, run, "growing_unused_ratio",
		        reserve_grows(p) ? unused_ratio(p) : 0, "ratio", UNUSED_ANCHOR, p->n_seen,
		        "trace");
		finding_fact(f, run, "reserved_growth_bytes",
		        or_absent(
		                p->early_reserved < 0 ? -1 : p->peak_reserved - p->early_reserved),
		        "B", p->n_seen, "trace");
	} else {
		finding_fact_absent(f, run, "reserved_unused_ratio", "ratio",
		        _("the trace does not tell what the allocator has reserved"));
	}
	if (a->n_ends >= 2)
		finding_fact(f, run, "growth_bytes_per_step",
		        (double)(a->last_end - a->first_end) / (double)(a->n_ends - 1), "B",
		        a->n_ends, "trace");
}

static void tell_calls(const struct allocations *a, struct trace_finding *f, struct arena *run)
{
	char took[UNITS_TEXT];
	units_duration((double)a->calls_ns, took);
	double share = calls_ratio(a);
	const char *text =
	        a->steady.by_steps
	                ? _("calls that still take or free device memory after warm-up: %lld, %s, "
	                    "%.1f %% of the time")
	                : _("calls that take or free device memory: %lld, %s, %.1f %% of the time; "
	                    "without two steps it cannot be told whether that is warm-up");
	finding_found(f, share, arena_printf(run, text, (long long)a->n_calls, took, 100 * share),
	        _("Let a caching allocator or a pool hold the memory, allocate the largest need "
	          "at the start, and bring shapes to a few sizes."));
}

static void tell_leak(const struct allocations *a, struct trace_finding *f, struct arena *run)
{
	char each[UNITS_TEXT];
	units_size((double)(a->last_end - a->first_end) / (double)(a->n_ends - 1), each);
	finding_found(f, NAN,
	        arena_printf(run,
	                _("allocated device memory grows in each of %lld steps after warm-up, by "
	                  "%s a step"),
	                (long long)a->n_ends, each),
	        _("Look for tensors that are kept from step to step (lists of outputs, caches "
	          "without a bound, a KV cache that is not given back)."));
}

static void tell_fragments(const struct pool *p, struct trace_finding *f, struct arena *run)
{
	char allocated[UNITS_TEXT], reserved[UNITS_TEXT];
	units_size((double)p->peak_allocated, allocated);
	units_size((double)p->peak_reserved, reserved);
	bool grows = reserve_grows(p);
	const char *text =
	        grows ? _("the allocator has reserved %s; %.0f %% of it was unused even at its "
	                  "largest need of %s, and the reserve grows while the trace runs")
	              : _("the allocator has reserved %s; %.0f %% of it was unused even at its "
	                  "largest need of %s in this trace, and it does not grow: nothing here "
	                  "tells fragmentation from an earlier, larger need");
	char *told = arena_printf(run, text, reserved, 100 * unused_ratio(p), allocated);
	if (grows)
		finding_found(f, NAN, told,
		        _("Use expandable segments or a fixed pool, bring shapes to a few sizes, "
		          "and give the KV cache a block of fixed size."));
	else
		finding_clear(f, told);
}

static void tell(const struct allocations *a, struct trace_finding *f, struct arena *run)
{
	const struct pool *p = main_pool(a);
	if (calls_ratio(a) >= WORTH_RATIO)
		tell_calls(a, f, run);
	else if (leaks(a))
		tell_leak(a, f, run);
	else if (unused_ratio(p) >= UNUSED_ANCHOR)
		tell_fragments(p, f, run);
	else
		finding_clear(
		        f, arena_printf(run,
		                   _("calls that take or free device memory: %lld, %.1f %% of the "
		                     "time; events of the framework's allocator: %lld"),
		                   (long long)a->n_calls, 100 * calls_ratio(a),
		                   (long long)a->n_events));
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	(void)limits;
	if (v->t->lists[GROUP_MEMORY].n == 0 && v->t->lists[GROUP_CALL].n == 0) {
		finding_abstain(f, _("the trace has neither calls of the runtime nor events of an "
		                     "allocator (profile_memory)"));
		return;
	}
	struct allocations a = { .v = v, .steady = trace_steady_part(v) };
	struct arena tmp = { 0 };
	sum_events(&a);
	measure_growth(&a);
	measure_calls(&a, &tmp);
	events_table(&a, f, run);
	facts(&a, f, run);
	tell(&a, f, run);
	arena_release(&tmp);
}

const struct trace_analysis allocations_analysis = { "allocations", analyse };
