#include "cmd/cmd.h"
#include "cmd/common.h"

#include "base/i18n.h"
#include "base/units.h"
#include "ledger/ledger.h"
#include "text/json.h"
#include "text/table.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { LIMIT_DEFAULT = 20 };

struct log_options {
	const char *kind;
	const char *url;
	int64_t limit;
};

static const struct opt rows[] = {
	{ OPT_HEADING, .help = N_("Runs to list:") },
	{ OPT(struct log_options, kind, OPT_CHOICE, 0, "kind", NULL, N_("only runs of this kind")),
	        .choices = "load|diagnose" },
	{ OPT(struct log_options, url, OPT_STRING, 0, "url", "TEXT",
	        N_("only runs whose URL holds this text")) },
	{ OPT(struct log_options, limit, OPT_INT, 'n', "limit", "N",
	          N_("at most so many runs (default 20; 0: all)")),
	        .max = 1e9 },
};

static const struct cmd_usage usage = {
	.line = "venturi log [list] [options]\n       venturi log show ID [options]",
	.about = N_("Lists the runs in the ledger, newest first, or shows one of them."),
	.notes = N_(
	        "Exit status: 0 done, 2 usage, 3 no such run or not a ledger, 4 the ledger cannot "
	        "be read."),
};

/* What a subcommand works with. */
struct log_call {
	const struct log_options *options;
	const struct cmd_common *common;
	struct opt_list args; /* after the subcommand's own word */
	const char *path;
	struct ledger *ledger; /* NULL when there is none yet */
	struct arena *run;
};

/* "2026-01-02T03:04:05Z" in the reader's own time; as it stands when it is written otherwise. */
static const char *local_time(const char *utc, struct arena *run)
{
	struct tm tm = { 0 };
	char text[32];
	const char *end = strptime(utc, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end)
		return utc;
	time_t moment = timegm(&tm);
	if (!localtime_r(&moment, &tm) || strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm) == 0)
		return utc;
	return arena_strdup(run, text);
}

/* Host and port; the path too where no API implies it. */
static struct str short_target(const struct ledger_run *r)
{
	struct str url = cmd_without_scheme(r->url), path;
	if (r->api && strcmp(r->api, "http") == 0)
		return url;
	return str_cut(url, '/', &path);
}

static const char *load_of(const struct ledger_run *r, struct arena *run)
{
	const char *concurrency = fingerprint_get(&r->fingerprint, "load.concurrency");
	const char *rate = fingerprint_get(&r->fingerprint, "load.rate_per_s");
	if (concurrency)
		return arena_printf(run, "c=%s", concurrency);
	return rate ? arena_printf(run, "%s/s", rate) : "-";
}

static const char *rate_text(double per_s, struct arena *run)
{
	if (isnan(per_s))
		return "-";
	return arena_printf(run, per_s < 100 ? "%.2f" : "%.0f", per_s);
}

static const char *time_text(double ms, struct arena *run)
{
	char text[UNITS_TEXT];
	return isnan(ms) ? "-" : arena_strdup(run, units_duration(ms * 1e6, text));
}

static const char *or_dash(const char *text)
{
	return text && *text ? text : "-";
}

static void print_table(
        const struct log_call *call, const struct ledger_run *runs, size_t n, struct buf *out)
{
	static const char *const heads[] = { N_("run"), N_("started"), N_("kind"), N_("target"),
		N_("API"), N_("model"), N_("load"), N_("req/s"), N_("P50"), N_("P99"),
		N_("ok/failed"), N_("verdict"), "" };
	struct arena *run = call->run;
	struct table t;
	table_init(&t, run, "rlllllrrrrrll");
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_cell(&t, "%s", *heads[i] ? _(heads[i]) : "");
	for (size_t i = 0; i < n; i++) {
		const struct ledger_run *r = &runs[i];
		table_cell(&t, "%lld", (long long)r->id);
		table_cell(&t, "%s", local_time(r->started_at, run));
		table_cell(&t, "%s", r->kind);
		table_cell(&t, "%.*s", STR_ARG(short_target(r)));
		table_cell(&t, "%s", or_dash(r->api));
		table_cell(&t, "%s", or_dash(r->model));
		table_cell(&t, "%s", load_of(r, run));
		table_cell(&t, "%s", rate_text(r->requests_per_s, run));
		table_cell(&t, "%s", time_text(r->p50_ms, run));
		table_cell(&t, "%s", time_text(r->p99_ms, run));
		table_cell(&t, "%lld/%lld", (long long)r->n_ok, (long long)r->n_failed);
		table_cell(&t, "%s", or_dash(r->verdict));
		table_cell(&t, "%s", r->partial ? _("partial") : "");
	}
	table_print(&t, out);
}

