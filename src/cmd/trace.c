/*
 * venturi trace: traces of profilers in, an account of where the time went out.
 */
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/trace_export.h"
#include "cmd/trace_progress.h"

#include "base/i18n.h"
#include "base/units.h"
#include "report/trace.h"
#include "trace/trace.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Rows of each list without --top. */
#define TOP_DEFAULT 10
/* A slow CPU core has 10^-3 TFLOPS; no device has 10^6 TFLOPS, or 10^6 GB/s. */
#define PEAK_MIN 1e-6
#define PEAK_MAX 1e6

struct trace_command {
	const char *top, *by, *kind;
	int64_t step, from_ns, to_ns;
	bool all;
	const char *export, *folded, *html;
	double peak_tflop_per_s, peak_gb_per_s;
};

static const struct opt rows[] = {
	{ OPT_HEADING, .help = N_("What to count:") },
	{ OPT(struct trace_command, from_ns, OPT_DURATION, 0, "from", "TIME",
	        N_("only what starts so long after the start of the file, or later: 12ms, 1.5s")) },
	{ OPT(struct trace_command, to_ns, OPT_DURATION, 0, "to", "TIME",
	        N_("only what starts before that time after the start of the file")) },
	{ OPT(struct trace_command, step, OPT_INT, 0, "step", "N",
	          N_("only step N, counted from 0: what the host began in it, and the device work "
	             "that it launched there")),
	        .min = 0, .max = 1e9 },
	{ OPT(struct trace_command, peak_tflop_per_s, OPT_DOUBLE, 0, "peak-flops", "TFLOPS",
	          N_("what the device was measured to compute, in 10^12 operations per second; "
	             "for the roofline, with --peak-bandwidth")),
	        .min = PEAK_MIN, .max = PEAK_MAX },
	{ OPT(struct trace_command, peak_gb_per_s, OPT_DOUBLE, 0, "peak-bandwidth", "GBPS",
	          N_("what its memory was measured to move, in 10^9 bytes per second")),
	        .min = PEAK_MIN, .max = PEAK_MAX },
	{ OPT_HEADING, .help = N_("What to show:") },
	{ OPT(struct trace_command, top, OPT_STRING, 'n', "top", "N",
	        N_("rows of each list, or all (default 10)")) },
	{ OPT(struct trace_command, by, OPT_CHOICE, 0, "by", "WHAT",
	          N_("count operators by name (default), class, shape, stream or step")),
	        .choices = "name|class|shape|stream|step" },
	{ OPT(struct trace_command, kind, OPT_CHOICE, 0, "kind", "KIND",
	          N_("list only operators of one kind")),
	        .choices = "kernel|memcpy|memset|cpu_op|runtime|annotation|other" },
	{ OPT(struct trace_command, all, OPT_FLAG, 'a', "all", NULL,
	        N_("also what was looked at without a finding, and every fact and table")) },
	{ OPT(struct trace_command, html, OPT_STRING, 0, "html", "FILE",
	        N_("write all of it as one HTML page with a picture of each device's time")) },
	{ OPT_HEADING, .help = N_("For other tools:") },
	{ OPT(struct trace_command, export, OPT_STRING, 0, "export", "FILE",
	        N_("write what is counted as Chrome JSON, which Perfetto loads")) },
	{ OPT(struct trace_command, folded, OPT_STRING, 0, "folded", "FILE",
	        N_("write the stacks of host and device with their nanoseconds, for flame "
	           "graphs")) },
};

static const struct cmd_usage usage = {
	.line = "venturi trace FILE|FOLDER... [options]\n"
	        "       venturi trace diff FIRST SECOND [options]",
	.about = N_("Reads what profilers leave behind (PyTorch, ONNX Runtime, JAX and TensorFlow, "
	            "Nsight Systems, Nsight Compute, rocprof, any Chrome trace; gzip too; "
	            "recognised by "
	            "their content) and says where device and host time went, and what to do about "
	            "it."),
	.notes =
	        N_("Exit status: 0 done, 2 usage, 3 not a trace, or one that cannot be read, 4 the "
	           "machine refused."),
};

