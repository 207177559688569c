/*
 * null_responder.h - an HTTP server on loopback that answers every request at once with the same
 * few bytes: what the generator reaches against it is the generator's own ceiling.
 *
 * It runs as a child process, so that its CPU time is not the generator's.
 */
#ifndef VENTURI_LOAD_NULL_RESPONDER_H
#define VENTURI_LOAD_NULL_RESPONDER_H

#include "base/attr.h"
#include "base/err.h"
#include "net/conn.h"

#include <stdbool.h>
#include <sys/types.h>

struct null_responder {
	pid_t pid;
	struct conn_target target;
};

bool null_responder_start(struct null_responder *n, struct err *err) NODISCARD;
void null_responder_stop(struct null_responder *n);

#endif
