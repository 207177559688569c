/*
 * Do shapes keep changing, and does each new one cost: compilation, loading of modules, tuning, or
 * a first call that is slower than its repeats?
 *
 * A shape is the whole of an operator's "Input Dims". What is new in the first step (or in the
 * steps that warm up) says nothing; what is new after it goes on for ever.
 *
 * first over repeats, of operators: over operators and shapes first seen in the steady state and
 *     called again: sum of the own times of the first calls / sum of the medians of their repeats
 * first over repeats, of steps: the same of whole steps; the shape of a step is its operators
 *     with theirs
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/compile_events.h"

#include "base/i18n.h"
#include "base/units.h"
#include "trace/view/warm_steps.h"

#include <stdlib.h>

/* The first call of a shape takes three times its repeats or more: the catalogue of causes,
 * dynamic_shape_recompile. */
#define FIRST_OVER_REPEATS 3.0
/* Less than a hundredth of the time is not worth a change: no comparison of runs would show it. */
#define WORTH_RATIO 0.01

/* An operator with one of its shapes. */
struct variant {
	uint32_t name, dims;
};

struct variant_times {
	int64_t first_start_ns, first_self_ns;
	int64_t n;
	uint32_t first; /* the event */
};

/* A time that belongs to a group: self times of calls, durations of steps. */
struct member {
	uint32_t group;
	int64_t ns;
};

/* First against repeats, summed over the groups that have both. */
struct firsts {
	int64_t n, first_ns, repeat_ns;
	int64_t extra_ns; /* by which the first were longer */
};

struct churn {
	const struct trace_view *v;
	struct steady_part steady;
	struct intern variants;      /* struct variant */
	struct variant_times *times; /* [variants.n] */
	uint32_t *variant_of;        /* of each operator; 0: it has no shape */
	uint32_t *n_variants;        /* by name */
	int64_t *n_calls;            /* by name, of calls with a shape */
	int64_t n_shaped;            /* calls with a shape */
	int64_t most;                /* variants of one operator */
	int64_t n_new_variants, n_new_kernels;
	int64_t n_recompiled; /* versions of compiled regions beyond the first */
	struct compile_events compile;
	struct firsts operators, steps;
	struct arena tmp;
};

static void count_variants(struct churn *c)
{
	const struct timeline *t = c->v->t;
	const struct event_list *list = &t->lists[GROUP_OPERATOR];
	c->variant_of = arena_alloc_n(&c->tmp, list->n + 1, sizeof *c->variant_of);
	c->n_variants = arena_alloc_n(&c->tmp, (size_t)t->names.n + 1, sizeof *c->n_variants);
	c->n_calls = arena_alloc_n(&c->tmp, (size_t)t->names.n + 1, sizeof *c->n_calls);
	for (size_t i = 0; i < list->n; i++) {
		const struct operator_detail *d = timeline_operator(t, &list->v[i]);
		if (!d || d->dims == 0)
			continue;
		struct variant key = { list->v[i].name, d->dims };
		uint32_t known = c->variants.n ? c->variants.n : 1;
		c->variant_of[i] =
		        intern_add(&c->variants, (struct str){ (const char *)&key, sizeof key });
		c->n_variants[key.name] += c->variant_of[i] >= known;
		c->n_calls[key.name]++;
		c->n_shaped++;
		if (c->n_variants[key.name] > c->most)
			c->most = c->n_variants[key.name];
	}
}

static void find_firsts(struct churn *c)
{
	const struct event_list *list = &c->v->t->lists[GROUP_OPERATOR];
	c->times = arena_alloc_n(&c->tmp, (size_t)c->variants.n + 1, sizeof *c->times);
	for (size_t i = 0; i < list->n; i++) {
		struct variant_times *times = &c->times[c->variant_of[i]];
		if (c->variant_of[i] == 0)
			continue;
		if (times->n++ && times->first_start_ns <= list->v[i].start_ns)
			continue;
		times->first_start_ns = list->v[i].start_ns;
		times->first_self_ns = c->v->self_ns[i];
		times->first = (uint32_t)i;
	}
	for (uint32_t k = 1; k < c->variants.n; k++)
		c->n_new_variants += c->times[k].first_start_ns >= c->steady.start_ns;
}

