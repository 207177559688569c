/*
 * Operators: every event is counted under its name, and under what --by asks for, in the numbers of
 * its own file; file by file the rows are then joined by their texts.
 */
#include "trace/run/run_parts.h"

#include "trace/kinds/kernel_class.h"
#include "trace/kinds/kernel_name.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	KIND_KERNEL,
	KIND_MEMCPY,
	KIND_MEMSET,
	KIND_OPERATOR,
	KIND_CALL,
	KIND_ANNOTATION,
	KIND_OTHER,
	N_KINDS
};

static const struct {
	const char *name;
	enum event_group group;
	uint32_t kind; /* of the events of the group */
	bool has_self;
} kinds[N_KINDS] = {
	[KIND_KERNEL] = { "kernel", GROUP_DEVICE, DEVICE_KERNEL, false },
	[KIND_MEMCPY] = { "memcpy", GROUP_DEVICE, DEVICE_MEMCPY, false },
	[KIND_MEMSET] = { "memset", GROUP_DEVICE, DEVICE_MEMSET, false },
	[KIND_OPERATOR] = { "cpu_op", GROUP_OPERATOR, 0, true },
	[KIND_CALL] = { "runtime", GROUP_CALL, 0, false },
	[KIND_ANNOTATION] = { "annotation", GROUP_ANNOTATION, 0, false },
	[KIND_OTHER] = { "other", GROUP_OTHER, 0, false },
};

/* ---- what tells rows of one name apart: --by ---- */

static const struct event *event_at(const struct trace_view *v, int kind, uint32_t i)
{
	return &v->t->lists[kinds[kind].group].v[i];
}

static uint32_t no_number(const struct trace_view *v, int kind, uint32_t i)
{
	(void)v, (void)kind, (void)i;
	return 0;
}

static uint32_t shape_number(const struct trace_view *v, int kind, uint32_t i)
{
	return event_at(v, kind, i)->detail;
}

static void add_triple(struct buf *text, const char *what, const int64_t v[3])
{
	if (v[0] >= 0)
		buf_printf(text, "%s%s %" PRId64 "x%" PRId64 "x%" PRId64, text->len ? " " : "",
		        what, v[0], v[1], v[2]);
}

/* Shapes of a file that was written with indents are those of one that was not. */
static void add_compact(struct buf *text, struct str json)
{
	for (size_t i = 0; i < json.len; i++)
		if (!strchr(" \t\r\n", json.s[i]))
			buf_add_char(text, json.s[i]);
}

static void shape_text(const struct trace_view *v, int kind, uint32_t i, struct buf *text)
{
	const struct event *e = event_at(v, kind, i);
	if (kind == KIND_OPERATOR) {
		const struct operator_detail *op = timeline_operator(v->t, e);
		add_compact(text, timeline_name_of(v->t, op ? op->dims : 0));
	} else if (kind == KIND_KERNEL) {
		const struct kernel_detail *kernel = timeline_kernel(v->t, e);
		if (!kernel)
			return;
		add_triple(text, "grid", kernel->grid);
		add_triple(text, "block", kernel->block);
	} else if (kind == KIND_MEMCPY || kind == KIND_MEMSET) {
		const struct copy_detail *copy = timeline_copy(v->t, e);
		if (copy && copy->bytes >= 0)
			buf_printf(text, "%" PRId64 " bytes", copy->bytes);
	}
}

static uint32_t stream_number(const struct trace_view *v, int kind, uint32_t i)
{
	return event_at(v, kind, i)->track;
}

static void stream_text(const struct trace_view *v, int kind, uint32_t i, struct buf *text)
{
	const struct track *track = timeline_track_of(v->t, event_at(v, kind, i)->track);
	struct str label = timeline_name_of(v->t, track->label);
	struct str stream = timeline_name_of(v->t, track->stream);
	struct str thread = timeline_name_of(v->t, track->tid);
	struct str process = timeline_name_of(v->t, track->pid);
	if (track->device != TRACE_NONE)
		buf_printf(text, "device %" PRId64 " stream %.*s", track->device,
		        STR_ARG(stream.len ? stream : thread));
	else
		buf_printf(text, "process %.*s thread %.*s", STR_ARG(process), STR_ARG(thread));
	if (label.len)
		buf_printf(text, " %.*s", STR_ARG(label));
}

