/*
 * watching.h - what 'venturi watch' looks at: this machine, processes and pages while they run, or
 * a record of them. Both are a sampler that is waited for and looked at.
 */
#ifndef VENTURI_CMD_WATCHING_H
#define VENTURI_CMD_WATCHING_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/opt.h"
#include "record/watch_run.h"
#include "watch/sampler.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WATCHING_PAGES_MAX = 16 };

struct watching_options {
	struct opt_list pids;    /* words */
	struct opt_list names;   /* patterns of processes' names */
	struct opt_list metrics; /* URLs */
	struct opt_list headers; /* for these pages */
	struct opt_list ports;   /* words */
	struct opt_list command; /* to run and watch; n 0: none */
	int64_t interval_ns;
	const char *root;   /* NULL: this machine */
	const char *record; /* file to write; NULL: none */
	const char *replay; /* file to read instead; NULL: none */
	bool insecure, profile;
};

struct watching;

/*
 * Opens all there is to look at; nothing is sampled yet.
 *
 * errors   ERR_USAGE for words that are none; ERR_SYSTEM: no such process, a command that cannot be
 *          run, a file; ERR_INPUT: of a replay
 */
bool watching_open(const struct watching_options *options, struct arena *run,
        struct watching **ret_watching, struct err *err) NODISCARD;
/* The first sample, and the command goes. */
bool watching_start(struct watching *w, struct err *err) NODISCARD;

struct sampler *watching_sampler(struct watching *w);
/* "llama-server (1234)", "this machine" */
const char *watching_title(const struct watching *w);
/* Of the first sample, on the clock of the samples. */
int64_t watching_start_ns(const struct watching *w);
/* Between two samples. */
int64_t watching_interval_ns(const struct watching *w);
/* Whether time passes by itself: not in a replay. */
bool watching_is_live(const struct watching *w);

/*
 * Waits until a moment, or reads on to it.
 *
 * stop      ends the waiting when it becomes true, as does a signal
 * returns   false: all that was watched has ended, or the record has
 */
bool watching_wait(struct watching *w, int64_t until_ns, const atomic_bool *stop);
/* The same without waiting. */
bool watching_goes_on(struct watching *w);

/* What there is now, without quantiles, and with points only of wanted signals; see board_glance.
 */
void watching_glance(struct watching *w, bool (*wants)(const char *name), struct arena *tmp,
        struct watch_run *ret_run);
/* Of it, what the pages of metrics say. */
size_t watching_pages(struct watching *w, struct arena *run, struct signal_page **ret_pages);
/* Everything, after a last sample. Ends the command when it still runs. */
void watching_finish(struct watching *w, struct arena *run, struct watch_run *ret_run);
/* ERR_INPUT of a record that is damaged in the middle, after which nothing was read. */
bool watching_check(const struct watching *w, struct err *err) NODISCARD;
/* NULL is allowed. */
void watching_close(struct watching *w);

#endif
