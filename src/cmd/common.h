/*
 * common.h - what every command shares: the common options, --help, errors on stderr, where the
 * result goes, and a clean answer to Ctrl-C.
 */
#ifndef VENTURI_CMD_COMMON_H
#define VENTURI_CMD_COMMON_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/opt.h"
#include "ledger/ledger.h"
#include "load/load.h"

#include <stdatomic.h>
#include <stdbool.h>

struct cmd_common {
	const char *json; /* --json FILE|-, or NULL */
	const char *lang;
	bool quiet;
	const char *ledger; /* NULL: the default place */
	bool help;
};

/* What --help says around the options. */
struct cmd_usage {
	const char *line;  /* "venturi load [options] URL" */
	const char *about; /* N_() paragraph */
	const char *notes; /* N_() paragraph after the options; may be NULL */
};

/*
 * Parses a command's own tables together with the common options.
 *
 * argv      after the command's word
 * returns   true: go on. false: *ret_exit is the exit code; help or the error has been printed.
 */
bool cmd_start(const struct cmd_usage *usage, const struct opt_table *own, size_t n_own, int argc,
	char **argv, struct arena *run, struct cmd_common *common, struct opt_list *args,
	int *ret_exit) NODISCARD;

/* Prints "venturi: error: ..." and the hint; returns the exit code of its kind. */
int cmd_fail(const struct err *err);

/* Prints "venturi: warning: ..." to stderr. */
void cmd_warn(const char *fmt, ...) PRINTF(1, 2);

/* Prints "venturi: ..." to stderr, unless --quiet was given. */
void cmd_note(const char *fmt, ...) PRINTF(1, 2);

/*
 * Writes a result to a file, or to stdout for "-". A file is replaced whole or not at all where its
 * folder allows that; a device, a pipe or a link is written to, never replaced.
 */
bool cmd_write(const char *path, struct str text, struct err *err) NODISCARD;

/* Writes text for a person to stdout, without the control characters that a service put into it. */
bool cmd_print(struct buf *text, struct err *err) NODISCARD;

/*
 * The one URL that a command takes; ERR_USAGE when there is none or more.
 *
 * command  "load": for the hint
 */
bool cmd_one_url(const struct opt_list *args, const char *command, const char **ret_url,
	struct err *err) NODISCARD;

/* Host, port and path of a URL, for where there is little room. */
struct str cmd_without_scheme(const char *url);

/*
 * Stores a result and says under which number. A run that cannot be stored is still a run: the
 * ledger's error is a warning.
 */
void cmd_store(const struct cmd_common *common, const struct ledger_run *entry);

/* Whether text for a person goes to stdout, or only JSON does. */
bool cmd_shows_text(const struct cmd_common *common);

/* The flag that SIGINT and SIGTERM raise once cmd_catch_signals was called. */
const atomic_bool *cmd_stop_flag(void);

/*
 * From now on there is something measured that an interrupt must keep; before, a signal simply ends
 * the program, and so does a second one. May be called again.
 */
void cmd_catch_signals(void);

/* A progress line on a terminal; nothing elsewhere or after cmd_progress_off(). */
void cmd_progress(const char *fmt, ...) PRINTF(1, 2);
void cmd_progress_clear(void);
void cmd_progress_off(void);

/* "1234 requests, 98.7/s ..." of a measurement under way, for cmd_progress. */
void cmd_progress_load(const char *what, const struct load_progress *p);

#endif
