#include "load/worker_engine.h"

#include <string.h>

void slot_list_add(struct slot_list *list, struct slot *s)
{
	s->prev = list->last;
	s->next = NULL;
	if (list->last)
		list->last->next = s;
	else
		list->first = s;
	list->last = s;
}

void slot_list_remove(struct slot_list *list, struct slot *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		list->first = s->next;
	if (s->next)
		s->next->prev = s->prev;
	else
		list->last = s->prev;
	s->prev = s->next = NULL;
}

static struct slot *new_slot(struct engine *e, int target)
{
	if (e->n_slots % ENGINE_SLOT_CHUNK == 0) {
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): it holds pointers */
		e->chunks = mem_realloc(e->chunks, (size_t)(e->n_chunks + 1) * sizeof(*e->chunks));
		e->chunks[e->n_chunks++] = mem_zeroed(ENGINE_SLOT_CHUNK, sizeof(struct slot));
	}
	struct slot *s = &e->chunks[e->n_slots / ENGINE_SLOT_CHUNK][e->n_slots % ENGINE_SLOT_CHUNK];
	s->index = e->n_slots++;
	e->w->gauge.n_slots = e->n_slots;
	s->conn.fd = -1;
	s->is_new = true;
	s->x.target = target;
	s->x.lane = e->lane;
	if (e->lane && e->shared->endpoint->read_event)
		s->x.recorded = recorder_gaps_new();
	const struct session_plan *plan = e->shared->targets[target].workload.sessions;
	s->x.keeps_text = plan && plan->own_answers;
	return s;
}

/* The threads begin at different targets, so that few requests are spread evenly too. */
static int choose_target(struct engine *e)
{
	struct load_shared *shared = e->shared;
	int n = shared->n_targets, best = e->next_target;
	if (n == 1)
		return 0;
	for (int i = 1; shared->balance == LOAD_LEAST_OUTSTANDING && i < n; i++) {
		int other = (e->next_target + i) % n;
		if (shared->open_at[other] < shared->open_at[best])
			best = other;
	}
	e->next_target = (best + 1) % n;
	return best;
}

struct slot *engine_take_slot_at(struct engine *e, int target)
{
	struct slot *s = e->idle[target];
	e->n_taken++;
	if (!s)
		return new_slot(e, target);
	e->idle[target] = s->next;
	s->next = NULL;
	return s;
}

struct slot *engine_take_slot(struct engine *e)
{
	return engine_take_slot_at(e, choose_target(e));
}

void engine_put_idle(struct engine *e, struct slot *s)
{
	if (e->shared->shape->max_in_flight > 0)
		load_shared_add(&e->shared->n_taken, -1);
	s->next = e->idle[s->x.target];
	e->idle[s->x.target] = s;
	e->n_taken--;
}

bool engine_take_room(struct engine *e)
{
	struct load_shared *shared = e->shared;
	int64_t cap = shared->shape->max_in_flight;
	if (cap <= 0)
		return e->n_taken < LOAD_CONNECTIONS_MAX / shared->n_threads;
	if (atomic_fetch_add_explicit(&shared->n_taken, 1, memory_order_relaxed) < cap)
		return true;
	load_shared_add(&shared->n_taken, -1);
	return false;
}

void engine_close(struct engine *e, struct slot *s)
{
	e->w->gauge.closed += s->conn.fd >= 0;
	conn_close(&s->conn);
}
