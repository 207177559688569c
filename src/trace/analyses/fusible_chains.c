/*
 * Kernels that follow each other on one stream, do something to each element alone (or sum rows on
 * the way) and are equally large: a compiler would make one of them, which reads once and writes
 * once.
 *
 * A chain is at least two such kernels, each within CHAIN_GAP_NS of the one before, with sizes of
 * which one divides the other: elements of the operators' inputs where shapes were recorded, else
 * the same number of threads. Estimated: the one kernel takes as long as the longest of the chain,
 * and the pauses within the chain go.
 *
 * elementwise_norm_ratio  element-wise work and normalisation / kernel time; anchor: the row
 *                         "unfused_graph" of the causes
 * fusible_ratio           what fusing would save, pauses included / the devices' time from first
 *                         to last work; estimated
 *
 * Without a device the same over operators without operators in them, thread by thread.
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

static const double ELEMENTWISE_NORM_RATIO = 0.20;
/* A framework launches operators within some 5 to 30 us of each other; after a longer pause it did
 * something else. Ours. */
enum { CHAIN_GAP_NS = 50 * 1000 };
enum { CHAIN_NAMES = 6, NAME_MAX_SHOWN = 40 };

struct item {
	int64_t start_ns, dur_ns;
	int64_t elements; /* of the largest input; 0: not told */
	int64_t threads;  /* of the grid; 0: not told */
	uint32_t name;    /* to be shown */
	enum kernel_class class;
};

/* The chain that a stream or thread is in. */
struct chain {
	uint32_t *names; /* in order */
	uint32_t n, cap;
	int64_t end_ns, elements, threads;
	int64_t total_ns, longest_ns, gap_ns;
	bool computes; /* holds more than copies and sums */
};

struct chains {
	const struct trace_view *v;
	struct chain *of_track; /* [tracks.n] */
	int64_t *elements;      /* [names.n], + 1; 0: not looked at */
	struct groups kinds;    /* key: the names; total_ns: what is saved */
	uint32_t *pool;         /* names of the chain of each kind */
	size_t n_pool, cap_pool;
	struct {
		size_t at;
		uint32_t n;
	} * names_of; /* [kinds.cap] */
	uint32_t cap_names_of;
	int64_t n, n_members, saved_ns, gap_ns;
	int64_t total_ns, pointwise_ns, n_all, wall_ns;
};

static int64_t elements_of_dims(struct chains *x, uint32_t dims)
{
	if (!dims)
		return 0;
	if (!x->elements[dims]) {
		struct shapes s;
		int64_t most = 0;
		shapes_parse(
		        &s, timeline_name_of(x->v->t, dims), (struct str){ 0 }, (struct str){ 0 });
		for (size_t i = 0; i < s.n; i++)
			most = s.v[i].elements > most ? s.v[i].elements : most;
		x->elements[dims] = most + 1;
	}
	return x->elements[dims] - 1;
}

static int64_t threads_of(const struct kernel_detail *k)
{
	int64_t all = 1;
	for (int i = 0; k && i < 3; i++)
		if (k->grid[i] <= 0 || k->block[i] <= 0 ||
		        __builtin_mul_overflow(all, k->grid[i], &all) ||
		        __builtin_mul_overflow(all, k->block[i], &all))
			return 0;
	return k ? all : 0;
}

static bool may_fuse(enum kernel_class class)
{
	return class == CLASS_ELEMENTWISE || class == CLASS_NORMALISATION ||
	       class == CLASS_REDUCTION || class == CLASS_COPY_LAYOUT;
}

static bool is_pointwise(enum kernel_class class)
{
	return class == CLASS_ELEMENTWISE || class == CLASS_NORMALISATION;
}

static bool same_size(const struct chain *c, const struct item *i)
{
	if (c->elements > 0 && i->elements > 0)
		return c->elements >= i->elements ? c->elements % i->elements == 0
		                                  : i->elements % c->elements == 0;
	return c->threads > 0 && c->threads == i->threads;
}

static void keep_names(struct chains *x, uint32_t kind, const struct chain *c)
{
	if (kind >= x->cap_names_of) {
		x->cap_names_of = kind * 2 + 16;
		x->names_of = mem_realloc(x->names_of, x->cap_names_of * sizeof *x->names_of);
	}
	if (x->n_pool + c->n > x->cap_pool) {
		x->cap_pool = x->cap_pool * 2 + c->n + 64;
		x->pool = mem_realloc(x->pool, x->cap_pool * sizeof *x->pool);
	}
	memcpy(&x->pool[x->n_pool], c->names, c->n * sizeof *c->names);
	x->names_of[kind].at = x->n_pool;
	x->names_of[kind].n = c->n;
	x->n_pool += c->n;
}

