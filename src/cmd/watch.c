/*
 * venturi watch: this machine, processes, pages of metrics, or a record of them, as a screen, as
 * lines, and as files and a page for other programs.
 */
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/watch_list.h"
#include "cmd/watch_screen.h"
#include "cmd/watching.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "report/watch.h"
#include "watch/exporter.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t line_period_ns = NS_PER_S;

struct watch_options {
	struct watching_options what;
	int64_t duration_ns; /* 0: without end */
	const char *listen;
	bool lines, series, list, markdown;
};

static const struct opt rows[] = {
	{ OPT_HEADING, .help = N_("What is watched, besides the machine:") },
	{ OPT(struct watch_options, what.pids, OPT_LIST, 'p', "pid", "PID",
	        N_("this process with its children; may be repeated")) },
	{ OPT(struct watch_options, what.names, OPT_LIST, 0, "name", "PATTERN",
	        N_("processes of this name, where * and ? stand for any letters; may be "
	           "repeated")) },
	{ OPT(struct watch_options, what.metrics, OPT_LIST, 0, "metrics", "URL",
	        N_("page of Prometheus metrics, read every second; may be repeated")) },
	{ OPT(struct watch_options, what.headers, OPT_LIST, 'H', "header", "'Name: value'",
	        N_("header for the pages of metrics; may be repeated")) },
	{ OPT(struct watch_options, what.insecure, OPT_FLAG, 'k', "insecure", NULL,
	        N_("do not verify the certificates of the pages")) },
	{ OPT(struct watch_options, what.ports, OPT_LIST, 0, "port", "PORT",
	        N_("connections of this TCP port; may be repeated")) },
	{ OPT(struct watch_options, what.profile, OPT_FLAG, 0, "profile", NULL,
	        N_("also take samples of where the watched processes are (perf events)")) },
	{ OPT(struct watch_options, what.root, OPT_STRING, 0, "root", "FOLDER",
	        N_("read proc and sys below this folder, a copy from another machine")) },
	{ OPT_HEADING, .help = N_("How:") },
	{ OPT(struct watch_options, what.interval_ns, OPT_DURATION, 'i', "interval", "DURATION",
	          N_("time between two samples (default 100ms)")),
	        .min = 0.001, .max = 3600 },
	{ OPT(struct watch_options, duration_ns, OPT_DURATION, 'd', "duration", "DURATION",
	          N_("how long (default: until Ctrl-C, or until all that is watched has ended)")),
	        .min = 0.001, .max = 1e7 },
	{ OPT(struct watch_options, what.replay, OPT_STRING, 0, "replay", "FILE",
	        N_("show a record instead, as it was when it was written")) },
	{ OPT_HEADING, .help = N_("What is shown:") },
	{ OPT(struct watch_options, lines, OPT_FLAG, 0, "lines", NULL,
	        N_("one line a second instead of the screen")) },
	{ OPT(struct watch_options, series, OPT_FLAG, 0, "series", NULL,
	        N_("with --json: the points of every signal")) },
	{ OPT(struct watch_options, what.record, OPT_STRING, 0, "record", "FILE",
	        N_("write every sample to a file, compressed when its name ends in .gz")) },
	{ OPT(struct watch_options, listen, OPT_STRING, 0, "listen", "[ADDR:]PORT",
	        N_("serve the newest values as a page for Prometheus (a port alone: on "
	           "127.0.0.1)")) },
	{ OPT(struct watch_options, list, OPT_FLAG, 0, "list", NULL,
	        N_("list all signals with unit, source and meaning, and end")) },
	{ OPT(struct watch_options, markdown, OPT_FLAG, 0, "markdown", NULL,
	        N_("with --list: as Markdown")) },
};

static const struct cmd_usage usage = {
	.line = "venturi watch [options] [-- COMMAND [ARGUMENTS]]",
	.about = N_(
	        "Watches what this machine, processes and services do, on one time axis: what the "
	        "CPUs, memory, control groups, network and devices were doing, and what could not "
	        "be seen, and why. With a COMMAND it runs it and watches it until it ends."),
	.notes = N_("Exit status: 0 done, 2 usage, 3 not a record of a watch, or a damaged one, 4 "
	            "the machine refused: no such process, a file, an address. With a COMMAND that "
	            "has ended: its exit status, or 128 and the number of the signal that ended "
	            "it."),
};

