#include "trace/diff.h"

#include "stats/select.h"
#include "trace/run/aggregate.h"
#include "trace/view/view.h"
#include "trace/view/warm_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { KIND_KERNEL, KIND_MEMCPY, KIND_MEMSET, KIND_OPERATOR, KIND_CALL, N_KINDS };
static const char *const kind_names[] = { "kernel", "memcpy", "memset", "cpu_op", "runtime" };

/* One trace, and the part of it that is compared. */
struct side {
	const struct timeline *t;
	struct trace_view v;
	size_t first_step, n_steps; /* of those compared; 0: the whole trace */
	struct intern groups;       /* struct group */
	uint32_t *rows;             /* [groups.n]: row of a group + 1; 0: not looked up yet */
	uint32_t cap_rows;
	int64_t busy_ns, kernel_ns, host_ns;
};

/* What is one row within one trace: looked up by numbers, so that a name is hashed once only. */
struct group {
	uint32_t kind, name, shape;
};

struct diff {
	const struct trace_diff_options *options;
	struct arena *run;
	struct side sides[2];
	struct intern keys; /* of rows: kind, shape, name as text, which both traces share */
	struct trace_diff_row *rows;
	size_t n_rows, cap_rows;
	struct buf key, shape;
};

/* ---- names ---- */

/* The end of a bracket that opens at i; the end of the name when it is not closed. */
static size_t behind_bracket(struct str name, size_t i)
{
	char open = name.s[i], close = open == '<' ? '>' : ')';
	int depth = 0;
	for (; i < name.len; i++) {
		depth += name.s[i] == open;
		depth -= name.s[i] == close;
		if (depth == 0)
			return i + 1;
	}
	return name.len;
}

struct str trace_diff_base(struct str name)
{
	static const struct str anonymous = STR_INIT("(anonymous namespace)");
	size_t start = 0, i = 0;
	while (i < name.len) {
		struct str rest = { name.s + i, name.len - i };
		if (str_starts(rest, anonymous)) {
			i += anonymous.len;
		} else if (str_starts(rest, STR(" ["))) {
			break; /* "kernel [clone .kd]" */
		} else if (name.s[i] == ' ') {
			start = ++i; /* behind the type that it returns */
		} else if (name.s[i] == '<') {
			/* Arguments within the path of a name, as of a class, are not its end. */
			size_t end = behind_bracket(name, i);
			if (end >= name.len || name.s[end] != ':')
				break;
			i = end;
		} else if (name.s[i] == '(') {
			break;
		} else {
			i++;
		}
	}
	return i > start ? (struct str){ name.s + start, i - start } : name;
}

/* ---- rows ---- */

/* Shapes are JSON as its writer spaced it; blanks are no difference between two traces. */
static struct str without_blanks(struct str json, struct buf *tmp)
{
	bool quoted = false;
	buf_clear(tmp);
	for (size_t i = 0; i < json.len; i++) {
		quoted ^= json.s[i] == '"';
		if (quoted || (json.s[i] != ' ' && json.s[i] != '\n' && json.s[i] != '\r' &&
		                      json.s[i] != '\t'))
			buf_add_char(tmp, json.s[i]);
	}
	return buf_str(tmp);
}

static uint32_t row_of_key(struct diff *d, struct str key, const struct trace_diff_row *fresh)
{
	uint32_t known = d->keys.n ? d->keys.n : 1;
	uint32_t number = intern_add(&d->keys, key);
	if (number < known)
		return number - 1;
	if (d->n_rows == d->cap_rows) {
		d->cap_rows = d->cap_rows ? d->cap_rows * 2 : 256;
		d->rows = mem_realloc(d->rows, d->cap_rows * sizeof *d->rows);
	}
	d->rows[d->n_rows] = *fresh;
	d->rows[d->n_rows].name = str_dup(fresh->name, d->run);
	d->rows[d->n_rows].shape = str_dup(fresh->shape, d->run);
	return (uint32_t)d->n_rows++;
}

static uint32_t row_of_group(struct diff *d, const struct side *s, const struct group *g)
{
	struct trace_diff_row fresh = {
		.kind = kind_names[g->kind],
		.name = timeline_name_of(s->t, g->name),
		.shape = without_blanks(timeline_name_of(s->t, g->shape), &d->shape),
	};
	if (g->kind == KIND_KERNEL && d->options->by_base)
		fresh.name = trace_diff_base(fresh.name);
	buf_clear(&d->key);
	/* The length keeps "ab" + "c" from being "a" + "bc". */
	buf_printf(&d->key, "%u %zu ", g->kind, fresh.shape.len);
	buf_add(&d->key, fresh.shape);
	buf_add(&d->key, fresh.name);
	return row_of_key(d, buf_str(&d->key), &fresh);
}