static void end_chain(struct chains *x, struct chain *c)
{
	if (c->n >= 2 && c->computes) {
		uint64_t key = 1469598103934665603U; /* FNV-1a over the names */
		for (uint32_t i = 0; i < c->n; i++)
			key = (key ^ c->names[i]) * 1099511628211U;
		uint32_t n_kinds = x->kinds.n;
		int64_t saved_ns = c->total_ns - c->longest_ns;
		uint32_t kind = groups_add(&x->kinds, key, saved_ns + c->gap_ns, 0);
		if (x->kinds.n > n_kinds)
			keep_names(x, kind, c);
		x->n++;
		x->n_members += c->n;
		x->saved_ns += saved_ns;
		x->gap_ns += c->gap_ns;
	}
	c->n = 0;
}

static void extend(struct chain *c, const struct item *i)
{
	if (c->n == c->cap) {
		c->cap = c->cap ? c->cap * 2 : 16;
		c->names = mem_realloc(c->names, c->cap * sizeof *c->names);
	}
	if (c->n == 0) {
		c->elements = c->threads = c->total_ns = c->longest_ns = c->gap_ns = 0;
		c->computes = false;
	} else if (i->start_ns > c->end_ns) {
		c->gap_ns += i->start_ns - c->end_ns;
	}
	c->names[c->n++] = i->name;
	c->end_ns = i->start_ns + i->dur_ns;
	c->elements = i->elements > c->elements ? i->elements : c->elements;
	c->threads = i->threads > c->threads ? i->threads : c->threads;
	c->total_ns += i->dur_ns;
	c->longest_ns = i->dur_ns > c->longest_ns ? i->dur_ns : c->longest_ns;
	c->computes |= is_pointwise(i->class);
}

static void add(struct chains *x, uint32_t track, const struct item *i)
{
	struct chain *c = &x->of_track[track];
	x->n_all++;
	x->total_ns += i->dur_ns;
	x->pointwise_ns += is_pointwise(i->class) ? i->dur_ns : 0;
	bool goes_on = c->n && may_fuse(i->class) && i->start_ns - c->end_ns <= CHAIN_GAP_NS &&
	               same_size(c, i);
	if (!goes_on)
		end_chain(x, c);
	if (may_fuse(i->class))
		extend(c, i);
}

static void add_devices(struct chains *x)
{
	const struct trace_view *v = x->v;
	for (size_t d = 0; d < v->n_devices; d++) {
		const struct device_view *device = &v->devices[d];
		x->wall_ns += device->end_ns - device->start_ns;
		for (size_t k = 0; k < device->n; k++) {
			uint32_t number = device->order[k];
			const struct event *e = &v->t->lists[GROUP_DEVICE].v[number];
			if (e->kind != DEVICE_KERNEL) {
				end_chain(x, &x->of_track[e->track]);
				continue;
			}
			const struct event *op = operator_event(v, caller_of(v, number));
			struct item i = { .start_ns = e->start_ns,
				.dur_ns = e->dur_ns,
				.elements = elements_of_dims(x, operator_dims(v->t, op)),
				.threads = threads_of(timeline_kernel(v->t, e)),
				.name = op ? op->name : e->name,
				.class = kernel_classes_device(v->classes, e) };
			add(x, e->track, &i);
		}
	}
}

static void add_operators(struct chains *x)
{
	const struct trace_view *v = x->v;
	const struct event_list *list = &v->t->lists[GROUP_OPERATOR];
	bool *has_parts = mem_zeroed(list->n + 1, sizeof *has_parts);
	for (size_t i = 0; i < list->n; i++)
		if (v->parent[i] != NONE32)
			has_parts[v->parent[i]] = true;
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
	for (size_t k = 0; k < list->n; k++) {
		uint32_t number = v->operators_by_thread[k];
		const struct event *e = &list->v[number];
		struct item i = { .start_ns = e->start_ns,
			.dur_ns = v->self_ns[number],
			.elements = elements_of_dims(x, operator_dims(v->t, e)),
			.name = operator_type(v->t, e),
			.class = kernel_classes_operator(v->classes, e) };
		first_ns = e->start_ns < first_ns ? e->start_ns : first_ns;
		last_ns = e->start_ns + e->dur_ns > last_ns ? e->start_ns + e->dur_ns : last_ns;
		/* frames and views around the work neither belong to a chain nor end it */
		if (has_parts[number] || i.class == CLASS_VIEW || i.class == CLASS_ALLOCATION) {
			x->total_ns += i.dur_ns;
			continue;
		}
		add(x, e->track, &i);
	}
	x->wall_ns = list->n ? last_ns - first_ns : 0;
	free(has_parts);
}

