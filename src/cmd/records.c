/*
 * venturi records: the file of `venturi load --records` as figures, or as rows.
 */
#include "cmd/cmd.h"
#include "cmd/common.h"

#include "base/i18n.h"
#include "record/records.h"
#include "report/records.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rows gather up to so many bytes before they are written. */
enum { ROWS_BYTES = 1 << 18 };

struct records_options {
	bool csv, jsonl, tokens;
	const char *output;
};

static const struct opt rows[] = {
	{ OPT_HEADING, .help = N_("What to write:") },
	{ OPT(struct records_options, csv, OPT_FLAG, 0, "csv", NULL,
	        N_("the requests as CSV, one a line")) },
	{ OPT(struct records_options, jsonl, OPT_FLAG, 0, "jsonl", NULL,
	        N_("the requests as JSON, one object a line")) },
	{ OPT(struct records_options, tokens, OPT_FLAG, 0, "tokens", NULL,
	        N_("with --csv or --jsonl: one line for each token event instead")) },
	{ OPT(struct records_options, output, OPT_STRING, 'o', "output", "FILE",
	        N_("where the lines go (default and -: standard output)")) },
};

static const struct cmd_usage usage = {
	.line = "venturi records FILE [options]",
	.about = N_(
	        "Reads the records of a load test, which 'venturi load --records' writes: without "
	        "options, the figures that follow from them; else the records themselves."),
	.notes =
	        N_("Exit status: 0 done, 2 usage, 3 not a file of records, or a damaged one, 4 the "
	           "machine refused."),
};

/* What one call works with. */
struct records_call {
	const struct records_options *options;
	const struct cmd_common *common;
	struct records_reader reader;
};

static bool check_options(const struct records_options *o, const struct cmd_common *common,
        const struct opt_list *args, struct err *err)
{
	bool has_rows = o->csv || o->jsonl;
	if (args->n == 0)
		return err_set(err, ERR_USAGE, _("no file of records given"));
	if (args->n > 1)
		return err_set(
		        err, ERR_USAGE, _("one file expected, not also '%s'"), args->items[1]);
	if (o->csv && o->jsonl)
		return err_set(err, ERR_USAGE, _("'--csv' and '--jsonl' exclude each other"));
	if (o->tokens && !has_rows)
		return err_set(err, ERR_USAGE, _("'--tokens' goes with '--csv' or '--jsonl'"));
	if (o->output && !has_rows)
		return err_set(err, ERR_USAGE, _("'--output' goes with '--csv' or '--jsonl'"));
	if (common->json && has_rows)
		return err_set(err, ERR_USAGE,
		        _("'--json' is for the figures, '--jsonl' for the records"));
	return true;
}

/* ---- rows ---- */

static bool same_file(FILE *a, FILE *b)
{
	struct stat x, y;
	return fstat(fileno(a), &x) == 0 && fstat(fileno(b), &y) == 0 && S_ISREG(x.st_mode) &&
	       x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Opened without emptying it, lest it is the file that is read. */
static bool open_output(const char *path, FILE *input, FILE **ret, struct err *err)
{
	bool is_stdout = !path || strcmp(path, "-") == 0;
	FILE *f = is_stdout ? stdout : fopen(path, "ae");
	if (!f)
		return err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), path, strerror(errno));
	if (!is_stdout && same_file(f, input)) {
		fclose(f);
		return err_set(err, ERR_USAGE, _("'%s' is the file of records itself"), path);
	}
	struct stat st;
	if (!is_stdout && fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode) &&
	        ftruncate(fileno(f), 0) != 0) {
		err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), path, strerror(errno));
		fclose(f);
		return false;
	}
	*ret = f;
	return true;
}

enum flush_result { FLUSH_OK, FLUSH_NO_READER, FLUSH_FAILED };

/* Whoever reads only the first lines of a pipe has what he wanted. */
static enum flush_result flush(
        const struct records_options *o, struct buf *lines, FILE *out, struct err *err)
{
	bool ok = fwrite(lines->s, 1, lines->len, out) == lines->len && fflush(out) == 0;
	buf_clear(lines);
	if (ok)
		return FLUSH_OK;
	if (errno == EPIPE)
		return FLUSH_NO_READER;
	if (out == stdout)
		err_set(err, ERR_SYSTEM, _("cannot write to standard output: %s"), strerror(errno));
	else
		err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), o->output, strerror(errno));
	return FLUSH_FAILED;
}