static int by_group(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Adds to f the groups of repeats; first_ns tells of a group how long its first took. */
static void compare_firsts(
        struct firsts *f, struct member *repeats, size_t n, const int64_t *first_ns)
{
	qsort(repeats, n, sizeof *repeats, by_group);
	for (size_t i = 0, end; i < n; i = end) {
		uint32_t group = repeats[i].group;
		for (end = i; end < n && repeats[end].group == group;)
			end++;
		int64_t median = repeats[i + (end - i - 1) / 2].ns;
		f->n++;
		f->first_ns += first_ns[group];
		f->repeat_ns += median;
		if (first_ns[group] > median)
			f->extra_ns += first_ns[group] - median;
	}
}

static void compare_operators(struct churn *c)
{
	const struct event_list *list = &c->v->t->lists[GROUP_OPERATOR];
	struct member *repeats = mem_zeroed(list->n + 1, sizeof *repeats);
	int64_t *first_ns = mem_zeroed((size_t)c->variants.n + 1, sizeof *first_ns);
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++) {
		uint32_t group = c->variant_of[i];
		const struct variant_times *times = &c->times[group];
		if (group == 0 || times->first == i || times->first_start_ns < c->steady.start_ns)
			continue;
		first_ns[group] = times->first_self_ns;
		repeats[n++] = (struct member){ group, c->v->self_ns[i] };
	}
	compare_firsts(&c->operators, repeats, n, first_ns);
	free(repeats);
	free(first_ns);
}

/* A number spread over all 64 bits: the finalizer of splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t spread(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Of each step the sum over its operators of what they and their shapes are: equal for equal work,
 * in whatever order it was done. */
static uint64_t *step_shapes(const struct churn *c)
{
	const struct event_list *list = &c->v->t->lists[GROUP_OPERATOR];
	uint64_t *shapes = mem_zeroed(c->v->n_steps + 1, sizeof *shapes);
	for (size_t i = 0; i < list->n; i++) {
		uint32_t step = trace_step_at(c->v, list->v[i].start_ns);
		if (c->variant_of[i] && step != NONE32)
			shapes[step] += spread(c->variant_of[i]);
	}
	return shapes;
}

static void compare_steps(struct churn *c)
{
	const struct step *steps = c->v->steps;
	uint64_t *shapes = step_shapes(c);
	struct member *repeats = mem_zeroed(c->v->n_steps + 1, sizeof *repeats);
	int64_t *first_ns = mem_zeroed(c->v->n_steps + 2, sizeof *first_ns);
	struct intern groups = { 0 };
	size_t n = 0;
	for (size_t i = 0; i < c->v->n_steps; i++) {
		uint32_t known = groups.n ? groups.n : 1;
		uint32_t group = intern_add(
		        &groups, (struct str){ (const char *)&shapes[i], sizeof shapes[i] });
		int64_t ns = steps[i].end_ns - steps[i].start_ns;
		if (group >= known) /* the first; -1: of the steps that warm up */
			first_ns[group] = i >= c->steady.first_step ? ns : -1;
		else if (first_ns[group] >= 0)
			repeats[n++] = (struct member){ group, ns };
	}
	compare_firsts(&c->steps, repeats, n, first_ns);
	intern_release(&groups);
	free(first_ns);
	free(repeats);
	free(shapes);
}

static void count_new_kernels(struct churn *c)
{
	const struct timeline *t = c->v->t;
	const struct event_list *list = &t->lists[GROUP_DEVICE];
	bool *early = mem_zeroed((size_t)t->names.n + 1, sizeof *early);
	for (uint32_t i = 0; i < list->n; i++)
		if (list->v[i].kind == DEVICE_KERNEL &&
		        trace_asked_ns(c->v, i) < c->steady.start_ns)
			early[list->v[i].name] = true;
	for (uint32_t i = 0; i < list->n; i++) {
		if (list->v[i].kind == DEVICE_KERNEL && !early[list->v[i].name]) {
			early[list->v[i].name] = true;
			c->n_new_kernels++;
		}
	}
	free(early);
}

