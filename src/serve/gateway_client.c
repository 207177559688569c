#include "serve/gateway_client.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READ_BYTES = 128 * 1024, WHY_MAX = 256 };

/* Below the 5 s after which the servers of Python and Node close a connection that is idle. */
#define IDLE_NS (4 * NS_PER_S)
#define CONNECT_NS (5 * NS_PER_S)

struct client_slot {
	struct conn conn;
	struct http http;
	struct upstream *upstream;
	struct client_call *call; /* NULL: idle */
	struct str out;           /* of the request, what is not sent yet */
	bool sent_any, got_any, head_told;
	bool paused;
	bool ending;      /* the peer has closed its side: no other edge will come */
	int64_t since_ns; /* last sign of life */
	struct client_slot *prev, *next;
};

bool client_open(struct client *c, int64_t timeout_ns, struct err *err)
{
	*c = (struct client){ .timeout_ns = timeout_ns, .check_ns = INT64_MAX };
	c->input = mem_realloc(NULL, READ_BYTES);
	if (loop_open(&c->loop, err))
		return true;
	free(c->input);
	return false;
}

static int64_t limit_of(const struct client *c, const struct client_slot *s)
{
	if (s->paused)
		return INT64_MAX / 2; /* it is the client that is slow */
	bool connects = s->conn.state != CONN_OPEN;
	return connects && CONNECT_NS < c->timeout_ns ? CONNECT_NS : c->timeout_ns;
}

static void wake_by(struct client *c, int64_t at_ns)
{
	c->check_ns = at_ns < c->check_ns ? at_ns : c->check_ns;
}

/* ---- lists ---- */

static void push_busy(struct client *c, struct client_slot *s)
{
	s->since_ns = clock_now_ns();
	wake_by(c, s->since_ns + limit_of(c, s));
	s->next = NULL;
	s->prev = c->busy_last;
	*(c->busy_last ? &c->busy_last->next : &c->busy) = s;
	c->busy_last = s;
}

static void take_busy(struct client *c, struct client_slot *s)
{
	*(s->prev ? &s->prev->next : &c->busy) = s->next;
	*(s->next ? &s->next->prev : &c->busy_last) = s->prev;
}

static void push_idle(struct client *c, struct client_slot *s)
{
	struct upstream *up = s->upstream;
	s->since_ns = clock_now_ns();
	wake_by(c, s->since_ns + IDLE_NS);
	s->prev = NULL;
	s->next = up->idle;
	*(up->idle ? &up->idle->prev : &up->idle_last) = s;
	up->idle = s;
}

static void take_idle(struct client_slot *s)
{
	struct upstream *up = s->upstream;
	*(s->prev ? &s->prev->next : &up->idle) = s->next;
	*(s->next ? &s->next->prev : &up->idle_last) = s->prev;
}

static struct client_slot *new_slot(struct client *c, struct upstream *up)
{
	struct client_slot *s = c->spare;
	if (s)
		c->spare = s->next;
	else
		s = mem_realloc(NULL, sizeof(*s));
	memset(s, 0, offsetof(struct client_slot, http));
	s->conn.fd = -1;
	s->upstream = up;
	s->call = NULL;
	s->ending = false;
	return s;
}

/* An event of this turn may still name the slot, so it is not used again before the next one. */
static void drop_slot(struct client *c, struct client_slot *s)
{
	if (s->conn.fd >= 0)
		atomic_fetch_sub(&s->upstream->connections, 1);
	conn_close(&s->conn);
	s->next = c->dead;
	c->dead = s;
}

void client_turn(struct client *c)
{
	while (c->dead) {
		struct client_slot *s = c->dead;
		c->dead = s->next;
		s->next = c->spare;
		c->spare = s;
	}
}

static void free_list(struct client_slot *s)
{
	while (s) {
		struct client_slot *next = s->next;
		free(s);
		s = next;
	}
}

void client_close(struct client *c, struct upstreams *u)
{
	for (int i = 0; i < u->n; i++)
		while (u->at[i].idle) {
			struct client_slot *s = u->at[i].idle;
			take_idle(s);
			drop_slot(c, s);
		}
	free_list(c->dead);
	free_list(c->spare);
	free(c->input);
	loop_close(&c->loop);
}

/* ---- ends ---- */

static void detach(struct client *c, struct client_slot *s)
{
	atomic_fetch_sub(&s->upstream->in_flight, 1);
	s->upstream->n_calls[s->call->kind]--;
	take_busy(c, s);
	s->call->slot = NULL;
	s->call = NULL;
}

