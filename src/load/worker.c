#include "load/worker.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "base/units.h"
#include "load/worker_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

static const int64_t room_check_ns = 200 * 1000;
static const int64_t idle_check_ns = 20 * NS_PER_MS; /* how often phases are looked at */

static void plan_next(struct engine *e)
{
	int64_t t = arrival_next_ns(&e->arrival, &e->next_arrival);
	e->next_due_ns = t == ARRIVAL_END ? INT64_MAX : e->shared->start_ns + t;
}

/* Sends all arrivals that are due. */
static void send_due(struct engine *e, int64_t now_ns)
{
	if (session_pool_ended(&e->sessions))
		return;
	while (!e->exhausted && e->next_due_ns <= now_ns) {
		int64_t due = e->next_due_ns;
		if (due >= load_window_end(e->shared)) {
			e->exhausted = true;
			return;
		}
		if (!engine_take_room(e)) {
			e->full_ns = now_ns;
			return;
		}
		struct slot *s = engine_take_slot(e);
		s->arrival = e->next_arrival;
		s->x.blocked = due <= e->full_ns;
		plan_next(e);
		engine_dispatch(e, s, due);
	}
	if (e->next_due_ns < INT64_MAX)
		return;
	if (session_pool_used(&e->sessions))
		e->sessions.ended = true;
	else
		e->exhausted = true;
}

/* Sends the turns of sessions that have thought; in an open loop they may have to wait for room. */
static void send_turns(struct engine *e, int64_t now_ns)
{
	struct session *session;
	while (!e->exhausted && (session = session_first(&e->sessions)) && session->due_ns <= now_ns) {
		if (!session->place && !engine_take_room(e))
			return;
		session_wake(&e->sessions);
		struct slot *s = session->place ? session->place : engine_take_slot_at(e, session->target);
		session->place = NULL;
		s->session = session;
		engine_dispatch(e, s, session->due_ns);
	}
	if (session_pool_over(&e->sessions))
		e->exhausted = true;
}

static void resume_paused(struct engine *e, int64_t now_ns)
{
	while (e->paused.first && e->paused.first->resume_ns <= now_ns) {
		struct slot *s = e->paused.first;
		slot_list_remove(&e->paused, s);
		s->state = SLOT_IDLE;
		engine_next_request(e, s, now_ns);
	}
}

static void expire(struct engine *e, int64_t now_ns)
{
	int64_t timeout = e->shared->timeout_ns;
	while (e->busy.first && now_ns - e->busy.first->x.sent_ns >= timeout) {
		struct slot *s = e->busy.first;
		char why[128], text[UNITS_TEXT];
		bool connecting = s->conn.state != CONN_OPEN;
		snprintf(why, sizeof(why),
			connecting ? _("no connection within %s") : _("no complete answer within %s"),
			units_duration((double)timeout, text));
		engine_fail(e, s, LOAD_FAIL_TIMEOUT, why, now_ns, false);
	}
}

static void stop_cpu(struct engine *e, int64_t now_ns)
{
	if (!e->cpu_started || e->cpu_stopped)
		return;
	e->counts->cpu_ns = clock_thread_cpu_ns() - e->cpu_start_ns;
	e->counts->wall_ns = now_ns - e->wall_start_ns;
	gauge_close_window(&e->w->gauge);
	e->cpu_stopped = true;
}

/* CPU and wall time of this thread inside the window. */
static void book_cpu(struct engine *e, int64_t now_ns)
{
	if (!e->cpu_started && now_ns >= load_window_start(e->shared)) {
		gauge_open_window(&e->w->gauge);
		e->cpu_start_ns = clock_thread_cpu_ns();
		e->wall_start_ns = now_ns;
		e->cpu_started = true;
	}
	bool over = now_ns >= load_window_end(e->shared) || (e->exhausted && e->counts->n_busy == 0);
	if (over)
		stop_cpu(e, now_ns);
}

static int64_t next_deadline(const struct engine *e, int64_t now_ns)
{
	int64_t deadline = now_ns + idle_check_ns;
	if (e->shared->shape->rate_per_s > 0 && !e->exhausted && e->next_due_ns > now_ns &&
		e->next_due_ns < deadline)
		deadline = e->next_due_ns;
	const struct session *session = session_first(&e->sessions);
	if (session && session->due_ns > now_ns && session->due_ns < deadline)
		deadline = session->due_ns;
	/* Held back by the cap: another thread may make room at any time. */
	if (e->shared->n_threads > 1 && e->shared->shape->max_in_flight > 0 && !e->exhausted &&
		e->next_due_ns <= now_ns)
		deadline = now_ns + room_check_ns;
	if (e->paused.first && e->paused.first->resume_ns < deadline)
		deadline = e->paused.first->resume_ns;
	if (e->busy.first && e->busy.first->x.sent_ns + e->shared->timeout_ns < deadline)
		deadline = e->busy.first->x.sent_ns + e->shared->timeout_ns;
	return deadline;
}

