/*
 * Requests that are passed through: what comes from the upstream goes on piece by piece, no faster
 * than the client fetches it.
 */
#include "serve/gateway_core.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <string.h>

static struct gateway_request *of_call(struct client_call *call)
{
	return (struct gateway_request *)((char *)call - offsetof(struct gateway_request, call));
}

static void wake(struct job *job)
{
	if (job->wake)
		job->wake(job->wake_ctx);
}

/* An answer that is short and not a stream goes on when all of it is there: in one piece. */
static bool comes_whole(const struct gateway_request *r)
{
	int64_t n = r->relay.content_length;
	return !r->is_stream && n >= 0 && n <= GATEWAY_RELAY_HIGH / 2;
}

static void push_waiting(struct gateway *g, struct gateway_request *r)
{
	r->queued = true;
	r->next = NULL;
	*(g->pass_last ? &g->pass_last->next : &g->pass_first) = r;
	g->pass_last = r;
}

static struct gateway_request *pop_waiting(struct gateway *g)
{
	struct gateway_request *r = g->pass_first;
	g->pass_first = r->next;
	if (!g->pass_first)
		g->pass_last = NULL;
	r->queued = false;
	return r;
}

static void leave(struct gateway_request *r)
{
	r->ended = true;
	job_unref(r->job);
}

/* Nothing of it has been done yet, or doing it twice is as good as once. */
static bool may_try_again(const struct gateway_request *r, enum client_end end)
{
	static const char *const idempotent[] = { "GET", "HEAD", "OPTIONS", "PUT", "DELETE" };
	if (r->retried || upstreams_all_down(&r->gateway->upstreams))
		return false;
	if (end == CLIENT_UNREACHED)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(idempotent); i++)
		if (end == CLIENT_LOST && strcmp(r->method, idempotent[i]) == 0)
			return true;
	return false;
}

static void on_header(struct client_call *call, struct str name, struct str value)
{
	struct gateway_request *r = of_call(call);
	pthread_mutex_lock(&r->job->lock);
	relay_add_header(&r->relay, name, value);
	pthread_mutex_unlock(&r->job->lock);
}

static void on_head(struct client_call *call, const struct http *http)
{
	struct gateway_request *r = of_call(call);
	pthread_mutex_lock(&r->job->lock);
	r->is_stream = http->event_stream;
	r->relay.status = http->status;
	r->relay.content_length = http->content_length;
	if (!comes_whole(r)) {
		r->relay.has_head = true;
		wake(r->job);
	}
	pthread_mutex_unlock(&r->job->lock);
}

static void observe_piece(struct gateway_request *r)
{
	struct metrics *m = r->gateway->base.metrics;
	int64_t now = clock_now_ns();
	if (!r->is_stream)
		return;
	if (!r->last_piece_ns)
		metrics_observe_ns(m, METRIC_TTFT, now - r->job->received_ns);
	else
		metrics_observe_ns(m, METRIC_ITL, now - r->last_piece_ns);
	r->last_piece_ns = now;
}

static void on_body(struct client_call *call, struct str piece)
{
	struct gateway_request *r = of_call(call);
	struct relay *relay = &r->relay;
	observe_piece(r);
	pthread_mutex_lock(&r->job->lock);
	buf_add(&relay->out, piece);
	int64_t held_back = r->gateway->base.wire.buffer_bytes;
	bool full = (int64_t)(relay->out.len - relay->n_out_sent) > GATEWAY_RELAY_HIGH + held_back;
	if (full && relay->has_head) {
		relay->paused = true;
		client_pause(call);
	}
	if (relay->has_head)
		wake(r->job);
	pthread_mutex_unlock(&r->job->lock);
}

static void end_badly(struct gateway_request *r, enum client_end end, const char *why)
{
	if (r->relay.has_head)
		job_end(r->job, JOB_CUT, (struct str){ 0 }, NULL, clock_now_ns());
	else
		gateway_refuse_end(r, end, why);
	leave(r);
}

static void on_end(struct client_call *call, enum client_end end, const char *why)
{
	struct gateway_request *r = of_call(call);
	struct gateway *g = r->gateway;
	if (end == CLIENT_DONE) {
		upstream_answered(call->upstream);
		upstream_observe(call->upstream, clock_now_ns() - call->sent_ns);
		gateway_finish(r);
		leave(r);
		return;
	}
	upstream_failed(&g->upstreams, call->upstream, end == CLIENT_UNREACHED);
	if (!may_try_again(r, end)) {
		end_badly(r, end, why);
		return;
	}
	r->retried = true;
	push_waiting(g, r);
}

static void send_request(struct gateway *g, struct gateway_request *r, struct upstream *up)
{
	bool has_body = strcmp(r->method, "POST") == 0 || strcmp(r->method, "PUT") == 0 ||
	                strcmp(r->method, "PATCH") == 0;
	headers_write_request(
	        up, r->method, r->target, buf_str(&r->headers), r->body, has_body, &r->out);
	if (r->retried)
		upstream_count(up, UPSTREAM_RETRIES);
	job_start(r->job, clock_now_ns());
	r->call = (struct client_call){
		.request = buf_str(&r->out),
		.no_body = strcmp(r->method, "HEAD") == 0,
		.kind = UPSTREAM_PASSED,
		.on_header = on_header,
		.on_head = on_head,
		.on_body = on_body,
		.on_end = on_end,
	};
	upstreams_chosen(&g->upstreams, up);
	client_start(&g->client, &r->call, up);
}

void pass_begin(struct gateway *g, struct gateway_request *r)
{
	r->begun = true;
	push_waiting(g, r);
}

void pass_dispatch(struct gateway *g)
{
	while (g->pass_first) {
		struct gateway_request *first = g->pass_first;
		struct upstream *up = upstreams_choose(&g->upstreams, UPSTREAM_PASSED,
		        first->retried ? first->call.upstream : NULL);
		if (!up)
			return;
		send_request(g, pop_waiting(g), up);
	}
}

static void unlink_waiting(struct gateway *g, const struct gateway_request *r)
{
	struct gateway_request **at = &g->pass_first, *before = NULL;
	while (*at != r) {
		before = *at;
		at = &before->next;
	}
	*at = r->next;
	if (g->pass_last == r)
		g->pass_last = before;
}

void pass_cancel(struct gateway *g, struct gateway_request *r)
{
	if (r->queued)
		unlink_waiting(g, r);
	client_cancel(&g->client, &r->call);
	leave(r);
}

void pass_refuse_waiting(struct gateway *g)
{
	while (g->pass_first) {
		struct gateway_request *r = pop_waiting(g);
		gateway_refuse(r, 503, "no_upstream", 1, _("no upstream can be reached"));
		leave(r);
	}
}

void pass_close(struct gateway *g)
{
	pass_refuse_waiting(g);
	for (struct client_call *call; (call = client_first(&g->client));) {
		client_cancel(&g->client, call);
		end_badly(of_call(call), CLIENT_CUT, _("the service is shutting down"));
	}
}