static void count_end(struct upstream *up, enum client_end end, int status)
{
	static const enum upstream_count counts[] = {
		[CLIENT_UNREACHED] = UPSTREAM_UNREACHED,
		[CLIENT_LOST] = UPSTREAM_LOST,
		[CLIENT_CUT] = UPSTREAM_LOST,
		[CLIENT_TIMEOUT] = UPSTREAM_TIMEOUTS,
	};
	if (end != CLIENT_DONE)
		upstream_count(up, counts[end]);
	else if (status >= 200 && status < 600)
		upstream_count(up, UPSTREAM_2XX + (unsigned)(status / 100 - 2));
}

static void end_call(struct client *c, struct client_slot *s, enum client_end end, const char *why)
{
	struct client_call *call = s->call;
	count_end(s->upstream, end, s->http.status);
	detach(c, s);
	drop_slot(c, s);
	call->on_end(call, end, why);
}

static void complete(struct client *c, struct client_slot *s, bool clean)
{
	struct client_call *call = s->call;
	bool keep = clean && s->http.keep_alive && s->out.len == 0 && !s->ending;
	count_end(s->upstream, CLIENT_DONE, s->http.status);
	detach(c, s);
	if (keep)
		push_idle(c, s);
	else
		drop_slot(c, s);
	call->on_end(call, CLIENT_DONE, "");
}

static void broken(struct client *c, struct client_slot *s, enum conn_result result)
{
	char why[WHY_MAX];
	enum client_end end = s->got_any    ? CLIENT_CUT
	                      : s->sent_any ? CLIENT_LOST
	                                    : CLIENT_UNREACHED;
	if (result == CONN_FAILED_TLS)
		conn_tls_error(why, sizeof(why));
	else
		snprintf(why, sizeof(why), "%s",
		        result == CONN_END ? _("the connection was closed") : strerror(errno));
	end_call(c, s, end, why);
}

void client_cancel(struct client *c, struct client_call *call)
{
	struct client_slot *s = call->slot;
	if (!s)
		return;
	detach(c, s);
	drop_slot(c, s);
}

struct client_call *client_first(const struct client *c)
{
	return c->busy ? c->busy->call : NULL;
}

/* ---- on the way ---- */

static void read_all(struct client *c, struct client_slot *s);

static bool send_out(struct client *c, struct client_slot *s)
{
	while (s->out.len) {
		size_t n = 0;
		enum conn_result result = conn_write(&s->conn, s->out.s, s->out.len, &n);
		if (result == CONN_AGAIN)
			return true;
		if (result != CONN_OK && s->sent_any && !s->ending) {
			/* who closes while we send may have said why */
			s->ending = true;
			read_all(c, s);
			return false;
		}
		if (result != CONN_OK) {
			broken(c, s, result);
			return false;
		}
		s->sent_any = true;
		s->out = (struct str){ s->out.s + n, s->out.len - n };
	}
	return true;
}

static bool on_body(void *ctx, struct str piece)
{
	struct client_slot *s = ctx;
	if (!s->head_told) {
		s->head_told = true;
		s->call->on_head(s->call, &s->http);
	}
	if (s->call) /* it may have been cancelled by that */
		s->call->on_body(s->call, piece);
	return s->call != NULL;
}

static void on_header(void *ctx, struct str name, struct str value)
{
	struct client_slot *s = ctx;
	if (s->call->on_header)
		s->call->on_header(s->call, name, value);
}

/* An answer without a body is told of here. */
static void tell_head(struct client_slot *s)
{
	if (s->head_told || !s->http.head_done)
		return;
	s->head_told = true;
	s->call->on_head(s->call, &s->http);
}

/* False: the slot has nothing more to read for its call. */
static bool take_bytes(struct client *c, struct client_slot *s, struct str bytes)
{
	size_t used = 0;
	s->got_any = true;
	take_busy(c, s);
	push_busy(c, s);
	enum http_result result = http_feed(&s->http, bytes.s, bytes.len, &used, on_body, s);
	if (s->call)
		tell_head(s);
	if (!s->call)
		return false;
	if (result == HTTP_MORE)
		return !s->paused;
	if (result == HTTP_DONE)
		complete(c, s, used == bytes.len);
	else
		end_call(c, s, CLIENT_CUT, _(s->http.error));
	return false;
}

static void ended(struct client *c, struct client_slot *s, enum conn_result result)
{
	if (!s->call) {
		take_idle(s);
		drop_slot(c, s);
		return;
	}
	s->ending = true;
	if (result == CONN_END && s->got_any && http_end(&s->http) == HTTP_DONE) {
		tell_head(s);
		if (s->call)
			complete(c, s, false);
		return;
	}
	broken(c, s, result);
}

