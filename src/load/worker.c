#include "load/worker.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "base/units.h"
#include "load/own_limits.h"
#include "load/session.h"
#include "load/session_counts.h"
#include "net/loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum {
	READ_BYTES = 256 * 1024,
	/* A server that closes connections so often without a word gets a new one for each request. */
	STALE_MAX = 3,
	SLOT_CHUNK = 64, /* slots are made so many at a time */
};

static const int64_t reconnect_pause_ns = 50 * NS_PER_MS;
static const int64_t room_check_ns = 200 * 1000;
static const int64_t idle_check_ns = 20 * NS_PER_MS; /* how often phases are looked at */
/* A stamp further away than this is a stepped clock, not a delay. */
static const int64_t stamp_max_ns = 5 * NS_PER_S;

enum slot_state {
	SLOT_IDLE,    /* no request; in a closed loop its session may think */
	SLOT_BUSY,    /* a request is under way */
	SLOT_PAUSED,  /* the connection failed; tries again after a pause */
};

/* One connection and the request on it. */
struct slot {
	struct conn conn;
	struct exchange x;
	enum slot_state state;
	struct session *session; /* whose turn it is; NULL: none, or single requests */
	struct str request;
	struct str out;      /* what is left of it to send */
	struct buf written;  /* the request, where it is made for this slot */
	int64_t arrival;     /* open loop: number of the request among the planned ones */
	int64_t connect_ns;  /* when the connection under way was started */
	int64_t index;       /* among the slots of the thread */
	int64_t answers;     /* on this connection */
	int64_t read_bytes;  /* likewise */
	bool is_new;         /* had no connection yet */
	int64_t connection;  /* its number among those of the thread, from 1; 0: none yet */
	bool restamp;        /* the connection was made for the run, not for this request */
	bool retried;
	bool streaming;      /* between first and last token */
	bool served;         /* got an answer inside the window */
	bool got_bytes;      /* of the answer under way */
	int64_t resume_ns;   /* SLOT_PAUSED: when to go on */
	struct slot *prev, *next; /* busy: by time of sending; idle, paused: next only */
};

struct slot_list {
	struct slot *first, *last;
};

/* What belongs to the thread alone. */
struct engine {
	struct worker *w;
	struct load_shared *shared;
	struct load_counts *counts;
	struct recorder_lane *lane; /* NULL: no records */
	struct loop loop;
	struct slot **chunks;
	int64_t n_chunks, n_slots;
	int64_t n_connections; /* since the start */
	struct slot_list busy; /* oldest first */
	struct slot_list paused;
	struct slot *idle[LOAD_TARGETS_MAX]; /* of each target */
	int64_t n_taken;      /* slots that are not idle */
	int next_target;
	struct session_pool sessions;
	int64_t n_stale[LOAD_TARGETS_MAX]; /* connections kept in vain since one was used again */
	struct arrival arrival;
	int64_t next_due_ns;   /* INT64_MAX: no request is left */
	int64_t next_arrival;  /* its number in the whole process */
	int64_t full_ns;       /* when a due request last found no room below the cap */
	int64_t realtime_offset_ns; /* realtime clock - monotonic clock */
	int64_t offset_read_ns;
	bool exhausted; /* no request is left to send */
	bool cpu_started, cpu_stopped;
	int64_t cpu_start_ns, wall_start_ns;
	char *input;
};

static void dispatch(struct engine *e, struct slot *s, int64_t planned_ns);
static struct slot *take_slot(struct engine *e);

static void list_add(struct slot_list *list, struct slot *s)
{
	s->prev = list->last;
	s->next = NULL;
	if (list->last)
		list->last->next = s;
	else
		list->first = s;
	list->last = s;
}

static void list_remove(struct slot_list *list, struct slot *s)
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

static void close_connection(struct engine *e, struct slot *s)
{
	e->w->gauge.closed += s->conn.fd >= 0;
	conn_close(&s->conn);
}

/* ---- one request: its end ---- */

static void keep_record(struct engine *e, const struct slot *s, int outcome, int64_t end_ns)
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
	list_remove(&e->busy, s);
	if (s->streaming)
		counts_streaming(e->counts, e->shared, now_ns, -1);
	counts_busy(e->counts, e->shared, &s->x, now_ns, -1);
	s->streaming = false;
	s->state = SLOT_IDLE;
}

