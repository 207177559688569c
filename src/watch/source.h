/*
 * source.h - one kind of thing that can be watched: a file of this folder has one, sources.c the
 * list of all.
 *
 * A source is opened once, sampled by the sampler's thread, and closed. It writes to the channels
 * of a board; see board.h. It never fails after it is open: what cannot be read is a channel that
 * says why, and the watch goes on.
 *
 * All paths under /proc and /sys start at config->root, so that tests bring trees of other
 * machines. Reading takes no memory per sample: see procfile.h.
 */
#ifndef VENTURI_WATCH_SOURCE_H
#define VENTURI_WATCH_SOURCE_H

#include "watch/board.h"

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "record/signal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watch_source;

enum { WATCH_PIDS_MAX = 64, WATCH_PORTS_MAX = 16 };

struct watch_config {
	const char *root; /* "": this machine; else a folder that holds its proc and sys */
	const int *pids;  /* processes to watch; their children are followed */
	size_t n_pids;
	const int *ports; /* TCP ports whose connections are watched */
	size_t n_ports;
	int64_t interval_ns;                       /* between two samples */
	bool profile;                              /* take stacks of the processes, too */
	const struct watch_source *const *sources; /* NULL: all */
	size_t n_sources;
	void *ctx; /* for a source of the caller's own */
};

struct watch_source {
	const char *name; /* "process": the heading in docs/signals.md */
	const struct watch_row *rows;
	size_t n_rows;
	int64_t period_ns; /* not sampled more often; 0: at every sample */

	/*
	 * run      memory that lasts as long as the source, which may keep it and take more of it
	 *          while it samples
	 * returns  false: none of its signals is supported here, for err's reason
	 */
	bool (*open)(const struct watch_config *config, struct board *board, struct arena *run,
	        void **ret_self, struct err *err);
	void (*sample)(void *self, int64_t now_ns);
	/* The next sample opens or closes a window: leave nothing for later; NULL: never does. */
	void (*thorough)(void *self);
	/* Statistics count from now on; NULL: the board's are all there are. */
	void (*begin)(void *self);
	/* What is no signal: threads, symbols; NULL: nothing. */
	void (*report)(const void *self, struct arena *run, struct signal_system *to);
	void (*close)(void *self);
};

extern const struct watch_source *const watch_sources[];
extern const size_t watch_n_sources;

#endif