/* "Torch-Compiled Region: 0/2" is the third version of region 0: compiled twice more than once. */
static void count_recompiled(struct churn *c)
{
	static const struct str region = STR_INIT("Torch-Compiled Region: ");
	const struct timeline *t = c->v->t;
	for (uint32_t i = 1; i < t->names.n; i++) {
		struct str name = timeline_name_of(t, i), version;
		int64_t number;
		if (!str_starts(name, region))
			continue;
		name.s += region.len;
		name.len -= region.len;
		str_cut(name, '/', &version);
		if (str_to_i64(version, &number) && number > 0)
			c->n_recompiled++;
	}
}

struct variant_row {
	struct str name;
	int64_t variants, calls;
};

static int by_variants(const void *a, const void *b)
{
	const struct variant_row *x = a, *y = b;
	if (x->variants != y->variants)
		return x->variants > y->variants ? -1 : 1;
	return str_compare(x->name, y->name);
}

static void variants_table(
        const struct churn *c, int64_t top, struct trace_finding *f, struct arena *run)
{
	const struct timeline *t = c->v->t;
	struct variant_row *rows = mem_zeroed((size_t)t->names.n + 1, sizeof *rows);
	size_t n = 0;
	for (uint32_t i = 1; i < t->names.n; i++)
		if (c->n_variants[i])
			rows[n++] = (struct variant_row){ timeline_name_of(t, i), c->n_variants[i],
				c->n_calls[i] };
	qsort(rows, n, sizeof *rows, by_variants);
	struct trace_table *table = finding_table(f, run, "shape_variants");
	table_column(table, run, "operator", "");
	table_column(table, run, "variants", "");
	table_column(table, run, "calls", "");
	for (size_t i = 0; i < n && (int64_t)i < top; i++) {
		table_text(table, run, str_dup(rows[i].name, run));
		table_number(table, run, (double)rows[i].variants);
		table_number(table, run, (double)rows[i].calls);
	}
	free(rows);
}

static double over_repeats(const struct firsts *f)
{
	return f->repeat_ns > 0 ? (double)f->first_ns / (double)f->repeat_ns : NAN;
}

/* Whole steps say best what a new shape costs; where none comes again, single operators do. */
static const struct firsts *best_firsts(const struct churn *c)
{
	return c->steps.repeat_ns > 0 ? &c->steps : &c->operators;
}

static int64_t wall_ns(const struct churn *c)
{
	return c->steady.end_ns - c->steady.start_ns;
}

static double share_of_wall(const struct churn *c, int64_t ns)
{
	return wall_ns(c) > 0 ? (double)ns / (double)wall_ns(c) : 0;
}

static void facts_of_steady_state(const struct churn *c, struct trace_finding *f, struct arena *run)
{
	const struct firsts *firsts = best_firsts(c);
	finding_fact(f, run, "shapes_new_in_steady_state", (double)c->n_new_variants, "1",
	        c->n_shaped, "trace");
	finding_fact(f, run, "kernels_new_in_steady_state", (double)c->n_new_kernels, "1",
	        (int64_t)c->v->t->lists[GROUP_DEVICE].n, "trace");
	if (firsts->repeat_ns > 0)
		finding_fact_anchor(f, run, "first_of_shape_over_repeats", over_repeats(firsts),
		        "ratio", FIRST_OVER_REPEATS, firsts->n, "trace");
	else
		finding_fact_absent(f, run, "first_of_shape_over_repeats", "ratio",
		        _("no shape is new after the first step and comes again"));
	int64_t cost =
	        firsts->extra_ns > c->compile.total_ns ? firsts->extra_ns : c->compile.total_ns;
	finding_fact_anchor(f, run, "shape_churn_ratio", share_of_wall(c, cost), "ratio",
	        WORTH_RATIO, firsts->n + c->compile.n, "trace");
}

