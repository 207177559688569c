/*
 * child.h - a command that is run to be watched: it waits behind its fork until it may go, so that
 * whoever watches it sees all of it.
 */
#ifndef VENTURI_CMD_CHILD_H
#define VENTURI_CMD_CHILD_H

#include "base/attr.h"
#include "base/err.h"
#include "base/opt.h"

#include <stdbool.h>
#include <stdint.h>

/* A zeroed one is none. */
struct child {
	int pid;
	int go_fd, failed_fd;
	bool is_running; /* it has gone, and was not waited for */
	const char *name;
};

/* words: the command and its arguments; they stay. */
bool child_open(struct child *c, const struct opt_list *words, struct err *err) NODISCARD;

/* errors   ERR_SYSTEM: it cannot be run */
bool child_go(struct child *c, struct err *err) NODISCARD;

/*
 * Takes leave of it. One that still runs is asked to end, and waited for a moment.
 *
 * returns  its exit status; 128 and the signal that killed it; -1: it has not ended
 */
int child_close(struct child *c);

#endif
