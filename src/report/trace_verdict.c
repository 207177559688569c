#include "report/trace_parts.h"

#include "base/i18n.h"
#include "base/units.h"
#include "base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Wide enough to show 2 %, narrow enough for what stands beside it. */
enum {
	BAR_COLUMNS = 36,
	DEVICES_SHOWN = 8,
	VERDICTS_SHOWN = 3,
	DEVICE_NAME_COLUMNS = 27,
	CATEGORIES_SHOWN = 8,
	CATEGORY_COLUMNS = 30
};

/* ---- the verdict ---- */

static const struct trace_grouping *classes_of(const struct trace_run *r)
{
	for (size_t i = 0; i < r->n_groupings; i++)
		if (strcmp(r->groupings[i].by, "class") == 0)
			return &r->groupings[i];
	return NULL;
}

static const char *class_name(const struct trace_group *row, struct arena *tmp)
{
	return trace_class_word(str_c(row->name, tmp));
}

/* Which kinds of kernels take most of the kernel time. */
static const char *class_sentence(const struct trace_run *r, struct arena *tmp)
{
	const struct trace_grouping *classes = classes_of(r);
	char first[LAYOUT_NUMBER], second[LAYOUT_NUMBER];
	if (!classes || classes->n_rows == 0 || isnan(classes->rows[0].ratio))
		return NULL;
	trace_percent(classes->rows[0].ratio, first);
	if (classes->n_rows == 1)
		return arena_printf(tmp, _("Of the kernel time, %s is %s."), first,
		        class_name(&classes->rows[0], tmp));
	trace_percent(classes->rows[1].ratio, second);
	return arena_printf(tmp, _("Of the kernel time, %s is %s and %s is %s."), first,
	        class_name(&classes->rows[0], tmp), second, class_name(&classes->rows[1], tmp));
}

static const struct trace_operator *first_of(const struct trace_run *r, const char *kind)
{
	for (size_t i = 0; i < r->n_operators; i++)
		if (strcmp(r->operators[i].kind, kind) == 0)
			return &r->operators[i];
	return NULL;
}

static int64_t longest_span(const struct trace_run *r)
{
	int64_t span_ns = 0;
	for (size_t i = 0; i < r->n_files; i++)
		if (r->files[i].span_ns > span_ns)
			span_ns = r->files[i].span_ns;
	return span_ns;
}

/* There are host operators only. */
static const char *host_sentence(const struct trace_run *r, struct arena *tmp)
{
	const struct trace_operator *top = first_of(r, "cpu_op");
	char span[UNITS_TEXT], ratio[LAYOUT_NUMBER];
	AUTO(auto_buf) struct buf name = { 0 };
	units_duration((double)longest_span(r), span);
	trace_short_name(&name, top->name, LAYOUT_COLUMNS / 2);
	return arena_printf(tmp,
	        _("The trace holds no work of a device: it tells what the host did in %s. The "
	          "largest part of the operators' own time, %s, is %s."),
	        span, trace_percent(top->ratio, ratio), name.s);
}

/* There are calls of the runtime only. */
static const char *calls_sentence(const struct trace_run *r, struct arena *tmp)
{
	const struct trace_operator *top = first_of(r, "runtime");
	char span[UNITS_TEXT], ratio[LAYOUT_NUMBER];
	AUTO(auto_buf) struct buf name = { 0 };
	units_duration((double)longest_span(r), span);
	trace_short_name(&name, top->name, LAYOUT_COLUMNS / 2);
	return arena_printf(tmp,
	        _("The trace holds calls of the runtime in %s, and neither work of a device nor "
	          "operators: record kernels as well. The largest part of the calls' time, %s, is "
	          "%s."),
	        span, trace_percent(top->ratio, ratio), name.s);
}

/* Summaries of a profiler: names and times, but nothing of when. */
static bool holds_sums_only(const struct trace_run *r)
{
	for (size_t i = 0; i < r->n_files; i++)
		if (r->files[i].span_ns >= 0)
			return false;
	return r->n_operators > 0;
}

static const char *sums_sentence(const struct trace_run *r, struct arena *tmp)
{
	const char *classes = class_sentence(r, tmp);
	const char *text = _("The file holds sums without times: it tells what took the time, but "
	                     "neither gaps nor their causes. For those record a timeline (nsys "
	                     "export --type sqlite).");
	return classes ? arena_printf(tmp, _("%s %s"), text, classes) : text;
}

static int64_t events_of(const struct trace_run *r)
{
	int64_t n = 0;
	for (size_t i = 0; i < r->n_files; i++)
		n += r->files[i].events;
	return n;
}

/* The categories of spans, those of several files once: "cat (12), dog (3)". */
static const char *categories_of(const struct trace_run *r, struct arena *tmp)
{
	AUTO(auto_buf) struct buf list = { 0 };
	int n = 0;
	for (size_t i = 0; i < r->n_files; i++) {
		for (size_t k = 0; k < r->files[i].n_categories; k++) {
			const struct trace_count *c = &r->files[i].categories[k];
			if (c->name.len == 0)
				continue;
			if (n++ == CATEGORIES_SHOWN) {
				buf_add_c(&list, _(", ..."));
				return str_c(buf_str(&list), tmp);
			}
			AUTO(auto_buf) struct buf name = { 0 };
			trace_short_name(&name, c->name, CATEGORY_COLUMNS);
			buf_printf(&list, _("%s%s (%lld)"), n > 1 ? _(", ") : "", name.s,
			        (long long)c->n);
		}
	}
	return list.len ? str_c(buf_str(&list), tmp) : NULL;
}

