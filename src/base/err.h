/*
 * err.h - what went wrong, in one sentence that names the thing, and which exit code it means.
 *
 * A function that can fail returns bool and takes struct err * last: false means err is filled,
 * true means it was not touched. The kinds are the exit codes of the programs.
 */
#ifndef VENTURI_BASE_ERR_H
#define VENTURI_BASE_ERR_H

#include "base/attr.h"

#include <stdbool.h>

enum err_kind {
	ERR_USAGE = 2,   /* the command line is wrong */
	ERR_INPUT = 3,   /* a file or an answer was not understood */
	ERR_SYSTEM = 4,  /* the machine or the service refused */
	ERR_INVALID = 5, /* measured, but the measurement is invalid */
};

struct err {
	enum err_kind kind;
	char text[1024];
	char hint[512]; /* what to try next; empty when there is nothing to say */
};

/* Fills err and returns false, so that callers can write return err_set(...). */
bool err_set(struct err *err, enum err_kind kind, const char *fmt, ...) PRINTF(3, 4);

/* Puts "context: " before the sentence; returns false. */
bool err_wrap(struct err *err, const char *fmt, ...) PRINTF(2, 3);

/* Adds what to try next; returns false. */
bool err_hint(struct err *err, const char *fmt, ...) PRINTF(2, 3);

#endif
