/*
 * url.h - http://host:port/path and https://..., taken apart.
 */
#ifndef VENTURI_NET_URL_H
#define VENTURI_NET_URL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/attr.h"

#include <stdbool.h>

struct url {
	const char *text; /* as given */
	bool tls;
	const char *host; /* without the brackets of an IPv6 address */
	int port;         /* 80 or 443 when not given */
	const char *path; /* with the query, at least "/" */
	const char *authority; /* host:port as a Host: header wants it */
};

/* A text without a scheme is taken as http. Errors name the text. */
bool url_parse(const char *text, struct arena *run, struct url *ret_url, struct err *err) NODISCARD;

#endif
