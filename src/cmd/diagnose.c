/*
 * venturi diagnose: options in, a diagnosis, verdict and report out.
 */
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/load_server.h"
#include "cmd/system_watch.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "diagnose/diagnose.h"
#include "load/options.h"
#include "report/report.h"
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct diagnose_options {
	struct load_options load;
	const char *sla;
	int64_t budget_ns;
	const char *report;
	struct opt_list traces;
	struct load_server_options server;
	struct system_watch_options system;
};

/* What is looked at beside each load. */
struct watched {
	struct arena *run;
	struct load_server *server;
	struct system_watch *system; /* NULL: not watched */
};

static const struct opt own_rows[] = {
	{ OPT_HEADING, .help = N_("What is asked:") },
	{ OPT(struct diagnose_options, sla, OPT_STRING, 0, "sla", "METRIC=DURATION",
		N_("target to meet: p99=150ms, p50=, p999=, ttft_p99=200ms, itl_p99=, ...")) },
	{ OPT(struct diagnose_options, budget_ns, OPT_DURATION, 0, "budget", "DURATION",
		N_("time for all measurements together (default 2m)")),
		.min = 1, .max = 24 * 3600.0 },
	{ OPT(struct diagnose_options, report, OPT_STRING, 0, "report", "FILE.md",
		N_("write the whole diagnosis as Markdown")) },
	{ OPT(struct diagnose_options, traces, OPT_LIST, 0, "trace", "FILE",
		N_("a profiler's trace of the service, or a folder of them: what 'venturi trace' finds "
		   "in it speaks for or against causes (may be given several times)")) },
};

static const struct cmd_usage usage = {
	.line = "venturi diagnose [options] URL",
	.about = N_("Loads a service step by step, says which kind of slow it is, and holds every cause "
		    "of the catalogue against what was measured."),
	.notes = N_("Exit status: 0 done, 1 the SLA is missed, 2 usage, 3 input not understood, 4 "
		    "machine or service refused, 5 measured but invalid (the client was the limit, or "
		    "nothing succeeded)."),
};

static void on_progress(void *ctx, const char *what, int i, int n, const struct load_progress *p)
{
	char label[160];
	(void)ctx;
	cmd_catch_signals();
	snprintf(label, sizeof(label), "[%d/%d] %s", i, n, what);
	if (p)
		cmd_progress_load(label, p);
	else
		cmd_progress("%s", label);
}

static bool before(void *ctx, const struct load_shape *shape, struct err *err)
{
	const struct watched *watched = ctx;
	return load_server_start(watched->server, shape, err);
}

static void on_window(void *ctx, bool opened)
{
	const struct watched *watched = ctx;
	load_server_window(watched->server, opened);
	system_watch_window(watched->system, opened);
}

static void after(void *ctx, struct load_run *r)
{
	const struct watched *watched = ctx;
	load_server_finish(watched->server, watched->run, r);
	if (r)
		r->system = system_watch_report(watched->system, r->window.start_ns, watched->run);
}

/* The point of the curve at which the SLA was judged, else the last one. */
static const struct curve_point *judged_point(const struct diagnosis *d)
{
	for (int i = 0; i < d->n_curve; i++)
		if (d->curve[i].concurrency == d->sla.concurrency)
			return &d->curve[i];
	return d->n_curve ? &d->curve[d->n_curve - 1] : NULL;
}

static struct ledger_run ledger_entry(const struct diagnosis *d, struct str json)
{
	const struct curve_point *p = judged_point(d);
	return (struct ledger_run){
		.kind = "diagnose",
		.started_at = d->started_at,
		.url = d->url,
		.api = d->api,
		.model = d->model,
		.partial = d->partial,
		.verdict = verdict_name(d->verdict),
		.requests_per_s = p ? p->requests_per_s : NAN,
		.p50_ms = p ? p->p50_ms : NAN,
		.p99_ms = p ? p->p99_ms : NAN,
		.n_ok = p ? p->n : 0,
		.n_failed = p ? p->failed : 0,
		.fingerprint = d->fingerprint,
		.json = json,
	};
}

