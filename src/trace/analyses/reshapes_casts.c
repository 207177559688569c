/*
 * Time that goes into moving bytes about on the device or from one type to another: what
 * transpose, contiguous, clone, cat, to and the like cost, by the names of kernels and of the
 * operators that launched them. Writing a key-value cache and filling memory are work that has to
 * be done: they are told apart and do not count.
 *
 * Without a device the same over the operators of the host and their own time.
 *
 * layout_ratio          of kernel time (of the operators' own time); anchor: the row
 *                       "layout_copies" of the causes
 * layout_exposed_ratio  of the devices' time from first to last work: what nothing else covers
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/callers.h"
#include "trace/analyses/groups.h"
#include "trace/analyses/measures.h"
#include "trace/work/shapes.h"

#include "base/i18n.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LAYOUT_RATIO = 0.10;

enum layout_kind {
	LAYOUT_CAST,
	LAYOUT_TRANSPOSE,
	LAYOUT_CONCAT,
	LAYOUT_COPY,   /* contiguous, clone, copy_: same type, other strides */
	LAYOUT_MEMORY, /* device-to-device copies */
	LAYOUT_CACHE,  /* into a key-value cache */
	LAYOUT_FILL,   /* memory set to a value */
	LAYOUT_NONE,
	N_LAYOUT_KINDS,
};

static const char *const kind_names[N_LAYOUT_KINDS] = { "cast", "transpose", "concat", "copy",
	"device_copy", "cache_write", "fill", "none" };

/* Words of the operator's or the kernel's name; the first that fits. */
static const struct {
	const char *word;
	enum layout_kind kind;
} words[] = {
	{ "reshape_and_cache", LAYOUT_CACHE },
	{ "store_kv", LAYOUT_CACHE },
	{ "store_cache", LAYOUT_CACHE },
	{ "kv_buffer", LAYOUT_CACHE },
	{ "fillBuffer", LAYOUT_FILL },
	{ "memset", LAYOUT_FILL },
	{ "aten::_to_copy", LAYOUT_CAST },
	{ "aten::type_as", LAYOUT_CAST },
	{ "Cast", LAYOUT_CAST },
	{ "_cast", LAYOUT_CAST },
	{ "convert", LAYOUT_CAST },
	{ "bfloat16_copy", LAYOUT_CAST },
	{ "float16_copy", LAYOUT_CAST },
	{ "tofloat32_copy", LAYOUT_CAST },
	{ "float8_copy", LAYOUT_CAST },
	{ "Transpose", LAYOUT_TRANSPOSE },
	{ "transpose", LAYOUT_TRANSPOSE },
	{ "permute", LAYOUT_TRANSPOSE },
	{ "nchwToNhwc", LAYOUT_TRANSPOSE },
	{ "nhwcToNchw", LAYOUT_TRANSPOSE },
	{ "CatArray", LAYOUT_CONCAT },
	{ "aten::cat", LAYOUT_CONCAT },
	{ "aten::stack", LAYOUT_CONCAT },
	{ "Concat", LAYOUT_CONCAT },
	{ "concat", LAYOUT_CONCAT },
};

static enum layout_kind kind_by_words(struct str name)
{
	if (str_eq(name, STR("aten::to")))
		return LAYOUT_CAST;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (memmem(name.s, name.len, words[i].word, strlen(words[i].word)))
			return words[i].kind;
	return LAYOUT_NONE;
}

struct layout {
	const struct trace_view *v;
	uint8_t *kinds; /* [names.n]: enum layout_kind + 1 of a name; 0: not looked at */
	int64_t ns[N_LAYOUT_KINDS], n[N_LAYOUT_KINDS];
	int64_t total_ns, n_all;
	int64_t exposed_ns, wall_ns;
	struct groups rows; /* key: operator's or kernel's name and dims */
	bool on_device;
};

static enum layout_kind kind_of_name(struct layout *x, uint32_t name)
{
	if (!x->kinds[name])
		x->kinds[name] = (uint8_t)(kind_by_words(timeline_name_of(x->v->t, name)) + 1);
	return x->kinds[name] - 1;
}