/* What one call works with. */
struct call {
	const struct watch_options *options;
	const struct cmd_common *common;
	struct watching *watching;
	struct watch_lines lines;
	double line_s;                           /* until where lines have been shown */
	size_t n_ended;                          /* processes whose end has been told */
	bool no_reader;                          /* of the lines, any more */
	bool is_told_unread[WATCHING_PAGES_MAX]; /* that the page cannot be read */
};

/* ---- options ---- */

static bool check_alone(const struct watch_options *o, struct err *err)
{
	const struct watching_options *w = &o->what;
	if (!w->replay)
		return true;
	if (w->pids.n + w->names.n + w->metrics.n + w->ports.n + w->command.n > 0 || w->root)
		return err_set(err, ERR_USAGE,
		        _("'--replay' shows what was watched then, and nothing besides"));
	if (w->record || o->listen)
		return err_set(err, ERR_USAGE,
		        _("'--replay' goes with neither '--record' nor '--listen'"));
	return true;
}

/* What would do nothing alone, or not what it looks like, was meant to do something. */
static bool check_pairs(
        const struct watch_options *o, const struct cmd_common *common, struct err *err)
{
	bool for_pages = o->what.headers.n > 0 || o->what.insecure;
	if (o->what.record && strcmp(o->what.record, "-") == 0)
		return err_set(err, ERR_USAGE, _("'--record' takes a file, not '-'"));
	if (o->markdown && !o->list)
		return err_set(err, ERR_USAGE, _("'--markdown' goes with '--list'"));
	if (o->series && !common->json)
		return err_set(err, ERR_USAGE, _("'--series' goes with '--json'"));
	if (for_pages && o->what.metrics.n == 0)
		return err_set(
		        err, ERR_USAGE, _("'--header' and '--insecure' go with '--metrics'"));
	return true;
}

static bool check_options(const struct watch_options *o, const struct cmd_common *common,
        const struct opt_list *args, struct err *err)
{
	if (args->n > 0) {
		err_set(err, ERR_USAGE, _("'%s' is no option"), args->items[0]);
		return err_hint(err, _("a process is named with '--pid' or '--name', a command "
		                       "stands behind '--'"));
	}
	if (o->what.root && o->what.command.n > 0)
		return err_set(err, ERR_USAGE, _("a command does not run below '--root'"));
	return check_pairs(o, common, err) && check_alone(o, err);
}

/* Everything behind "--" is the command; returns how many words are before it. */
static int take_command(int argc, char **argv, struct arena *run, struct opt_list *command)
{
	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		size_t n = (size_t)(argc - i - 1);
		command->items = arena_new_n(run, const char *, n + 1);
		memcpy(command->items, argv + i + 1, n * sizeof(*argv));
		command->n = n;
		return i;
	}
	return argc;
}

/* ---- what is told meanwhile ---- */

static void tell_ended(struct call *call, const struct watch_run *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n_processes; i++)
		n += !isnan(r->processes[i].ended_s);
	/* One whose command this is ends as it should. */
	for (size_t i = 0; n > call->n_ended && i < r->n_processes; i++) {
		const struct watch_process *p = &r->processes[i];
		if (!isnan(p->ended_s) && !r->command && p->ended_s > call->line_s)
			cmd_note(_("process %d (%s) has ended after %.1f s"), p->pid,
			        p->name ? p->name : "?", p->ended_s);
	}
	call->n_ended = n;
}

/* Once for each; what else befalls a page is in the result. */
static void tell_unread(struct call *call, const struct watch_run *r)
{
	for (size_t i = 0; i < r->n_pages && i < ARRAY_LEN(call->is_told_unread); i++) {
		const struct signal_page *page = &r->pages[i];
		if (page->n_read > 0 || page->n_failed == 0 || call->is_told_unread[i])
			continue;
		cmd_warn("'%s': %s", page->url, page->reason);
		call->is_told_unread[i] = true;
	}
}

