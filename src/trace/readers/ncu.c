/*
 * The reader of what Nsight Compute prints with --csv: the page of details or of chosen metrics (a
 * row for each metric and each rule of a launch), and the raw page (a row for each launch, a
 * column for each metric, a row of units first).
 *
 * Columns are found by their names alone. What the profiler and the program print before, between
 * and behind the rows is not read.
 */
#include "trace/input/number_text.h"
#include "trace/readers/readers.h"

#include "base/i18n.h"
#include "text/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t max_bytes = INT64_C(1) << 30;
static const struct str header_start = STR_INIT("\"ID\",\"Process ID\"");
/* A raw page holds a few hundred metrics for each launch. */
enum { LAUNCHES_MAX = 1 << 20, METRICS_MAX = 1 << 24 };

/* Columns that say which launch a row is of, or are words about it: everything else of a raw page
 * is a metric. */
enum column {
	COL_ID,
	COL_PROCESS,
	COL_PROCESS_NAME,
	COL_HOST,
	COL_KERNEL,
	COL_CONTEXT,
	COL_STREAM,
	COL_BLOCK,
	COL_GRID,
	COL_DEVICE,
	COL_CC,
	COL_SECTION,
	COL_METRIC,
	COL_UNIT,
	COL_VALUE,
	COL_RULE,
	COL_RULE_TYPE,
	COL_RULE_TEXT,
	COL_SPEEDUP_OF,
	COL_SPEEDUP,
	N_COLUMNS,
};

static const struct str column_names[N_COLUMNS] = {
	[COL_ID] = STR_INIT("ID"),
	[COL_PROCESS] = STR_INIT("Process ID"),
	[COL_PROCESS_NAME] = STR_INIT("Process Name"),
	[COL_HOST] = STR_INIT("Host Name"),
	[COL_KERNEL] = STR_INIT("Kernel Name"),
	[COL_CONTEXT] = STR_INIT("Context"),
	[COL_STREAM] = STR_INIT("Stream"),
	[COL_BLOCK] = STR_INIT("Block Size"),
	[COL_GRID] = STR_INIT("Grid Size"),
	[COL_DEVICE] = STR_INIT("Device"),
	[COL_CC] = STR_INIT("CC"),
	[COL_SECTION] = STR_INIT("Section Name"),
	[COL_METRIC] = STR_INIT("Metric Name"),
	[COL_UNIT] = STR_INIT("Metric Unit"),
	[COL_VALUE] = STR_INIT("Metric Value"),
	[COL_RULE] = STR_INIT("Rule Name"),
	[COL_RULE_TYPE] = STR_INIT("Rule Type"),
	[COL_RULE_TEXT] = STR_INIT("Rule Description"),
	[COL_SPEEDUP_OF] = STR_INIT("Estimated Speedup Type"),
	[COL_SPEEDUP] = STR_INIT("Estimated Speedup"),
};

struct ncu {
	struct timeline *t;
	struct csv_row header, units; /* units.n is 0 until its row was read */
	ptrdiff_t columns[N_COLUMNS];
	struct intern keys;  /* of launches: process and id */
	size_t *cap_metrics; /* [n launches]: of their arrays */
	size_t *cap_rules;
	size_t cap_launches;
	int64_t n_metrics, n_rules;
	int64_t votes; /* above 0: a point stands before fractions */
};

/* The place of the header, at the start of a line; -1: none. */
static ptrdiff_t find_header(struct str text)
{
	for (size_t from = 0; from < text.len;) {
		struct str rest = { text.s + from, text.len - from };
		ptrdiff_t at = str_find(rest, header_start);
		if (at < 0)
			return -1;
		from += (size_t)at;
		if (from == 0 || text.s[from - 1] == '\n')
			return (ptrdiff_t)from;
		from++;
	}
	return -1;
}

/* Its own messages may be all that the head shows when the program printed a lot. */
static bool recognises(const struct source *source)
{
	return find_header(source->head) >= 0 || str_starts(source->head, STR("==PROF== "));
}

static struct str field(const struct ncu *n, const struct csv_row *row, enum column column)
{
	return csv_field(row, n->columns[column]);
}

static void use_header(struct ncu *n)
{
	for (int i = 0; i < N_COLUMNS; i++)
		n->columns[i] = csv_column(&n->header, column_names[i]);
	n->units.n = 0;
}

/* "(256, 1, 1)" */
static void read_triple(struct str text, int64_t triple[3])
{
	int64_t read[3];
	text = str_trim(text);
	if (text.len < 2 || text.s[0] != '(' || text.s[text.len - 1] != ')')
		return;
	struct str rest = { text.s + 1, text.len - 2 };
	for (int i = 0; i < 3; i++)
		if (!str_to_i64(str_trim(str_cut(rest, ',', &rest)), &read[i]) || read[i] < 0)
			return;
	memcpy(triple, read, sizeof read);
}