/* Counted from 1; 0: outside all steps (NONE32 + 1). */
static uint32_t step_number(const struct trace_view *v, int kind, uint32_t i)
{
	uint32_t step = kinds[kind].group == GROUP_DEVICE
	                        ? trace_step_of(v, i)
	                        : trace_step_at(v, event_at(v, kind, i)->start_ns);
	return step + 1;
}

static void step_text(const struct trace_view *v, int kind, uint32_t i, struct buf *text)
{
	uint32_t number = step_number(v, kind, i);
	if (number > 0)
		buf_printf(text, "%" PRIu32, number - 1);
}

/* Rows with the same name and number are one; at the end of a file, also those of the same text. */
struct way {
	const char *by;
	uint32_t (*number)(const struct trace_view *v, int kind, uint32_t i);
	void (*text)(const struct trace_view *v, int kind, uint32_t i, struct buf *text);
	bool by_class; /* under the name of their class */
};

static const struct way ways[] = {
	{ "name", no_number, NULL, false },
	{ "class", no_number, NULL, true },
	{ "shape", shape_number, shape_text, false },
	{ "stream", stream_number, stream_text, false },
	{ "step", step_number, step_text, false },
};

static const struct way *way_of(const char *by)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (strcmp(ways[i].by, by) == 0)
			return &ways[i];
	return &ways[0];
}

/* ---- other names for the calls of a kind ---- */

enum { GROUPING_OP_TYPE, GROUPING_PROVIDER, N_GROUPINGS };

static uint32_t op_type_of(const struct trace_view *v, const struct event *e)
{
	const struct operator_detail *op = timeline_operator(v->t, e);
	return op ? op->op_type : 0;
}

static uint32_t provider_of(const struct trace_view *v, const struct event *e)
{
	const struct operator_detail *op = timeline_operator(v->t, e);
	return op ? op->provider : 0;
}

static const struct {
	const char *by;
	int kind;
	uint32_t (*name)(const struct trace_view *v, const struct event *e); /* 0: none */
} groupings[N_GROUPINGS] = {
	[GROUPING_OP_TYPE] = { "op_type", KIND_OPERATOR, op_type_of },
	[GROUPING_PROVIDER] = { "provider", KIND_OPERATOR, provider_of },
};

/* ---- all files ---- */

struct run_operators {
	const struct trace_options *options;
	const struct way *way;
	struct intern texts;               /* names and keys of all files */
	struct aggregate by_name[N_KINDS]; /* under the number of the name in texts */
	struct aggregate shapes[N_KINDS];  /* likewise: max_ns is the number of shapes */
	struct aggregate by_way[N_KINDS];  /* name << 32 | key; empty when by name */
	struct aggregate groupings[N_GROUPINGS];
	int64_t tracks[N_KINDS];
};

struct run_operators *run_operators_new(const struct trace_options *options)
{
	struct run_operators *s = mem_zeroed(1, sizeof *s);
	s->options = options;
	s->way = way_of(options->by);
	return s;
}

/* The class of the calls of a row, plus 1; 0: of a kind without classes. */
static uint32_t class_of(
        const struct trace_view *v, struct kernel_classes *classes, int kind, uint32_t i)
{
	if (kind == KIND_KERNEL)
		return kernel_classes_device(classes, event_at(v, kind, i)) + 1u;
	if (kind == KIND_OPERATOR)
		return kernel_classes_operator(classes, event_at(v, kind, i)) + 1u;
	return 0;
}

/* Joins rows under the numbers of a file to those under the numbers of all files. */
static void join_names(struct run_operators *s, const struct trace_view *v,
        const struct aggregate *from, struct aggregate *to)
{
	for (size_t i = 0; i < from->n; i++) {
		struct str name = timeline_name_of(v->t, (uint32_t)(from->rows[i].key >> 32));
		aggregate_join(to, intern_add(&s->texts, name), &from->rows[i]);
	}
}

/* The same for rows by name and key. */
static void join_ways(
        struct run_operators *s, const struct trace_view *v, int kind, const struct aggregate *from)
{
	AUTO(auto_buf) struct buf text = { 0 };
	for (size_t i = 0; i < from->n; i++) {
		const struct aggregate_row *row = &from->rows[i];
		struct str name = timeline_name_of(v->t, (uint32_t)(row->key >> 32));
		if (s->way->by_class && row->class)
			name = str_of(kernel_class_names[row->class - 1]);
		buf_clear(&text);
		if (s->way->text && row->first != NONE32)
			s->way->text(v, kind, (uint32_t)row->first, &text);
		uint64_t number = intern_add(&s->texts, name);
		aggregate_join(&s->by_way[kind],
		        number << 32 | intern_add(&s->texts, buf_str(&text)), row);
	}
}