static void facts(const struct churn *c, struct trace_finding *f, struct arena *run)
{
	static const char *const of_steady_state[][2] = {
		{ "shapes_new_in_steady_state", "1" },
		{ "kernels_new_in_steady_state", "1" },
		{ "first_of_shape_over_repeats", "ratio" },
		{ "shape_churn_ratio", "ratio" },
	};
	finding_fact(f, run, "operator_calls_with_shape", (double)c->n_shaped, "1", c->n_shaped,
	        "trace");
	finding_fact(f, run, "shape_variants_max", (double)c->most, "1", c->n_shaped, "trace");
	if (c->steady.by_steps)
		facts_of_steady_state(c, f, run);
	for (size_t i = 0; !c->steady.by_steps && i < ARRAY_LEN(of_steady_state); i++)
		finding_fact_absent(f, run, of_steady_state[i][0], of_steady_state[i][1],
		        _("the trace has fewer than two steps"));
	finding_fact(f, run, "compiled_again", (double)c->n_recompiled, "1", 0, "trace");
	finding_fact(f, run, "compile_events", (double)c->compile.n, "1", c->compile.n, "trace");
	finding_fact(
	        f, run, "compile_ns", (double)c->compile.total_ns, "ns", c->compile.n, "trace");
}

static const char advice[] =
        N_("Run a warm-up over the real set of shapes before readiness; bring inputs to a few "
           "sizes (buckets, padding), or compile with dynamic shapes; keep the caches of the "
           "compiler and the tuner between starts.");

static void tell_compile(const struct churn *c, struct trace_finding *f, struct arena *run)
{
	char took[UNITS_TEXT], of[UNITS_TEXT];
	units_duration((double)c->compile.total_ns, took);
	units_duration((double)wall_ns(c), of);
	double share = share_of_wall(c, c->compile.total_ns);
	const char *text =
	        c->steady.by_steps
	                ? _("after warm-up %s of %s (%.1f %%) still went into compiling, loading "
	                    "modules, tuning or capturing graphs, in %lld events")
	                : _("%s of the trace's %s (%.1f %%) went into compiling, loading modules, "
	                    "tuning or capturing graphs, in %lld events; without two steps it "
	                    "cannot be told whether that is warm-up");
	finding_found(f, share,
	        arena_printf(run, text, took, of, 100 * share, (long long)c->compile.n), _(advice));
}

static void tell_firsts(const struct churn *c, struct trace_finding *f, struct arena *run)
{
	const struct firsts *firsts = best_firsts(c);
	double share = share_of_wall(c, firsts->extra_ns);
	const char *text =
	        firsts == &c->steps
	                ? _("the first step of a new shape took %.1f times its repeats (%lld "
	                    "shapes); that is %.1f %% of the time after warm-up")
	                : _("the first call of an operator with a new shape took %.1f times its "
	                    "repeats (%lld shapes); that is %.1f %% of the time after warm-up");
	char *told =
	        arena_printf(run, text, over_repeats(firsts), (long long)firsts->n, 100 * share);
	if (share >= WORTH_RATIO)
		finding_found(f, share, told, _(advice));
	else
		finding_clear(f, told);
}

static void tell(const struct churn *c, struct trace_finding *f, struct arena *run)
{
	if (wall_ns(c) <= 0)
		finding_abstain(f, _("the trace has no spans"));
	else if (share_of_wall(c, c->compile.total_ns) >= WORTH_RATIO)
		tell_compile(c, f, run);
	else if (over_repeats(best_firsts(c)) >= FIRST_OVER_REPEATS)
		tell_firsts(c, f, run);
	else if (c->n_shaped == 0)
		finding_abstain(f, _("the shapes of operators were not recorded (record_shapes)"));
	else if (!c->steady.by_steps)
		finding_abstain(f, _("without two steps it cannot be told which shapes are new"));
	else
		finding_clear(f, arena_printf(run,
		                         _("shapes of operators that are new after the first step: "
		                           "%lld; what is compiled, loaded or tuned after it takes "
		                           "%.1f %% of the time"),
		                         (long long)c->n_new_variants,
		                         100 * share_of_wall(c, c->compile.total_ns)));
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	struct churn c = { .v = v, .steady = trace_steady_part(v) };
	count_variants(&c);
	find_firsts(&c);
	if (c.steady.by_steps) {
		compare_operators(&c);
		compare_steps(&c);
		count_new_kernels(&c);
	}
	count_recompiled(&c);
	c.compile = compile_events_find(v, c.steady.start_ns, f, run);
	variants_table(&c, limits->top, f, run);
	facts(&c, f, run);
	tell(&c, f, run);
	intern_release(&c.variants);
	arena_release(&c.tmp);
}

const struct trace_analysis shape_churn_analysis = { "shape_churn", analyse };
