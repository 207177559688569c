/*
 * A trace as one HTML page. Everything from outside goes through html_text.
 */
#include "report/trace_html_parts.h"
#include "report/trace_parts.h"

#include "base/i18n.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

static const char style[] =
        "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem}\n"
        "h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2rem}h3{font-size:1rem}\n"
        "table{border-collapse:collapse;font-size:13px}\n"
        "th,td{border:1px solid #bbb;padding:2px 6px;text-align:left;overflow-wrap:anywhere}\n"
        "td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
        ".wide{overflow-x:auto}svg{width:100%;height:auto}svg text{font-size:12px}\n"
        ".frame{fill:#fff;stroke:#888}.compute{fill:#1f6f8b}.copy{fill:#e0a030}\n"
        ".advice{border-left:4px solid #1f6f8b;padding-left:.6rem}\n"
        "pre{white-space:pre-wrap;font:inherit}\n"
        "@media print{h2{break-after:avoid}}\n";

static const char *duration(double ns, char out[UNITS_TEXT])
{
	return isnan(ns) ? "-" : units_duration(ns, out);
}

static void add_head(const struct trace_run *r, struct buf *out)
{
	buf_printf(out, "<!DOCTYPE html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n",
	        i18n_lang());
	buf_add_c(out, "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
	html_text_c(out, r->n_files ? trace_base_name(r->files[0].path) : "");
	buf_printf(out, " - venturi</title>\n<style>\n%s</style>\n</head>\n<body>\n", style);
	html_element(out, "h1", _("Where the time of the trace went"));
}

static void add_verdict(const struct trace_run *r, const struct report_trace_options *options,
        struct arena *tmp, struct buf *out)
{
	AUTO(auto_buf) struct buf text = { 0 };
	trace_verdict(r, tmp, &text);
	if (options->part)
		html_element(out, "p", options->part);
	if (text.len)
		html_element(out, "pre", text.s);
}

/* ---- devices ---- */

static const char *device_title(
        const struct trace_run *r, const struct trace_device *d, struct arena *tmp)
{
	const char *name = d->name ? d->name : "";
	if (r->n_files > 1)
		return arena_printf(tmp, _("Device %lld %s, %s"), (long long)d->id, name,
		        trace_base_name(r->files[d->file].path));
	return arena_printf(tmp, _("Device %lld %s"), (long long)d->id, name);
}

static const char *strip_label(const struct trace_device *d, struct arena *tmp)
{
	char busy[LAYOUT_NUMBER], kernels[LAYOUT_NUMBER], span[UNITS_TEXT], piece[UNITS_TEXT];
	double whole = (double)d->span_ns;
	return arena_printf(tmp,
	        _("From the first work to the last, %s: %s busy, %s with kernels. Each bar is %s; "
	          "its "
	          "lower part is kernels, its upper part copies alone, what stays empty is idle."),
	        units_duration(whole, span), trace_percent((double)d->busy_ns / whole, busy),
	        trace_percent((double)d->kernel_busy_ns / whole, kernels),
	        units_duration((double)d->strip.bucket_ns, piece));
}

static void add_gaps(const struct trace_device *d, struct buf *out)
{
	const char *titles[] = { _("idle because"), _("gaps"), _("time"), _("of the device's time"),
		NULL };
	if (d->gaps == 0)
		return;
	html_table_open(out, titles);
	for (size_t i = 0; i < d->n_gap_sums; i++) {
		const struct trace_gap_sum *g = &d->gap_sums[i];
		char text[UNITS_TEXT], ratio[LAYOUT_NUMBER], n[LAYOUT_NUMBER];
		if (g->n == 0)
			continue;
		html_row_open(out);
		html_cell_c(out, g->cause);
		html_cell_number(out, layout_number((double)g->n, n));
		html_cell_number(out, duration((double)g->total_ns, text));
		html_cell_number(
		        out, trace_percent((double)g->total_ns / (double)d->span_ns, ratio));
		html_row_close(out);
	}
	html_table_close(out);
}

static void add_devices(const struct trace_run *r, struct arena *tmp, struct buf *out)
{
	if (r->n_devices)
		html_element(out, "h2", _("Devices"));
	for (size_t i = 0; i < r->n_devices; i++) {
		const struct trace_device *d = &r->devices[i];
		html_element(out, "h3", device_title(r, d, tmp));
		if (d->strip.n) {
			const char *label = strip_label(d, tmp);
			html_strip(out, &d->strip, label);
			html_element(out, "p", label);
		}
		add_gaps(d, out);
	}
}

/* ---- findings ---- */

static void add_facts(const struct trace_finding *f, struct arena *tmp, struct buf *out)
{
	if (f->n_facts == 0)
		return;
	buf_add_c(out, "<ul>\n");
	for (size_t i = 0; i < f->n_facts; i++) {
		const struct fact *fact = &f->facts[i];
		const char *text = trace_fact(fact, tmp);
		html_element(out, "li",
		        fact->source ? arena_printf(tmp, _("%s; from: %s"), text, fact->source)
		                     : text);
	}
	buf_add_c(out, "</ul>\n");
}

static void add_cell(const struct trace_cell *cell, const char *unit, struct buf *out)
{
	char number[LAYOUT_NUMBER];
	if (cell->is_text)
		html_cell(out, cell->text);
	else
		html_cell_number(out, trace_value(cell->number, unit, number));
}

static void add_table(const struct trace_table *t, struct arena *tmp, struct buf *out)
{
	size_t n_rows = t->n_columns ? t->n_cells / t->n_columns : 0;
	if (n_rows == 0)
		return;
	const char **titles = arena_new_n(tmp, const char *, t->n_columns + 1);
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct trace_column *c = &t->columns[i];
		bool has_unit = c->unit && c->unit[0] && strcmp(c->unit, "1") != 0 &&
		                !trace_unit_is_written(c->unit);
		titles[i] = has_unit ? arena_printf(tmp, "%s (%s)", c->name, c->unit) : c->name;
	}
	html_element(out, "p", t->name);
	html_table_open(out, titles);
	for (size_t row = 0; row < n_rows; row++) {
		html_row_open(out);
		for (size_t i = 0; i < t->n_columns; i++)
			add_cell(&t->cells[row * t->n_columns + i], t->columns[i].unit, out);
		html_row_close(out);
	}
	html_table_close(out);
}