static void *room(void *v, size_t n, size_t *cap, size_t size, struct arena *arena)
{
	if (n < *cap)
		return v;
	size_t wider = *cap ? *cap * 2 : 16;
	void *copy = arena_alloc_n(arena, wider, size);
	if (n)
		memcpy(copy, v, n * size);
	*cap = wider;
	return copy;
}

/* Room for the sizes of one more launch. */
static void widen(struct ncu *n)
{
	size_t wider = n->cap_launches ? n->cap_launches * 2 : 64;
	if (n->t->n_launches < n->cap_launches)
		return;
	n->cap_metrics = mem_realloc(n->cap_metrics, wider * sizeof *n->cap_metrics);
	n->cap_rules = mem_realloc(n->cap_rules, wider * sizeof *n->cap_rules);
	n->cap_launches = wider;
}

/* The launch that the row is of, a new one where it is the first; -1 where it cannot be kept. */
static ptrdiff_t launch_of(struct ncu *n, const struct csv_row *row)
{
	char key[128];
	struct str id = field(n, row, COL_ID), process = field(n, row, COL_PROCESS);
	int length = snprintf(key, sizeof key, "%.*s/%.*s", STR_ARG(process), STR_ARG(id));
	if (length < 0 || (size_t)length >= sizeof key)
		return -1;
	uint32_t number = intern_add(&n->keys, (struct str){ key, (size_t)length });
	if (number <= n->t->n_launches)
		return (ptrdiff_t)number - 1;
	if (n->t->n_launches == LAUNCHES_MAX)
		return -1;
	widen(n);
	n->cap_metrics[n->t->n_launches] = n->cap_rules[n->t->n_launches] = 0;
	struct profiled_launch *l = timeline_launch(n->t);
	l->kernel = timeline_name(n->t, field(n, row, COL_KERNEL));
	l->device = timeline_name(n->t, field(n, row, COL_DEVICE));
	read_triple(field(n, row, COL_GRID), l->grid);
	read_triple(field(n, row, COL_BLOCK), l->block);
	return (ptrdiff_t)n->t->n_launches - 1;
}

static void add_metric(struct ncu *n, size_t launch, struct str section, struct str name,
        struct str unit, struct str text)
{
	struct profiled_launch *l = &n->t->launches[launch];
	text = str_trim(text);
	if (text.len == 0)
		return;
	if (n->n_metrics == METRICS_MAX) {
		n->t->lost[LOST_BROKEN]++;
		return;
	}
	n->votes += number_text_vote(text);
	l->metrics = room(l->metrics, l->n_metrics, &n->cap_metrics[launch], sizeof *l->metrics,
	        &n->t->arena);
	l->metrics[l->n_metrics++] = (struct launch_metric){
		.section = timeline_name(n->t, section),
		.name = timeline_name(n->t, name),
		.unit = timeline_name(n->t, unit),
		.text = timeline_name(n->t, text),
		.value = NAN,
	};
	n->n_metrics++;
}

static void add_rule(struct ncu *n, size_t launch, const struct csv_row *row)
{
	struct profiled_launch *l = &n->t->launches[launch];
	struct str plain, speedup = str_trim(field(n, row, COL_SPEEDUP));
	l->rules =
	        room(l->rules, l->n_rules, &n->cap_rules[launch], sizeof *l->rules, &n->t->arena);
	l->rules[l->n_rules++] = (struct launch_rule){
		.section = timeline_name(n->t, field(n, row, COL_SECTION)),
		.name = timeline_name(n->t, field(n, row, COL_RULE)),
		.type = timeline_name(n->t, field(n, row, COL_RULE_TYPE)),
		.text = timeline_name(n->t, field(n, row, COL_RULE_TEXT)),
		/* A share: it has one mark at most, which stands before its fraction. */
		.speedup_percent = number_text_read(speedup,
		        memchr(speedup.s, ',', speedup.len) ? ',' : '.', &n->t->arena, &plain),
		.speedup_of = timeline_name(n->t, field(n, row, COL_SPEEDUP_OF)),
	};
	n->n_rules++;
}

static bool is_metric_column(const struct ncu *n, size_t i)
{
	for (int c = 0; c < N_COLUMNS; c++)
		if (n->columns[c] == (ptrdiff_t)i)
			return false;
	return true;
}

static void read_raw_row(struct ncu *n, const struct csv_row *row)
{
	ptrdiff_t launch = launch_of(n, row);
	if (launch < 0) {
		n->t->lost[LOST_BROKEN]++;
		return;
	}
	for (size_t i = 0; i < row->n && i < n->header.n; i++)
		if (is_metric_column(n, i))
			add_metric(n, (size_t)launch, STR(""), n->header.fields[i],
			        csv_field(&n->units, (ptrdiff_t)i), row->fields[i]);
}

