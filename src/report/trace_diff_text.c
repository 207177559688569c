#include "report/trace_diff.h"

#include "base/i18n.h"
#include "base/units.h"
#include "report/layout.h"
#include "report/trace_words.h"
#include "text/table.h"

#include <math.h>
#include <string.h>

/* Columns that a name may take; its middle is left out beyond. */
enum { NAME_COLUMNS = 44 };

static const struct {
	const char *id, *text;
} words[] = {
	{ "step_time", N_("time of a step (median)") },
	{ "device_busy", N_("device busy") },
	{ "kernel_time", N_("time of kernels") },
	{ "host_self_time", N_("time of operators on the host") },
	{ "kernel", N_("kernels") },
	{ "memcpy", N_("copies") },
	{ "memset", N_("memsets") },
	{ "cpu_op", N_("operators on the host, by shape, without their children") },
	{ "runtime", N_("calls of the runtime") },
};

static const char *word_of(const char *id)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i].id, id) == 0)
			return _(words[i].text);
	return id;
}

static const char *duration(struct arena *tmp, double ns)
{
	char text[UNITS_TEXT];
	return isnan(ns) ? "-" : arena_strdup(tmp, units_duration(ns, text));
}

static const char *signed_duration(struct arena *tmp, double ns)
{
	char text[UNITS_TEXT];
	if (isnan(ns))
		return "-";
	return arena_printf(tmp, "%s%s",
	        ns > 0   ? "+"
	        : ns < 0 ? "-"
	                 : "",
	        units_duration(fabs(ns), text));
}

static const char *change(struct arena *tmp, double ratio)
{
	return isnan(ratio) ? "-" : arena_printf(tmp, "%+.1f %%", 100 * ratio);
}

/* The beginning and the end of a name say most. Never cuts a character in two. */
static const char *shortened(struct arena *tmp, struct str name)
{
	if (name.len <= NAME_COLUMNS)
		return str_c(name, tmp);
	size_t head = NAME_COLUMNS * 2 / 3, tail = name.len - (NAME_COLUMNS - head - 3);
	while (head && (name.s[head] & 0xC0) == 0x80)
		head--;
	while (tail < name.len && (name.s[tail] & 0xC0) == 0x80)
		tail++;
	return arena_printf(
	        tmp, "%.*s...%.*s", (int)head, name.s, (int)(name.len - tail), name.s + tail);
}

static void print_sides(const struct trace_diff *d, struct arena *tmp, struct buf *out)
{
	for (int i = 0; i < 2; i++) {
		const struct trace_diff_side *s = &d->sides[i];
		const char *text = arena_printf(tmp,
		        i == 0 ? _("First:  %s (%s, steps: %lld, of these warm-up: %lld).")
		               : _("Second: %s (%s, steps: %lld, of these warm-up: %lld)."),
		        s->path, s->format, (long long)s->steps, (long long)s->warm_steps);
		layout_wrap(out, text, 0, 8);
	}
	layout_wrap(out,
	        d->per_step ? _("Times are per step; what is outside the steps, and warm-up, takes "
	                        "no part.")
	                    : _("Times are of the whole traces: they have no steps that could be "
	                        "compared."),
	        0, 0);
}

/* Without a limit: the first figure that both have. */
static void print_answer(const struct trace_diff *d, struct arena *tmp, struct buf *out)
{
	for (size_t i = 0; i < d->n_measures; i++) {
		const struct trace_diff_measure *m = &d->measures[i];
		if (isnan(m->ns[0]) || isnan(m->ns[1]))
			continue;
		layout_wrap(out,
		        arena_printf(tmp, _("In the second, %s is %s instead of %s (%s)."),
		                word_of(m->name), duration(tmp, m->ns[1]), duration(tmp, m->ns[0]),
		                change(tmp, m->change_ratio)),
		        0, 0);
		return;
	}
}

static void print_verdict(const struct trace_diff *d, struct arena *tmp, struct buf *out)
{
	bool any = false;
	for (size_t i = 0; i < d->n_measures; i++) {
		const struct trace_diff_measure *m = &d->measures[i];
		if (!m->gated || isnan(m->change_ratio))
			continue;
		any = true;
		const char *text = arena_printf(tmp,
		        m->failed ? _("Slower: %s grew by %.1f %%, more than the %.1f %% allowed.")
		                  : _("Within the limit: %s changed by %+.1f %%, %.1f %% are "
		                      "allowed."),
		        word_of(m->name), 100 * m->change_ratio, 100 * d->fail_over_ratio);
		layout_wrap(out, text, 0, 0);
	}
	if (!any && !isnan(d->fail_over_ratio))
		layout_wrap(out,
		        _("Nothing could be held against the limit: the traces have "
		          "neither device work nor steps in common."),
		        0, 0);
}

