/*
 * How close products, convolutions and attention come to what the device can do.
 *
 * The time that an operator needs at least is t = max(flop / peak, bytes / bandwidth), with the
 * work of op_work.h and the peaks of device_peaks.h, or those that the user measured. Its kernels
 * are those launched within it, each counted for the innermost operator whose work is known.
 *
 * arithmetic_ratio   sum of flop / peak of its type, over the devices' time from first to last work
 * bandwidth_ratio    sum of bytes / bandwidth over the same time
 *   Both are lower bounds: work of other kernels is not known, peaks of data sheets are not
 * reached. Anchors: the rows "compute_bound" and "mem_bandwidth_bound" of the causes.
 * far_below_roofline_ratio  what operators below FAR_BELOW of their roofline would save at
 * REACHABLE of it, over the same time. Calls shorter than SHORT_CALL_NS are left out: their fixed
 * costs weigh too much. Anchors: the row "kernel_choice_bad".
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/callers.h"
#include "trace/analyses/device_of.h"
#include "trace/analyses/groups.h"
#include "trace/work/device_peaks.h"
#include "trace/kinds/kernel_type.h"
#include "trace/work/op_work.h"

#include "base/i18n.h"

#include <math.h>
#include <stdlib.h>

static const double COMPUTE_BOUND = 0.60;
static const double BANDWIDTH_BOUND = 0.70;
static const double FAR_BELOW = 0.30;
static const double REACHABLE = 0.60;
/* Of the time, that a better kernel must be able to give back. Ours: what shows beyond noise. */
static const double FAR_BELOW_RATIO = 0.10;
/* With less of the kernel time known, nothing can be said of the whole. Ours. */
static const double KNOWN_RATIO = 0.25;
enum { SHORT_CALL_NS = 20 * 1000 };

struct roofline {
	const struct trace_view *v;
	struct groups kinds;  /* key: operator's name and detail; total_ns: of its kernels */
	struct op_work *work; /* [kinds.n] */
	uint32_t cap_work;
	int64_t *op_ns;      /* [operators]: time of the kernels of each */
	uint32_t *op_kernel; /* [operators]: its longest kernel */
	bool *is_around;     /* [operators]: another has the same work within it */
	struct device_peaks peaks;
	bool has_peaks;
	int64_t total_ns, known_ns, wall_ns, n_known;
	double arithmetic_s, bandwidth_s, excess_s;
};

static uint32_t kind_of(struct roofline *x, uint32_t op)
{
	const struct event *e = &x->v->t->lists[GROUP_OPERATOR].v[op];
	uint32_t n = x->kinds.n, kind = groups_of(&x->kinds, group_key(e->name, e->detail));
	if (kind >= x->cap_work) {
		x->cap_work = kind * 2 + 64;
		x->work = mem_realloc(x->work, x->cap_work * sizeof *x->work);
	}
	if (x->kinds.n > n)
		x->work[kind] = op_work_of_event(x->v->t, e);
	return kind;
}

/* Valid until another operator is asked for. */
static struct op_work *work_of(struct roofline *x, uint32_t op)
{
	uint32_t kind = kind_of(x, op);
	return &x->work[kind];
}

/*
 * The innermost operator around this work that has work of its own; NONE32. Those around it that
 * have some too mean the same work (aten::matmul around aten::bmm), and are marked.
 */
static uint32_t worker_of(struct roofline *x, uint32_t device_event)
{
	uint32_t op = caller_of(x->v, device_event), worker = NONE32;
	for (int depth = 0; op != NONE32 && depth < CALLERS_MAX_DEPTH; depth++) {
		bool works = work_of(x, op)->kind != WORK_NONE;
		if (works && worker == NONE32)
			worker = op;
		else if (works)
			x->is_around[op] = true;
		op = x->v->parent[op];
	}
	return worker;
}

static void gather_device(struct roofline *x, const struct device_view *d)
{
	const struct event *events = x->v->t->lists[GROUP_DEVICE].v;
	x->wall_ns += d->end_ns - d->start_ns;
	for (size_t i = 0; i < d->n; i++) {
		const struct event *e = &events[d->order[i]];
		if (e->kind != DEVICE_KERNEL)
			continue;
		x->total_ns += e->dur_ns;
		uint32_t op = worker_of(x, d->order[i]);
		if (op == NONE32)
			continue;
		uint32_t *longest = &x->op_kernel[op];
		if (x->op_ns[op] == 0 || e->dur_ns > events[*longest].dur_ns)
			*longest = d->order[i];
		x->op_ns[op] += e->dur_ns;
	}
}

