/*
 * gauge.h - what a load thread tells of itself: how long its loop kept everybody waiting, how long
 * it waited for a core, which connections it opened and closed and how many bytes came over them.
 *
 * One writer, its thread; read by others when it has ended, but for fds, which the controller's
 * observer reads while it runs. A turn costs one reading of the clock, a read two additions.
 */
#ifndef VENTURI_LOAD_GAUGE_H
#define VENTURI_LOAD_GAUGE_H

#include "base/arena.h"
#include "load/shared.h"
#include "stats/hist.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { GAUGE_FDS = 64 }; /* connections that are watched from outside, the first ones */

struct gauge {
	struct hist loop_lag;  /* ns of each turn inside the window */
	int64_t turn_from_ns;  /* of the turn under way; 0: none yet */
	int64_t wait_start_ns; /* time spent waiting for a core, when the window opened */
	int64_t wait_ns;       /* the same inside the window; -1: the kernel does not say */
	int64_t bytes_read;    /* from the start */
	int64_t bytes_start;   /* of those, when the window opened */
	int64_t window_bytes;
	int64_t opened, closed; /* connections, from the start */
	int64_t bytes_apart;    /* between the kernel's count and ours, over the connections that */
	int64_t n_compared;     /* could be compared */
	int64_t n_slots;
	_Atomic int fds[GAUGE_FDS]; /* -1: none */
};

void gauge_init(struct gauge *g, struct arena *run);

/* The thread's own window opens and closes. */
void gauge_open_window(struct gauge *g);
void gauge_close_window(struct gauge *g);

/*
 * The loop has come back from waiting: what lies between its return and its next wait keeps others
 * waiting, and so does the time by which it came back too late.
 *
 * wait_from_ns  when the wait began, which is where the turn before ended
 * deadline_ns   when it was to end at the latest
 */
void gauge_turn(struct gauge *g, const struct load_shared *shared, int64_t wait_from_ns,
        int64_t deadline_ns, int64_t now_ns);

/* The connection of a slot is this descriptor now. */
void gauge_opened(struct gauge *g, int64_t slot, int fd);

/*
 * Compares what was read from a connection with what the kernel says it received: TCP only, and
 * not when bytes arrive while it is looked at. One byte more is the end of the stream.
 */
void gauge_compare_bytes(struct gauge *g, int fd, int64_t read_bytes);

#endif