static void read_all(struct client *c, struct client_slot *s)
{
	while (s->conn.fd >= 0 && !s->paused) {
		size_t n = 0;
		int64_t stamp;
		struct client_call *call = s->call;
		enum conn_result result = conn_read(&s->conn, c->input, READ_BYTES, &n, &stamp);
		if (result == CONN_AGAIN)
			return;
		if (result != CONN_OK || !call) { /* or bytes that nobody asked for */
			ended(c, s, result);
			return;
		}
		if (!take_bytes(c, s, (struct str){ c->input, n }))
			return;
		/* A short read emptied the socket: what comes later is a new edge. */
		if (!s->conn.ssl && !s->ending && n < READ_BYTES)
			return;
	}
}

static void go_on_connecting(struct client *c, struct client_slot *s)
{
	enum conn_result result = conn_advance(&s->conn);
	if (result == CONN_OK)
		(void)send_out(c, s);
	else if (result != CONN_AGAIN)
		broken(c, s, result);
}

static bool connect_slot(struct client *c, struct client_slot *s, struct err *err)
{
	struct upstream *up = s->upstream;
	const struct conn_options options = { 0 };
	pthread_mutex_lock(&up->lock);
	bool ok = conn_start(&s->conn, &up->target, options, err);
	pthread_mutex_unlock(&up->lock);
	if (!ok)
		return false;
	upstream_count(up, UPSTREAM_CONNECTS);
	atomic_fetch_add(&up->connections, 1);
	return loop_add(&c->loop, s->conn.fd, s, err);
}

void client_start(struct client *c, struct client_call *call, struct upstream *up)
{
	struct client_slot *s = up->idle;
	struct err err;
	if (s)
		take_idle(s);
	else
		s = new_slot(c, up);
	s->call = call;
	s->out = call->request;
	s->sent_any = s->got_any = s->head_told = s->paused = false;
	http_reset(&s->http, call->no_body);
	s->http.on_header = on_header;
	s->http.header_ctx = s;
	call->slot = s;
	call->upstream = up;
	call->sent_ns = clock_now_ns();
	atomic_fetch_add(&up->in_flight, 1);
	up->n_calls[call->kind]++;
	upstream_count(up, UPSTREAM_CALLS);
	push_busy(c, s);
	if (s->conn.fd < 0 && !connect_slot(c, s, &err))
		end_call(c, s, CLIENT_UNREACHED, err.text);
	else if (s->conn.state == CONN_OPEN)
		(void)send_out(c, s);
	else
		go_on_connecting(c, s);
}

void client_on_event(struct client *c, void *slot, uint32_t events)
{
	struct client_slot *s = slot;
	if (s->conn.fd < 0)
		return;
	if (s->conn.state != CONN_OPEN) {
		go_on_connecting(c, s);
		if (s->conn.fd < 0 || s->conn.state != CONN_OPEN)
			return;
	} else if (s->call && !send_out(c, s)) {
		return;
	}
	const uint32_t ends = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
	s->ending |= (events & ends) != 0;
	if (events & (EPOLLIN | ends))
		read_all(c, s);
}

void client_pause(struct client_call *call)
{
	if (call->slot)
		call->slot->paused = true;
}

void client_resume(struct client *c, struct client_call *call)
{
	struct client_slot *s = call->slot;
	if (!s || !s->paused)
		return;
	s->paused = false;
	take_busy(c, s);
	push_busy(c, s);
	read_all(c, s);
}

static int64_t expire_idle(struct client *c, struct upstream *up, int64_t now_ns)
{
	while (up->idle_last && now_ns - up->idle_last->since_ns >= IDLE_NS) {
		struct client_slot *s = up->idle_last;
		take_idle(s);
		drop_slot(c, s);
	}
	return up->idle_last ? up->idle_last->since_ns + IDLE_NS : INT64_MAX;
}

int64_t client_expire(struct client *c, struct upstreams *u, int64_t now_ns)
{
	if (now_ns < c->check_ns)
		return c->check_ns;
	struct client_slot *s = c->busy;
	c->check_ns = INT64_MAX;
	while (s) {
		int64_t limit = limit_of(c, s);
		if (now_ns - s->since_ns < limit) {
			wake_by(c, s->since_ns + limit);
			s = s->next;
			continue;
		}
		bool connects = s->conn.state != CONN_OPEN;
		end_call(c, s, connects ? CLIENT_UNREACHED : CLIENT_TIMEOUT, strerror(ETIMEDOUT));
		s = c->busy; /* the end of one may have changed the list */
	}
	for (int i = 0; i < u->n; i++)
		wake_by(c, expire_idle(c, &u->at[i], now_ns));
	return c->check_ns;
}
