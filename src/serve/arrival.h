/*
 * arrival.h - no request takes for ever to arrive: a connection whose client sends its header or
 * body a byte at a time is shut down when its time is over.
 *
 * The times belong to the connection's thread; a thread of its own looks at all of them now and
 * then and shuts sockets down, which their owner then sees as closed.
 */
#ifndef VENTURI_SERVE_ARRIVAL_H
#define VENTURI_SERVE_ARRIVAL_H

#include "base/attr.h"
#include "base/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One connection. */
struct arrival {
	int fd;
	_Atomic int64_t until_ns; /* INT64_MAX: nothing has to arrive */
	struct arrival *prev, *next;
};

struct arrivals {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stop;
	bool stopping;
	struct arrival *first;
};

bool arrivals_open(struct arrivals *s, struct err *err) NODISCARD;
/* All connections are closed. */
void arrivals_close(struct arrivals *s);

/* The socket must stay open until it is removed. */
struct arrival *arrivals_add(struct arrivals *s, int fd, int64_t until_ns);
void arrivals_remove(struct arrivals *s, struct arrival *a);

/* What is expected has to be there by then. */
void arrival_expect(struct arrival *a, int64_t until_ns);

#endif
