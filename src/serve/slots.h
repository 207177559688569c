/*
 * slots.h - so many calls are let in at a time, the others wait in front of everything else, where
 * no metric counts them: a front end that is smaller than what is behind it. A fault.
 *
 * A call that waits is suspended; when its turn comes libmicrohttpd asks about it again, and it
 * enters with the slot that it was given.
 */
#ifndef VENTURI_SERVE_SLOTS_H
#define VENTURI_SERVE_SLOTS_H

#include "base/attr.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct call;

struct slots {
	pthread_mutex_t lock;
	int64_t n_max; /* 0: no limit */
	int64_t n_used;
	struct call *first, *last; /* that wait */
};

/* Embedded in a call. */
struct slots_call {
	bool held;
	struct call *next;
};

void slots_init(struct slots *s, int64_t n_max);

/* False: the call was suspended and waits. */
bool slots_enter(struct slots *s, struct call *call) NODISCARD;
/* The call is over; whether it held a slot or not. */
void slots_leave(struct slots *s, struct call *call);

/* No limit any more: all that wait come in. */
void slots_open(struct slots *s);

#endif
