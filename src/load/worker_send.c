#include "load/worker_engine.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "load/own_limits.h"

#include <stdio.h>
#include <string.h>

/*
 * Takes a ticket for one more request. The window opens by number of requests here, by time in the
 * controller.
 */
static bool take_ticket(struct engine *e, struct slot *s, int64_t due_ns)
{
	struct load_shared *shared = e->shared;
	const struct load_shape *shape = shared->shape;
	int64_t ticket = atomic_fetch_add_explicit(&shared->n_sent, 1, memory_order_relaxed);
	if (shape->warmup == LOAD_WARMUP_REQUESTS && ticket >= shape->warmup_requests) {
		int64_t closed = INT64_MAX;
		atomic_compare_exchange_strong(&shared->window_start_ns, &closed, due_ns);
		if (due_ns < load_window_start(e->shared))
			due_ns = load_window_start(e->shared);
	}
	s->x.ticket = ticket;
	s->x.in_window = due_ns >= load_window_start(e->shared) &&
		(shape->warmup != LOAD_WARMUP_REQUESTS || ticket >= shape->warmup_requests);
	if (!s->x.in_window)
		return true;
	int64_t k = atomic_fetch_add_explicit(&shared->n_window_sent, 1, memory_order_relaxed);
	return shape->requests == 0 || k < shape->requests;
}

static void write_request(struct engine *e, struct slot *s)
{
	const struct workload *w = &e->shared->targets[s->x.target].workload;
	s->request = s->session ? session_request(s->session, &s->written) :
				  workload_request(w, s->x.ticket, s->arrival, e->shared->nonce,
					  &s->written);
	s->x.prompt_tokens =
		s->session ? 0 : workload_input_tokens(w, s->x.ticket, s->arrival);
	s->out = s->request;
}

/* Where there are sessions, the slot has or gets one; false when no other begins. */
static bool has_session(struct engine *e, struct slot *s)
{
	if (!session_pool_used(&e->sessions))
		return true;
	if (!s->session)
		s->session = session_start(&e->sessions, s->x.target, s->x.in_window);
	return s->session != NULL;
}

static void start_connection(struct engine *e, struct slot *s, int64_t now_ns)
{
	struct err err;
	const struct conn_options options = {
		.quickack = e->shared->shape->quickack,
		.timestamps = true,
	};
	char why[320];
	s->answers = 0;
	s->connection = ++e->n_connections;
	s->read_bytes = 0;
	s->connect_ns = now_ns;
	if (!conn_start(&s->conn, &e->shared->targets[s->x.target].conn, options, &err)) {
		bool own = own_limits_explain(s->conn.error, why, sizeof(why));
		engine_fail(e, s, own ? LOAD_FAIL_CLIENT : LOAD_FAIL_CONNECT, own ? why : err.text, now_ns,
			false);
		return;
	}
	gauge_opened(&e->w->gauge, s->index, s->conn.fd);
	if (!loop_add(&e->loop, s->conn.fd, s, &err)) {
		engine_fail(e, s, LOAD_FAIL_CLIENT, err.text, now_ns, false);
		return;
	}
	if (load_in_window(e->shared, now_ns))
		e->counts->connections_opened++;
}

void engine_dispatch(struct engine *e, struct slot *s, int64_t planned_ns)
{
	struct load_shared *shared = e->shared;
	bool open_loop = shared->shape->rate_per_s > 0;
	int64_t now = clock_now_ns();
	if (!s->session && session_pool_ended(&e->sessions)) {
		engine_put_idle(e, s);
		return;
	}
	if (e->exhausted || shared->phase != PHASE_RUN || now >= load_window_end(e->shared) ||
		!take_ticket(e, s, open_loop ? planned_ns : now)) {
		e->exhausted = true;
		return;
	}
	if (!has_session(e, s)) {
		engine_put_idle(e, s);
		return;
	}
	s->restamp = s->is_new && !open_loop;
	s->is_new = false;
	s->retried = false;
	s->got_bytes = false;
	s->state = SLOT_BUSY;
	slot_list_add(&e->busy, s);
	write_request(e, s);
	exchange_begin(&s->x, shared->endpoint, open_loop ? planned_ns : now, now,
		s->x.in_window ? &e->counts->metrics[LOAD_ITL] : NULL);
	counts_busy(e->counts, shared, &s->x, now, 1);
	counts_sent(e->counts, &s->x, now, planned_ns);
	if (s->session)
		session_counts_sent(e->counts->sessions, s->session, &s->x);
	if (s->conn.fd < 0)
		start_connection(e, s, now);
	else
		engine_send(e, s);
}

bool engine_retry(struct engine *e, struct slot *s)
{
	if (s->answers == 0 || s->got_bytes || s->retried)
		return false;
	engine_close(e, s);
	s->retried = true;
	e->counts->retried += s->x.in_window;
	e->n_stale[s->x.target]++;
	s->out = s->request;
	start_connection(e, s, clock_now_ns());
	return true;
}

bool engine_send(struct engine *e, struct slot *s)
{
	while (s->out.len) {
		size_t n = 0;
		enum conn_result result = conn_write(&s->conn, s->out.s, s->out.len, &n);
		if (result == CONN_AGAIN)
			return true;
		if (result != CONN_OK) {
			engine_cut(e, s, result);
			return false;
		}
		s->out = (struct str){ s->out.s + n, s->out.len - n };
	}
	return true;
}
