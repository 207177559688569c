#include "net/listen.h"

#include "base/i18n.h"
#include "base/str.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool split(const char *address, struct listener *l, struct err *err)
{
	const char *colon = strrchr(address, ':');
	int64_t port;
	if (!colon || colon == address || (size_t)(colon - address) >= sizeof(l->host) ||
	        !str_to_i64(str_of(colon + 1), &port) || port < 0 || port > 65535) {
		err_set(err, ERR_USAGE, _("'%s' is not HOST:PORT"), address);
		return err_hint(err, _("for example %s, or %s for any free port"), "127.0.0.1:8000",
		        "127.0.0.1:0");
	}
	snprintf(l->host, sizeof(l->host), "%.*s", (int)(colon - address), address);
	l->port = (int)port;
	return true;
}

static bool resolve(
        const struct listener *l, const char *address, struct addrinfo **ret_info, struct err *err)
{
	char host[LISTEN_HOST_MAX], port[16];
	size_t len = strlen(l->host);
	bool brackets = l->host[0] == '[' && l->host[len - 1] == ']';
	snprintf(host, sizeof(host), "%.*s", (int)(brackets ? len - 2 : len), l->host + brackets);
	snprintf(port, sizeof(port), "%d", l->port);
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	int failed = getaddrinfo(host, port, &hints, ret_info);
	if (failed)
		return err_set(err, ERR_USAGE, _("cannot listen on '%s': %s"), address,
		        gai_strerror(failed));
	return true;
}

/* A socket that listens on the address, or -1 and errno. */
static int open_one(const struct addrinfo *info)
{
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
		return fd;
	int failed = errno;
	close(fd);
	errno = failed;
	return -1;
}

static int port_of(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = { 0 };
	socklen_t len = sizeof(at);
	if (getsockname(fd, &at.any, &len) != 0)
		return 0;
	return ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port);
}

bool listen_open(const char *address, struct listener *ret_listener, struct err *err)
{
	struct listener l = { .fd = -1 };
	struct addrinfo *info;
	if (!split(address, &l, err) || !resolve(&l, address, &info, err))
		return false;
	l.fd = open_one(info);
	freeaddrinfo(info);
	if (l.fd < 0) {
		bool taken = errno == EADDRINUSE;
		err_set(err, ERR_SYSTEM, _("cannot listen on '%s': %s"), address, strerror(errno));
		return taken ? err_hint(
		                       err, _("another program listens there; choose another port, "
		                              "or port 0 for any free one"))
		             : false;
	}
	l.port = port_of(l.fd);
	*ret_listener = l;
	return true;
}