/*
 * The kernel's own name, then the operators from the innermost out: aten::copy_ within aten::to
 * is a cast when the types differ, which its name does not tell. Between equal types aten::to
 * launches nothing but a copy to another device.
 */
static enum layout_kind kind_of_kernel(struct layout *x, uint32_t i, const struct event *e)
{
	enum layout_kind kind = kind_of_name(x, e->name);
	uint32_t op = caller_of(x->v, i);
	for (int depth = 0; kind == LAYOUT_NONE && op != NONE32 && depth < CALLERS_MAX_DEPTH;
	        depth++) {
		kind = kind_of_name(x, operator_event(x->v, op)->name);
		op = x->v->parent[op];
	}
	return kind == LAYOUT_NONE ? LAYOUT_COPY : kind;
}

static enum layout_kind kind_of_work(struct layout *x, uint32_t i)
{
	const struct event *e = &x->v->t->lists[GROUP_DEVICE].v[i];
	if (e->kind == DEVICE_MEMSET)
		return LAYOUT_FILL;
	if (e->kind == DEVICE_MEMCPY) {
		const struct copy_detail *c = timeline_copy(x->v->t, e);
		return c && c->kind == COPY_DTOD ? LAYOUT_MEMORY : LAYOUT_NONE;
	}
	if (kernel_classes_device(x->v->classes, e) != CLASS_COPY_LAYOUT)
		return LAYOUT_NONE;
	return kind_of_kernel(x, i, e);
}

static bool counts(enum layout_kind kind)
{
	return kind < LAYOUT_CACHE;
}

static void add(struct layout *x, enum layout_kind kind, int64_t ns, uint32_t name, uint32_t dims,
        uint32_t member)
{
	x->n[kind]++;
	x->ns[kind] += ns;
	if (counts(kind)) {
		uint32_t row = groups_add(&x->rows, group_key(name, dims), ns, member);
		x->rows.v[row].part = kind;
	}
}

static void add_devices(struct layout *x)
{
	const struct trace_view *v = x->v;
	const struct event_list *list = &v->t->lists[GROUP_DEVICE];
	uint32_t *group = mem_zeroed(list->n + 1, sizeof *group);
	x->on_device = true;
	for (uint32_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		enum layout_kind kind = kind_of_work(x, i);
		const struct event *op = operator_event(v, caller_of(v, i));
		if (e->kind == DEVICE_KERNEL || counts(kind))
			x->total_ns += e->dur_ns;
		x->n_all++;
		group[i] = counts(kind);
		add(x, kind, e->dur_ns, op ? op->name : e->name, operator_dims(v->t, op), i);
	}
	int64_t exposed_ns[2] = { 0 };
	for (size_t d = 0; d < v->n_devices; d++) {
		groups_exposed(v, &v->devices[d], group, 2, exposed_ns);
		x->wall_ns += v->devices[d].end_ns - v->devices[d].start_ns;
	}
	x->exposed_ns = exposed_ns[1];
	free(group);
}

static void add_operators(struct layout *x)
{
	const struct trace_view *v = x->v;
	const struct event_list *list = &v->t->lists[GROUP_OPERATOR];
	for (uint32_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		enum layout_kind kind = LAYOUT_NONE;
		if (kernel_classes_operator(v->classes, e) == CLASS_COPY_LAYOUT) {
			kind = kind_of_name(x, operator_type(v->t, e));
			kind = kind == LAYOUT_NONE ? LAYOUT_COPY : kind;
		}
		x->total_ns += v->self_ns[i];
		x->n_all++;
		add(x, kind, v->self_ns[i], operator_type(v->t, e), operator_dims(v->t, e), i);
	}
}

static double ratio(int64_t part, int64_t whole)
{
	return whole > 0 ? (double)part / (double)whole : NAN;
}

