/*
 * board.h - where the sources write what they saw, and where it is read as signals.
 *
 * A source has a table of rows, one for each signal it can tell. For every row, and for every
 * instance of what the row is about (a core, a device), it asks for a channel, and gives it a value
 * at each sample: what a gauge shows, what a counter stands at, what is told in words. The board
 * does the rest: differences, resets, statistics, thinning.
 *
 * Always: no memory is taken per sample. A channel keeps BOARD_POINTS values of its window; when
 * they are full, every second one is forgotten, and from then on every second one is kept; count,
 * mean, minimum and maximum stay exact, quantiles are those of the kept ones. BOARD_RECENT newest
 * values are kept besides. One thread at a time; sampler.h has the lock.
 */
#ifndef VENTURI_WATCH_BOARD_H
#define VENTURI_WATCH_BOARD_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"
#include "record/signal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BOARD_POINTS = 512,
	BOARD_RECENT = 128,
	BOARD_CHANNELS_MAX = 8192,
	BOARD_REASON_BYTES = 192,
	BOARD_TEXT_BYTES = 192,
};

enum watch_kind {
	WATCH_GAUGE, /* what is seen is the value */
	WATCH_RATE,  /* a counter is seen; the value is its growth per second */
	WATCH_SHARE, /* two counters are seen; the value is the one's growth for each of the other
	              */
	WATCH_TEXT,  /* words */
};

/* A signal that a source can tell. Tables of rows are constant. */
struct watch_row {
	const char *name; /* "process_cpu_ratio": <what it is about>_<quantity>[_<unit>] */
	const char *unit; /* "ratio", "bytes", "bytes/s", "1/s", "ms", "1", "W", "MHz", "C" */
	enum watch_kind kind;
	double scale;     /* of a rate: one of the counter in our unit (1e-9 for ns of CPU); 0: 1 */
	int bits;         /* of a counter that wraps at 2^bits; 0: it does not */
	double most;      /* of a rate: it cannot be more, in its unit; 0: it can */
	const char *from; /* file and field, or function: "/proc/PID/schedstat, field 1" */
	const char *help; /* N_(): what it is, in one sentence without a full stop */
	const char
	        *grain; /* N_(): how fine the kernel counts: "clock ticks of 10 ms"; NULL: exact */
};

struct board;
struct channel;

struct board *board_new(void);
void board_free(struct board *b);

/* The moment, on the monotonic clock, to which what is written from now on belongs. */
void board_at(struct board *b, int64_t now_ns);
int64_t board_now_ns(const struct board *b);

/*
 * The channel of a row and an instance; the same again when it is asked for again.
 *
 * instance  NULL: there is one
 * returns   NULL when there are BOARD_CHANNELS_MAX: everything may be written to NULL
 */
struct channel *board_channel(struct board *b, const struct watch_row *row, const char *instance);

/* A gauge's value; NAN: it has none now. */
void channel_value(struct channel *c, double value);

/*
 * What the counter of a rate stands at. The first look makes no value; a counter that went back has
 * been reset, or its thing is another one: the interval makes no value and is told. An interval of
 * less than half the one before, as before the end of a window, counts in the mean alone. Growth
 * beyond the most that the row allows was counted a moment late and belongs to the next interval.
 */
void channel_total(struct channel *c, uint64_t total);

/*
 * What the two counters of a share stand at. An interval weighs as much as whole grew in it, so
 * that the mean is that of the window; while whole stands still, nothing is told.
 */
void channel_share(struct channel *c, uint64_t part, uint64_t whole);

/* The counter belongs to another thing from now on (a PID used again): the next look is a first. */
void channel_forget(struct channel *c);

/* Words; at most BOARD_TEXT_BYTES - 1 bytes of them. */
void channel_text(struct channel *c, struct str text);

/*
 * What this channel is read from, where it is not its row's from: one of several libraries that
 * tell the same. It lasts as long as the board.
 */
void channel_from(struct channel *c, const char *from);

/* Values so far are estimates, and why: what was assumed. Stays until the board's end. */
void channel_estimated(struct channel *c, const char *reason);

/*
 * There is nothing to see, and why. What was seen before stays seen.
 *
 * state   SIGNAL_NOT_SUPPORTED: nobody tells it here; SIGNAL_NOT_COUNTED: not now
 * reason  one clause without a full stop, translated; kept as a copy
 */
void channel_absent(struct channel *c, enum signal_state state, const char *reason);

/* The same for the channels of all rows of a table that have no instance. */
void board_absent(struct board *b, const struct watch_row *rows, size_t n_rows,
        enum signal_state state, const char *reason);

/*
 * Statistics, differences and points count from now on; recent values and totals go on. What a
 * gauge or words showed at this very moment counts as the first of the window.
 */
void board_begin(struct board *b);

/*
 * The signals of what was seen since board_begin, one for each channel, in the order of their rows'
 * first appearance, instances of a row beside each other.
 *
 * zero_ns  what is 0 on the axis of the points
 */
void board_report(
        const struct board *b, int64_t zero_ns, struct arena *run, struct signal_system *to);

/*
 * The same for who looks several times a second: without quantiles, which are NAN, and with points
 * only of the signals whose names are wanted; NULL: of all.
 */
void board_glance(const struct board *b, int64_t zero_ns, bool (*wants)(const char *name),
        struct arena *run, struct signal_system *to);

/*
 * A channel of which something was said since the same call before, for who writes every sample
 * down: said again, in the order below, it makes the same signals.
 */
struct board_news {
	const struct watch_row *row;
	const char *instance;
	const char *from;    /* instead of the row's; NULL: the row's */
	const char *assumed; /* its values are estimates, and why; NULL: they are not */
	size_t number;       /* of the channel, from 0 */
	bool forgot;         /* its counters have been forgotten */
	bool has_value;      /* one of these was seen, the newest when there were several: */
	double value;        /* of a gauge */
	uint64_t total;      /* of a rate, and the part of a share */
	uint64_t whole;      /* of a share */
	const char *text;
	enum signal_state absent; /* what there is not, and why; SIGNAL_MEASURED: it is there */
	const char *reason;
};
void board_each_news(
        struct board *b, void (*on_news)(void *ctx, const struct board_news *news), void *ctx);

#endif
