/*
 * leave.h - notices clients that hang up while they wait.
 *
 * libmicrohttpd does not look at a suspended connection, so a client that has gone would keep its
 * place in the queue. One thread waits on all of them here. A client that only shuts down its
 * sending side counts as gone, as it does for most servers.
 */
#ifndef VENTURI_SERVE_LEAVE_H
#define VENTURI_SERVE_LEAVE_H

#include "base/attr.h"
#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>

struct leave {
	int epoll_fd, stop_fd;
	pthread_t thread;
	pthread_mutex_t lock;
	void (*left)(void *watched);
};

/* left is called from the thread of its own, at most once for each watch. */
bool leave_open(struct leave *l, void (*left)(void *watched), struct err *err) NODISCARD;
void leave_close(struct leave *l);

void leave_watch(struct leave *l, int fd, void *watched);
/* After it returns, left is not and will not be running for what was watched on fd. */
void leave_unwatch(struct leave *l, int fd);

#endif
