/*
 * stage.h - the bounded queue before a stage of the service, for any number of threads.
 *
 * A full queue holds up who pushes, or tells him so: that is how a slow stage slows down those
 * before it instead of growing a heap. Nothing is allocated after stage_init.
 */
#ifndef VENTURI_SERVE_STAGE_H
#define VENTURI_SERVE_STAGE_H

#include "base/attr.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct stage {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	/* under the lock */
	void **ring; /* [cap] */
	size_t cap, first, n;
	bool closed;
};

void stage_init(struct stage *s, size_t cap);
void stage_release(struct stage *s);

/* False: it is full or closed, the work stays the caller's. */
bool stage_try_push(struct stage *s, void *work) NODISCARD;
/* Waits for room. False: it is closed. */
bool stage_push(struct stage *s, void *work) NODISCARD;
/* Waits for work, oldest first. False: it is closed, and everything was taken out. */
bool stage_pop(struct stage *s, void **ret_work) NODISCARD;
bool stage_try_pop(struct stage *s, void **ret_work) NODISCARD;

/* Nothing more goes in; what is in can still be taken out. */
void stage_close(struct stage *s);

#endif
