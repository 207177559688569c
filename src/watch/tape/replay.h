/*
 * replay.h - reads the file of a tape (tape.h) and says everything again, so that a sampler on it
 * reports what the one that was recorded did.
 *
 *	replay_open, replay_next, then sampler_open with a config of replay_config
 *	sampler_step at the moment that replay_next gave, replay_next, and so on
 *	replay_pages, replay_processes beside sampler_report
 *	sampler_close, replay_close
 *
 * The file is from outside: every count and length is held against a limit, and what is not
 * understood is an error that names the line. One thread at a time.
 */
#ifndef VENTURI_WATCH_REPLAY_H
#define VENTURI_WATCH_REPLAY_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "record/signal.h"
#include "record/watch_run.h"
#include "watch/source.h"
#include "watch/tape/tape.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	REPLAY_LINE_BYTES_MAX = 16 << 20,
	REPLAY_PAGES_MAX = 64,
	REPLAY_LIST_MAX = 4096, /* threads, symbols */
};

struct replay;

/*
 * Opens a file, compressed or not, and reads its first line.
 *
 * errors   ERR_SYSTEM: it cannot be opened; ERR_INPUT: it is no such file
 */
bool replay_open(
        const char *path, struct arena *run, struct replay **ret_replay, struct err *err) NODISCARD;
/* The same of an open file, which it closes. */
bool replay_open_fd(int fd, const char *path, struct arena *run, struct replay **ret_replay,
        struct err *err) NODISCARD;
void replay_close(struct replay *r);

const struct tape_head *replay_head(const struct replay *r);
/* What a sampler on it is opened with: one source, its interval. */
struct watch_config replay_config(struct replay *r);

enum replay_result {
	REPLAY_SAMPLE,
	REPLAY_END,
	REPLAY_DAMAGED, /* err says where */
};

/*
 * Reads up to the next sample, which the sampler's next step says to its board.
 *
 * ret_at_ns  its moment, above 0 and never before that of the sample before
 */
enum replay_result replay_next(struct replay *r, int64_t *ret_at_ns, struct err *err) NODISCARD;

/* Whether the file has no end: its watch was killed, or goes on. After REPLAY_END. */
bool replay_is_cut(const struct replay *r);
/* Samples that were dropped when it was recorded. */
int64_t replay_n_dropped(const struct replay *r);

/* The pages of metrics as they were seen until now; zero_ns: what is 0 on the axis of times. */
size_t replay_pages(
        const struct replay *r, int64_t zero_ns, struct arena *run, struct signal_page **ret_pages);
/* The processes that were watched, and which have ended until now. */
size_t replay_processes(
        const struct replay *r, struct arena *run, struct watch_process **ret_processes);

#endif