static bool write_results(const struct diagnose_options *options, const struct cmd_common *common,
	const struct diagnosis *d, struct str json, struct err *err)
{
	AUTO(auto_buf) struct buf text = { 0 };
	AUTO(auto_buf) struct buf markdown = { 0 };
	struct err second;
	/* What cannot be written in one place is still written in the others. */
	bool ok = !common->json || cmd_write(common->json, json, err);
	bool reported = false;
	if (options->report) {
		report_diagnosis_markdown(d, &markdown);
		reported = cmd_write(options->report, buf_str(&markdown), ok ? err : &second);
		ok &= reported;
	}
	if (!cmd_shows_text(common))
		return ok;
	report_diagnosis_text(d, &text);
	ok &= cmd_print(&text, ok ? err : &second);
	if (reported)
		printf(_("Report: %s\n"), options->report);
	return ok;
}

/* What the traces say; nothing is measured before they are known to be readable. */
static bool read_traces(const struct opt_list *files, struct arena *run,
	const struct trace_run **ret_trace, struct err *err)
{
	static const struct trace_options whole = {
		.top = 10, .from_ns = TRACE_NONE, .to_ns = TRACE_NONE, .step = -1, .by = "name",
	};
	struct trace trace;
	if (files->n == 0)
		return true;
	if (!trace_open(&trace, files->items, files->n, NULL, err))
		return false;
	struct trace_run *found = arena_new(run, struct trace_run);
	bool ok = trace_analyse(&trace, &whole, run, found, err);
	trace_close(&trace);
	*ret_trace = found;
	return ok;
}

static int exit_code(const struct diagnosis *d)
{
	if (d->verdict == VERDICT_INVALID)
		return ERR_INVALID;
	if (d->n_curve == 0)
		return ERR_INVALID;
	return d->sla.present && d->sla.n > 0 && !d->sla.met ? 1 : 0;
}

static int run_diagnose(const struct diagnose_options *options, const struct cmd_common *common,
	struct arena *run)
{
	struct watched watched = { .run = run };
	const struct diagnose_hooks hooks = {
		.stop = cmd_stop_flag(),
		.progress = on_progress,
		.before = before,
		.window = on_window,
		.after = after,
		.ctx = &watched,
	};
	struct diagnose_config config = {
		.load = options->load.config,
		.concurrency = options->load.concurrency,
		.budget_ns = options->budget_ns,
	};
	struct diagnosis d;
	struct err err;
	AUTO(auto_buf) struct buf json = { 0 };
	config.load.check_client = true;
	if (options->sla && !sla_parse(options->sla, run, &config.sla, &err))
		return cmd_fail(&err);
	if (!load_options_level_rate(&options->load, run, &config.rate_per_s, &err))
		return cmd_fail(&err);
	if (config.concurrency > 0 && config.rate_per_s > 0) {
		err_set(&err, ERR_USAGE, _("'--concurrency' and '--rate' exclude each other"));
		return cmd_fail(&err);
	}
	bool ok = read_traces(&options->traces, run, &config.trace, &err) &&
		system_watch_open(&options->system, &config.load, true, run, &watched.system, &err) &&
		load_server_open(&options->server, &config.load, run, &watched.server, &err) &&
		diagnose_run(&config, &hooks, run, &d, &err);
	load_server_close(watched.server);
	system_watch_close(watched.system);
	cmd_progress_clear();
	if (!ok)
		return cmd_fail(&err);
	report_diagnosis_json(&d, &json);
	bool written = write_results(options, common, &d, buf_str(&json), &err);
	const struct ledger_run entry = ledger_entry(&d, buf_str(&json));
	cmd_store(common, &entry);
	return written ? exit_code(&d) : cmd_fail(&err);
}

int cmd_diagnose(int argc, char **argv)
{
	struct arena run = { 0 };
	struct diagnose_options options = { .budget_ns = 120 * NS_PER_S };
	struct cmd_common common;
	struct opt_list args;
	struct err err;
	int code;
	load_options_init(&options.load);
	const struct opt_table tables[] = {
		{ own_rows, ARRAY_LEN(own_rows), &options },
		{ load_workload_rows, load_n_workload_rows, &options.load },
		{ load_shape_rows, load_n_shape_rows, &options.load },
		{ load_server_rows, load_server_n_rows, &options.server },
		{ system_watch_diagnose_rows, system_watch_diagnose_n_rows, &options.system },
	};
	if (cmd_start(&usage, tables, ARRAY_LEN(tables), argc, argv, &run, &common, &args, &code)) {
		if (!cmd_one_url(&args, "diagnose", &options.load.config.url, &err))
			code = cmd_fail(&err);
		else
			code = run_diagnose(&options, &common, &run);
	}
	arena_release(&run);
	return code;
}
