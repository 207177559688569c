/*
 * venturi trace diff: what changed from one trace to another, with a gate for CI.
 */
#include "cmd/cmd.h"
#include "cmd/common.h"

#include "base/i18n.h"
#include "report/trace_diff.h"
#include "trace/diff.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

/* Rows of each kind without --top. */
#define TOP_DEFAULT 10

struct diff_command {
	int64_t top;
	const char *fail_over, *group;
};

static const struct opt rows[] = {
	{ OPT_HEADING, .help = N_("What to compare:") },
	{ OPT(struct diff_command, group, OPT_CHOICE, 0, "group", "HOW",
	          N_("kernels by their whole name (default), or by base: without template "
	             "arguments "
	             "and parameters, which change from build to build")),
	        .choices = "name|base" },
	{ OPT(struct diff_command, fail_over, OPT_STRING, 0, "fail-over", "PERCENT",
	        N_("exit 1 when the device is busy for longer, or a step takes longer, by more "
	           "than "
	           "this: 5% or 0.05")) },
	{ OPT_HEADING, .help = N_("What to show:") },
	{ OPT(struct diff_command, top, OPT_INT, 'n', "top", "N",
	          N_("rows of each kind (default 10)")),
	        .min = 1, .max = 1e9 },
};

static const struct cmd_usage usage = {
	.line = "venturi trace diff FIRST SECOND [options]",
	.about =
	        N_("Compares two traces by kernel, by operator with its shapes, and by call. Where "
	           "both have steps, it compares steps, without those that warm up."),
	.notes =
	        N_("Exit status: 0 done, 1 slower than --fail-over allows, 2 usage, 3 not a trace, "
	           "or one that cannot be read, 4 the machine refused, 5 --fail-over was given and "
	           "there is nothing to hold it against."),
};

static bool parse_ratio(const char *text, double *ret_ratio, struct err *err)
{
	double value;
	*ret_ratio = NAN;
	if (!text)
		return true;
	struct str number = str_of(text);
	bool percent = str_ends(number, STR("%"));
	number.len -= percent;
	if (!str_to_double(str_trim(number), &value) || !isfinite(value) || value < 0)
		return err_set(err, ERR_USAGE,
		        _("'--fail-over' takes a percentage (5%%) or a ratio (0.05), not '%s'"),
		        text);
	*ret_ratio = percent ? value / 100 : value;
	return true;
}

/* One trace of one file. */
static bool open_side(const char *path, struct trace *trace, struct err *err)
{
	cmd_progress(_("reading %s"), path);
	if (!trace_open(trace, &path, 1, NULL, err))
		return false;
	if (trace->n == 1)
		return true;
	err_set(err, ERR_USAGE, _("'%s' holds %zu traces, and a comparison takes one on each side"),
	        path, trace->n);
	trace_close(trace);
	return false;
}

static bool write_result(
        const struct trace_diff *d, const struct cmd_common *common, struct err *err)
{
	AUTO(auto_buf) struct buf json = { 0 };
	AUTO(auto_buf) struct buf text = { 0 };
	if (common->json) {
		report_trace_diff_json(d, &json);
		if (!cmd_write(common->json, buf_str(&json), err))
			return false;
	}
	if (!cmd_shows_text(common))
		return true;
	report_trace_diff_text(d, &text);
	return cmd_print(&text, err);
}

static bool could_be_judged(const struct trace_diff *d)
{
	for (size_t i = 0; i < d->n_measures; i++)
		if (d->measures[i].gated && !isnan(d->measures[i].change_ratio))
			return true;
	return isnan(d->fail_over_ratio);
}

static bool compare(const struct opt_list *args, const struct trace_diff_options *options,
        const struct cmd_common *common, struct arena *run, int *ret_code, struct err *err)
{
	struct trace first, second;
	struct trace_diff diff;
	if (!open_side(args->items[0], &first, err))
		return false;
	if (!open_side(args->items[1], &second, err)) {
		trace_close(&first);
		return false;
	}
	trace_diff(&first.timelines[0], &second.timelines[0], options, run, &diff);
	trace_close(&first);
	trace_close(&second);
	cmd_progress_clear();
	*ret_code = diff.failed ? 1 : could_be_judged(&diff) ? 0 : ERR_INVALID;
	return write_result(&diff, common, err);
}

static bool check_paths(const struct opt_list *args, struct err *err)
{
	if (args->n == 2)
		return true;
	err_set(err, ERR_USAGE, _("two traces are compared, %zu were given"), args->n);
	return err_hint(err, _("'venturi %s --help' shows how it is used"), "trace diff");
}

int cmd_trace_diff(int argc, char **argv)
{
	struct arena run = { 0 };
	struct diff_command command = { .top = TOP_DEFAULT };
	struct cmd_common common;
	struct opt_list args;
	struct err err;
	int code;
	const struct opt_table table = { rows, ARRAY_LEN(rows), &command };
	if (cmd_start(&usage, &table, 1, argc, argv, &run, &common, &args, &code)) {
		struct trace_diff_options options = {
			.top = command.top,
			.by_base = command.group && strcmp(command.group, "base") == 0,
		};
		if (!check_paths(&args, &err) ||
		        !parse_ratio(command.fail_over, &options.fail_over_ratio, &err) ||
		        !compare(&args, &options, &common, &run, &code, &err))
			code = cmd_fail(&err);
	}
	arena_release(&run);
	return code;
}