/* Of a writer that nobody here knows: what was found, so that a wrong file can be told. */
static const char *unknown_sentence(const struct trace_run *r, struct arena *tmp)
{
	const char *categories = categories_of(r, tmp);
	if (events_of(r) == 0)
		return _("The trace holds no events.");
	if (categories)
		return arena_printf(tmp,
		        _("Nothing in the trace is known as work of a device or as an operator: "
		          "of its %lld events only their times can be told. The categories of "
		          "its spans: %s."),
		        (long long)events_of(r), categories);
	return arena_printf(tmp,
	        _("Nothing in the trace is known as work of a device or as an operator: of its "
	          "%lld events only their times can be told. None of its spans names a "
	          "category."),
	        (long long)events_of(r));
}

/* A finding's sentence as the first of a paragraph. */
static const char *begun(const char *text, struct arena *tmp)
{
	char *copy = arena_strdup(tmp, text);
	copy[0] = (char)toupper((unsigned char)copy[0]);
	return copy;
}

bool trace_is_verdict(const struct trace_finding *f)
{
	return f->text &&
	       (strcmp(f->id, "device_timeline") == 0 || strcmp(f->id, "ncu_speed_of_light") == 0 ||
	               strcmp(f->id, "launch_counters") == 0);
}

/* What the analysis of the device's time says of each file; returns how many it spoke of. */
static int device_verdicts(const struct trace_run *r, struct arena *tmp, struct buf *out)
{
	const char *classes = r->n_files == 1 ? class_sentence(r, tmp) : NULL;
	int n = 0;
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct trace_finding *f = &r->findings[i];
		if (!trace_is_verdict(f) || n == VERDICTS_SHOWN)
			continue;
		const char *text = begun(f->text, tmp);
		if (r->n_files > 1)
			text = arena_printf(
			        tmp, _("%s: %s"), trace_base_name(r->files[f->file].path), f->text);
		text = arena_printf(tmp, _("%s."), text);
		if (classes)
			text = arena_printf(tmp, _("%s %s"), text, classes);
		layout_wrap(out, text, 0, 0);
		if (f->state == TRACE_FOUND && f->advice)
			trace_indented("> ", f->advice, out);
		n++;
	}
	return n;
}

void trace_verdict(const struct trace_run *r, struct arena *tmp, struct buf *out)
{
	if (device_verdicts(r, tmp, out) > 0)
		return;
	if (first_of(r, "cpu_op"))
		layout_wrap(out, host_sentence(r, tmp), 0, 0);
	else if (holds_sums_only(r))
		layout_wrap(out, sums_sentence(r, tmp), 0, 0);
	else if (first_of(r, "runtime"))
		layout_wrap(out, calls_sentence(r, tmp), 0, 0);
	else if (r->n_devices == 0 && r->n_launches == 0)
		layout_wrap(out, unknown_sentence(r, tmp), 0, 0);
}

/* ---- devices ---- */

static int columns_of(int64_t part_ns, int64_t whole_ns)
{
	return whole_ns > 0 ? (int)llround((double)part_ns / (double)whole_ns * BAR_COLUMNS) : 0;
}

static const char *bar_of(const struct trace_device *d, struct arena *tmp)
{
	AUTO(auto_buf) struct buf bar = { 0 };
	int kernels = columns_of(d->kernel_busy_ns, d->span_ns);
	int busy = columns_of(d->busy_ns, d->span_ns);
	if (kernels == 0 && d->kernel_busy_ns > 0)
		kernels = 1;
	for (int i = 0; i < BAR_COLUMNS; i++)
		buf_add_c(&bar, i < kernels ? "█" : i < busy ? "▒" : "·");
	return str_c(buf_str(&bar), tmp);
}

static void add_device(
        const struct trace_run *r, const struct trace_device *d, struct arena *tmp, struct table *t)
{
	char busy[LAYOUT_NUMBER], mean[UNITS_TEXT];
	AUTO(auto_buf) struct buf name = { 0 };
	trace_short_name(&name, str_of(d->name ? d->name : ""), DEVICE_NAME_COLUMNS);
	if (r->n_files > 1)
		table_cell(t, "%zu", d->file + 1);
	table_cell(t, _("device %lld"), (long long)d->id);
	table_cell(t, "%s", bar_of(d, tmp));
	table_cell(t, "%s", isnan(d->idle_ratio) ? "-" : trace_percent(1 - d->idle_ratio, busy));
	table_cell(t, "%lld", (long long)d->kernels);
	table_cell(t, "%s", d->kernels ? units_duration(d->mean_kernel_ns, mean) : "-");
	table_cell(t, "%s", name.len ? name.s : "");
}

void trace_devices(const struct trace_run *r, struct arena *tmp, struct buf *out)
{
	struct table t;
	bool several = r->n_files > 1;
	if (r->n_devices == 0)
		return;
	table_init(&t, tmp, several ? "rllrrrl" : "llrrrl");
	if (several)
		table_cell(&t, "%s", _("file"));
	table_cell(&t, "%s", "");
	table_cell(&t, "%s", _("█ kernels, ▒ other work, · idle"));
	table_cell(&t, "%s", _("busy"));
	table_cell(&t, "%s", _("kernels"));
	table_cell(&t, "%s", _("mean"));
	table_cell(&t, "%s", "");
	for (size_t i = 0; i < r->n_devices && i < DEVICES_SHOWN; i++)
		add_device(r, &r->devices[i], tmp, &t);
	buf_add_char(out, '\n');
	table_print(&t, out);
	if (r->n_devices > DEVICES_SHOWN)
		layout_wrap(out,
		        arena_printf(tmp, _("%zu more devices: see --json"),
		                r->n_devices - DEVICES_SHOWN),
		        0, 0);
}