static bool write_rows(struct records_call *call, FILE *out, struct err *err)
{
	const struct records_options *o = call->options;
	const struct report_rows kind = { .jsonl = o->jsonl, .tokens = o->tokens };
	AUTO(auto_buf) struct buf lines = { 0 };
	struct records_entry entry;
	enum records_result result;
	enum flush_result flushed = FLUSH_OK;
	report_records_head(&kind, &lines);
	while (flushed == FLUSH_OK &&
	        (result = records_next(&call->reader, &entry, err)) == RECORDS_ENTRY) {
		report_records_rows(&kind, &entry, &lines);
		if (lines.len >= ROWS_BYTES)
			flushed = flush(o, &lines, out, err);
	}
	if (flushed != FLUSH_OK)
		return flushed == FLUSH_NO_READER;
	/* What came before the damage is good. */
	struct err second;
	flushed = flush(o, &lines, out, result == RECORDS_DAMAGED ? &second : err);
	return result != RECORDS_DAMAGED && flushed != FLUSH_FAILED;
}

static bool export_rows(struct records_call *call, struct err *err)
{
	FILE *out = NULL;
	if (!open_output(call->options->output, call->reader.file, &out, err))
		return false;
	bool ok = write_rows(call, out, err);
	if (out != stdout && fclose(out) != 0 && ok)
		return err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), call->options->output,
		        strerror(errno));
	return ok;
}

/* ---- figures ---- */

static bool write_figures(
        struct records_call *call, struct records_summary *summary, struct err *err)
{
	const struct cmd_common *common = call->common;
	AUTO(auto_buf) struct buf json = { 0 };
	AUTO(auto_buf) struct buf text = { 0 };
	if (common->json) {
		report_records_json(summary, &call->reader, &json);
		if (!cmd_write(common->json, buf_str(&json), err))
			return false;
	}
	if (!cmd_shows_text(common))
		return true;
	report_records_text(summary, &call->reader, &text);
	return cmd_print(&text, err);
}

static bool summarize(struct records_call *call, struct err *err)
{
	struct records_summary summary = { 0 };
	struct records_entry entry;
	enum records_result result;
	while ((result = records_next(&call->reader, &entry, err)) == RECORDS_ENTRY)
		records_summary_add(&summary, &entry);
	struct err second;
	bool damaged = result == RECORDS_DAMAGED;
	bool ok = write_figures(call, &summary, damaged ? &second : err) && !damaged;
	records_summary_release(&summary);
	return ok;
}

/* ---- both ---- */

static void warn_of_gaps(const struct records_reader *r)
{
	const struct records_done *done = &r->done;
	if (!r->is_whole)
		cmd_warn(_("'%s' was cut short: it is read up to its last whole block, which ends "
		           "at "
		           "byte %lld"),
		        r->name, (long long)r->whole_bytes);
	else if (done->lost_requests > 0 || done->lost_gaps > 0)
		cmd_warn(_("'%s' lacks %lld requests and %lld gaps between token events, which "
		           "could "
		           "not be written in time"),
		        r->name, (long long)done->lost_requests, (long long)done->lost_gaps);
}

static bool read_file(struct records_call *call, const char *path, struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	AUTO(auto_file) FILE *opened = is_stdin ? NULL : fopen(path, "re");
	if (!is_stdin && !opened)
		return err_set(err, ERR_SYSTEM, _("cannot open '%s': %s"), path, strerror(errno));
	if (!records_open(&call->reader, is_stdin ? stdin : opened, path, err))
		return false;
	bool has_rows = call->options->csv || call->options->jsonl;
	bool ok = has_rows ? export_rows(call, err) : summarize(call, err);
	/* Where a reader of the rows left early, the end of the file was not looked at. */
	if (ok && feof(call->reader.file))
		warn_of_gaps(&call->reader);
	records_close(&call->reader);
	return ok;
}

int cmd_records(int argc, char **argv)
{
	struct arena run = { 0 };
	struct records_options options = { 0 };
	struct cmd_common common;
	struct opt_list args;
	struct err err;
	int code;
	const struct opt_table table = { rows, ARRAY_LEN(rows), &options };
	if (cmd_start(&usage, &table, 1, argc, argv, &run, &common, &args, &code)) {
		struct records_call call = { .options = &options, .common = &common };
		bool ok = check_options(&options, &common, &args, &err) &&
		          read_file(&call, args.items[0], &err);
		code = ok ? 0 : cmd_fail(&err);
	}
	arena_release(&run);
	return code;
}