/* Without a device: operators on the host, by their own time. */
static void gather_operators(struct roofline *x)
{
	const struct event_list *list = &x->v->t->lists[GROUP_OPERATOR];
	for (uint32_t i = 0; i < list->n; i++) {
		x->total_ns += x->v->self_ns[i];
		if (work_of(x, i)->kind == WORK_NONE)
			continue;
		x->op_ns[i] = x->v->self_ns[i];
		uint32_t op = x->v->parent[i];
		for (int depth = 0; op != NONE32 && depth < CALLERS_MAX_DEPTH; depth++) {
			x->is_around[op] = true;
			op = x->v->parent[op];
		}
	}
	x->wall_ns = x->total_ns;
}

/* All devices alike, or none: one roof is told for all. */
static void find_peaks(struct roofline *x, const struct analysis_limits *limits)
{
	const struct trace_view *v = x->v;
	for (size_t i = 0; i < v->n_devices; i++) {
		struct device_peaks one;
		bool found = device_peaks_of(v->t, device_of(v, &v->devices[i]), &one);
		if (!found || (i && one.name != x->peaks.name)) {
			x->has_peaks = false;
			break;
		}
		x->peaks = one;
		x->has_peaks = true;
	}
	if (limits->peak_flop_per_s <= 0 || limits->peak_bytes_per_s <= 0)
		return;
	x->has_peaks = true;
	x->peaks.name = _("as given");
	x->peaks.source = NULL;
	x->peaks.bytes_per_s = limits->peak_bytes_per_s;
	for (int i = 0; i < N_ELEMENT_TYPES; i++)
		x->peaks.flop_per_s[i] = limits->peak_flop_per_s;
}

/* float32 may be multiplied as TF32: the kernel's name says it. */
static enum element_type type_in(const struct roofline *x, const struct op_work *w, uint32_t op)
{
	if (w->type != ELEMENT_FLOAT32 || !x->v->n_devices)
		return w->type;
	const struct event *kernel = &x->v->t->lists[GROUP_DEVICE].v[x->op_kernel[op]];
	struct str name = timeline_name_of(x->v->t, kernel->name);
	return kernel_type_of(name) == ELEMENT_TFLOAT32 ? ELEMENT_TFLOAT32 : ELEMENT_FLOAT32;
}

/* Seconds at least; NAN without a peak for the type. */
static double roof_s(const struct roofline *x, const struct op_work *w, enum element_type type)
{
	double peak = x->has_peaks ? x->peaks.flop_per_s[type] : 0;
	return peak > 0 ? fmax(w->flop / peak, w->bytes / x->peaks.bytes_per_s) : NAN;
}

static void add_up(struct roofline *x)
{
	const struct event_list *list = &x->v->t->lists[GROUP_OPERATOR];
	for (uint32_t i = 0; i < list->n; i++) {
		if (x->op_ns[i] <= 0 || x->is_around[i])
			continue;
		uint32_t kind = kind_of(x, i);
		struct op_work *w = &x->work[kind];
		w->type = type_in(x, w, i);
		groups_add(&x->kinds, x->kinds.v[kind].key, x->op_ns[i], i);
		x->known_ns += x->op_ns[i];
		x->n_known++;
		double roof = roof_s(x, w, w->type), took = (double)x->op_ns[i] / 1e9;
		if (isnan(roof))
			continue;
		x->arithmetic_s += w->flop / x->peaks.flop_per_s[w->type];
		x->bandwidth_s += w->bytes / x->peaks.bytes_per_s;
		if (x->op_ns[i] >= SHORT_CALL_NS && roof < FAR_BELOW * took)
			x->excess_s += took - roof / REACHABLE;
	}
}

static void add_row(
        const struct roofline *x, uint32_t kind, struct arena *run, struct trace_table *t)
{
	const struct group *g = &x->kinds.v[kind];
	const struct op_work *w = &x->work[kind];
	double took = (double)g->total_ns / 1e9, n = (double)g->n;
	double roof = roof_s(x, w, w->type) * n;
	table_text(t, run, timeline_name_of(x->v->t, (uint32_t)(g->key >> 32)));
	table_text(t, run, str_of(element_type_names[w->type]));
	table_text(t, run,
	        str_of(arena_printf(run, "%.0f x [%.0f,%.0f] x [%.0f,%.0f]", w->batch, w->m, w->k,
	                w->k, w->n)));
	table_number(t, run, n);
	table_number(t, run, took * 1e3);
	table_number(t, run, took > 0 ? n * w->flop / took / 1e12 : NAN);
	table_number(t, run, took > 0 ? n * w->bytes / took / 1e9 : NAN);
	table_number(t, run, took > 0 ? roof / took : NAN);
	const char *bound =
	        isnan(roof) ? ""
	        : w->flop / x->peaks.flop_per_s[w->type] > w->bytes / x->peaks.bytes_per_s
	                ? "arithmetic"
	                : "bandwidth";
	table_text(t, run, str_of(bound));
}