/* "void at::native::f<int>(..." is "at::native::f". */
static struct str short_name(struct str name)
{
	if (str_starts(name, STR("void ")))
		name = (struct str){ name.s + 5, name.len - 5 };
	for (size_t i = 1; i < name.len; i++)
		if (name.s[i] == '<' || name.s[i] == '(' || i == NAME_MAX_SHOWN)
			name.len = i;
	return name;
}

static struct str chain_text(const struct chains *x, uint32_t kind, struct arena *run)
{
	AUTO(auto_buf) struct buf b = { 0 };
	uint32_t n = x->names_of[kind].n;
	for (uint32_t i = 0; i < n && i < CHAIN_NAMES; i++) {
		uint32_t name = x->pool[x->names_of[kind].at + i];
		if (i)
			buf_add_c(&b, " > ");
		buf_add(&b, short_name(timeline_name_of(x->v->t, name)));
	}
	if (n > CHAIN_NAMES)
		buf_add_c(&b, " > ...");
	return str_dup(buf_str(&b), run);
}

static void add_table(
        const struct chains *x, size_t top, struct arena *run, struct trace_finding *f)
{
	struct trace_table *t = finding_table(f, run, "chains");
	table_column(t, run, "chain", "");
	table_column(t, run, "length", "");
	table_column(t, run, "times", "");
	table_column(t, run, "saved_estimate", "ms");
	uint32_t *order = groups_by_total(&x->kinds, run);
	for (uint32_t i = 0; i < top && i < x->kinds.n; i++) {
		const struct group *g = &x->kinds.v[order[i]];
		table_text(t, run, chain_text(x, order[i], run));
		table_number(t, run, (double)x->names_of[order[i]].n);
		table_number(t, run, (double)g->n);
		table_number(t, run, (double)g->total_ns / 1e6);
	}
}

static void conclude(const struct chains *x, struct arena *run, struct trace_finding *f)
{
	double pointwise = (double)x->pointwise_ns / (double)x->total_ns;
	double saved = x->wall_ns > 0 ? (double)(x->saved_ns + x->gap_ns) / (double)x->wall_ns
	                              : (double)NAN;
	finding_fact_anchor(f, run, "elementwise_norm_ratio", pointwise, "ratio",
	        ELEMENTWISE_NORM_RATIO, x->n_all, "trace");
	finding_fact_estimated(
	        f, run, "fusible_ratio", saved, "ratio", x->n, "chains of kernels of equal size");
	finding_fact(f, run, "chains", (double)x->n, "1", x->n_all, "trace");
	finding_fact(f, run, "kernels_in_chains", (double)x->n_members, "1", x->n_all, "trace");
	char *text = arena_printf(run,
	        _("element-wise work and normalisation take %.0f %% of %s; chains that could "
	          "each be one: %lld, with %lld of %lld kernels or operators in them, which would "
	          "save about %.1f %% of the wall time"),
	        100 * pointwise, time_text((double)x->total_ns, run), (long long)x->n,
	        (long long)x->n_members, (long long)x->n_all, x->wall_ns > 0 ? 100 * saved : 0);
	if (pointwise >= ELEMENTWISE_NORM_RATIO && x->n)
		finding_found(f, saved, text,
		        _("Let a compiler fuse them (torch.compile, TensorRT, all graph "
		          "optimizations of ONNX Runtime, an engine with fused kernels), then look "
		          "whether these chains are gone: a custom operator or a changing shape "
		          "between them prevents it."));
	else
		finding_clear(f, text);
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	struct chains x = { .v = v,
		.of_track = mem_zeroed((size_t)v->t->tracks.n + 1, sizeof *x.of_track),
		.elements = mem_zeroed((size_t)v->t->names.n + 1, sizeof *x.elements) };
	bool on_device = false;
	for (size_t d = 0; d < v->n_devices; d++)
		on_device |= v->devices[d].n_kernels > 0;
	if (on_device)
		add_devices(&x);
	else
		add_operators(&x);
	for (size_t i = 0; i < (size_t)v->t->tracks.n + 1; i++) {
		end_chain(&x, &x.of_track[i]);
		free(x.of_track[i].names);
	}
	if (x.total_ns > 0) {
		conclude(&x, run, f);
		add_table(&x, (size_t)limits->top, run, f);
	} else {
		finding_abstain(f, _("the trace holds neither kernels nor operators"));
	}
	groups_release(&x.kinds);
	free(x.names_of);
	free(x.pool);
	free(x.of_track);
	free(x.elements);
}

const struct trace_analysis fusible_chains_analysis = { .id = "fusible_chains",
	.analyse = analyse };
