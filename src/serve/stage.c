#include "serve/stage.h"

#include "base/arena.h"

#include <stdlib.h>

void stage_init(struct stage *s, size_t cap)
{
	*s = (struct stage){ .cap = cap, .ring = mem_zeroed(cap, sizeof(void *)) };
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->filled, NULL);
	pthread_cond_init(&s->emptied, NULL);
}

void stage_release(struct stage *s)
{
	pthread_cond_destroy(&s->emptied);
	pthread_cond_destroy(&s->filled);
	pthread_mutex_destroy(&s->lock);
	free(s->ring);
}

static bool push(struct stage *s, void *work, bool wait)
{
	pthread_mutex_lock(&s->lock);
	while (wait && s->n == s->cap && !s->closed)
		pthread_cond_wait(&s->emptied, &s->lock);
	bool goes = s->n < s->cap && !s->closed;
	if (goes) {
		s->ring[(s->first + s->n++) % s->cap] = work;
		pthread_cond_signal(&s->filled);
	}
	pthread_mutex_unlock(&s->lock);
	return goes;
}

bool stage_try_push(struct stage *s, void *work)
{
	return push(s, work, false);
}

bool stage_push(struct stage *s, void *work)
{
	return push(s, work, true);
}

static bool pop(struct stage *s, void **ret_work, bool wait)
{
	pthread_mutex_lock(&s->lock);
	while (wait && s->n == 0 && !s->closed)
		pthread_cond_wait(&s->filled, &s->lock);
	bool got = s->n > 0;
	if (got) {
		*ret_work = s->ring[s->first];
		s->first = (s->first + 1) % s->cap;
		s->n--;
		pthread_cond_signal(&s->emptied);
	}
	pthread_mutex_unlock(&s->lock);
	return got;
}

bool stage_pop(struct stage *s, void **ret_work)
{
	return pop(s, ret_work, true);
}

bool stage_try_pop(struct stage *s, void **ret_work)
{
	return pop(s, ret_work, false);
}

void stage_close(struct stage *s)
{
	pthread_mutex_lock(&s->lock);
	s->closed = true;
	pthread_cond_broadcast(&s->filled);
	pthread_cond_broadcast(&s->emptied);
	pthread_mutex_unlock(&s->lock);
}