static void read_details_row(struct ncu *n, const struct csv_row *row)
{
	ptrdiff_t launch = launch_of(n, row);
	if (launch < 0) {
		n->t->lost[LOST_BROKEN]++;
		return;
	}
	struct str name = field(n, row, COL_METRIC);
	if (name.len)
		add_metric(n, (size_t)launch, field(n, row, COL_SECTION), name,
		        field(n, row, COL_UNIT), field(n, row, COL_VALUE));
	if (field(n, row, COL_RULE).len)
		add_rule(n, (size_t)launch, row);
}

/* Rows of launches begin with their number; the rest is units, messages, and what the program
 * printed. */
static bool is_launch_row(const struct ncu *n, const struct csv_row *row)
{
	int64_t id;
	return row->n > 1 && str_to_i64(str_trim(field(n, row, COL_ID)), &id) && id >= 0 &&
	       field(n, row, COL_KERNEL).len > 0;
}

static void swap_rows(struct csv_row *a, struct csv_row *b)
{
	struct csv_row kept = *a;
	*a = *b;
	*b = kept;
}

static void read_rows(struct ncu *n, struct csv *csv)
{
	struct csv_row row = { 0 };
	while (csv_next(csv, &row)) {
		bool is_raw = n->columns[COL_METRIC] < 0;
		if (str_starts(row.raw, header_start)) {
			/* Another run behind the first. */
			swap_rows(&n->header, &row);
			use_header(n);
		} else if (is_launch_row(n, &row) && is_raw) {
			read_raw_row(n, &row);
		} else if (is_launch_row(n, &row)) {
			read_details_row(n, &row);
		} else if (is_raw && row.n == n->header.n && field(n, &row, COL_ID).len == 0) {
			swap_rows(&n->units, &row);
		} else if (str_starts(row.raw, STR("\""))) {
			n->t->lost[LOST_BROKEN]++;
		}
	}
	csv_row_release(&row);
}

/* A raw page of an old version says the grid in metrics only. */
static void fill_triple(const struct timeline *t, const struct profiled_launch *l,
        int64_t triple[3], const char *what)
{
	if (triple[0] >= 0)
		return;
	int64_t read[3] = { -1, -1, -1 };
	for (size_t i = 0; i < l->n_metrics; i++) {
		for (int axis = 0; axis < 3; axis++) {
			char name[64];
			snprintf(name, sizeof name, "launch__%s_dim_%c", what, "xyz"[axis]);
			double v = l->metrics[i].value;
			if (v >= 0 && v < 1e12 &&
			        str_eq(timeline_name_of(t, l->metrics[i].name), str_of(name)))
				read[axis] = (int64_t)v;
		}
	}
	if (read[0] >= 0 && read[1] >= 0 && read[2] >= 0)
		memcpy(triple, read, sizeof read);
}

/* Numbers are read when all of them have voted on what a comma means. */
static void read_numbers(struct ncu *n)
{
	struct arena tmp = { 0 };
	char mark = n->votes < 0 ? ',' : '.';
	for (size_t i = 0; i < n->t->n_launches; i++) {
		struct profiled_launch *l = &n->t->launches[i];
		for (size_t k = 0; k < l->n_metrics; k++) {
			struct launch_metric *m = &l->metrics[k];
			struct str plain;
			m->value = number_text_read(
			        timeline_name_of(n->t, m->text), mark, &tmp, &plain);
			m->text = timeline_name(n->t, plain);
			arena_rewind(&tmp);
		}
		fill_triple(n->t, l, l->grid, "grid");
		fill_triple(n->t, l, l->block, "block");
	}
	arena_release(&tmp);
}

static void read_text(struct ncu *n, struct str text)
{
	struct csv csv = csv_of(text, ',');
	if (csv_next(&csv, &n->header)) {
		use_header(n);
		read_rows(n, &csv);
	}
	read_numbers(n);
	n->t->truncated |= csv.cut;
	n->t->n_events = (int64_t)n->t->n_launches;
	tallies_add(&n->t->rows, timeline_name(n->t, STR("metric")), n->n_metrics);
	tallies_add(&n->t->rows, timeline_name(n->t, STR("rule")), n->n_rules);
	csv_release(&csv);
}

static bool read(struct source *source, struct timeline *t, struct err *err)
{
	AUTO(auto_buf) struct buf text = { 0 };
	if (!source_read_all(source, max_bytes, &text, err))
		return false;
	ptrdiff_t at = find_header(buf_str(&text));
	if (at < 0)
		return err_set(err, ERR_INPUT,
		        _("'%s' has messages of Nsight Compute, but no table; write it with --csv"),
		        source->path);
	struct ncu n = { .t = t };
	/* Numbers of keys are one more than those of launches: 0 is the empty key. */
	read_text(&n, (struct str){ text.s + at, text.len - (size_t)at });
	csv_row_release(&n.header);
	csv_row_release(&n.units);
	intern_release(&n.keys);
	free(n.cap_metrics);
	free(n.cap_rules);
	return true;
}

const struct trace_reader ncu_reader = { "ncu-csv", recognises, read };
