#include "load/null_responder.h"

#include "base/i18n.h"
#include "base/str.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 64, CLIENTS_MAX = 65536, HEAD_SCAN = 64 * 1024 };

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

/* How much of one client's request is still to come. */
struct client {
	size_t skip; /* bytes of a body that are not here yet */
};

/* The length of the body that the head announces; 0 without one. */
static size_t body_length(struct str head)
{
	static const char name[] = "Content-Length: ";
	ptrdiff_t at = str_find(head, STR("Content-Length: "));
	return at < 0 ? 0 : strtoul(head.s + at + strlen(name), NULL, 10);
}

/* Counts the requests that end in these bytes. */
static int count_requests(struct client *c, struct str bytes)
{
	int n = 0;
	while (bytes.len) {
		if (c->skip) {
			size_t take = c->skip < bytes.len ? c->skip : bytes.len;
			bytes = (struct str){ bytes.s + take, bytes.len - take };
			c->skip -= take;
			n += c->skip == 0;
			continue;
		}
		ptrdiff_t end = str_find(bytes, STR("\r\n\r\n"));
		if (end < 0)
			return n;
		c->skip = body_length((struct str){ bytes.s, (size_t)end });
		n += c->skip == 0;
		bytes = (struct str){ bytes.s + end + 4, bytes.len - (size_t)end - 4 };
	}
	return n;
}

static void serve_client(int fd, struct client *c)
{
	static char data[HEAD_SCAN + 1];
	ssize_t n = recv(fd, data, HEAD_SCAN, 0);
	if (n <= 0) {
		close(fd);
		return;
	}
	data[n] = '\0';
	for (int k = count_requests(c, (struct str){ data, (size_t)n }); k > 0; k--)
		if (send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL) < 0)
			return;
}

static void accept_client(int epoll, int listener, struct client *clients)
{
	int on = 1;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	if (fd >= CLIENTS_MAX) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	clients[fd] = (struct client){ 0 };
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static NORETURN void serve(int listener)
{
	struct client *clients = calloc(CLIENTS_MAX, sizeof(*clients));
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN, .data.fd = listener };
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	if (!clients || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0)
		_exit(1);
	for (;;) {
		struct epoll_event events[EVENTS];
		int n = epoll_wait(epoll, events, EVENTS, -1);
		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;
			if (fd == listener)
				accept_client(epoll, listener, clients);
			else
				serve_client(fd, &clients[fd]);
		}
	}
}

bool null_responder_start(struct null_responder *n, struct err *err)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(address);
	AUTO(auto_fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*n = (struct null_responder){ .pid = -1 };
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 ||
		listen(fd, SOMAXCONN) != 0 ||
		getsockname(fd, (struct sockaddr *)&address, &len) != 0)
		return err_set(err, ERR_SYSTEM, _("cannot open a loopback socket: %s"),
			strerror(errno));
	n->pid = fork();
	if (n->pid < 0)
		return err_set(err, ERR_SYSTEM, _("cannot start a process: %s"), strerror(errno));
	if (n->pid == 0)
		serve(fd);
	memcpy(&n->target.address, &address, len);
	n->target.address_len = len;
	n->target.family = AF_INET;
	n->target.host = "127.0.0.1";
	return true;
}

void null_responder_stop(struct null_responder *n)
{
	if (n->pid <= 0)
		return;
	kill(n->pid, SIGKILL);
	waitpid(n->pid, NULL, 0);
	n->pid = -1;
}