static void count(struct diff *d, int side, const struct group *g, int64_t ns)
{
	struct side *s = &d->sides[side];
	uint32_t number = intern_add(&s->groups, (struct str){ (const char *)g, sizeof *g });
	if (number >= s->cap_rows) {
		uint32_t cap = s->cap_rows ? s->cap_rows * 2 : 256;
		s->rows = mem_realloc(s->rows, cap * sizeof *s->rows);
		memset(s->rows + s->cap_rows, 0, (cap - s->cap_rows) * sizeof *s->rows);
		s->cap_rows = cap;
	}
	if (s->rows[number] == 0)
		s->rows[number] = row_of_group(d, s, g) + 1;
	struct trace_diff_row *row = &d->rows[s->rows[number] - 1];
	row->calls[side]++;
	row->total_ns[side] = add_held(row->total_ns[side], ns);
}

/* ---- what takes part ---- */

static bool in_step(const struct side *s, uint32_t step)
{
	return s->n_steps == 0 || (step != NONE32 && step >= s->first_step);
}

static void count_device(struct diff *d, int side, const struct device_view *device)
{
	struct side *s = &d->sides[side];
	struct interval *spans = mem_zeroed(device->n + 1, sizeof *spans);
	struct arena tmp = { 0 };
	size_t n = 0;
	for (size_t k = 0; k < device->n; k++) {
		uint32_t i = device->order[k];
		const struct event *e = &s->t->lists[GROUP_DEVICE].v[i];
		if (!in_step(s, trace_step_of(&s->v, i)))
			continue;
		const struct group g = { e->kind == DEVICE_KERNEL   ? KIND_KERNEL
			                 : e->kind == DEVICE_MEMCPY ? KIND_MEMCPY
			                                            : KIND_MEMSET,
			e->name, 0 };
		count(d, side, &g, e->dur_ns);
		spans[n++] = (struct interval){ e->start_ns, e->start_ns + e->dur_ns };
		if (e->kind == DEVICE_KERNEL)
			s->kernel_ns = add_held(s->kernel_ns, e->dur_ns);
	}
	s->busy_ns = add_held(s->busy_ns, intervals_length_ns(intervals_union(spans, n, &tmp)));
	arena_release(&tmp);
	free(spans);
}

static void count_host(struct diff *d, int side)
{
	struct side *s = &d->sides[side];
	const struct event_list *operators = &s->t->lists[GROUP_OPERATOR];
	const struct event_list *calls = &s->t->lists[GROUP_CALL];
	for (size_t i = 0; i < operators->n; i++) {
		const struct event *e = &operators->v[i];
		const struct operator_detail *detail = timeline_operator(s->t, e);
		if (!in_step(s, trace_step_at(&s->v, e->start_ns)))
			continue;
		const struct group g = { KIND_OPERATOR, e->name, detail ? detail->dims : 0 };
		count(d, side, &g, s->v.self_ns[i]);
		s->host_ns = add_held(s->host_ns, s->v.self_ns[i]);
	}
	for (size_t i = 0; i < calls->n; i++) {
		const struct event *e = &calls->v[i];
		if (!in_step(s, trace_step_at(&s->v, e->start_ns)))
			continue;
		const struct group g = { KIND_CALL, e->name, 0 };
		count(d, side, &g, e->dur_ns);
	}
}

static void choose_steps(struct diff *d, struct trace_diff *ret)
{
	const struct trace_view *a = &d->sides[0].v, *b = &d->sides[1].v;
	ret->per_step = a->n_steps && b->n_steps && a->steps_from == b->steps_from;
	for (int i = 0; i < 2; i++) {
		struct side *s = &d->sides[i];
		if (ret->per_step) {
			s->first_step = trace_warm_steps(&s->v);
			s->n_steps = s->v.n_steps - s->first_step;
		}
		ret->sides[i] = (struct trace_diff_side){
			.path = arena_strdup(d->run, s->t->path),
			.format = s->t->format,
			.step_source = step_source_names[s->v.steps_from],
			.steps = (int64_t)s->v.n_steps,
			.warm_steps = (int64_t)s->first_step,
		};
	}
}

/* ---- figures ---- */

static double per_step(const struct side *s, int64_t ns)
{
	return s->n_steps ? (double)ns / (double)s->n_steps : (double)ns;
}

