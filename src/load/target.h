/*
 * target.h - one of the URLs that a load goes to, with the requests that are sent there.
 */
#ifndef VENTURI_LOAD_TARGET_H
#define VENTURI_LOAD_TARGET_H

#include "load/workload.h"
#include "net/conn.h"
#include "net/url.h"

enum { LOAD_TARGETS_MAX = 64 };

struct load_target {
	struct url url;
	struct conn_target conn;
	struct workload workload; /* the requests of all targets differ in their heads only */
};

/* Which target gets the next request. */
enum load_balance {
	LOAD_ROUND_ROBIN,       /* one after the other */
	LOAD_LEAST_OUTSTANDING, /* the one with the fewest requests under way */
};

#endif
