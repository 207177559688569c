/*
 * venturi load: options in, one measurement, result out.
 */
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/load_server.h"
#include "cmd/system_watch.h"

#include "base/i18n.h"
#include "load/options.h"
#include "report/report.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct cmd_usage usage = {
	.line = "venturi load [options] URL...",
	.about = N_("Loads an inference service and reports latency, throughput, failures, and whether "
		    "the load generator itself was the limit."),
	.notes = N_("Exit status: 0 done, 2 usage, 3 input not understood, 4 machine or service "
		    "refused, 5 measured but invalid (the client was the limit, or nothing succeeded)."),
};

/* What the hooks of a measurement need. */
struct watched {
	const char *url;
	struct load_server *server;
	struct system_watch *system; /* NULL: not watched */
};

/* What is looked at beside the load itself. */
struct beside {
	struct load_server_options server;
	struct system_watch_options system;
};

static void on_window(void *ctx, bool opened)
{
	const struct watched *watched = ctx;
	load_server_window(watched->server, opened);
	system_watch_window(watched->system, opened);
}

static void on_progress(void *ctx, const struct load_progress *p)
{
	const struct watched *watched = ctx;
	struct str path;
	struct str host = str_cut(cmd_without_scheme(watched->url), '/', &path);
	char label[64];
	snprintf(label, sizeof(label), "%.*s", STR_ARG(host));
	cmd_progress_load(label, p);
}

static struct ledger_run ledger_entry(const struct load_run *r, struct str json)
{
	const struct hist *latency = &r->metrics[LOAD_LATENCY];
	return (struct ledger_run){
		.kind = "load",
		.started_at = r->started_at,
		.url = r->url,
		.api = r->api,
		.model = r->model,
		.partial = r->partial,
		.verdict = load_client_verdict_names[r->client.verdict],
		.requests_per_s = r->throughput.requests_per_s,
		.p50_ms = latency->n ? (double)hist_quantile(latency, 0.5) / 1e6 : NAN,
		.p99_ms = quantile_enough(latency->n, 0.99) ? (double)hist_quantile(latency, 0.99) / 1e6 : NAN,
		.n_ok = r->requests.ok,
		.n_failed = r->requests.failed,
		.fingerprint = r->fingerprint,
		.json = json,
	};
}

static bool write_result(const struct cmd_common *common, const struct load_run *r, struct str json,
	struct err *err)
{
	AUTO(auto_buf) struct buf text = { 0 };
	struct err second;
	bool ok = !common->json || cmd_write(common->json, json, err);
	if (!cmd_shows_text(common))
		return ok;
	/* Shown also when the file could not be written: what was measured is not lost. */
	report_load_text(r, &text);
	return cmd_print(&text, ok ? err : &second) && ok;
}

static int judge(const struct load_run *r)
{
	if (r->server && r->server->warning)
		cmd_warn("%s", r->server->warning);
	if (r->requests.attempted == 0) {
		cmd_warn(_("the run ended before anything was measured"));
		return ERR_INVALID;
	}
	if (r->requests.ok == 0) {
		cmd_warn(_("no request to '%s' succeeded: %s"), r->url,
			r->first_error ? r->first_error : _("nothing was answered in time"));
		return ERR_INVALID;
	}
	if (r->client.verdict == LOAD_CLIENT_LIMITED || r->client.verdict == LOAD_CLIENT_INVALID) {
		cmd_warn(_("the measurement is invalid: %s"), r->client.why);
		return ERR_INVALID;
	}
	return 0;
}

/* A run by time is exported as long as it is, one by number up to its last request. */
static bool export_schedule(const struct load_options *options, const struct load_shape *shape,
	struct err *err)
{
	AUTO(auto_buf) struct buf csv = { 0 };
	return arrival_export(&shape->arrival, shape->rate_per_s, (uint64_t)options->config.seed,
		       shape->duration_ns, shape->requests, &csv, err) &&
		cmd_write(options->export_schedule, buf_str(&csv), err);
}

