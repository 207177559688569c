#include "serve/leave.h"

#include "base/i18n.h"
#include "base/str.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum { EVENTS_AT_ONCE = 64 };

/* Events are fetched under the lock: what unwatch took out cannot be among them any more. */
static void take_events(struct leave *l)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	pthread_mutex_lock(&l->lock);
	int n = epoll_wait(l->epoll_fd, events, EVENTS_AT_ONCE, 0);
	for (int i = 0; i < n; i++)
		l->left(events[i].data.ptr);
	pthread_mutex_unlock(&l->lock);
}

static void *run(void *arg)
{
	struct leave *l = arg;
	struct pollfd fds[] = {
		{ .fd = l->epoll_fd, .events = POLLIN },
		{ .fd = l->stop_fd, .events = POLLIN },
	};
	while (poll(fds, ARRAY_LEN(fds), -1) >= 0 || errno == EINTR) {
		if (fds[1].revents)
			break;
		take_events(l);
	}
	return NULL;
}

bool leave_open(struct leave *l, void (*left)(void *watched), struct err *err)
{
	*l = (struct leave){ .left = left };
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->stop_fd = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&l->lock, NULL);
	int failed = l->epoll_fd < 0 || l->stop_fd < 0 ? errno : 0;
	if (!failed)
		failed = pthread_create(&l->thread, NULL, run, l);
	if (!failed)
		return true;
	auto_fd(&l->epoll_fd);
	auto_fd(&l->stop_fd);
	return err_set(err, ERR_SYSTEM, _("cannot watch connections: %s"), strerror(failed));
}

void leave_close(struct leave *l)
{
	eventfd_write(l->stop_fd, 1);
	pthread_join(l->thread, NULL);
	auto_fd(&l->epoll_fd);
	auto_fd(&l->stop_fd);
	pthread_mutex_destroy(&l->lock);
}

void leave_watch(struct leave *l, int fd, void *watched)
{
	struct epoll_event event = { .events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = watched };
	epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

void leave_unwatch(struct leave *l, int fd)
{
	pthread_mutex_lock(&l->lock);
	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	pthread_mutex_unlock(&l->lock);
}
