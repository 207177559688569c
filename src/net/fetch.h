/*
 * fetch.h - one small HTTP request, blocking, with a deadline: for probing a service before a run.
 */
#ifndef VENTURI_NET_FETCH_H
#define VENTURI_NET_FETCH_H

#include "base/str.h"
#include "net/conn.h"
#include "net/url.h"

#include <stdint.h>

enum { FETCH_BODY_MAX = 16 * 1024 * 1024 };

struct fetch_reply {
	int status;
	struct str body; /* in the arena */
};

/*
 * method    "GET" or "HEAD"
 * path      instead of the URL's own
 * headers   extra lines "Name: value", n of them
 * errors    ERR_SYSTEM: connection failed, timed out, not HTTP, body over FETCH_BODY_MAX
 */
bool fetch(const struct conn_target *target, const struct url *url, const char *method,
	const char *path, const char *const *headers, size_t n_headers, int64_t timeout_ns,
	struct arena *run, struct fetch_reply *ret_reply, struct err *err) NODISCARD;

#endif
