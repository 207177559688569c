#include "load/worker_engine.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A server that closes connections so often without a word gets a new one for each request. */
enum { STALE_MAX = 3 };

static const int64_t reconnect_pause_ns = 50 * NS_PER_MS;

void engine_keep_record(struct engine *e, const struct slot *s, int outcome, int64_t end_ns)
{
	const struct recorder_end end = {
		.outcome = outcome,
		.end_ns = end_ns,
		.connection = s->connection,
		.target = s->x.target,
		.retried = s->retried,
	};
	if (e->lane)
		recorder_request(e->lane, &s->x, &end);
}

static void leave_busy(struct engine *e, struct slot *s, int64_t now_ns)
{
	slot_list_remove(&e->busy, s);
	if (s->streaming)
		counts_streaming(e->counts, e->shared, now_ns, -1);
	counts_busy(e->counts, e->shared, &s->x, now_ns, -1);
	s->streaming = false;
	s->state = SLOT_IDLE;
}

/*
 * The session goes on: at once, or when it has thought. In a closed loop it keeps its place and its
 * connection meanwhile, in an open one it has neither.
 */
static void next_turn(struct engine *e, struct slot *s, int64_t free_ns)
{
	struct session *session = s->session;
	if (session->due_ns <= free_ns) {
		engine_dispatch(e, s, free_ns);
		return;
	}
	session->place = s;
	if (e->shared->shape->rate_per_s > 0) {
		session->place = s->session = NULL;
		engine_put_idle(e, s);
	}
	session_think(&e->sessions, session);
}

void engine_next_request(struct engine *e, struct slot *s, int64_t free_ns)
{
	if (s->session) {
		next_turn(e, s, free_ns);
		return;
	}
	engine_put_idle(e, s);
	if (e->shared->shape->rate_per_s <= 0)
		engine_dispatch(e, engine_take_slot(e), free_ns);
}

/* Where the request was a turn of a session: the next one is made ready, or the session ends. */
static void end_turn(struct engine *e, struct slot *s, bool ok, int64_t now_ns)
{
	struct session *session = s->session;
	enum session_state state = SESSION_ABORTED;
	if (!session)
		return;
	if (ok) {
		session_counts_turn(e->counts->sessions, session, &s->x, now_ns);
		state = session_answer(&e->sessions, session, buf_str(&s->x.text),
			s->x.reply.text_cut, now_ns);
	}
	if (s->written.cap > SESSION_KEEP_BYTES)
		buf_release(&s->written);
	if (s->x.text.cap > SESSION_KEEP_BYTES)
		buf_release(&s->x.text);
	if (state == SESSION_GOES_ON)
		return;
	session_counts_end(e->counts->sessions, session, state);
	session_end(&e->sessions, session);
	s->session = NULL;
}

static void pause_slot(struct engine *e, struct slot *s, int64_t now_ns)
{
	s->state = SLOT_PAUSED;
	s->resume_ns = now_ns + reconnect_pause_ns;
	slot_list_add(&e->paused, s);
}

void engine_fail(struct engine *e, struct slot *s, enum load_failure kind, const char *why,
	int64_t now_ns, bool keep_connection)
{
	leave_busy(e, s, now_ns);
	counts_failure(e->counts, e->shared, &s->x, kind, why, now_ns);
	engine_keep_record(e, s, RECORDS_FAILED + (int)kind, now_ns);
	end_turn(e, s, false, now_ns);
	if (!keep_connection)
		engine_close(e, s);
	/* A service that is gone must not be hammered, nor a client that is at its limits. */
	if (kind == LOAD_FAIL_CONNECT || kind == LOAD_FAIL_TLS || kind == LOAD_FAIL_CLIENT)
		pause_slot(e, s, now_ns);
	else
		engine_next_request(e, s, now_ns);
}

/*
 * Whether the server keeps the connection of a complete answer open: what it says, unless it has
 * closed the last ones all the same (as llama.cpp's does after every stream).
 */
static bool keeps_connection(struct engine *e, const struct slot *s)
{
	int64_t *n_stale = &e->n_stale[s->x.target];
	if (s->answers > 0 && !s->retried)
		*n_stale = 0;
	return s->x.http.keep_alive && *n_stale < STALE_MAX;
}

void engine_complete(struct engine *e, struct slot *s, int64_t now_ns, bool clean)
{
	enum load_failure kind;
	char why[sizeof(e->counts->first_error)];
	bool server_closes = !keeps_connection(e, s);
	bool close = !clean || server_closes || e->shared->shape->new_connections;
	s->answers++;
	if (load_in_window(e->shared, now_ns)) {
		s->served = true;
		e->counts->server_closes += server_closes;
	}
	if (!exchange_judge(&s->x, &kind, why, sizeof(why))) {
		engine_fail(e, s, kind, why, now_ns, !close);
		return;
	}
	leave_busy(e, s, now_ns);
	counts_success(e->counts, e->shared, &s->x, now_ns);
	engine_keep_record(e, s, RECORDS_OK, now_ns);
	end_turn(e, s, true, now_ns);
	if (close)
		engine_close(e, s);
	engine_next_request(e, s, now_ns);
}

void engine_cut(struct engine *e, struct slot *s, enum conn_result result)
{
	char why[320], text[200];
	if (engine_retry(e, s))
		return;
	if (result == CONN_OK && exchange_too_large(&s->x))
		snprintf(why, sizeof(why), _("an event of the stream is larger than %d MiB"),
			SSE_EVENT_MAX >> 20);
	else if (result == CONN_OK && s->x.http.error == http_error_tls)
		snprintf(why, sizeof(why), _("the port speaks TLS: try 'https://'"));
	else if (result == CONN_OK)
		snprintf(why, sizeof(why), _("the answer is not valid HTTP: %s"),
			_(s->x.http.error));
	else if (result == CONN_END)
		snprintf(why, sizeof(why), _("the server closed the connection before the answer was "
					     "complete"));
	else
		snprintf(why, sizeof(why), _("the connection broke: %s"),
			result == CONN_FAILED_TLS ? conn_tls_error(text, sizeof(text)) :
						    strerror(errno));
	engine_fail(e, s, LOAD_FAIL_STREAM_CUT, why, clock_now_ns(), false);
}