static void json_fingerprint(struct json *j, const struct fingerprint *fp)
{
	json_key(j, "fingerprint");
	json_object_open(j);
	for (size_t i = 0; i < fp->n; i++)
		json_put_string(j, fp->entries[i].name, fp->entries[i].value);
	json_object_close(j);
}

/* The names are those of venturi.load/1. */
static void json_run(struct json *j, const struct ledger_run *r)
{
	json_object_open(j);
	json_put_int(j, "id", r->id);
	json_put_string(j, "kind", r->kind);
	json_put_string(j, "started_at", r->started_at);
	json_put_bool(j, "partial", r->partial);
	json_put_string_present(j, "verdict", r->verdict);
	json_key(j, "target");
	json_object_open(j);
	json_put_string(j, "url", r->url);
	json_put_string_present(j, "api", r->api);
	json_put_string_present(j, "model", r->model);
	json_object_close(j);
	json_key(j, "requests");
	json_object_open(j);
	json_put_int(j, "ok", r->n_ok);
	json_put_int(j, "failed", r->n_failed);
	json_object_close(j);
	json_key(j, "latency_ms");
	json_object_open(j);
	json_put_double(j, "p50", r->p50_ms);
	json_put_double(j, "p99", r->p99_ms);
	json_object_close(j);
	json_key(j, "throughput");
	json_object_open(j);
	json_put_double(j, "requests_per_s", r->requests_per_s);
	json_object_close(j);
	json_fingerprint(j, &r->fingerprint);
	json_object_close(j);
}

static void list_json(
        const struct log_call *call, const struct ledger_run *runs, size_t n, struct buf *out)
{
	struct json j;
	json_init(&j, out, true);
	json_object_open(&j);
	json_put_string(&j, "schema", "venturi.log/1");
	json_put_string(&j, "ledger", call->path);
	json_key(&j, "runs");
	json_array_open(&j);
	for (size_t i = 0; i < n; i++)
		json_run(&j, &runs[i]);
	json_array_close(&j);
	json_object_close(&j);
	buf_add_char(out, '\n');
}

static void list_text(
        const struct log_call *call, const struct ledger_run *runs, size_t n, struct buf *out)
{
	bool filtered = call->options->kind || call->options->url;
	if (n)
		print_table(call, runs, n, out);
	else if (filtered && call->ledger)
		buf_printf(out, _("No run in the ledger '%s' matches.\n"), call->path);
	else
		buf_printf(out,
		        _("No run is in the ledger '%s' yet: 'venturi load URL' and "
		          "'venturi diagnose URL' add theirs.\n"),
		        call->path);
}

/* The result as JSON where it was asked for, as text unless that is silenced or takes its place. */
static bool write_both(
        const struct cmd_common *common, struct str json, struct buf *text, struct err *err)
{
	if (common->json && !cmd_write(common->json, json, err))
		return false;
	if (common->quiet || (common->json && strcmp(common->json, "-") == 0))
		return true;
	return cmd_print(text, err);
}

static bool list(const struct log_call *call, struct err *err)
{
	const struct ledger_query query = {
		.kind = call->options->kind,
		.url = call->options->url,
		.limit = call->options->limit,
	};
	AUTO(auto_buf) struct buf json = { 0 };
	AUTO(auto_buf) struct buf text = { 0 };
	struct ledger_run *runs = NULL;
	size_t n = 0;
	if (call->args.n)
		return err_set(err, ERR_USAGE, _("'venturi log list' takes no argument, not '%s'"),
		        call->args.items[0]);
	if (call->ledger && !ledger_list(call->ledger, &query, call->run, &runs, &n, err))
		return false;
	list_json(call, runs, n, &json);
	list_text(call, runs, n, &text);
	return write_both(call->common, buf_str(&json), &text, err);
}

static void pair(struct table *t, const char *name, const char *value)
{
	table_cell(t, "%s", name);
	table_cell(t, "%s", value);
}

