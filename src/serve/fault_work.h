/*
 * fault_work.h - the faults that live in the service itself, at work. The stages of a request pass
 * its seams; without faults there is no struct fault_work, and a seam costs one look at a pointer.
 *
 * What burns CPU in a real service burns it here too, by real work: a pause walks over memory, a
 * log is written and synced. Any thread may call anything but open and close.
 */
#ifndef VENTURI_SERVE_FAULT_WORK_H
#define VENTURI_SERVE_FAULT_WORK_H

#include "base/attr.h"
#include "base/err.h"
#include "serve/faults.h"

#include <stdbool.h>
#include <stdint.h>

struct fault_work;
struct pool_options;

/* faults outlives it. *ret_work is NULL when none of the faults lives here. */
bool fault_work_open(
        const struct faults *faults, struct fault_work **ret_work, struct err *err) NODISCARD;
void fault_work_close(struct fault_work *w);

/* Waits for the end of a pause of all threads. */
void fault_work_pause(struct fault_work *w);

/*
 * Around a piece of work on requests: enter waits for the end of a pause of all threads, and then
 * for the one lock where there is one; leave gives the lock back. Pairs may be nested.
 */
void fault_work_enter(struct fault_work *w);
void fault_work_leave(struct fault_work *w);

/* The threads that compute: as many as the faults want, and stopped by them. w may be NULL. */
void fault_work_spoil_pool(
        const struct faults *faults, struct fault_work *w, struct pool_options *pool);

/* A request was answered, or is about to be. */
void fault_work_request(struct fault_work *w);

/* So much CPU time of this thread, in arithmetic on an image; 0: none. */
void fault_work_burn(int64_t us);

#endif
