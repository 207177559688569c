/*
 * url.h - http://host:port/path and https://..., taken apart.
 *
 * Understood as RFC 3986 says, with what a command line adds and refuses: the scheme may be left
 * out; a user name, spaces, and a colon without a port after it (most often an empty shell
 * variable) are errors. Bytes beyond ASCII in the path are percent-encoded; a fragment is dropped.
 */
#ifndef VENTURI_NET_URL_H
#define VENTURI_NET_URL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/attr.h"

#include <stdbool.h>

enum { URL_MAX = 8 * 1024 };

struct url {
	const char *text; /* as given */
	bool tls;
	const char *host; /* without the brackets of an IPv6 address */
	int port;         /* 80 or 443 when not given */
	const char *path; /* with the query, at least "/" */
	const char *
	        authority; /* host[:port] as a Host: header wants it: no port that is the default */
	const char *unix_socket; /* path to connect to instead of the host; NULL: none */
};

/*
 * A text without a scheme is taken as http; unix_socket stays NULL, for the caller to set. Errors
 * are ERR_USAGE.
 */
bool url_parse(const char *text, struct arena *run, struct url *ret_url, struct err *err) NODISCARD;

#endif