static void add_tables(
        const struct layout *x, size_t top, struct arena *run, struct trace_finding *f)
{
	struct trace_table *t = finding_table(f, run, "kinds");
	table_column(t, run, "kind", "");
	table_column(t, run, "calls", "");
	table_column(t, run, "total", "ms");
	table_column(t, run, "ratio", "ratio");
	for (int k = 0; k < LAYOUT_NONE; k++) {
		if (!x->n[k])
			continue;
		table_text(t, run, str_of(kind_names[k]));
		table_number(t, run, (double)x->n[k]);
		table_number(t, run, (double)x->ns[k] / 1e6);
		table_number(t, run, ratio(x->ns[k], x->total_ns));
	}
	t = finding_table(f, run, "operators");
	table_column(t, run, "name", "");
	table_column(t, run, "kind", "");
	table_column(t, run, "input_dims", "");
	table_column(t, run, "calls", "");
	table_column(t, run, "total", "ms");
	table_column(t, run, "ratio", "ratio");
	uint32_t *order = groups_by_total(&x->rows, run);
	for (uint32_t i = 0; i < top && i < x->rows.n; i++) {
		const struct group *g = &x->rows.v[order[i]];
		table_text(t, run, timeline_name_of(x->v->t, (uint32_t)(g->key >> 32)));
		table_text(t, run, str_of(kind_names[g->part]));
		table_text(
		        t, run, shapes_compact(timeline_name_of(x->v->t, (uint32_t)g->key), run));
		table_number(t, run, (double)g->n);
		table_number(t, run, (double)g->total_ns / 1e6);
		table_number(t, run, ratio(g->total_ns, x->total_ns));
	}
}

static void conclude(const struct layout *x, struct arena *run, struct trace_finding *f)
{
	int64_t ns = 0, n = 0;
	for (int k = 0; k < LAYOUT_CACHE; k++) {
		ns += x->ns[k];
		n += x->n[k];
	}
	double share = ratio(ns, x->total_ns);
	double exposed = x->on_device ? ratio(x->exposed_ns, x->wall_ns) : share;
	finding_fact_anchor(f, run, "layout_ratio", share, "ratio", LAYOUT_RATIO, n, "trace");
	finding_fact(f, run, "layout_exposed_ratio", exposed, "ratio", n, "trace");
	finding_fact(f, run, "cast_ratio", ratio(x->ns[LAYOUT_CAST], x->total_ns), "ratio",
	        x->n[LAYOUT_CAST], "trace");
	finding_fact(f, run, "layout_calls", (double)n, "1", x->n_all, "trace");
	char *text = arena_printf(run,
	        x->on_device
	                ? _("%lld kernels and copies within the device that only move or cast "
	                    "bytes "
	                    "take %.1f %% of %s of kernel time")
	                : _("%lld calls of operators that only move or cast bytes take %.1f %% of "
	                    "%s of the operators' own time"),
	        (long long)n, 100 * share, time_text((double)x->total_ns, run));
	if (share >= LAYOUT_RATIO)
		finding_found(f, exposed, text,
		        x->ns[LAYOUT_CAST] * 2 > ns
		                ? _("Most of it are casts: load the weights in the type that is "
		                    "computed in, and take constants and islands of another type "
		                    "out of the model, so that no tensor changes its type on the "
		                    "way.")
		                : _("Keep one memory layout from end to end, fold transposes into "
		                    "the products beside them, write results where they are needed "
		                    "instead of joining them, or compile the model so that copies "
		                    "become part of the kernels around them."));
	else
		finding_clear(f, text);
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	struct layout x = { .v = v, .kinds = mem_zeroed((size_t)v->t->names.n + 1, 1) };
	for (size_t d = 0; d < v->n_devices; d++)
		x.on_device |= v->devices[d].n_kernels > 0;
	if (x.on_device)
		add_devices(&x);
	else
		add_operators(&x);
	if (x.total_ns > 0) {
		conclude(&x, run, f);
		add_tables(&x, (size_t)limits->top, run, f);
	} else {
		finding_abstain(f, _("the trace holds neither kernels nor operators"));
	}
	groups_release(&x.rows);
	free(x.kinds);
}

const struct trace_analysis reshapes_casts_analysis = { .id = "reshapes_casts",
	.analyse = analyse };