/* ---- options ---- */

static bool parse_top(const char *text, int64_t *ret_top, struct err *err)
{
	if (!text) {
		*ret_top = TOP_DEFAULT;
		return true;
	}
	if (strcmp(text, "all") == 0) {
		*ret_top = INT64_MAX;
		return true;
	}
	if (str_to_i64(str_of(text), ret_top) && *ret_top > 0)
		return true;
	return err_set(err, ERR_USAGE, _("'--top' takes a number above 0, or all, not '%s'"), text);
}

static bool options_of(const struct trace_command *c, struct trace_options *ret, struct err *err)
{
	*ret = (struct trace_options){
		.from_ns = c->from_ns,
		.to_ns = c->to_ns,
		.step = c->step,
		.by = c->by ? c->by : "name",
		.kind = c->kind,
		.peak_flop_per_s = c->peak_tflop_per_s * 1e12,
		.peak_bytes_per_s = c->peak_gb_per_s * 1e9,
	};
	if ((c->peak_tflop_per_s > 0) != (c->peak_gb_per_s > 0))
		return err_set(
		        err, ERR_USAGE, _("'--peak-flops' and '--peak-bandwidth' need each other"));
	bool has_window = c->from_ns != TRACE_NONE || c->to_ns != TRACE_NONE;
	if (has_window && c->step >= 0)
		return err_set(
		        err, ERR_USAGE, _("'--step' and '--from' or '--to' exclude each other"));
	if (c->from_ns != TRACE_NONE && c->to_ns != TRACE_NONE && c->from_ns >= c->to_ns)
		return err_set(err, ERR_USAGE, _("'--from' must be before '--to'"));
	return parse_top(c->top, &ret->top, err);
}

static bool check_paths(const struct opt_list *args, struct err *err)
{
	if (args->n == 0) {
		err_set(err, ERR_USAGE, _("no trace given"));
		return err_hint(err, _("'venturi %s --help' shows how it is used"), "trace");
	}
	for (size_t i = 0; i < args->n; i++) {
		if (strcmp(args->items[i], "-") != 0)
			continue;
		err_set(err, ERR_USAGE, _("a trace is read from a file, not from a pipe"));
		return err_hint(err, _("write it to a file first; .gz is read as it is"));
	}
	return true;
}

/* ---- a word at Ctrl-C ---- */

static char interrupt_word[256];

/* What is not allowed in a handler was done before: the sentence lies ready. */
static void on_interrupt(int number)
{
	ssize_t n = write(STDERR_FILENO, interrupt_word, strlen(interrupt_word));
	(void)n;
	signal(number, SIG_DFL);
	raise(number);
}

static void expect_interrupt(void)
{
	snprintf(interrupt_word, sizeof interrupt_word, "\n%s\n",
	        _("venturi: interrupted: the trace was not read to its end, nothing is reported"));
	struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_NODEFER };
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* ---- one call ---- */

struct trace_call {
	const struct trace_command *command;
	const struct cmd_common *common;
	struct trace_options options;
	struct arena *run;
};

static void on_reading(void *ctx, const char *path)
{
	trace_progress_file(ctx, path);
}

static void warn_of_unread(const struct trace *trace)
{
	for (size_t i = 0; i < trace->n_unread; i++)
		cmd_warn(_("left out: %s"), trace->unread[i].reason);
}

