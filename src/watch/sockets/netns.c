#include "watch/sockets/netns.h"

#include "base/i18n.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/* The kernel answers at once; a sampler that waits longer for it has lost more than this look. */
static const struct timeval patience = { .tv_sec = 1 };

static int open_here(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

struct visit {
	int pid;
	int fd; /* -1: code says why not */
	int code;
};

/* A thread of its own: it is in the other namespace until it ends. */
static void *visit_thread(void *arg)
{
	struct visit *v = arg;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/ns/net", v->pid);
	AUTO(auto_fd) int ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWNET) != 0) {
		v->code = errno;
		return NULL;
	}
	v->fd = open_here();
	v->code = errno;
	return NULL;
}

static int open_there(int pid)
{
	struct visit v = { .pid = pid, .fd = -1 };
	pthread_t thread;
	int code = pthread_create(&thread, NULL, visit_thread, &v);
	if (code == 0)
		pthread_join(thread, NULL);
	errno = code ? code : v.code;
	return v.fd;
}

static bool namespace_of(const char *who, struct stat *ret_stat)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%s/ns/net", who);
	return stat(path, ret_stat) == 0;
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The namespaces of the processes, one process of each; pid 0 is ours. */
static size_t list(const int *pids, size_t n_pids, int ret_pids[NETNS_MAX + 1])
{
	struct stat seen[NETNS_MAX + 1], own;
	bool knows_own = namespace_of("self", &own);
	size_t n = 0;
	for (size_t i = 0; i < n_pids && n <= NETNS_MAX; i++) {
		char who[16];
		struct stat its;
		snprintf(who, sizeof(who), "%d", pids[i]);
		bool known = namespace_of(who, &its);
		bool ours = !known || (knows_own && same(&its, &own));
		if (ours)
			its = own;
		size_t k = 0;
		while (k < n && !same(&seen[k], &its))
			k++;
		if (k < n)
			continue;
		seen[n] = its;
		ret_pids[n++] = ours ? 0 : pids[i];
	}
	if (n == 0)
		ret_pids[n++] = 0;
	return n;
}

bool netns_open(
        const int *pids, size_t n_pids, int ret_fds[NETNS_MAX], size_t *ret_n, struct err *err)
{
	int visited[NETNS_MAX + 1];
	size_t n = list(pids, n_pids, visited);
	if (n > NETNS_MAX)
		return err_set(err, ERR_SYSTEM,
		        _("the processes are in more than %d network namespaces"), NETNS_MAX);
	for (size_t i = 0; i < n; i++) {
		ret_fds[i] = visited[i] ? open_there(visited[i]) : open_here();
		if (ret_fds[i] >= 0)
			continue;
		int code = errno;
		while (i > 0)
			close(ret_fds[--i]);
		if (visited[i])
			return err_set(err, ERR_SYSTEM,
			        _("process %d is in another network namespace, which cannot be "
			          "entered: %s"),
			        visited[i], strerror(code));
		return err_set(
		        err, ERR_SYSTEM, _("no netlink socket for diagnosis: %s"), strerror(code));
	}
	*ret_n = n;
	return true;
}