static void add_table(
        const struct roofline *x, size_t top, struct arena *run, struct trace_finding *f)
{
	static const char *const columns[][2] = { { "operator", "" }, { "type", "" },
		{ "sizes", "" }, { "calls", "" }, { "total", "ms" }, { "rate", "Tflop/s" },
		{ "traffic", "GB/s" }, { "roofline_ratio", "ratio" }, { "bound", "" } };
	struct trace_table *t = finding_table(f, run, "operators");
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		table_column(t, run, columns[i][0], columns[i][1]);
	uint32_t *order = groups_by_total(&x->kinds, run);
	for (uint32_t i = 0; i < top && i < x->kinds.n && x->kinds.v[order[i]].n; i++)
		add_row(x, order[i], run, t);
}

static void conclude(const struct roofline *x, struct arena *run, struct trace_finding *f)
{
	double wall_s = (double)x->wall_ns / 1e9;
	double arithmetic = x->arithmetic_s / wall_s, bandwidth = x->bandwidth_s / wall_s;
	double far = x->excess_s / wall_s;
	const char *source = x->peaks.source ? x->peaks.source : "measured by the user";
	finding_fact_anchor(
	        f, run, "arithmetic_ratio", arithmetic, "ratio", COMPUTE_BOUND, x->n_known, source);
	finding_fact_anchor(
	        f, run, "bandwidth_ratio", bandwidth, "ratio", BANDWIDTH_BOUND, x->n_known, source);
	finding_fact_anchor(f, run, "far_below_roofline_ratio", far, "ratio", FAR_BELOW_RATIO,
	        x->n_known, source);
	char *text = arena_printf(run,
	        _("products, convolutions and attention with known shapes take %.0f %% of the "
	          "kernel time and need at least %.1f %% of the wall time for arithmetic and "
	          "%.1f %% for memory on this device (%s); better kernels could save %.1f %% of "
	          "the wall time"),
	        100 * (double)x->known_ns / (double)x->total_ns, 100 * arithmetic, 100 * bandwidth,
	        x->peaks.name, 100 * far);
	if (far >= FAR_BELOW_RATIO)
		finding_found(f, far, text,
		        _("Some operators are far below what the device can do: look at the first "
		          "rows for odd sizes (pad to multiples of 8 or 16), a generic or "
		          "unfused path, an old library, and let it search its algorithms."));
	else if (bandwidth >= BANDWIDTH_BOUND)
		finding_found(f, NAN, text,
		        _("The memory is the limit: fewer bytes help (quantised weights and "
		          "cache), and so does a larger batch, which reads the same weights."));
	else if (arithmetic >= COMPUTE_BOUND)
		finding_found(f, NAN, text,
		        _("Arithmetic is the limit: a narrower type, a smaller model or more "
		          "devices; a larger batch will not help."));
	else
		finding_clear(f, text);
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	size_t n = v->t->lists[GROUP_OPERATOR].n;
	struct roofline x = { .v = v,
		.op_ns = mem_zeroed(n + 1, sizeof *x.op_ns),
		.op_kernel = mem_zeroed(n + 1, sizeof *x.op_kernel),
		.is_around = mem_zeroed(n + 1, sizeof *x.is_around) };
	for (size_t i = 0; i < v->n_devices; i++)
		gather_device(&x, &v->devices[i]);
	if (!x.total_ns)
		gather_operators(&x);
	find_peaks(&x, limits);
	add_up(&x);
	finding_fact(f, run, "known_work_ratio",
	        x.total_ns ? (double)x.known_ns / (double)x.total_ns : NAN, "ratio", x.n_known,
	        "shapes in the trace");
	if (x.n_known)
		add_table(&x, (size_t)limits->top, run, f);
	if (!x.n_known)
		finding_abstain(
		        f, _("no product, convolution or attention has its shapes and types in the "
		             "trace; record shapes (record_shapes=True)"));
	else if (!x.has_peaks)
		finding_abstain(f, _("the peaks of this device are not known"));
	else if ((double)x.known_ns < KNOWN_RATIO * (double)x.total_ns)
		finding_abstain(
		        f, arena_printf(run,
		                   _("only %.0f %% of the kernel time is in operators whose shapes "
		                     "are known"),
		                   100 * (double)x.known_ns / (double)x.total_ns));
	else
		conclude(&x, run, f);
	groups_release(&x.kinds);
	free(x.work);
	free(x.op_ns);
	free(x.op_kernel);
	free(x.is_around);
}

const struct trace_analysis roofline_analysis = { .id = "roofline", .analyse = analyse };
