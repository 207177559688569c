#include "report/trace_parts.h"

#include "base/i18n.h"
#include "base/units.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Device time that is idle below this share leaves the kernels as the limit; from the second on
 * the idle time comes first. Between them both are said. */
#define IDLE_LITTLE 0.1
/* Wide enough to show 2 %, narrow enough for what stands beside it. */
enum { BAR_COLUMNS = 40, DEVICES_SHOWN = 8, MANY_DEVICES = 2 };

/* ---- the verdict ---- */

struct device_sum {
	int64_t span_ns, busy_ns, idle_ns;
	const struct trace_gap_sum *cause; /* of most idle time; NULL: none */
	int64_t cause_ns;
};

static void sum_causes(const struct trace_run *r, struct device_sum *sum)
{
	for (size_t k = 0; r->n_devices && k < r->devices[0].n_gap_sums; k++) {
		int64_t total_ns = 0;
		for (size_t i = 0; i < r->n_devices; i++)
			total_ns += r->devices[i].gap_sums[k].total_ns;
		sum->idle_ns += total_ns;
		if (total_ns > sum->cause_ns) {
			sum->cause = &r->devices[0].gap_sums[k];
			sum->cause_ns = total_ns;
		}
	}
}

static struct device_sum sum_devices(const struct trace_run *r)
{
	struct device_sum sum = { 0 };
	for (size_t i = 0; i < r->n_devices; i++) {
		sum.span_ns += r->devices[i].span_ns;
		sum.busy_ns += r->devices[i].busy_ns;
	}
	sum_causes(r, &sum);
	return sum;
}

/* Why device time was idle; the last percentage is of the idle time. */
static const struct {
	const char *cause, *one, *several;
} causes[] = {
	{ "host",
	        N_("The device is idle for %s of the %s between its first and its last operation: "
	           "in %s of that time the host had not yet launched the next work."),
	        N_("The devices are idle for %s of their %s together: in %s of that time the host "
	           "had not yet launched the next work.") },
	{ "sync",
	        N_("The device is idle for %s of the %s between its first and its last operation: "
	           "in %s of that time the host had first waited for the device, and launched the "
	           "next work only then."),
	        N_("The devices are idle for %s of their %s together: in %s of that time the host "
	           "had first waited for a device, and launched the next work only then.") },
	{ "allocation",
	        N_("The device is idle for %s of the %s between its first and its last operation: "
	           "in %s of that time the host took or gave back memory of the device."),
	        N_("The devices are idle for %s of their %s together: in %s of that time the host "
	           "took or gave back memory of a device.") },
	{ "queued",
	        N_("The device is idle for %s of the %s between its first and its last operation: "
	           "in %s of that time the next work had been launched, and had not begun."),
	        N_("The devices are idle for %s of their %s together: in %s of that time the next "
	           "work had been launched, and had not begun.") },
	{ "unknown",
	        N_("The device is idle for %s of the %s between its first and its last operation; "
	           "for %s of that time the trace does not tell what launched the next work."),
	        N_("The devices are idle for %s of their %s together; for %s of that time the "
	           "trace does not tell what launched the next work.") },
};

static const char *idle_sentence(
        const struct trace_run *r, const struct device_sum *sum, struct arena *tmp)
{
	char idle[LAYOUT_NUMBER], cause[LAYOUT_NUMBER], span[UNITS_TEXT];
	trace_percent(1 - (double)sum->busy_ns / (double)sum->span_ns, idle);
	trace_percent((double)sum->cause_ns / (double)sum->idle_ns, cause);
	units_duration((double)sum->span_ns, span);
	for (size_t i = 0; i < ARRAY_LEN(causes); i++)
		if (strcmp(causes[i].cause, sum->cause->cause) == 0)
			return arena_printf(tmp,
			        _(r->n_devices < MANY_DEVICES ? causes[i].one : causes[i].several),
			        idle, span, cause);
	return NULL;
}

static const char *busy_sentence(
        const struct trace_run *r, const struct device_sum *sum, struct arena *tmp)
{
	char busy[LAYOUT_NUMBER], span[UNITS_TEXT];
	trace_percent((double)sum->busy_ns / (double)sum->span_ns, busy);
	units_duration((double)sum->span_ns, span);
	if (r->n_devices < MANY_DEVICES)
		return arena_printf(tmp,
		        _("The device is busy for %s of the %s between its first and its last "
		          "operation: the work itself is the limit, not how it is launched."),
		        busy, span);
	return arena_printf(tmp,
	        _("The devices are busy for %s of their %s together: the work itself is the limit, "
	          "not how it is launched."),
	        busy, span);
}

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
	        _("The trace holds no work of a device: it tells what the host did in %s. Most of "
	          "the operators' own time, %s, is %s."),
	        span, trace_percent(top->ratio, ratio), name.s);
}

static int64_t events_of(const struct trace_run *r)
{
	int64_t n = 0;
	for (size_t i = 0; i < r->n_files; i++)
		n += r->files[i].events;
	return n;
}

static bool has_findings(const struct trace_run *r)
{
	for (size_t i = 0; i < r->n_findings; i++)
		if (r->findings[i].state == TRACE_FOUND)
			return true;
	return false;
}

void trace_verdict(const struct trace_run *r, struct arena *tmp, struct buf *out)
{
	struct device_sum sum = sum_devices(r);
	double idle_ratio = sum.span_ns > 0 ? 1 - (double)sum.busy_ns / (double)sum.span_ns : 0;
	const char *classes = class_sentence(r, tmp);
	const char *text = NULL;
	if (r->n_devices && sum.cause && idle_ratio >= IDLE_LITTLE)
		text = idle_sentence(r, &sum, tmp);
	else if (r->n_devices && sum.span_ns > 0)
		text = busy_sentence(r, &sum, tmp);
	else if (first_of(r, "cpu_op"))
		text = host_sentence(r, tmp);
	else if (!has_findings(r))
		text = arena_printf(tmp,
		        _("Nothing in the trace is known as work of a device or as an operator: of "
		          "its %lld events only their times can be told."),
		        (long long)events_of(r));
	if (text && classes)
		text = arena_printf(tmp, _("%s %s"), text, classes);
	if (text)
		layout_wrap(out, text, 0, 0);
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
	const char *name = d->name ? d->name : "";
	if (r->n_files > 1)
		table_cell(t, "%zu", d->file + 1);
	table_cell(t, _("device %lld"), (long long)d->id);
	table_cell(t, "%s", bar_of(d, tmp));
	table_cell(t, "%s", isnan(d->idle_ratio) ? "-" : trace_percent(1 - d->idle_ratio, busy));
	table_cell(t, "%lld", (long long)d->kernels);
	table_cell(t, "%s", d->kernels ? units_duration(d->mean_kernel_ns, mean) : "-");
	table_cell(t, "%s", name);
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
