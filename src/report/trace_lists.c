#include "report/trace_parts.h"

#include "base/i18n.h"
#include "base/units.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

/* How a kind is listed. */
static const struct list {
	const char *kind;
	int rows; /* unless --top says how many; 0: only when nothing else is listed */
	const char *title;
	bool has_class, has_self;
} lists[] = {
	{ "kernel", 10, N_("Kernels: %s; calls: %lld, names: %lld; shares are of this time."), true,
	        false },
	{ "memcpy", 0, N_("Copies: %s; calls: %lld, names: %lld; shares are of this time."), false,
	        false },
	{ "memset", 0, N_("Memsets: %s; calls: %lld, names: %lld; shares are of this time."), false,
	        false },
	{ "cpu_op", 6,
	        N_("Operators: %s of their own, without what they call; calls: %lld, names: %lld; "
	           "shares are of this time."),
	        true, true },
	{ "runtime", 5,
	        N_("Calls of the runtime: %s; calls: %lld, names: %lld; shares are of this time."),
	        false, false },
	{ "other", 0,
	        N_("Other spans, which may lie in each other: %s; spans: %lld, names: %lld; shares "
	           "are of this time."),
	        false, false },
	{ "annotation", 4,
	        N_("Ranges of the program, which may lie in each other: %s; ranges: %lld, names: "
	           "%lld; shares are of this time."),
	        false, false },
};

enum { INDENT = 3, CELLS_MAX = 7, KEY_COLUMNS = 30, NAME_COLUMNS_MIN = 24, GAP_COLUMNS = 2 };

/* The cells of a row, but for the name. */
struct cells {
	const char *v[CELLS_MAX];
	int n;
};

static size_t rows_of(const struct trace_run *r, const char *kind, size_t *ret_first)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n_operators; i++) {
		if (strcmp(r->operators[i].kind, kind) != 0)
			continue;
		if (n++ == 0)
			*ret_first = i;
	}
	return n;
}

static bool has_keys(const struct report_trace_options *options)
{
	return options->by && strcmp(options->by, "name") != 0 && strcmp(options->by, "class") != 0;
}

/* Counted by class, the class is the name. */
static bool has_class(const struct list *list, const struct report_trace_options *options)
{
	return list->has_class && !(options->by && strcmp(options->by, "class") == 0);
}

static void head_cells(
        const struct list *list, const struct report_trace_options *options, struct cells *ret)
{
	*ret = (struct cells){
		{ _("share"), list->has_self ? _("own time") : _("time"), _("calls"), _("mean") }, 4
	};
	if (has_class(list, options))
		ret->v[ret->n++] = _("class");
	if (has_keys(options))
		ret->v[ret->n++] = options->by;
}

static void row_cells(const struct list *list, const struct report_trace_options *options,
        const struct trace_operator *o, struct arena *tmp, struct cells *ret)
{
	char share[LAYOUT_NUMBER], time[UNITS_TEXT], mean[UNITS_TEXT];
	int64_t time_ns = list->has_self ? o->self_ns : o->total_ns;
	double mean_ns = (double)time_ns / (double)o->calls;
	*ret = (struct cells){ { arena_strdup(tmp, trace_percent(o->ratio, share)),
		                       arena_strdup(tmp, units_duration((double)time_ns, time)),
		                       arena_printf(tmp, "%lld", (long long)o->calls),
		                       arena_strdup(tmp, units_duration(mean_ns, mean)) },
		4 };
	if (has_class(list, options))
		ret->v[ret->n++] = o->class_name ? trace_class_word(o->class_name) : "";
	if (has_keys(options)) {
		AUTO(auto_buf) struct buf key = { 0 };
		trace_short_name(&key, o->key, KEY_COLUMNS);
		ret->v[ret->n++] = key.len ? arena_strdup(tmp, key.s) : "-";
	}
}

static void widen(const struct cells *cells, int widths[CELLS_MAX])
{
	for (int i = 0; i < cells->n; i++) {
		int width = utf8_width(str_of(cells->v[i]));
		if (width > widths[i])
			widths[i] = width;
	}
}

/* The columns that the other cells leave for the name. */
static int name_columns(const int widths[CELLS_MAX], int n)
{
	int left = LAYOUT_COLUMNS;
	for (int i = 0; i < n; i++)
		left -= widths[i] + GAP_COLUMNS;
	return left > NAME_COLUMNS_MIN ? left : NAME_COLUMNS_MIN;
}

static void add_row(const struct cells *cells, const char *name, struct table *t)
{
	for (int i = 0; i < cells->n; i++)
		table_cell(t, "%s", cells->v[i]);
	table_cell(t, "%s", name);
}

/* Four numbers, then up to two texts and the name. */
static const char *const aligns[] = { "rrrrl", "rrrrll", "rrrrlll" };

/* The table of the first n rows. */
static void print_rows(const struct list *list, const struct report_trace_options *options,
        const struct trace_operator *rows, size_t n, struct arena *tmp, struct buf *out)
{
	struct cells head, *cells = arena_new_n(tmp, struct cells, n);
	int widths[CELLS_MAX] = { 0 };
	struct table t;
	head_cells(list, options, &head);
	widen(&head, widths);
	for (size_t i = 0; i < n; i++) {
		row_cells(list, options, &rows[i], tmp, &cells[i]);
		widen(&cells[i], widths);
	}
	int columns = name_columns(widths, head.n);
	table_init(&t, tmp, aligns[head.n - 4]);
	add_row(&head, _("name"), &t);
	for (size_t i = 0; i < n; i++) {
		AUTO(auto_buf) struct buf name = { 0 };
		if (list->has_class && !has_class(list, options))
			buf_add_c(&name, trace_class_word(str_c(rows[i].name, tmp)));
		else
			trace_short_name(&name, rows[i].name, columns);
		add_row(&cells[i], name.len ? name.s : "-", &t);
	}
	table_print(&t, out);
}