static void add_finding(const struct trace_run *r, const struct trace_finding *f, struct arena *tmp,
        struct buf *out)
{
	html_element(out, "h3",
	        r->n_files > 1 ? arena_printf(tmp, _("%s (%s)"), f->id,
	                                 trace_base_name(r->files[f->file].path))
	                       : f->id);
	html_element(out, "p", f->text ? f->text : f->reason ? f->reason : "");
	if (f->state == TRACE_FOUND && f->advice) {
		buf_add_c(out, "<p class=\"advice\">");
		html_text_c(out, f->advice);
		buf_add_c(out, "</p>\n");
	}
	add_facts(f, tmp, out);
	for (size_t i = 0; i < f->n_tables; i++)
		add_table(f->tables[i], tmp, out);
}

static void add_findings(const struct trace_run *r, struct arena *tmp, struct buf *out)
{
	static const struct {
		enum trace_finding_state state;
		const char *title;
	} parts[] = {
		{ TRACE_FOUND, N_("What was found") },
		{ TRACE_CLEAR, N_("Looked at, and nothing to act on") },
		{ TRACE_ABSTAINED, N_("What the trace cannot tell") },
	};
	for (size_t p = 0; p < ARRAY_LEN(parts); p++) {
		const struct trace_finding **list;
		size_t n = trace_pick(r, parts[p].state, true, tmp, &list);
		if (n)
			html_element(out, "h2", _(parts[p].title));
		for (size_t i = 0; i < n; i++)
			add_finding(r, list[i], tmp, out);
	}
}

/* ---- lists ---- */

static void add_operators(const struct trace_run *r, struct buf *out)
{
	const char *titles[] = { _("name"), _("kind"), _("class"), _("calls"), _("total"),
		_("own time"), _("mean"), _("of its kind"), NULL };
	if (r->n_operators == 0)
		return;
	html_element(out, "h2", _("Kernels, operators and calls"));
	html_table_open(out, titles);
	for (size_t i = 0; i < r->n_operators; i++) {
		const struct trace_operator *o = &r->operators[i];
		char total[UNITS_TEXT], self[UNITS_TEXT], mean[UNITS_TEXT], n[LAYOUT_NUMBER],
		        ratio[LAYOUT_NUMBER];
		html_row_open(out);
		html_cell(out, o->name);
		html_cell_c(out, o->kind);
		html_cell_c(out, o->class_name ? trace_class_word(o->class_name) : "");
		html_cell_number(out, layout_number((double)o->calls, n));
		html_cell_number(out, duration((double)o->total_ns, total));
		html_cell_number(out, duration(o->self_ns < 0 ? NAN : (double)o->self_ns, self));
		html_cell_number(out, duration(o->mean_ns, mean));
		html_cell_number(out, trace_percent(o->ratio, ratio));
		html_row_close(out);
	}
	html_table_close(out);
}

static void add_copies(const struct trace_run *r, struct buf *out)
{
	const char *titles[] = { _("copies"), _("calls"), _("time"), _("bytes"), NULL };
	if (r->n_copies == 0)
		return;
	html_element(out, "h2", _("Copies"));
	html_table_open(out, titles);
	for (size_t i = 0; i < r->n_copies; i++) {
		const struct trace_copy *c = &r->copies[i];
		char time[UNITS_TEXT], size[UNITS_TEXT], n[LAYOUT_NUMBER];
		html_row_open(out);
		html_cell(out, c->kind);
		html_cell_number(out, layout_number((double)c->calls, n));
		html_cell_number(out, duration((double)c->total_ns, time));
		html_cell_number(out, units_size((double)c->bytes, size));
		html_row_close(out);
	}
	html_table_close(out);
}

static void add_files(const struct trace_run *r, struct arena *tmp, struct buf *out)
{
	AUTO(auto_buf) struct buf text = { 0 };
	html_element(out, "h2", _("Files"));
	trace_files(r, tmp, &text);
	buf_add_c(out, "<pre>");
	html_text(out, buf_str(&text));
	buf_add_c(out, "</pre>\n");
}

void report_trace_html(
        const struct trace_run *r, const struct report_trace_options *options, struct buf *out)
{
	struct arena tmp = { 0 };
	add_head(r, out);
	add_verdict(r, options, &tmp, out);
	add_devices(r, &tmp, out);
	add_findings(r, &tmp, out);
	add_operators(r, out);
	add_copies(r, out);
	add_files(r, &tmp, out);
	buf_add_c(out, "</body>\n</html>\n");
	arena_release(&tmp);
}
