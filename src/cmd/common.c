#include "cmd/common.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "base/units.h"
#include "base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct opt common_rows[] = {
	{ OPT_HEADING, .help = N_("Common:") },
	{ OPT(struct cmd_common, json, OPT_STRING, 0, "json", "FILE",
		N_("write the result as JSON to FILE, or to standard output for -")) },
	{ OPT(struct cmd_common, ledger, OPT_STRING, 0, "ledger", "FILE",
		N_("the ledger of runs (default $VENTURI_LEDGER, else "
		   "$XDG_DATA_HOME/venturi/ledger.db)")) },
	{ OPT(struct cmd_common, lang, OPT_CHOICE, 0, "lang", "en|zh",
		N_("language of messages (default: from the locale)")),
		.choices = "en|zh" },
	{ OPT(struct cmd_common, quiet, OPT_FLAG, 'q', "quiet", NULL,
		N_("no progress line and no text result")) },
	{ OPT(struct cmd_common, help, OPT_FLAG, 'h', "help", NULL, N_("show this help")) },
};

enum { MAX_TABLES = 8 };

static bool is_quiet;

bool cmd_start(const struct cmd_usage *usage, const struct opt_table *own, size_t n_own, int argc,
	char **argv, struct arena *run, struct cmd_common *common, struct opt_list *args,
	int *ret_exit)
{
	struct opt_table tables[MAX_TABLES];
	struct err err;
	size_t n = 0;
	*common = (struct cmd_common){ 0 };
	assert(n_own < MAX_TABLES);
	for (; n < n_own; n++)
		tables[n] = own[n];
	tables[n++] = (struct opt_table){ common_rows, ARRAY_LEN(common_rows), common };
	if (!opt_parse(tables, n, argc, argv, run, args, &err)) {
		*ret_exit = cmd_fail(&err);
		return false;
	}
	is_quiet = common->quiet;
	if (is_quiet)
		cmd_progress_off();
	if (common->help) {
		AUTO(auto_buf) struct buf out = { 0 };
		buf_printf(&out, _("Usage: %s\n\n%s\n"), usage->line, _(usage->about));
		opt_help(tables, n, &out);
		if (usage->notes)
			buf_printf(&out, "\n%s\n", _(usage->notes));
		fputs(out.s, stdout);
		*ret_exit = 0;
		return false;
	}
	return true;
}

/* One sentence to stderr; it may quote what a service said. */
static void say(const char *fmt, const char *sentence)
{
	AUTO(auto_buf) struct buf line = { 0 };
	cmd_progress_clear();
	buf_printf(&line, fmt, sentence);
	utf8_defuse(line.s, line.len);
	fputs(line.s, stderr);
}

static void say_hint(const struct err *err)
{
	if (err->hint[0])
		say(_("venturi: hint: %s\n"), err->hint);
}

int cmd_fail(const struct err *err)
{
	say(_("venturi: error: %s\n"), err->text);
	say_hint(err);
	return (int)err->kind;
}

void cmd_note(const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	if (is_quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say("venturi: %s\n", text);
}

void cmd_warn(const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say(_("venturi: warning: %s\n"), text);
}

static bool write_all(FILE *f, struct str text)
{
	return fwrite(text.s, 1, text.len, f) == text.len && fflush(f) == 0;
}

/* A rename would put a file in the place of a device, a pipe or a link. */
static bool may_replace(const char *path)
{
	struct stat st;
	return lstat(path, &st) != 0 || S_ISREG(st.st_mode);
}

/* Writes and closes; returns errno or 0. */
static int write_closing(FILE *f, struct str text)
{
	if (!f)
		return errno;
	int failed = write_all(f, text) ? 0 : errno;
	return fclose(f) != 0 && !failed ? errno : failed;
}

/* All or nothing: a file beside it takes its place when it is complete. */
static int write_beside(const char *path, struct str text)
{
	AUTO(auto_buf) struct buf tmp = { 0 };
	buf_printf(&tmp, "%s.tmp%ld", path, (long)getpid());
	FILE *f = fopen(tmp.s, "wxe");
	if (!f)
		return errno;
	int failed = write_closing(f, text);
	if (!failed && rename(tmp.s, path) != 0)
		failed = errno;
	if (failed)
		unlink(tmp.s);
	return failed;
}

/* Where a folder takes no new files, or there must not be one. */
static int write_over(const char *path, struct str text)
{
	return write_closing(fopen(path, "we"), text);
}

bool cmd_write(const char *path, struct str text, struct err *err)
{
	if (strcmp(path, "-") == 0) {
		cmd_progress_clear();
		if (write_all(stdout, text))
			return true;
		return err_set(err, ERR_SYSTEM, _("cannot write to standard output: %s"),
			strerror(errno));
	}
	int failed = may_replace(path) ? write_beside(path, text) : EACCES;
	if (failed == EACCES || failed == EROFS)
		failed = write_over(path, text);
	if (failed == 0)
		return true;
	return err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), path, strerror(failed));
}

