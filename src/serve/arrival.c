#include "serve/arrival.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/i18n.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define LOOK_EVERY_NS (NS_PER_S / 2)

/* Under the lock, so that no descriptor is another connection's meanwhile. */
static void shut_late_ones(struct arrivals *s, int64_t now_ns)
{
	for (struct arrival *a = s->first; a; a = a->next) {
		if (atomic_load_explicit(&a->until_ns, memory_order_relaxed) > now_ns)
			continue;
		shutdown(a->fd, SHUT_RDWR);
		arrival_expect(a, INT64_MAX); /* once is enough */
	}
}

static void *run(void *arg)
{
	struct arrivals *s = arg;
	pthread_mutex_lock(&s->lock);
	while (!s->stopping) {
		struct timespec until = clock_to_timespec(clock_now_ns() + LOOK_EVERY_NS);
		if (s->first)
			pthread_cond_timedwait(&s->stop, &s->lock, &until);
		else
			pthread_cond_wait(&s->stop, &s->lock);
		shut_late_ones(s, clock_now_ns());
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

bool arrivals_open(struct arrivals *s, struct err *err)
{
	pthread_condattr_t attr;
	*s = (struct arrivals){ 0 };
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->stop, &attr);
	pthread_condattr_destroy(&attr);
	int failed = pthread_create(&s->thread, NULL, run, s);
	return !failed ||
	       err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(failed));
}

void arrivals_close(struct arrivals *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_signal(&s->stop);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->stop);
	pthread_mutex_destroy(&s->lock);
}

struct arrival *arrivals_add(struct arrivals *s, int fd, int64_t until_ns)
{
	struct arrival *a = mem_zeroed(1, sizeof(*a));
	a->fd = fd;
	atomic_init(&a->until_ns, until_ns);
	pthread_mutex_lock(&s->lock);
	a->next = s->first;
	if (s->first)
		s->first->prev = a;
	else
		pthread_cond_signal(&s->stop); /* it slept for want of connections */
	s->first = a;
	pthread_mutex_unlock(&s->lock);
	return a;
}

void arrivals_remove(struct arrivals *s, struct arrival *a)
{
	pthread_mutex_lock(&s->lock);
	*(a->prev ? &a->prev->next : &s->first) = a->next;
	if (a->next)
		a->next->prev = a->prev;
	pthread_mutex_unlock(&s->lock);
	free(a);
}

void arrival_expect(struct arrival *a, int64_t until_ns)
{
	atomic_store_explicit(&a->until_ns, until_ns, memory_order_relaxed);
}
