#include "report/trace_parts.h"

#include "base/i18n.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	FINDINGS_SHOWN = 6,  /* in full; the rest in a line each */
	FINDINGS_NAMED = 16, /* in a line each; of many files there are hundreds */
	FACTS_SHOWN = 3,
	INDENT = 3,
	TABLE_ROWS = 10,
	CELL_COLUMNS = 60,
};

/* The larger share first; what cannot be told after all that can. */
static int by_share(const void *a, const void *b)
{
	const struct trace_finding *x = *(const struct trace_finding *const *)a;
	const struct trace_finding *y = *(const struct trace_finding *const *)b;
	double p = isnan(x->share_ratio) ? -1 : x->share_ratio;
	double q = isnan(y->share_ratio) ? -1 : y->share_ratio;
	if (p != q)
		return p < q ? 1 : -1;
	return (x > y) - (x < y);
}

size_t trace_pick(const struct trace_run *r, enum trace_finding_state state, bool all,
        struct arena *tmp, const struct trace_finding ***ret)
{
	const struct trace_finding **list =
	        arena_new_n(tmp, const struct trace_finding *, r->n_findings + 1);
	size_t n = 0;
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct trace_finding *f = &r->findings[i];
		if (f->state == state && (all || !trace_is_verdict(f)))
			list[n++] = f;
	}
	qsort(list, n, sizeof *list, by_share);
	*ret = list;
	return n;
}

void trace_indented(const char *mark, const char *text, struct buf *out)
{
	buf_add_blanks(out, INDENT);
	buf_add_c(out, mark);
	layout_wrap(out, text, INDENT + 2, INDENT + 2);
}

/* With --all: every fact in a line of its own, with its source. */
static void print_all_facts(const struct trace_finding *f, struct arena *tmp, struct buf *out)
{
	for (size_t i = 0; i < f->n_facts; i++) {
		const char *text = trace_fact(&f->facts[i], tmp);
		if (f->facts[i].source)
			text = arena_printf(tmp, _("%s; from: %s"), text, f->facts[i].source);
		trace_indented("- ", text, out);
	}
}

static bool is_over(const struct fact *fact)
{
	return fact->value >= fact->threshold;
}

static bool is_held(const struct fact *fact)
{
	return !isnan(fact->threshold);
}

/* Every fact is held against an anchor: then the finding is a list of checks. */
static bool is_list_of_checks(const struct trace_finding *f)
{
	for (size_t i = 0; i < f->n_facts; i++)
		if (!isnan(f->facts[i].value) && !is_held(&f->facts[i]))
			return false;
	return true;
}

/* What says nothing: a check that passed, or that something with an anchor did not happen. */
static bool is_idle_fact(const struct trace_finding *f, const struct fact *fact)
{
	return isnan(fact->value) || (is_held(fact) && fact->value == 0) ||
	       (is_list_of_checks(f) && !is_over(fact));
}

/* The first facts in one line, those that are over their anchor before the others. */
static void print_facts(const struct trace_finding *f, struct arena *tmp, struct buf *out)
{
	AUTO(auto_buf) struct buf line = { 0 };
	int n = 0;
	for (int over = 1; over >= 0; over--) {
		for (size_t i = 0; i < f->n_facts && n < FACTS_SHOWN; i++) {
			const struct fact *fact = &f->facts[i];
			if (is_idle_fact(f, fact) || is_over(fact) != over)
				continue;
			buf_printf(&line, "%s%s", n++ ? _("; ") : "", trace_fact(fact, tmp));
		}
	}
	if (line.len)
		trace_indented("- ", line.s, out);
}

static void add_cell(const struct trace_cell *cell, const char *unit, int columns, struct table *t)
{
	AUTO(auto_buf) struct buf text = { 0 };
	char number[LAYOUT_NUMBER];
	if (cell->is_text)
		trace_short_name(&text, cell->text, columns);
	else
		buf_add_c(&text, trace_value(cell->number, unit, number));
	table_cell(t, "%s", text.s ? text.s : "");
}

static void print_table(const struct trace_table *from, struct arena *tmp, struct buf *out)
{
	struct table t;
	char align[TABLE_MAX_COLUMNS + 1] = "";
	size_t n_columns =
	        from->n_columns < TABLE_MAX_COLUMNS ? from->n_columns : TABLE_MAX_COLUMNS;
	size_t n_rows = from->n_columns ? from->n_cells / from->n_columns : 0;
	if (n_rows == 0)
		return;
	int n_texts = 0;
	for (size_t i = 0; i < n_columns; i++) {
		align[i] = from->cells[i].is_text ? 'l' : 'r';
		n_texts += from->cells[i].is_text;
	}
	int cell_columns = n_texts > 3   ? CELL_COLUMNS / 3
	                   : n_texts > 1 ? CELL_COLUMNS / 2
	                                 : CELL_COLUMNS;
	table_init(&t, tmp, align);
	t.indent = INDENT + 2;
	for (size_t i = 0; i < n_columns; i++) {
		const struct trace_column *c = &from->columns[i];
		if (c->unit && c->unit[0] && strcmp(c->unit, "1") != 0 &&
		        !trace_unit_is_written(c->unit))
			table_cell(&t, "%s (%s)", c->name, c->unit);
		else
			table_cell(&t, "%s", c->name);
	}
	for (size_t row = 0; row < n_rows && row < TABLE_ROWS; row++)
		for (size_t i = 0; i < n_columns; i++)
			add_cell(&from->cells[row * from->n_columns + i], from->columns[i].unit,
			        cell_columns, &t);
	trace_indented("- ", from->name, out);
	table_print(&t, out);
}