static bool print_line(struct call *call, const struct watch_run *r, struct err *err)
{
	AUTO(auto_buf) struct buf line = { 0 };
	watch_lines_add(&call->lines, r, call->line_s, r->system.to_s, &line);
	errno = 0;
	if (cmd_print(&line, err))
		return true;
	/* Whoever reads only the first lines of a pipe has what he wanted: the watch is over. */
	call->no_reader = errno == EPIPE;
	return call->no_reader;
}

/* Lines are wanted unless only the result is. */
static bool shows_lines(const struct call *call)
{
	const struct watch_options *o = call->options;
	return cmd_shows_text(call->common) && (o->lines || o->what.command.n == 0);
}

static bool show_moment(struct call *call, struct err *err)
{
	struct arena tmp = { 0 };
	struct watch_run now;
	bool ok = true;
	watching_glance(call->watching, watch_lines_wants, &tmp, &now);
	/* Nothing was sampled since, at the end or where samples are far apart. */
	if (shows_lines(call) && now.system.to_s > call->line_s)
		ok = print_line(call, &now, err);
	tell_ended(call, &now);
	tell_unread(call, &now);
	if (!isnan(now.system.to_s))
		call->line_s = now.system.to_s;
	arena_release(&tmp);
	return ok;
}

/* Shows lines until the end; false: they cannot be written. */
static bool watch_lines(struct call *call, struct err *err)
{
	struct watching *w = call->watching;
	int64_t interval_ns = watching_interval_ns(w);
	int64_t period_ns = interval_ns > line_period_ns ? interval_ns : line_period_ns;
	int64_t start_ns = watching_start_ns(w), end_ns = INT64_MAX;
	/* The sample that is due with a line has been taken by then. */
	int64_t first_ns = start_ns + period_ns + interval_ns / 2;
	const atomic_bool *stop = cmd_stop_flag();
	if (call->options->duration_ns > 0)
		end_ns = start_ns + call->options->duration_ns;
	for (int64_t until_ns = first_ns;; until_ns += period_ns) {
		bool is_last = until_ns >= end_ns;
		bool goes_on = watching_wait(w, is_last ? end_ns : until_ns, stop);
		is_last |= !goes_on || atomic_load(stop);
		if (!is_last && !show_moment(call, err))
			return false;
		if (is_last || call->no_reader)
			return true;
	}
}

/* ---- the screen ---- */

static bool is_over(void *ctx)
{
	return !watching_goes_on(ctx);
}

static const struct signal_server *pages_now(void *ctx, struct arena *run)
{
	struct signal_server *server = arena_new(run, struct signal_server);
	server->ttft_beyond_ms = NAN;
	server->n_pages = watching_pages(ctx, run, &server->pages);
	return server;
}

static bool watch_screen(struct call *call, struct err *err)
{
	struct watching *w = call->watching;
	int64_t duration_ns = call->options->duration_ns;
	const struct watch_screen_config config = {
		.title = watching_title(w),
		.until_ns = duration_ns > 0 ? watching_start_ns(w) + duration_ns : 0,
		.stop = cmd_stop_flag(),
		.is_over = is_over,
		.pages = pages_now,
		.ctx = w,
	};
	return watch_screen_run(watching_sampler(w), &config, err);
}

/* A command writes to the terminal itself. */
static bool shows_screen(const struct call *call)
{
	const struct watch_options *o = call->options;
	const char *why;
	return cmd_shows_text(call->common) && !o->lines && o->what.command.n == 0 &&
	       watching_is_live(call->watching) && watch_screen_is_possible(&why);
}

/* ---- the exporter ---- */

static bool wants_none(const char *name)
{
	(void)name;
	return false;
}

static void write_page(void *ctx, struct buf *out)
{
	struct arena tmp = { 0 };
	struct watch_run now;
	watching_glance(ctx, wants_none, &tmp, &now);
	report_watch_prometheus(&now, out);
	arena_release(&tmp);
}

static bool open_exporter(
        struct call *call, struct arena *run, struct exporter **ret_exporter, struct err *err)
{
	const struct exporter_config config = {
		.address = call->options->listen, .write = write_page, .ctx = call->watching
	};
	*ret_exporter = NULL;
	if (!call->options->listen)
		return true;
	if (!exporter_open(&config, run, ret_exporter, err))
		return false;
	cmd_note(_("metrics are at %s"), exporter_url(*ret_exporter));
	return true;
}