bool cmd_print(struct buf *text, struct err *err)
{
	utf8_defuse(text->s, text->len);
	return cmd_write("-", buf_str(text), err);
}

bool cmd_one_url(const struct opt_list *args, const char *command, const char **ret_url,
	struct err *err)
{
	if (args->n == 1) {
		*ret_url = args->items[0];
		return true;
	}
	if (args->n == 0)
		err_set(err, ERR_USAGE, _("no URL given"));
	else
		err_set(err, ERR_USAGE, _("one URL expected, not also '%s'"), args->items[1]);
	return err_hint(err, _("'venturi %s --help' shows how it is used"), command);
}

struct str cmd_without_scheme(const char *url)
{
	struct str text = str_of(url);
	ptrdiff_t scheme = str_find(text, STR("://"));
	if (scheme < 0)
		return text;
	return (struct str){ text.s + scheme + 3, text.len - (size_t)scheme - 3 };
}

bool cmd_shows_text(const struct cmd_common *common)
{
	return !common->quiet && !(common->json && strcmp(common->json, "-") == 0);
}

void cmd_store(const struct cmd_common *common, const struct ledger_run *entry)
{
	AUTO(auto_ledger) struct ledger *ledger = NULL;
	struct err err;
	int64_t id;
	if (!ledger_open(common->ledger, &ledger, &err) ||
		!ledger_add(ledger, entry, &id, &err)) {
		cmd_warn(_("this run is not in the ledger: %s"), err.text);
		say_hint(&err);
		return;
	}
	if (cmd_shows_text(common))
		printf(_("Stored as run %lld: venturi log show %lld\n"), (long long)id,
			(long long)id);
}

static atomic_bool stop;

static void on_signal(int number)
{
	(void)number;
	atomic_store(&stop, true);
}

const atomic_bool *cmd_stop_flag(void)
{
	return &stop;
}

void cmd_catch_signals(void)
{
	static bool installed;
	if (installed)
		return;
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	installed = true;
}

static bool progress_is_off;
static bool progress_shown;

void cmd_progress_off(void)
{
	progress_is_off = true;
}

/* A line that reaches the last column would wrap, and could not be taken back. */
static int progress_columns(void)
{
	struct winsize size;
	bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
	return (known ? size.ws_col : 80) - 1;
}

static struct str cut_to_columns(struct str text, int columns)
{
	size_t end = 0;
	while (end < text.len) {
		uint32_t c;
		size_t n = utf8_decode((struct str){ text.s + end, text.len - end }, &c);
		columns -= utf8_char_width(c);
		if (columns < 0)
			break;
		end += n ? n : 1;
	}
	return (struct str){ text.s, end };
}

void cmd_progress(const char *fmt, ...)
{
	AUTO(auto_buf) struct buf line = { 0 };
	va_list ap;
	if (progress_is_off || !isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	buf_vprintf(&line, fmt, ap);
	va_end(ap);
	utf8_defuse(line.s, line.len);
	struct str shown = cut_to_columns(buf_str(&line), progress_columns());
	fprintf(stderr, "\r\033[K%.*s", STR_ARG(shown));
	fflush(stderr);
	progress_shown = true;
}

void cmd_progress_clear(void)
{
	if (!progress_shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress_shown = false;
}

void cmd_progress_load(const char *what, const struct load_progress *p)
{
	char rate[48];
	if (isnan(p->output_tokens_per_s))
		snprintf(rate, sizeof(rate), _("%.1f req/s"), p->requests_per_s);
	else
		snprintf(rate, sizeof(rate), _("%.1f req/s, %.0f tokens/s"), p->requests_per_s,
			p->output_tokens_per_s);
	if (p->warming_up)
		cmd_progress(_("%s: warming up, %.1f s, %s"), what, p->elapsed_s, rate);
	else if (p->expected > 0)
		cmd_progress(_("%s: %lld of %lld requests, %s, %lld in flight, %lld failed"), what,
			(long long)p->done, (long long)p->expected, rate, (long long)p->in_flight,
			(long long)p->failed);
	else if (isnan(p->expected_s))
		cmd_progress(_("%s: %lld requests in %.0f s, %s, %lld in flight, %lld failed"), what,
			(long long)p->done, p->elapsed_s, rate, (long long)p->in_flight,
			(long long)p->failed);
	else
		cmd_progress(_("%s: %.0f of %.0f s, %s, %lld in flight, %lld failed"), what,
			p->elapsed_s, p->expected_s, rate, (long long)p->in_flight,
			(long long)p->failed);
}
