#include "serve/slots.h"

#include "serve/call.h"

void slots_init(struct slots *s, int64_t n_max)
{
	*s = (struct slots){ .n_max = n_max };
	pthread_mutex_init(&s->lock, NULL);
}

bool slots_enter(struct slots *s, struct call *call)
{
	pthread_mutex_lock(&s->lock);
	bool enters = call->slot.held || s->n_max == 0 || s->n_used < s->n_max;
	if (!enters) {
		MHD_suspend_connection(call->connection);
		*(s->last ? &s->last->slot.next : &s->first) = call;
		s->last = call;
	} else if (!call->slot.held) {
		call->slot.held = true;
		s->n_used++;
	}
	pthread_mutex_unlock(&s->lock);
	return enters;
}

/* Under the lock. */
static void let_in_first(struct slots *s)
{
	struct call *call = s->first;
	s->first = call->slot.next;
	s->last = s->first ? s->last : NULL;
	call->slot.held = true;
	s->n_used++;
	MHD_resume_connection(call->connection);
}

void slots_leave(struct slots *s, struct call *call)
{
	if (!call->slot.held)
		return;
	pthread_mutex_lock(&s->lock);
	s->n_used--;
	if (s->first)
		let_in_first(s);
	pthread_mutex_unlock(&s->lock);
}

void slots_open(struct slots *s)
{
	pthread_mutex_lock(&s->lock);
	s->n_max = 0;
	while (s->first)
		let_in_first(s);
	pthread_mutex_unlock(&s->lock);
}
