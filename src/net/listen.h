/*
 * listen.h - opens the socket that a server listens on.
 */
#ifndef VENTURI_NET_LISTEN_H
#define VENTURI_NET_LISTEN_H

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>

enum { LISTEN_HOST_MAX = 256 };

struct listener {
	int fd;
	int port;                   /* the real one, also where 0 was asked for */
	char host[LISTEN_HOST_MAX]; /* as given, with the brackets of an IPv6 address */
};

/*
 * address  HOST:PORT or [IPV6]:PORT; port 0 takes a free one
 * errors   ERR_USAGE for an address that is none, ERR_SYSTEM when it cannot be had
 */
bool listen_open(const char *address, struct listener *ret_listener, struct err *err) NODISCARD;

#endif