static void start_slots(struct engine *e)
{
	int64_t now = clock_now_ns();
	e->counts->level_ns = now;
	if (e->shared->shape->rate_per_s > 0) {
		arrival_init(&e->arrival, &e->shared->shape->arrival, e->shared->shape->rate_per_s,
			(uint64_t)e->shared->seed, e->w->index, e->shared->n_threads);
		plan_next(e);
		return;
	}
	for (int64_t i = 0; i < e->w->n_slots; i++)
		engine_dispatch(e, engine_take_slot(e), clock_now_ns());
}

static bool is_finished(const struct engine *e)
{
	bool no_more = e->exhausted || e->shared->phase == PHASE_DRAIN;
	return e->shared->phase == PHASE_STOP || (no_more && e->counts->n_busy == 0);
}

static void run_loop(struct engine *e)
{
	start_slots(e);
	for (;;) {
		int64_t now = clock_now_ns();
		book_cpu(e, now);
		counts_slice(e->counts, e->shared, now);
		if (e->lane)
			recorder_tick(e->lane, now);
		send_turns(e, now);
		if (e->shared->shape->rate_per_s > 0)
			send_due(e, now);
		resume_paused(e, now);
		expire(e, now);
		if (is_finished(e))
			break;
		int64_t deadline = next_deadline(e, now);
		int n = loop_wait(&e->loop, deadline);
		gauge_turn(&e->w->gauge, e->shared, e->loop.wait_from_ns, deadline, clock_now_ns());
		for (int i = 0; i < n; i++)
			engine_on_event(e, e->loop.events[i].data.ptr, e->loop.events[i].events);
	}
	int64_t now = clock_now_ns();
	counts_levels(e->counts, e->shared, now);
	counts_slice(e->counts, e->shared, INT64_MAX);
	book_cpu(e, now);
	stop_cpu(e, now);
}

static void close_slots(struct engine *e)
{
	int64_t now = clock_now_ns();
	for (int64_t i = 0; i < e->n_slots; i++) {
		struct slot *s = &e->chunks[i / ENGINE_SLOT_CHUNK][i % ENGINE_SLOT_CHUNK];
		if (s->state == SLOT_BUSY) {
			if (s->x.in_window)
				counts_censored(e->counts, &s->x);
			engine_keep_record(e, s, RECORDS_CENSORED, now);
		}
		e->w->connections_served += s->served;
		if (s->conn.state == CONN_OPEN && !s->conn.ssl)
			gauge_compare_bytes(&e->w->gauge, s->conn.fd, s->read_bytes);
		engine_close(e, s);
		exchange_release(&s->x);
		buf_release(&s->written);
		if (s->session && !s->session->place)
			session_end(&e->sessions, s->session);
	}
	if (e->lane)
		recorder_finish(e->lane);
	session_pool_release(&e->sessions);
	for (int64_t i = 0; i < e->n_chunks; i++)
		free(e->chunks[i]);
	free(e->chunks);
}

/* Back when all threads are ready. */
static void pass_gate(struct load_shared *shared)
{
	pthread_mutex_lock(&shared->gate_lock);
	shared->n_at_gate++;
	pthread_cond_broadcast(&shared->gate);
	while (!shared->gate_open)
		pthread_cond_wait(&shared->gate, &shared->gate_lock);
	pthread_mutex_unlock(&shared->gate_lock);
}

void *worker_run(void *arg)
{
	struct worker *w = arg;
	struct engine *e = mem_realloc(NULL, sizeof(*e));
	*e = (struct engine){
		.w = w,
		.shared = w->shared,
		.counts = &w->counts,
		.next_target = w->index % w->shared->n_targets,
		.lane = recorder_lane(w->shared->recorder, w->index),
		.input = mem_realloc(NULL, ENGINE_READ_BYTES),
	};
	/* The default slack of 50 us would make every planned moment late. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (w->counts.sessions)
		session_pool_init(&e->sessions, w->shared);
	bool ready = loop_open(&e->loop, &w->err);
	pass_gate(w->shared);
	if (ready) {
		run_loop(e);
		close_slots(e);
		loop_close(&e->loop);
	} else {
		w->failed = true;
	}
	free(e->input);
	free(e);
	pthread_mutex_lock(&w->shared->gate_lock);
	atomic_store(&w->finished, true);
	pthread_cond_broadcast(&w->shared->gate);
	pthread_mutex_unlock(&w->shared->gate_lock);
	return NULL;
}

void worker_init(struct worker *w, struct load_shared *shared, int index, int64_t n_slots,
	struct arena *run)
{
	*w = (struct worker){ .shared = shared, .index = index, .n_slots = n_slots };
	counts_init(&w->counts, shared->n_targets, run);
	gauge_init(&w->gauge, run);
	if (!shared->targets[0].workload.sessions)
		return;
	w->counts.sessions = arena_new(run, struct session_counts);
	session_counts_init(w->counts.sessions, run);
}

void worker_release(struct worker *w)
{
	counts_release(&w->counts);
}