/* ---- the result ---- */

static bool write_result(struct call *call, const struct watch_run *r, struct err *err)
{
	AUTO(auto_buf) struct buf json = { 0 };
	AUTO(auto_buf) struct buf text = { 0 };
	const struct cmd_common *common = call->common;
	struct err second;
	bool ok = true;
	if (common->json) {
		report_watch_json(r, call->options->series, &json);
		ok = cmd_write(common->json, buf_str(&json), err);
	}
	if (!cmd_shows_text(common) || call->no_reader)
		return ok;
	if (call->lines.n_lines > 0)
		buf_add_char(&text, '\n');
	report_watch_text(r, &text);
	return cmd_print(&text, ok ? err : &second) && ok;
}

static bool check_record(const struct watch_run *r, struct err *err)
{
	const struct watch_record_info *record = &r->record;
	if (record->failed)
		return err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), record->path,
		        strerror(record->failed));
	if (record->n_dropped > 0)
		cmd_warn(_("%lld samples are not in the record, which could not be written in "
		           "time; write to a faster disk"),
		        (long long)record->n_dropped);
	if (r->is_cut)
		cmd_warn(_("'%s' has no end: it is shown up to its last whole line"), r->replayed);
	return true;
}

static int finish(struct call *call, struct arena *run, struct err *err)
{
	struct watch_run r;
	watching_finish(call->watching, run, &r);
	bool seen = r.system.n_samples > 0;
	tell_ended(call, &r);
	tell_unread(call, &r);
	bool ok = write_result(call, &r, err) && check_record(&r, err) &&
	          watching_check(call->watching, err);
	if (!ok)
		return cmd_fail(err);
	if (!seen) {
		cmd_warn(_("the watch ended before anything was seen"));
		return r.command_status > 0 ? r.command_status : ERR_INVALID;
	}
	return r.command_status > 0 ? r.command_status : 0;
}

static int run_watch(struct call *call, struct arena *run)
{
	struct err err;
	struct exporter *exporter = NULL;
	if (!watching_open(&call->options->what, run, &call->watching, &err))
		return cmd_fail(&err);
	cmd_catch_signals();
	int code;
	bool ok = open_exporter(call, run, &exporter, &err) &&
	          watching_start(call->watching, &err) &&
	          (shows_screen(call) ? watch_screen(call, &err) : watch_lines(call, &err));
	exporter_close(exporter);
	code = ok ? finish(call, run, &err) : cmd_fail(&err);
	watching_close(call->watching);
	return code;
}

static int show_list(const struct watch_options *o, const struct cmd_common *common)
{
	AUTO(auto_buf) struct buf text = { 0 };
	AUTO(auto_buf) struct buf json = { 0 };
	struct err err;
	bool ok = true;
	if (common->json) {
		watch_list_json(&json);
		ok = cmd_write(common->json, buf_str(&json), &err);
	}
	if (ok && cmd_shows_text(common)) {
		if (o->markdown)
			watch_list_markdown(&text);
		else
			watch_list_text(&text);
		ok = cmd_write("-", buf_str(&text), &err);
	}
	return ok ? 0 : cmd_fail(&err);
}

int cmd_watch(int argc, char **argv)
{
	struct arena run = { 0 };
	struct watch_options options = { .what.interval_ns = 100 * NS_PER_MS };
	struct cmd_common common;
	struct opt_list args;
	struct err err;
	int code;
	const struct opt_table table = { rows, ARRAY_LEN(rows), &options };
	argc = take_command(argc, argv, &run, &options.what.command);
	if (cmd_start(&usage, &table, 1, argc, argv, &run, &common, &args, &code)) {
		struct call call = { .options = &options, .common = &common, .line_s = -1 };
		if (!check_options(&options, &common, &args, &err))
			code = cmd_fail(&err);
		else
			code = options.list ? show_list(&options, &common) : run_watch(&call, &run);
	}
	arena_release(&run);
	return code;
}
