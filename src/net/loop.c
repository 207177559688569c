#include "net/loop.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

bool loop_open(struct loop *loop, struct err *err)
{
	*loop = (struct loop){ .fd = epoll_create1(EPOLL_CLOEXEC) };
	if (loop->fd < 0)
		return err_set(err, ERR_SYSTEM, _("cannot create an epoll instance: %s"),
			strerror(errno));
	return true;
}

void loop_close(struct loop *loop)
{
	if (loop->fd >= 0)
		close(loop->fd);
	loop->fd = -1;
}

bool loop_add(struct loop *loop, int fd, void *ptr, struct err *err)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = ptr,
	};
	if (epoll_ctl(loop->fd, EPOLL_CTL_ADD, fd, &event) != 0)
		return err_set(err, ERR_SYSTEM, _("cannot watch a socket: %s"), strerror(errno));
	return true;
}

static int wait_ms(struct loop *loop, int64_t left_ns)
{
	int64_t ms = (left_ns + NS_PER_MS - 1) / NS_PER_MS;
	return epoll_wait(loop->fd, loop->events, LOOP_EVENTS, ms > INT_MAX ? INT_MAX : (int)ms);
}

int loop_wait(struct loop *loop, int64_t deadline_ns)
{
	int n;
	if (deadline_ns == INT64_MAX) {
		n = epoll_wait(loop->fd, loop->events, LOOP_EVENTS, -1);
		return n > 0 ? n : 0;
	}
	loop->wait_from_ns = clock_now_ns();
	int64_t left = deadline_ns - loop->wait_from_ns;
	if (left < 0)
		left = 0;
	if (loop->no_pwait2) {
		n = wait_ms(loop, left);
	} else {
		struct timespec ts = clock_to_timespec(left);
		n = epoll_pwait2(loop->fd, loop->events, LOOP_EVENTS, &ts, NULL);
		if (n < 0 && errno == ENOSYS) {
			loop->no_pwait2 = true;
			n = wait_ms(loop, left);
		}
	}
	return n > 0 ? n : 0;
}
