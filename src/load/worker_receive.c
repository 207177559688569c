#include "load/worker_engine.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A stamp further away than this is a stepped clock, not a delay. */
static const int64_t stamp_max_ns = 5 * NS_PER_S;

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
		engine_complete(e, s, now, used == bytes.len && s->out.len == 0);
	else
		engine_cut(e, s, CONN_OK);
	return false;
}

static void ended(struct engine *e, struct slot *s, enum conn_result result)
{
	if (s->state != SLOT_BUSY) {
		engine_close(e, s);
		return;
	}
	if (result == CONN_END && s->got_bytes && exchange_end(&s->x) == EXCHANGE_DONE) {
		s->x.http.keep_alive = false;
		engine_complete(e, s, clock_now_ns(), false);
		return;
	}
	engine_cut(e, s, result);
}

/* ending: the peer has closed its side, for which there will be no other edge. */
static void read_all(struct engine *e, struct slot *s, bool ending)
{
	/* The slot may get a new connection while its old events are still in hand. */
	int fd = s->conn.fd;
	for (;;) {
		size_t n = 0;
		int64_t kernel_ns;
		enum conn_result result = conn_read(&s->conn, e->input, ENGINE_READ_BYTES, &n, &kernel_ns);
		if (result == CONN_AGAIN)
			return;
		if (result != CONN_OK) {
			ended(e, s, result);
			return;
		}
		if (s->state != SLOT_BUSY) {
			/* Bytes that nobody asked for. */
			engine_close(e, s);
			return;
		}
		s->read_bytes += (int64_t)n;
		e->w->gauge.bytes_read += (int64_t)n;
		bool plain = !s->conn.ssl;
		take_bytes(e, s, (struct str){ e->input, n }, kernel_ns);
		if (s->conn.fd != fd || s->conn.state != CONN_OPEN)
			return;
		/* A short read emptied the socket: what comes later is a new edge. */
		if (plain && !ending && n < ENGINE_READ_BYTES)
			return;
	}
}

static void connection_failed(struct engine *e, struct slot *s, enum conn_result result)
{
	char why[320], text[200];
	bool tls = result == CONN_FAILED_TLS;
	if (tls)
		snprintf(why, sizeof(why), _("TLS handshake failed: %s"),
			conn_tls_error(text, sizeof(text)));
	else
		snprintf(why, sizeof(why), _("cannot connect: %s"), strerror(errno));
	engine_fail(e, s, tls ? LOAD_FAIL_TLS : LOAD_FAIL_CONNECT, why, clock_now_ns(), false);
}

void engine_on_event(struct engine *e, struct slot *s, uint32_t events)
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
	if (s->state == SLOT_BUSY && s->out.len && !engine_send(e, s))
		return;
	const uint32_t ends = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
	if (events & (EPOLLIN | ends))
		read_all(e, s, events & ends);
}