static double median_step_ns(const struct side *s)
{
	if (s->n_steps == 0)
		return NAN;
	int64_t *ns = mem_zeroed(s->n_steps, sizeof *ns);
	for (size_t i = 0; i < s->n_steps; i++) {
		const struct step *step = &s->v.steps[s->first_step + i];
		ns[i] = step->end_ns - step->start_ns;
	}
	double median = (double)select_median(ns, s->n_steps);
	free(ns);
	return median;
}

static void add_measure(
        struct trace_diff *ret, const char *name, bool gated, double first, double second)
{
	struct trace_diff_measure *m = &ret->measures[ret->n_measures++];
	*m = (struct trace_diff_measure){ .name = name,
		.ns = { first, second },
		.change_ratio = first > 0 ? (second - first) / first : NAN,
		.gated = gated && !isnan(ret->fail_over_ratio) };
	m->failed = m->gated && m->change_ratio > ret->fail_over_ratio;
	ret->failed |= m->failed;
}

/* A trace without device work, or operators, has no such figure: absent is not 0. */
static double some(const struct side *s, enum event_group group, int64_t ns)
{
	return s->t->lists[group].n ? per_step(s, ns) : NAN;
}

static void add_measures(const struct diff *d, struct trace_diff *ret)
{
	const struct side *a = &d->sides[0], *b = &d->sides[1];
	add_measure(ret, "step_time", true, median_step_ns(a), median_step_ns(b));
	add_measure(ret, "device_busy", true, some(a, GROUP_DEVICE, a->busy_ns),
	        some(b, GROUP_DEVICE, b->busy_ns));
	add_measure(ret, "kernel_time", false, some(a, GROUP_DEVICE, a->kernel_ns),
	        some(b, GROUP_DEVICE, b->kernel_ns));
	add_measure(ret, "host_self_time", false, some(a, GROUP_OPERATOR, a->host_ns),
	        some(b, GROUP_OPERATOR, b->host_ns));
}

static size_t kind_of(const struct trace_diff_row *row)
{
	size_t kind = 0;
	while (kind_names[kind] != row->kind)
		kind++;
	return kind;
}

static int by_delta(const void *a, const void *b)
{
	const struct trace_diff_row *x = a, *y = b;
	if (x->kind != y->kind)
		return kind_of(x) < kind_of(y) ? -1 : 1;
	double dx = fabs(x->delta_ns), dy = fabs(y->delta_ns);
	if (dx < dy || dx > dy)
		return dx > dy ? -1 : 1;
	int order = str_compare(x->name, y->name);
	return order ? order : str_compare(x->shape, y->shape);
}

static void finish_rows(struct diff *d, struct trace_diff *ret)
{
	for (size_t i = 0; i < d->n_rows; i++) {
		struct trace_diff_row *row = &d->rows[i];
		for (int k = 0; k < 2; k++) {
			row->ns[k] = per_step(&d->sides[k], row->total_ns[k]);
			row->mean_ns[k] = row->calls[k]
			                          ? (double)row->total_ns[k] / (double)row->calls[k]
			                          : NAN;
		}
		row->delta_ns = row->ns[1] - row->ns[0];
		ret->n_new += row->calls[0] == 0;
		ret->n_gone += row->calls[1] == 0;
	}
	if (d->n_rows)
		qsort(d->rows, d->n_rows, sizeof *d->rows, by_delta);
	int64_t of_kind[N_KINDS] = { 0 };
	ret->n_rows_all = (int64_t)d->n_rows;
	ret->rows = arena_new_n(d->run, struct trace_diff_row, d->n_rows + 1);
	for (size_t i = 0; i < d->n_rows; i++)
		if (of_kind[kind_of(&d->rows[i])]++ < d->options->top)
			ret->rows[ret->n_rows++] = d->rows[i];
}

void trace_diff(const struct timeline *a, const struct timeline *b,
        const struct trace_diff_options *options, struct arena *run, struct trace_diff *ret)
{
	struct diff d = { .options = options, .run = run, .sides = { { .t = a }, { .t = b } } };
	*ret = (struct trace_diff){ .fail_over_ratio = options->fail_over_ratio };
	for (int i = 0; i < 2; i++)
		trace_view_init(&d.sides[i].v, d.sides[i].t);
	choose_steps(&d, ret);
	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < d.sides[i].v.n_devices; k++)
			count_device(&d, i, &d.sides[i].v.devices[k]);
		count_host(&d, i);
	}
	add_measures(&d, ret);
	finish_rows(&d, ret);
	for (int i = 0; i < 2; i++) {
		trace_view_release(&d.sides[i].v);
		intern_release(&d.sides[i].groups);
		free(d.sides[i].rows);
	}
	intern_release(&d.keys);
	free(d.rows);
	buf_release(&d.key);
	buf_release(&d.shape);
}