/* One call for each different shape of a name. */
static void count_shapes(const struct trace_view *v, int kind, struct aggregate *ret)
{
	const struct event_list *list = &v->t->lists[kinds[kind].group];
	struct aggregate seen = { 0 };
	for (size_t i = 0; i < list->n && kind == KIND_OPERATOR; i++) {
		const struct operator_detail *op = timeline_operator(v->t, &list->v[i]);
		uint64_t name = (uint64_t)list->v[i].name << 32;
		if (!op || !op->dims)
			continue;
		size_t before = seen.n;
		aggregate_at(&seen, name | op->dims);
		if (seen.n > before)
			aggregate_add(ret, name, 0, 0, 0);
	}
	/* Joined over several files, the largest number counts. */
	for (size_t i = 0; i < ret->n; i++)
		ret->rows[i].max_ns = ret->rows[i].calls;
	aggregate_release(&seen);
}

static void add_groupings(struct run_operators *s, const struct trace_view *v)
{
	for (int g = 0; g < N_GROUPINGS; g++) {
		const struct event_list *list = &v->t->lists[kinds[groupings[g].kind].group];
		struct aggregate local = { 0 };
		for (size_t i = 0; i < list->n; i++) {
			uint64_t name = groupings[g].name(v, &list->v[i]);
			if (name)
				aggregate_add(&local, name << 32, 0, list->v[i].dur_ns, 0);
		}
		join_names(s, v, &local, &s->groupings[g]);
		aggregate_release(&local);
	}
}

static void set_classes(const struct trace_view *v, struct kernel_classes *classes, int kind,
        struct aggregate *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		rows->rows[i].class = class_of(v, classes, kind, (uint32_t)rows->rows[i].first);
}

/* What a summary tells without events. It knows of no shapes, streams and steps. */
static void add_summaries(const struct trace_view *v, struct kernel_classes *classes, int kind,
        struct aggregate *names)
{
	for (size_t i = 0; i < v->t->n_summaries; i++) {
		const struct summary_row *row = &v->t->summaries[i];
		if (row->group != kinds[kind].group || row->as.kind != kinds[kind].kind ||
		        row->total_ns < 0)
			continue;
		const struct aggregate_row sum = {
			.first = NONE32,
			.class = kind == KIND_KERNEL ? kernel_classes_device(classes, &row->as) + 1u
			                             : 0,
			.calls = row->calls,
			.total_ns = row->total_ns,
			.self_ns = kinds[kind].has_self ? row->total_ns : 0,
			.max_ns = row->max_ns,
		};
		aggregate_join(names, (uint64_t)row->as.name << 32, &sum);
	}
}

static void add_kind(struct run_operators *s, const struct trace_view *v,
        struct kernel_classes *classes, int kind)
{
	const struct event_list *list = &v->t->lists[kinds[kind].group];
	struct aggregate names = { 0 }, shapes = { 0 }, rows = { 0 };
	bool *seen = mem_zeroed(v->t->tracks.n + 1, sizeof *seen);
	bool by_way = s->way != &ways[0];
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		if (e->kind != kinds[kind].kind)
			continue;
		uint64_t name = (uint64_t)e->name << 32;
		int64_t self_ns = kinds[kind].has_self ? v->self_ns[i] : 0;
		aggregate_add(&names, name, (uint32_t)i, e->dur_ns, self_ns);
		if (by_way)
			aggregate_add(&rows, name | s->way->number(v, kind, (uint32_t)i),
			        (uint32_t)i, e->dur_ns, self_ns);
		s->tracks[kind] += !seen[e->track];
		seen[e->track] = true;
	}
	count_shapes(v, kind, &shapes);
	set_classes(v, classes, kind, &names);
	set_classes(v, classes, kind, &rows);
	add_summaries(v, classes, kind, &names);
	if (by_way)
		add_summaries(v, classes, kind, &rows);
	join_names(s, v, &names, &s->by_name[kind]);
	join_names(s, v, &shapes, &s->shapes[kind]);
	join_ways(s, v, kind, &rows);
	aggregate_release(&names);
	aggregate_release(&shapes);
	aggregate_release(&rows);
	free(seen);
}