static void put_idle(struct engine *e, struct slot *s)
{
	if (e->shared->shape->max_in_flight > 0)
		load_shared_add(&e->shared->n_taken, -1);
	s->next = e->idle[s->x.target];
	e->idle[s->x.target] = s;
	e->n_taken--;
}

/*
 * The session goes on: at once, or when it has thought. In a closed loop it keeps its place and its
 * connection meanwhile, in an open one it has neither.
 */
static void next_turn(struct engine *e, struct slot *s, int64_t free_ns)
{
	struct session *session = s->session;
	if (session->due_ns <= free_ns) {
		dispatch(e, s, free_ns);
		return;
	}
	session->place = s;
	if (e->shared->shape->rate_per_s > 0) {
		session->place = s->session = NULL;
		put_idle(e, s);
	}
	session_think(&e->sessions, session);
}

/* The slot has nothing to do; in a closed loop its place is taken by the next request at once. */
static void next_request(struct engine *e, struct slot *s, int64_t free_ns)
{
	if (s->session) {
		next_turn(e, s, free_ns);
		return;
	}
	put_idle(e, s);
	if (e->shared->shape->rate_per_s <= 0)
		dispatch(e, take_slot(e), free_ns);
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
	list_add(&e->paused, s);
}

static void fail(struct engine *e, struct slot *s, enum load_failure kind, const char *why,
	int64_t now_ns, bool keep_connection)
{
	leave_busy(e, s, now_ns);
	counts_failure(e->counts, e->shared, &s->x, kind, why, now_ns);
	keep_record(e, s, RECORDS_FAILED + (int)kind, now_ns);
	end_turn(e, s, false, now_ns);
	if (!keep_connection)
		close_connection(e, s);
	/* A service that is gone must not be hammered, nor a client that is at its limits. */
	if (kind == LOAD_FAIL_CONNECT || kind == LOAD_FAIL_TLS || kind == LOAD_FAIL_CLIENT)
		pause_slot(e, s, now_ns);
	else
		next_request(e, s, now_ns);
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

static void complete(struct engine *e, struct slot *s, int64_t now_ns, bool clean)
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
		fail(e, s, kind, why, now_ns, !close);
		return;
	}
	leave_busy(e, s, now_ns);
	counts_success(e->counts, e->shared, &s->x, now_ns);
	keep_record(e, s, RECORDS_OK, now_ns);
	end_turn(e, s, true, now_ns);
	if (close)
		close_connection(e, s);
	next_request(e, s, now_ns);
}

/* ---- one request: its beginning ---- */

static void connection_failed(struct engine *e, struct slot *s, enum conn_result result)
{
	char why[320], text[200];
	bool tls = result == CONN_FAILED_TLS;
	if (tls)
		snprintf(why, sizeof(why), _("TLS handshake failed: %s"),
			conn_tls_error(text, sizeof(text)));
	else
		snprintf(why, sizeof(why), _("cannot connect: %s"), strerror(errno));
	fail(e, s, tls ? LOAD_FAIL_TLS : LOAD_FAIL_CONNECT, why, clock_now_ns(), false);
}

/* Sends what the socket takes; false when the connection broke (and was dealt with). */
static bool send_some(struct engine *e, struct slot *s);

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
		fail(e, s, own ? LOAD_FAIL_CLIENT : LOAD_FAIL_CONNECT, own ? why : err.text, now_ns,
			false);
		return;
	}
	gauge_opened(&e->w->gauge, s->index, s->conn.fd);
	if (!loop_add(&e->loop, s->conn.fd, s, &err)) {
		fail(e, s, LOAD_FAIL_CLIENT, err.text, now_ns, false);
		return;
	}
	if (load_in_window(e->shared, now_ns))
		e->counts->connections_opened++;
}

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

/* Closed loop: planned_ns is when the slot came free. Open loop: when the request is due. */
static void dispatch(struct engine *e, struct slot *s, int64_t planned_ns)
{
	struct load_shared *shared = e->shared;
	bool open_loop = shared->shape->rate_per_s > 0;
	int64_t now = clock_now_ns();
	if (!s->session && session_pool_ended(&e->sessions)) {
		put_idle(e, s);
		return;
	}
	if (e->exhausted || shared->phase != PHASE_RUN || now >= load_window_end(e->shared) ||
		!take_ticket(e, s, open_loop ? planned_ns : now)) {
		e->exhausted = true;
		return;
	}
	if (!has_session(e, s)) {
		put_idle(e, s);
		return;
	}
	s->restamp = s->is_new && !open_loop;
	s->is_new = false;
	s->retried = false;
	s->got_bytes = false;
	s->state = SLOT_BUSY;
	list_add(&e->busy, s);
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
		send_some(e, s);
}