/* What was looked at when it is not all; NULL: all. */
static const char *part_of(const struct trace_call *call)
{
	const struct trace_options *o = &call->options;
	char from[UNITS_TEXT], to[UNITS_TEXT];
	if (o->step >= 0)
		return arena_printf(call->run, _("Only step %lld."), (long long)o->step);
	if (o->from_ns == TRACE_NONE && o->to_ns == TRACE_NONE)
		return NULL;
	if (o->to_ns == TRACE_NONE)
		return arena_printf(call->run, _("Only what starts %s after the start, or later."),
		        units_duration((double)o->from_ns, from));
	if (o->from_ns == TRACE_NONE)
		return arena_printf(call->run, _("Only what starts in the first %s."),
		        units_duration((double)o->to_ns, to));
	return arena_printf(call->run, _("Only what starts from %s to %s after the start."),
	        units_duration((double)o->from_ns, from), units_duration((double)o->to_ns, to));
}

static bool exports_to_stdout(const struct trace_command *c)
{
	return (c->export && strcmp(c->export, "-") == 0) ||
	       (c->folded && strcmp(c->folded, "-") == 0) || (c->html && strcmp(c->html, "-") == 0);
}

static bool write_html(const char *path, const struct trace_run *r,
        const struct report_trace_options *shown, struct err *err)
{
	AUTO(auto_buf) struct buf page = { 0 };
	report_trace_html(r, shown, &page);
	return cmd_write(path, buf_str(&page), err);
}

static bool write_result(const struct trace_call *call, const struct trace_run *r, struct err *err)
{
	const struct cmd_common *common = call->common;
	AUTO(auto_buf) struct buf json = { 0 };
	AUTO(auto_buf) struct buf text = { 0 };
	if (common->json) {
		report_trace_json(r, &json);
		if (!cmd_write(common->json, buf_str(&json), err))
			return false;
	}
	const struct report_trace_options shown = {
		.all = call->command->all,
		.top = call->command->top != NULL,
		.by = call->options.by,
		.part = part_of(call),
	};
	if (call->command->html && !write_html(call->command->html, r, &shown, err))
		return false;
	if (!cmd_shows_text(common) || exports_to_stdout(call->command))
		return true;
	report_trace_text(r, &shown, &text);
	return cmd_print(&text, err);
}

/* Files for other tools; none of them is asked for: nothing is written. */
static bool write_exports(const struct trace_call *call, const struct trace *trace, struct err *err)
{
	const char *chrome = call->command->export, *folded = call->command->folded;
	if (chrome && !cmd_trace_export(chrome, trace, &call->options, trace_export_chrome, err))
		return false;
	return !folded || cmd_trace_export(folded, trace, &call->options, trace_export_folded, err);
}

static bool trace_files(const struct trace_call *call, const struct opt_list *args, struct err *err)
{
	struct trace_progress *progress = trace_progress_start();
	const struct trace_hooks hooks = { .reading = on_reading, .ctx = progress };
	struct trace trace;
	struct trace_run result;
	expect_interrupt();
	if (!trace_open(&trace, args->items, args->n, &hooks, err)) {
		trace_progress_stop(progress);
		return false;
	}
	trace_progress_file(progress, NULL);
	bool ok = trace_analyse(&trace, &call->options, call->run, &result, err);
	trace_progress_stop(progress);
	warn_of_unread(&trace);
	ok = ok && write_exports(call, &trace, err) && write_result(call, &result, err);
	trace_close(&trace);
	return ok;
}

int cmd_trace(int argc, char **argv)
{
	if (argc > 0 && strcmp(argv[0], "diff") == 0)
		return cmd_trace_diff(argc - 1, argv + 1);
	struct arena run = { 0 };
	struct trace_command command = { .step = -1, .from_ns = TRACE_NONE, .to_ns = TRACE_NONE };
	struct cmd_common common;
	struct opt_list args;
	struct err err;
	int code;
	const struct opt_table table = { rows, ARRAY_LEN(rows), &command };
	if (cmd_start(&usage, &table, 1, argc, argv, &run, &common, &args, &code)) {
		struct trace_call call = { .command = &command, .common = &common, .run = &run };
		bool ok = check_paths(&args, &err) && options_of(&command, &call.options, &err) &&
		          trace_files(&call, &args, &err);
		code = ok ? 0 : cmd_fail(&err);
	}
	arena_release(&run);
	return code;
}
