#include "watch/sockets/listener.h"

#include "tap.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* A socket on a free port; *ret_port becomes it. */
static int open_tcp(bool v6, int *ret_port)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	struct sockaddr_in a4 = { .sin_family = AF_INET };
	a4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	struct sockaddr *a = v6 ? (struct sockaddr *)&a6 : (struct sockaddr *)&a4;
	socklen_t len = v6 ? sizeof(a6) : sizeof(a4);
	int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, a, len) != 0 || listen(fd, 1) != 0)
		return -1;
	getsockname(fd, a, &len);
	*ret_port = ntohs(v6 ? a6.sin6_port : a4.sin_port);
	return fd;
}

static void who_listens_on_a_port_is_found(void)
{
	int pids[4] = { 0 }, port = 0;
	for (int v6 = 0; v6 < 2; v6++) {
		int fd = open_tcp(v6, &port);
		if (fd < 0 && v6)
			continue; /* a machine without IPv6 */
		CHECK_INT(listener_find("", port, NULL, pids, 4), 1);
		CHECK_INT(pids[0], getpid());
		close(fd);
		CHECK_INT(listener_find("", port, NULL, pids, 4), 0);
	}
}

static void children_that_share_the_socket_are_not_named_beside_their_parent(void)
{
	int pids[4] = { 0 }, port = 0, fd = open_tcp(false, &port);
	pid_t child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	CHECK_INT(listener_find("", port, NULL, pids, 4), 1);
	CHECK_INT(pids[0], getpid());
	close(fd);
	CHECK_INT(listener_find("", port, NULL, pids, 4), 1);
	CHECK_INT(pids[0], child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void who_listens_on_a_unix_socket_is_found(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int pids[4] = { 0 };
	snprintf(a.sun_path, sizeof(a.sun_path), "/tmp/venturi test %d.sock", getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(fd, 1) == 0);
	CHECK_INT(listener_find("", 0, a.sun_path, pids, 4), 1);
	CHECK_INT(pids[0], getpid());
	CHECK_INT(listener_find("", 0, "/tmp/venturi", pids, 4), 0);
	close(fd);
	unlink(a.sun_path);
}

static void a_machine_without_proc_has_no_listener(void)
{
	int pids[4];
	CHECK_INT(listener_find("/nonexistent", 80, NULL, pids, 4), 0);
}

int main(void)
{
	TAP_RUN(who_listens_on_a_port_is_found);
	TAP_RUN(children_that_share_the_socket_are_not_named_beside_their_parent);
	TAP_RUN(who_listens_on_a_unix_socket_is_found);
	TAP_RUN(a_machine_without_proc_has_no_listener);
	return tap_done();
}
