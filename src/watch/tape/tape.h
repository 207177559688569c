/*
 * tape.h - writes every sample of a watch to a file while it runs, for replay.h.
 *
 * The file is lines of JSON, compressed when its name ends in ".gz"; docs/watch.md describes them.
 * Nothing in it is changed later: of a watch that was killed, all but the last second is there.
 *
 * Always: whoever adds to the tape never waits for the file. Lines gather in memory, a thread
 * beside takes them to the file once a second; where that does not keep up, whole lines are dropped
 * and counted. What a counter stands at is written, not its growth, so a dropped sample makes an
 * interval longer and loses nothing else. All functions may be called from any thread.
 */
#ifndef VENTURI_WATCH_TAPE_H
#define VENTURI_WATCH_TAPE_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "record/watch_run.h"
#include "watch/board.h"

#include <stdint.h>

#define TAPE_SCHEMA "venturi.watch-record/1"

/* What the first line says. */
struct tape_head {
	const char *started_at; /* UTC */
	int64_t start_ns;       /* that moment on the monotonic clock: 0 of all times in the file */
	int64_t interval_ns;
	const struct fingerprint *fingerprint;
	const struct watch_process *processes;
	size_t n_processes;
	const char *const *pages; /* URLs */
	size_t n_pages;
};

struct tape;

/*
 * Makes the file, or empties one that is there, and starts the writer's thread.
 *
 * errors   ERR_SYSTEM with the name
 */
bool tape_open(const char *path, const struct tape_head *head, struct arena *run,
        struct tape **ret_tape, struct err *err) NODISCARD;

/* What is new on the board, as one sample: for sampler_on_sample, with the tape as its ctx. */
void tape_sample(void *tape, struct board *board);

/*
 * One look at a page of metrics: of its text only what feeds a signal is kept.
 *
 * page     its place among the head's
 * failed   why it could not be read; NULL: it was, and this is its text
 */
void tape_look(struct tape *t, size_t page, int64_t at_ns, struct str text, const char *failed);

/* Threads and symbols as they are seen now; the newest in the file count. */
void tape_system(struct tape *t, int64_t at_ns, const struct signal_system *system);

/* process: its place among the head's */
void tape_process_ended(struct tape *t, size_t process, int64_t at_ns);

/* errno of the first write that failed; 0: none has. What came since is lost. */
int tape_failed(const struct tape *t);

/* Writes what there still is, and the end; NULL is allowed. */
void tape_close(struct tape *t, struct watch_record_info *ret_info);

#endif
