/*
 * replay_read.h - what the lines of a record say, for replay.c: nothing is said to a board here.
 */
#ifndef VENTURI_WATCH_REPLAY_READ_H
#define VENTURI_WATCH_REPLAY_READ_H

#include "watch/pages/metrics_window.h"
#include "watch/tape/replay.h"

#include <zlib.h>

/* A channel of the file, and what is to be said of it at the next sample. */
struct spoken {
	const struct watch_row *row; /* NULL: not described yet */
	const char *instance, *from, *assumed;
	struct channel *channel; /* on the board; NULL: not yet */
	bool described_anew;
	/* the newest value */
	bool has_any;
	double value;
	uint64_t total, whole;
	char *text; /* [BOARD_TEXT_BYTES], once there are words */
	/* at the next sample */
	bool forgot, has_value;
	enum signal_state absent;
	char *reason;
};

struct replay_page {
	struct metrics_window *window;
	int64_t n_read, n_failed;
	const char *failed; /* of the newest look that failed */
};

struct replay {
	const char *path;
	struct arena *run;
	gzFile file;
	struct buf ahead; /* read, from at on not yet used */
	size_t at;
	int64_t line; /* number of the newest */
	bool at_end, ended;
	struct tape_head head;
	struct fingerprint fingerprint;
	int64_t n_dropped;
	int64_t now_ns;              /* of the newest line */
	int64_t first_ns, sample_ns; /* of the first and the newest sample; -1: there is none */
	int64_t newest_ns;           /* of all lines, which need not be in order */

	struct board *board;
	const struct watch_row **rows;
	size_t n_rows;
	struct spoken *channels; /* [BOARD_CHANNELS_MAX] */
	size_t n_channels;
	struct arena sample; /* of the sample under way */

	struct replay_page *pages;
	int64_t *ended_ns;  /* of each process; -1: it lives */
	struct arena lists; /* of what follows */
	struct signal_thread *threads;
	size_t n_threads;
	int64_t n_threads_seen;
	struct signal_symbol *symbols;
	size_t n_symbols;
};

/* ERR_INPUT that names the line; returns false. */
bool replay_damaged(const struct replay *r, struct err *err, const char *what);

enum replay_line { REPLAY_LINE_OK, REPLAY_LINE_NONE, REPLAY_LINE_TOO_LONG, REPLAY_LINE_BROKEN };

/* The next whole line, without its end; it stays until the next call. */
enum replay_line replay_line(struct replay *r, struct str *ret_line);

bool replay_read_head(struct replay *r, struct str line, struct err *err) NODISCARD;

/*
 * Any other line.
 *
 * ret_is_sample  it stands for the sampler's next step
 * returns        false: it says nothing that is known
 */
bool replay_read_line(struct replay *r, struct str line, bool *ret_is_sample) NODISCARD;

#endif