static bool measure(const struct load_options *options, const struct beside *beside,
	struct arena *run, struct load_run *r, struct err *err)
{
	struct watched watched = { .url = options->config.url };
	const struct load_hooks hooks = {
		.records = options->records,
		.stop = cmd_stop_flag(),
		.progress = on_progress,
		.ctx = &watched,
		.window = on_window,
	};
	struct load_config config = options->config;
	struct load_shape shape;
	struct load *load;
	if (!load_options_shape(options, run, &shape, err))
		return false;
	config.schedule = shape.arrival.schedule;
	if ((options->export_schedule && !export_schedule(options, &shape, err)) ||
		!load_open(&config, run, &load, err))
		return false;
	bool ok = system_watch_open(&beside->system, &config, false, run, &watched.system, err) &&
		load_server_open(&beside->server, &config, run, &watched.server, err);
	cmd_catch_signals();
	if (ok) {
		ok = load_server_start(watched.server, &shape, err) &&
			load_measure(load, &shape, &hooks, run, r, err);
		load_server_finish(watched.server, run, ok ? r : NULL);
	}
	if (ok)
		r->system = system_watch_report(watched.system, r->window.start_ns, run);
	load_server_close(watched.server);
	system_watch_close(watched.system);
	if (ok)
		load_self_check(load, &shape, &hooks, run, r);
	load_close(load);
	cmd_progress_clear();
	return ok;
}

/* A file that could not be written is an error once the result is out; lost records are said. */
static bool check_records(const struct load_records *r, struct err *err)
{
	if (r->failed)
		return err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), r->path,
			strerror(r->failed));
	if (r->lost_requests > 0 || r->lost_gaps > 0)
		cmd_warn(_("'%s' lacks %lld of %lld requests and %lld gaps between token events, which "
			   "could not be written in time; write to a faster disk"),
			r->path, (long long)r->lost_requests,
			(long long)(r->lost_requests + r->requests), (long long)r->lost_gaps);
	return true;
}

static int run_load(struct load_options *options, const struct beside *beside,
	const struct cmd_common *common, struct arena *run)
{
	struct load_run *r = arena_new(run, struct load_run);
	AUTO(auto_buf) struct buf json = { 0 };
	struct err err;
	options->config.check_client = strcmp(options->check_client, "auto") == 0;
	if (!measure(options, beside, run, r, &err))
		return cmd_fail(&err);
	report_load_json(r, &json);
	bool written = write_result(common, r, buf_str(&json), &err) &&
		check_records(&r->records, &err);
	const struct ledger_run entry = ledger_entry(r, buf_str(&json));
	cmd_store(common, &entry);
	return written ? judge(r) : cmd_fail(&err);
}

static bool take_urls(const struct opt_list *args, struct load_config *config, struct err *err)
{
	const struct opt_list first = { args->items, args->n > 0 };
	if (!cmd_one_url(&first, "load", &config->url, err))
		return false;
	config->more_urls = (struct opt_list){ args->items + 1, args->n - 1 };
	return true;
}

int cmd_load(int argc, char **argv)
{
	struct arena run = { 0 };
	struct load_options options;
	struct beside beside = { 0 };
	struct cmd_common common;
	struct opt_list args;
	struct err err;
	int code;
	load_options_init(&options);
	const struct opt_table tables[] = {
		{ load_workload_rows, load_n_workload_rows, &options },
		{ load_session_rows, load_n_session_rows, &options },
		{ load_shape_rows, load_n_shape_rows, &options },
		{ load_window_rows, load_n_window_rows, &options },
		{ load_server_rows, load_server_n_rows, &beside.server },
		{ system_watch_load_rows, system_watch_load_n_rows, &beside.system },
	};
	if (cmd_start(&usage, tables, ARRAY_LEN(tables), argc, argv, &run, &common, &args, &code)) {
		if (!take_urls(&args, &options.config, &err))
			code = cmd_fail(&err);
		else
			code = run_load(&options, &beside, &common, &run);
	}
	arena_release(&run);
	return code;
}