void run_operators_add(struct run_operators *s, const struct trace_view *v)
{
	struct arena tmp = { 0 };
	struct kernel_classes classes;
	kernel_classes_init(&classes, v->t, &tmp);
	for (int kind = 0; kind < N_KINDS; kind++)
		add_kind(s, v, &classes, kind);
	arena_release(&tmp);
	add_groupings(s, v);
}

/* ---- the lists ---- */

static int64_t weight(const struct trace_operator *o)
{
	return o->self_ns >= 0 ? o->self_ns : o->total_ns;
}

static int by_weight(const void *a, const void *b)
{
	const struct trace_operator *x = a, *y = b;
	if (weight(x) != weight(y))
		return weight(x) < weight(y) ? 1 : -1;
	int c = str_compare(x->name, y->name);
	return c ? c : str_compare(x->key, y->key);
}

static double ratio_of(int64_t part_ns, int64_t whole_ns)
{
	return whole_ns > 0 ? (double)part_ns / (double)whole_ns : NAN;
}

static int64_t shapes_of(const struct run_operators *s, int kind, uint32_t name)
{
	const struct aggregate_row *row = aggregate_find(&s->shapes[kind], name);
	if (s->shapes[kind].n == 0 || s->way->text)
		return -1;
	return row ? row->max_ns : 0;
}

static struct trace_operator operator_of(const struct run_operators *s, int kind,
        const struct aggregate_row *row, const struct trace_kind_total *total)
{
	bool by_way = s->way != &ways[0];
	uint32_t name = (uint32_t)(by_way ? row->key >> 32 : row->key);
	struct trace_operator o = {
		.name = intern_str(&s->texts, name),
		.kind = kinds[kind].name,
		.class_name = row->class ? kernel_class_names[row->class - 1] : NULL,
		.key = by_way ? intern_str(&s->texts, (uint32_t)row->key) : STR(""),
		.calls = row->calls,
		.total_ns = row->total_ns,
		.self_ns = kinds[kind].has_self ? row->self_ns : -1,
		.mean_ns = (double)row->total_ns / (double)row->calls,
		.max_ns = row->max_ns,
		.shapes = shapes_of(s, kind, name),
	};
	o.ratio = ratio_of(weight(&o), total->self_ns >= 0 ? total->self_ns : total->total_ns);
	return o;
}

static struct trace_kind_total total_of(const struct run_operators *s, int kind)
{
	const struct aggregate *names = &s->by_name[kind];
	struct trace_kind_total total = { .kind = kinds[kind].name,
		.names = (int64_t)names->n,
		.tracks = s->tracks[kind],
		.self_ns = kinds[kind].has_self ? 0 : -1 };
	for (size_t i = 0; i < names->n; i++) {
		total.calls += names->rows[i].calls;
		total.total_ns = add_held(total.total_ns, names->rows[i].total_ns);
		if (kinds[kind].has_self)
			total.self_ns = add_held(total.self_ns, names->rows[i].self_ns);
	}
	return total;
}

/* Appends the first rows of a kind to those there are room for. */
static void finish_kind(struct run_operators *s, int kind, struct arena *run, struct trace_run *ret)
{
	const struct trace_kind_total total = total_of(s, kind);
	const struct aggregate *rows = s->way == &ways[0] ? &s->by_name[kind] : &s->by_way[kind];
	if (total.calls == 0)
		return;
	ret->kinds[ret->n_kinds++] = total;
	if (s->options->kind && strcmp(s->options->kind, kinds[kind].name) != 0)
		return;
	struct trace_operator *all = mem_zeroed(rows->n, sizeof *all);
	for (size_t i = 0; i < rows->n; i++)
		all[i] = operator_of(s, kind, &rows->rows[i], &total);
	qsort(all, rows->n, sizeof *all, by_weight);
	ret->n_operators_all += rows->n;
	for (size_t i = 0; i < rows->n && (int64_t)i < s->options->top; i++) {
		struct trace_operator *to = &ret->operators[ret->n_operators++];
		*to = all[i];
		to->name = str_dup(to->name, run);
		to->key = str_dup(to->key, run);
	}
	free(all);
}

static int by_total(const void *a, const void *b)
{
	const struct trace_group *x = a, *y = b;
	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return str_compare(x->name, y->name);
}

