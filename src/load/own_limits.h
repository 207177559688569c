/*
 * own_limits.h - what the client's own machine allows: open files and ports. A run that must hit
 * such a limit is refused before it starts; a connection that hits one is a failure of the client,
 * not of the service.
 */
#ifndef VENTURI_LOAD_OWN_LIMITS_H
#define VENTURI_LOAD_OWN_LIMITS_H

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "load/load.h"
#include "net/conn.h"

struct own_limits {
	int64_t files;      /* open files of one process; INT64_MAX: no limit */
	int64_t port_first; /* ports for outgoing connections; 0: not known, or none needed */
	int64_t port_last;
	bool ports_rest; /* a port that was closed is kept for a minute (TIME_WAIT) */
};

/* Raises the soft limit of open files to the hard one, and says what holds then. */
struct own_limits own_limits_read(const struct conn_target *target);

/* The two numbers of ip_local_port_range; false when they are none. */
bool own_limits_parse_ports(struct str text, int64_t *ret_first, int64_t *ret_last);

/*
 * Can this shape be sent inside these limits? Every request may be under way at any of the targets,
 * which share the files; ports are counted for each of them.
 *
 * errors   ERR_SYSTEM, with what is too small and how to raise it
 */
bool own_limits_allow(const struct own_limits *limits, const struct load_shape *shape,
        int n_targets, struct err *err) NODISCARD;

/*
 * What a connection ran into, when it was a limit of the client: a sentence in out.
 *
 * error    errno of conn_start
 * returns  false when the fault is not the client's
 */
bool own_limits_explain(int error, char *out, size_t size);

#endif