static void show_text(const struct log_call *call, const struct ledger_run *r, struct buf *out)
{
	struct arena *run = call->run;
	struct table figures, fingerprint;
	const char *title = r->partial ? _("Run %lld (%s), partial: it was interrupted\n\n")
	                               : _("Run %lld (%s)\n\n");
	buf_printf(out, title, (long long)r->id, r->kind);
	table_init(&figures, run, "ll");
	pair(&figures, _("started"), local_time(r->started_at, run));
	pair(&figures, _("target"), r->url);
	pair(&figures, _("API"), or_dash(r->api));
	pair(&figures, _("model"), or_dash(r->model));
	pair(&figures, _("load"), load_of(r, run));
	pair(&figures, _("req/s"), rate_text(r->requests_per_s, run));
	pair(&figures, _("P50"), time_text(r->p50_ms, run));
	pair(&figures, _("P99"), time_text(r->p99_ms, run));
	pair(&figures, _("ok/failed"),
	        arena_printf(run, "%lld/%lld", (long long)r->n_ok, (long long)r->n_failed));
	pair(&figures, _("verdict"), or_dash(r->verdict));
	table_print(&figures, out);
	buf_add_c(out, _("\nFingerprint\n\n"));
	table_init(&fingerprint, run, "ll");
	for (size_t i = 0; i < r->fingerprint.n; i++)
		pair(&fingerprint, r->fingerprint.entries[i].name, r->fingerprint.entries[i].value);
	table_print(&fingerprint, out);
}

static bool show(const struct log_call *call, struct err *err)
{
	AUTO(auto_buf) struct buf text = { 0 };
	AUTO(auto_buf) struct buf json = { 0 };
	struct ledger_run r;
	int64_t id;
	if (call->args.n != 1) {
		err_set(err, ERR_USAGE, _("'venturi log show' takes the number of one run"));
		return err_hint(err, _("'venturi log' lists them"));
	}
	if (!str_to_i64(str_of(call->args.items[0]), &id))
		return err_set(
		        err, ERR_USAGE, _("'%s' is not the number of a run"), call->args.items[0]);
	if (!call->ledger)
		return err_set(err, ERR_INPUT,
		        _("there is no run %lld: the ledger '%s' does not exist"), (long long)id,
		        call->path);
	if (!ledger_get(call->ledger, id, call->run, &r, err))
		return false;
	buf_add(&json, r.json);
	if (!str_ends(r.json, STR("\n")))
		buf_add_char(&json, '\n');
	show_text(call, &r, &text);
	return write_both(call->common, buf_str(&json), &text, err);
}

static const struct subcommand {
	const char *name;
	bool (*run)(const struct log_call *call, struct err *err);
} subcommands[] = {
	{ "list", list },
	{ "show", show },
};

/* The subcommand that the first word names, list without one; NULL with err filled for another. */
static const struct subcommand *choose(const struct opt_list *args, struct err *err)
{
	const char *word = args->n ? args->items[0] : subcommands[0].name;
	for (size_t i = 0; i < ARRAY_LEN(subcommands); i++)
		if (strcmp(subcommands[i].name, word) == 0)
			return &subcommands[i];
	err_set(err, ERR_USAGE, _("'venturi log' has no subcommand '%s'"), word);
	err_hint(err, _("there are 'venturi log list' and 'venturi log show ID'"));
	return NULL;
}

static int run_log(struct log_call *call, struct opt_list args)
{
	AUTO(auto_ledger) struct ledger *ledger = NULL;
	struct err err;
	const struct subcommand *sub = choose(&args, &err);
	if (!sub)
		return cmd_fail(&err);
	if (args.n)
		call->args = (struct opt_list){ args.items + 1, args.n - 1 };
	if (!ledger_find(call->common->ledger, call->run, &call->path, &err) ||
	        !ledger_open_existing(call->path, &ledger, &err))
		return cmd_fail(&err);
	call->ledger = ledger;
	return sub->run(call, &err) ? 0 : cmd_fail(&err);
}

int cmd_log(int argc, char **argv)
{
	struct arena run = { 0 };
	struct log_options options = { .limit = LIMIT_DEFAULT };
	struct cmd_common common;
	struct opt_list args;
	int code;
	const struct opt_table table = { rows, ARRAY_LEN(rows), &options };
	struct log_call call = { .options = &options, .common = &common, .run = &run };
	if (cmd_start(&usage, &table, 1, argc, argv, &run, &common, &args, &code))
		code = run_log(&call, args);
	arena_release(&run);
	return code;
}