static void finish_grouping(struct run_operators *s, const char *by, const struct aggregate *from,
        struct arena *run, struct trace_run *ret)
{
	int64_t total_ns = 0;
	if (from->n == 0)
		return;
	struct trace_group *rows = arena_new_n(run, struct trace_group, from->n);
	for (size_t i = 0; i < from->n; i++)
		total_ns = add_held(total_ns, from->rows[i].total_ns);
	for (size_t i = 0; i < from->n; i++)
		rows[i] = (struct trace_group){
			.name = str_dup(intern_str(&s->texts, (uint32_t)from->rows[i].key), run),
			.calls = from->rows[i].calls,
			.total_ns = from->rows[i].total_ns,
			.ratio = ratio_of(from->rows[i].total_ns, total_ns),
		};
	qsort(rows, from->n, sizeof *rows, by_total);
	ret->groupings[ret->n_groupings++] = (struct trace_grouping){
		.by = by,
		.rows = rows,
		.n_rows = from->n < (size_t)s->options->top ? from->n : (size_t)s->options->top,
	};
}

static struct str class_text(const struct aggregate_row *row, struct str name)
{
	(void)name;
	return str_of(kernel_class_names[row->class - 1]);
}

static struct str short_text(const struct aggregate_row *row, struct str name)
{
	(void)row;
	return kernel_base_name(name);
}

/* Kernels under another text that follows from their name. */
static void finish_kernels_by(struct run_operators *s, const char *by,
        struct str (*text)(const struct aggregate_row *row, struct str name), struct arena *run,
        struct trace_run *ret)
{
	const struct aggregate *names = &s->by_name[KIND_KERNEL];
	struct aggregate rows = { 0 };
	for (size_t i = 0; i < names->n; i++) {
		struct str name = intern_str(&s->texts, (uint32_t)names->rows[i].key);
		uint32_t number = intern_add(&s->texts, text(&names->rows[i], name));
		aggregate_join(&rows, number, &names->rows[i]);
	}
	finish_grouping(s, by, &rows, run, ret);
	aggregate_release(&rows);
}

static int descending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x < y) - (x > y);
}

/* The share of the five kernels with the most time. */
static void finish_kernels(const struct run_operators *s, struct trace_run *ret)
{
	enum { TOP = 5 };
	const struct aggregate *names = &s->by_name[KIND_KERNEL];
	int64_t best[TOP + 1] = { 0 };
	const struct trace_kind_total total = total_of(s, KIND_KERNEL);
	for (size_t i = 0; i < names->n; i++) {
		best[TOP] = names->rows[i].total_ns;
		qsort(best, TOP + 1, sizeof *best, descending);
	}
	int64_t sum_ns = 0;
	for (int i = 0; i < TOP; i++)
		sum_ns = add_held(sum_ns, best[i]);
	ret->top5_ratio = ratio_of(sum_ns, total.total_ns);
}

static size_t n_rows_at_most(const struct run_operators *s)
{
	size_t n = 1;
	for (int kind = 0; kind < N_KINDS; kind++) {
		size_t rows = s->by_name[kind].n + s->by_way[kind].n;
		n += rows < (size_t)s->options->top ? rows : (size_t)s->options->top;
	}
	return n;
}

void run_operators_finish(struct run_operators *s, struct arena *run, struct trace_run *ret)
{
	ret->kinds = arena_new_n(run, struct trace_kind_total, N_KINDS);
	ret->operators = arena_new_n(run, struct trace_operator, n_rows_at_most(s));
	ret->groupings = arena_new_n(run, struct trace_grouping, N_GROUPINGS + 2);
	for (int kind = 0; kind < N_KINDS; kind++)
		finish_kind(s, kind, run, ret);
	finish_kernels_by(s, "class", class_text, run, ret);
	finish_kernels_by(s, "short_name", short_text, run, ret);
	for (int g = 0; g < N_GROUPINGS; g++)
		finish_grouping(s, groupings[g].by, &s->groupings[g], run, ret);
	finish_kernels(s, ret);
	for (int kind = 0; kind < N_KINDS; kind++) {
		aggregate_release(&s->by_name[kind]);
		aggregate_release(&s->shapes[kind]);
		aggregate_release(&s->by_way[kind]);
	}
	for (int g = 0; g < N_GROUPINGS; g++)
		aggregate_release(&s->groupings[g]);
	intern_release(&s->texts);
	free(s);
}