static void print_head(const struct trace_run *r, const struct trace_finding *f, size_t place,
        struct arena *tmp, struct buf *out)
{
	char share[LAYOUT_NUMBER];
	const char *text = f->text ? f->text : f->id;
	if (r->n_files > 1)
		text = arena_printf(
		        tmp, _("%s (%s)"), text, trace_base_name(r->files[f->file].path));
	if (isnan(f->share_ratio))
		layout_wrap(
		        out, arena_printf(tmp, _("%zu. %s: %s"), place, f->id, text), 0, INDENT);
	else
		layout_wrap(out,
		        arena_printf(tmp, _("%zu. %s, %s at stake: %s"), place, f->id,
		                trace_percent(f->share_ratio, share), text),
		        0, INDENT);
}

static void print_found(const struct trace_run *r, const struct report_trace_options *options,
        struct arena *tmp, struct buf *out)
{
	const struct trace_finding **list;
	size_t n = trace_pick(r, TRACE_FOUND, options->all, tmp, &list);
	for (size_t i = 0; i < n; i++) {
		const struct trace_finding *f = list[i];
		if (i < FINDINGS_SHOWN || options->all)
			buf_add_char(out, '\n');
		if (i == FINDINGS_SHOWN && !options->all)
			buf_add_char(out, '\n');
		if (i == FINDINGS_NAMED && n > FINDINGS_NAMED + 1 && !options->all) {
			layout_wrap(out,
			        arena_printf(tmp, _("%zu more findings: see --all"), n - i), 0, 0);
			break;
		}
		print_head(r, f, i + 1, tmp, out);
		if (i >= FINDINGS_SHOWN && !options->all)
			continue;
		if (f->advice)
			trace_indented("> ", f->advice, out);
		if (options->all)
			print_all_facts(f, tmp, out);
		else
			print_facts(f, tmp, out);
		for (size_t k = 0; options->all && k < f->n_tables; k++)
			print_table(f->tables[k], tmp, out);
	}
}

/* With --all: a paragraph for each, with its facts. */
static void print_each(const struct trace_finding **list, size_t n, const char *title,
        struct arena *tmp, struct buf *out)
{
	layout_wrap(out, title, 0, 0);
	for (size_t i = 0; i < n; i++) {
		const char *why = list[i]->reason ? list[i]->reason : list[i]->text;
		trace_indented("- ",
		        why ? arena_printf(tmp, _("%s (%s)"), list[i]->id, why) : list[i]->id, out);
		print_all_facts(list[i], tmp, out);
	}
}

/* The ids in one paragraph; that of several files once. */
static void print_ids(const struct trace_finding **list, size_t n, const char *title,
        struct arena *tmp, struct buf *out)
{
	AUTO(auto_buf) struct buf line = { 0 };
	for (size_t i = 0; i < n; i++) {
		bool is_said = false;
		for (size_t k = 0; k < i && !is_said; k++)
			is_said = strcmp(list[k]->id, list[i]->id) == 0;
		if (!is_said)
			buf_printf(&line, "%s%s", i == 0 ? "" : _(", "), list[i]->id);
	}
	layout_wrap(out, arena_printf(tmp, _("%s %s"), title, line.s), 0, INDENT);
}

/* Analyses of ONNX Runtime's files, of another's: that they cannot tell is no news. */
static bool is_of_another_format(const struct trace_run *r, const struct trace_finding *f)
{
	static const char *const only_ort[] = { "ort_runs", "cpu_fallback" };
	for (size_t i = 0; i < ARRAY_LEN(only_ort); i++)
		if (strcmp(f->id, only_ort[i]) == 0)
			return strcmp(r->files[f->file].format, "ort") != 0;
	return false;
}

static void print_rest(const struct trace_run *r, enum trace_finding_state state, const char *title,
        bool all, struct arena *tmp, struct buf *out)
{
	const struct trace_finding **list;
	size_t n = trace_pick(r, state, all, tmp, &list), n_shown = 0;
	for (size_t i = 0; i < n; i++)
		if (all || !is_of_another_format(r, list[i]))
			list[n_shown++] = list[i];
	if (n_shown == 0)
		return;
	buf_add_char(out, '\n');
	if (all)
		print_each(list, n_shown, title, tmp, out);
	else
		print_ids(list, n_shown, title, tmp, out);
}

void trace_findings(const struct trace_run *r, const struct report_trace_options *options,
        struct arena *tmp, struct buf *out)
{
	print_found(r, options, tmp, out);
	print_rest(r, TRACE_CLEAR, _("Looked at, nothing found:"), options->all, tmp, out);
	print_rest(r, TRACE_ABSTAINED,
	        options->all ? _("Not told by this trace:")
	                     : _("Not told by this trace (--all says why):"),
	        options->all, tmp, out);
}