/* The request could not be sent or answered on a connection that had been used before. */
static bool retry(struct engine *e, struct slot *s)
{
	if (s->answers == 0 || s->got_bytes || s->retried)
		return false;
	close_connection(e, s);
	s->retried = true;
	e->counts->retried += s->x.in_window;
	e->n_stale[s->x.target]++;
	s->out = s->request;
	start_connection(e, s, clock_now_ns());
	return true;
}

/* The answer broke off; result is CONN_OK when the bytes were the fault, not the connection. */
static void cut(struct engine *e, struct slot *s, enum conn_result result)
{
	char why[320], text[200];
	if (retry(e, s))
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
	fail(e, s, LOAD_FAIL_STREAM_CUT, why, clock_now_ns(), false);
}

static bool send_some(struct engine *e, struct slot *s)
{
	while (s->out.len) {
		size_t n = 0;
		enum conn_result result = conn_write(&s->conn, s->out.s, s->out.len, &n);
		if (result == CONN_AGAIN)
			return true;
		if (result != CONN_OK) {
			cut(e, s, result);
			return false;
		}
		s->out = (struct str){ s->out.s + n, s->out.len - n };
	}
	return true;
}

/* ---- what the socket says ---- */

/*
 * When bytes arrived: by the kernel's stamp where there is one, so that a client that wakes up late
 * does not make the service look slow.
 */
static int64_t arrival_time(struct engine *e, int64_t kernel_ns, int64_t not_before_ns)
{
	int64_t now = clock_now_ns();
	if (now - e->offset_read_ns > NS_PER_S) {
		e->realtime_offset_ns = clock_read_ns(CLOCK_REALTIME) - clock_now_ns();
		e->offset_read_ns = now;
	}
	if (!kernel_ns)
		return now;
	int64_t stamp = kernel_ns - e->realtime_offset_ns;
	if (now - stamp > stamp_max_ns || stamp < not_before_ns)
		return now;
	int64_t delay = now - stamp;
	if (load_in_window(e->shared, now))
		hist_record(&e->counts->receive_delay, delay);
	return delay < 0 ? now : stamp;
}

static void note_tokens(struct engine *e, struct slot *s, int64_t before, int64_t now_ns)
{
	int64_t events = s->x.reply.token_events - before;
	if (events == 0 || !s->x.http.event_stream)
		return;
	if (!s->streaming) {
		s->streaming = true;
		counts_streaming(e->counts, e->shared, now_ns, 1);
	}
	counts_tokens(e->counts, e->shared, &s->x, events, now_ns);
}

/* Feeds one read to the exchange; true when the slot goes on reading. */
static bool take_bytes(struct engine *e, struct slot *s, struct str bytes, int64_t kernel_ns)
{
	size_t used = 0;
	int64_t before = s->x.reply.token_events;
	int64_t earliest = s->x.last_token_ns ? s->x.last_token_ns : s->x.sent_ns;
	int64_t now = arrival_time(e, kernel_ns, earliest);
	s->got_bytes = true;
	enum exchange_result result = exchange_feed(&s->x, bytes, now, &used);
	note_tokens(e, s, before, now);
	if (result == EXCHANGE_MORE)
		return true;
	if (result == EXCHANGE_DONE)
		complete(e, s, now, used == bytes.len && s->out.len == 0);
	else
		cut(e, s, CONN_OK);
	return false;
}

static void ended(struct engine *e, struct slot *s, enum conn_result result)
{
	if (s->state != SLOT_BUSY) {
		close_connection(e, s);
		return;
	}
	if (result == CONN_END && s->got_bytes && exchange_end(&s->x) == EXCHANGE_DONE) {
		s->x.http.keep_alive = false;
		complete(e, s, clock_now_ns(), false);
		return;
	}
	cut(e, s, result);
}

