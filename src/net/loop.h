/*
 * loop.h - waiting for sockets and for moments in one call: a thin layer over epoll, edge
 * triggered, with nanosecond deadlines. One loop, one thread.
 */
#ifndef VENTURI_NET_LOOP_H
#define VENTURI_NET_LOOP_H

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

enum { LOOP_EVENTS = 256 };

struct loop {
	int fd; /* -1: closed */
	int64_t wait_from_ns; /* when the last wait with a deadline began */
	bool no_pwait2; /* the kernel is older than 5.11: deadlines round up to 1 ms */
	struct epoll_event events[LOOP_EVENTS];
};

bool loop_open(struct loop *loop, struct err *err) NODISCARD;
void loop_close(struct loop *loop);

/*
 * Watches fd for reading, writing and hang-up, edge triggered: after an event, read or write until
 * it would block. data.ptr of its events is ptr. Closing fd removes it.
 */
bool loop_add(struct loop *loop, int fd, void *ptr, struct err *err) NODISCARD;

/*
 * Waits for events until deadline_ns on the monotonic clock; INT64_MAX waits for ever.
 *
 * returns  how many of loop->events are filled; 0 at the deadline or after a signal
 */
int loop_wait(struct loop *loop, int64_t deadline_ns);

#endif