static const struct trace_kind_total *total_of(const struct trace_run *r, const char *kind)
{
	for (size_t i = 0; i < r->n_kinds; i++)
		if (strcmp(r->kinds[i].kind, kind) == 0)
			return &r->kinds[i];
	return NULL;
}

/* Of one name, the ranges are the steps, which are told below. */
static bool is_shown(const struct list *list, const struct trace_run *r,
        const struct report_trace_options *options, size_t n)
{
	bool is_alone = n == r->n_operators;
	if (n == 0 || is_alone)
		return n > 0;
	if (strcmp(list->kind, "annotation") == 0 && !options->top)
		return total_of(r, list->kind)->names > 1;
	return list->rows > 0;
}

static void print_list(const struct list *list, const struct trace_run *r,
        const struct report_trace_options *options, struct arena *tmp, struct buf *out)
{
	char time[UNITS_TEXT];
	size_t first = 0;
	size_t n = rows_of(r, list->kind, &first);
	if (!is_shown(list, r, options, n))
		return;
	if (!options->top && list->rows > 0 && n > (size_t)list->rows)
		n = (size_t)list->rows;
	const struct trace_kind_total *total = total_of(r, list->kind);
	int64_t time_ns = list->has_self ? total->self_ns : total->total_ns;
	buf_add_char(out, '\n');
	layout_wrap(out,
	        arena_printf(tmp, _(list->title), units_duration((double)time_ns, time),
	                (long long)total->calls, (long long)total->names),
	        0, INDENT);
	print_rows(list, options, &r->operators[first], n, tmp, out);
}

/* GB/s of the calls whose size is known; of a few bytes it would be the cost of the call. */
static const char *copy_rate(const struct trace_copy *c, char out[LAYOUT_NUMBER])
{
	double rate = c->total_ns > 0 ? (double)c->bytes / (double)c->total_ns : NAN;
	if (c->unknown_bytes_calls > 0 || c->small == c->calls)
		rate = NAN;
	return layout_number(rate, out);
}

/* Below 0: the trace cannot tell. */
static void count_cell(struct table *t, int64_t n)
{
	if (n >= 0)
		table_cell(t, "%lld", (long long)n);
	else
		table_cell(t, "-");
}

/* The count of small ones has those of unknown size in it. */
static int64_t known_small(const struct trace_copy *c)
{
	return c->unknown_bytes_calls == c->calls || c->small < c->unknown_bytes_calls
	               ? -1
	               : c->small - c->unknown_bytes_calls;
}

static void print_copies(const struct trace_run *r, struct arena *tmp, struct buf *out)
{
	struct table t;
	char time[UNITS_TEXT], size[UNITS_TEXT], rate[LAYOUT_NUMBER];
	if (r->n_copies == 0)
		return;
	table_init(&t, tmp, "lrrrrrr");
	static const char *const heads[] = { N_("copies"), N_("calls"), N_("time"), N_("size"),
		N_("GB/s"), N_("under 64 KiB"), N_("pageable") };
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_cell(&t, "%s", _(heads[i]));
	for (size_t i = 0; i < r->n_copies; i++) {
		const struct trace_copy *c = &r->copies[i];
		bool is_known = c->unknown_bytes_calls < c->calls;
		table_cell(&t, "%.*s", STR_ARG(c->kind));
		table_cell(&t, "%lld", (long long)c->calls);
		table_cell(&t, "%s", units_duration((double)c->total_ns, time));
		table_cell(&t, "%s", is_known ? units_size((double)c->bytes, size) : "-");
		table_cell(&t, "%s", copy_rate(c, rate));
		count_cell(&t, known_small(c));
		count_cell(&t, c->pageable);
	}
	buf_add_char(out, '\n');
	table_print(&t, out);
}

static void print_steps(const struct trace_run *r, struct arena *tmp, struct buf *out)
{
	const struct trace_steps *s = &r->steps;
	char median[UNITS_TEXT], mean[UNITS_TEXT], ratio[LAYOUT_NUMBER];
	if (s->n == 0)
		return;
	buf_add_char(out, '\n');
	units_duration(s->median_ns, median);
	units_duration(s->mean_ns, mean);
	const char *source = trace_steps_word(s->source);
	if (s->n == 1)
		layout_wrap(out, arena_printf(tmp, _("Steps, %s: 1, of %s."), source, median), 0,
		        INDENT);
	else if (isnan(s->gap_ratio))
		layout_wrap(out,
		        arena_printf(tmp, _("Steps, %s: %lld; median %s, mean %s."), source,
		                (long long)s->n, median, mean),
		        0, INDENT);
	else
		layout_wrap(out,
		        arena_printf(tmp,
		                _("Steps, %s: %lld; median %s, mean %s; between them the device is "
		                  "idle for %s of the time from start to start."),
		                source, (long long)s->n, median, mean,
		                trace_percent(s->gap_ratio, ratio)),
		        0, INDENT);
}

void trace_lists(const struct trace_run *r, const struct report_trace_options *options,
        struct arena *tmp, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		print_list(&lists[i], r, options, tmp, out);
	print_copies(r, tmp, out);
	print_steps(r, tmp, out);
}