/* ending: the peer has closed its side, for which there will be no other edge. */
static void read_all(struct engine *e, struct slot *s, bool ending)
{
	/* The slot may get a new connection while its old events are still in hand. */
	int fd = s->conn.fd;
	for (;;) {
		size_t n = 0;
		int64_t kernel_ns;
		enum conn_result result = conn_read(&s->conn, e->input, READ_BYTES, &n, &kernel_ns);
		if (result == CONN_AGAIN)
			return;
		if (result != CONN_OK) {
			ended(e, s, result);
			return;
		}
		if (s->state != SLOT_BUSY) {
			/* Bytes that nobody asked for. */
			close_connection(e, s);
			return;
		}
		s->read_bytes += (int64_t)n;
		e->w->gauge.bytes_read += (int64_t)n;
		bool plain = !s->conn.ssl;
		take_bytes(e, s, (struct str){ e->input, n }, kernel_ns);
		if (s->conn.fd != fd || s->conn.state != CONN_OPEN)
			return;
		/* A short read emptied the socket: what comes later is a new edge. */
		if (plain && !ending && n < READ_BYTES)
			return;
	}
}

static void on_event(struct engine *e, struct slot *s, uint32_t events)
{
	if (s->conn.fd < 0)
		return;
	if (s->conn.state != CONN_OPEN) {
		enum conn_result result = conn_advance(&s->conn);
		if (result == CONN_AGAIN)
			return;
		if (result != CONN_OK) {
			connection_failed(e, s, result);
			return;
		}
		int64_t now = clock_now_ns();
		if (load_in_window(e->shared, now))
			hist_record(&e->counts->connect, now - s->connect_ns);
		if (s->restamp)
			s->x.sent_ns = s->x.planned_ns = now;
		s->restamp = false;
	}
	if (s->state == SLOT_BUSY && s->out.len && !send_some(e, s))
		return;
	const uint32_t ends = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
	if (events & (EPOLLIN | ends))
		read_all(e, s, events & ends);
}

/* ---- the thread ---- */

static struct slot *new_slot(struct engine *e, int target)
{
	if (e->n_slots % SLOT_CHUNK == 0) {
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): it holds pointers */
		e->chunks = mem_realloc(e->chunks, (size_t)(e->n_chunks + 1) * sizeof(*e->chunks));
		e->chunks[e->n_chunks++] = mem_zeroed(SLOT_CHUNK, sizeof(struct slot));
	}
	struct slot *s = &e->chunks[e->n_slots / SLOT_CHUNK][e->n_slots % SLOT_CHUNK];
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

static struct slot *take_slot_at(struct engine *e, int target)
{
	struct slot *s = e->idle[target];
	e->n_taken++;
	if (!s)
		return new_slot(e, target);
	e->idle[target] = s->next;
	s->next = NULL;
	return s;
}

/* A slot, and with it a connection, for one more request. */
static struct slot *take_slot(struct engine *e)
{
	return take_slot_at(e, choose_target(e));
}

/* Open loop: takes the room of one more request under way, where there is some; put_idle frees it. */
static bool take_room(struct engine *e)
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
		if (!take_room(e)) {
			e->full_ns = now_ns;
			return;
		}
		struct slot *s = take_slot(e);
		s->arrival = e->next_arrival;
		s->x.blocked = due <= e->full_ns;
		plan_next(e);
		dispatch(e, s, due);
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
		if (!session->place && !take_room(e))
			return;
		session_wake(&e->sessions);
		struct slot *s = session->place ? session->place : take_slot_at(e, session->target);
		session->place = NULL;
		s->session = session;
		dispatch(e, s, session->due_ns);
	}
	if (session_pool_over(&e->sessions))
		e->exhausted = true;
}

static void resume_paused(struct engine *e, int64_t now_ns)
{
	while (e->paused.first && e->paused.first->resume_ns <= now_ns) {
		struct slot *s = e->paused.first;
		list_remove(&e->paused, s);
		s->state = SLOT_IDLE;
		next_request(e, s, now_ns);
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
		fail(e, s, LOAD_FAIL_TIMEOUT, why, now_ns, false);
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
		dispatch(e, take_slot(e), clock_now_ns());
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
			on_event(e, e->loop.events[i].data.ptr, e->loop.events[i].events);
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
		struct slot *s = &e->chunks[i / SLOT_CHUNK][i % SLOT_CHUNK];
		if (s->state == SLOT_BUSY) {
			if (s->x.in_window)
				counts_censored(e->counts, &s->x);
			keep_record(e, s, RECORDS_CENSORED, now);
		}
		e->w->connections_served += s->served;
		if (s->conn.state == CONN_OPEN && !s->conn.ssl)
			gauge_compare_bytes(&e->w->gauge, s->conn.fd, s->read_bytes);
		close_connection(e, s);
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
		.input = mem_realloc(NULL, READ_BYTES),
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