static void print_measures(const struct trace_diff *d, struct arena *tmp, struct buf *out)
{
	struct table t;
	table_init(&t, tmp, "lrrr");
	table_cell(&t, "%s", "");
	table_cell(&t, "%s", _("first"));
	table_cell(&t, "%s", _("second"));
	table_cell(&t, "%s", _("change"));
	for (size_t i = 0; i < d->n_measures; i++) {
		const struct trace_diff_measure *m = &d->measures[i];
		if (isnan(m->ns[0]) && isnan(m->ns[1]))
			continue;
		table_cell(&t, "%s", word_of(m->name));
		table_cell(&t, "%s", duration(tmp, m->ns[0]));
		table_cell(&t, "%s", duration(tmp, m->ns[1]));
		table_cell(&t, "%s", change(tmp, m->change_ratio));
	}
	buf_add_char(out, '\n');
	table_print(&t, out);
}

static const char *row_name(struct arena *tmp, const struct trace_diff_row *row)
{
	if (row->shape.len == 0) {
		AUTO(auto_buf) struct buf name = { 0 };
		trace_short_name(&name, row->name, NAME_COLUMNS);
		return name.len ? str_c(buf_str(&name), tmp) : "-";
	}
	return shortened(tmp,
	        str_of(arena_printf(tmp, "%.*s %.*s", STR_ARG(row->name), STR_ARG(row->shape))));
}

static bool is_changed(const struct trace_diff_row *row)
{
	return row->delta_ns != 0 || row->calls[0] != row->calls[1];
}

/* The rows of one kind, from row first on; returns the row behind them. */
static size_t print_kind(
        const struct trace_diff *d, size_t first, struct arena *tmp, struct buf *out)
{
	struct table t;
	const char *kind = d->rows[first].kind;
	size_t i = first, n_shown = 0;
	table_init(&t, tmp, "lrrrrr");
	table_cell(&t, "%s", word_of(kind));
	table_cell(&t, "%s", _("first"));
	table_cell(&t, "%s", _("second"));
	table_cell(&t, "%s", _("change"));
	table_cell(&t, "%s", "%");
	table_cell(&t, "%s", _("calls"));
	for (; i < d->n_rows && d->rows[i].kind == kind; i++) {
		const struct trace_diff_row *row = &d->rows[i];
		if (!is_changed(row))
			continue;
		n_shown++;
		table_cell(&t, "%s", row_name(tmp, row));
		table_cell(&t, "%s", row->calls[0] ? duration(tmp, row->ns[0]) : _("new"));
		table_cell(&t, "%s", row->calls[1] ? duration(tmp, row->ns[1]) : _("gone"));
		table_cell(&t, "%s", signed_duration(tmp, row->delta_ns));
		table_cell(&t, "%s",
		        row->calls[0] && row->calls[1] && row->ns[0] > 0
		                ? change(tmp, row->delta_ns / row->ns[0])
		                : "");
		table_cell(&t, "%lld > %lld", (long long)row->calls[0], (long long)row->calls[1]);
	}
	if (n_shown) {
		buf_add_char(out, '\n');
		table_print(&t, out);
	}
	return i;
}

void report_trace_diff_text(const struct trace_diff *d, struct buf *out)
{
	struct arena tmp = { 0 };
	if (isnan(d->fail_over_ratio))
		print_answer(d, &tmp, out);
	print_verdict(d, &tmp, out);
	print_sides(d, &tmp, out);
	print_measures(d, &tmp, out);
	for (size_t i = 0; i < d->n_rows;)
		i = print_kind(d, i, &tmp, out);
	buf_add_char(out, '\n');
	layout_wrap(out,
	        arena_printf(&tmp, _("Of %lld rows %lld are new in the second and %lld are gone."),
	                (long long)d->n_rows_all, (long long)d->n_new, (long long)d->n_gone),
	        0, 0);
	arena_release(&tmp);
}
