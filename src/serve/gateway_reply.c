/*
 * The HTTP side of the gateway: a request goes to forward, its answer comes out of the relay.
 */
#include "serve/call.h"
#include "serve/fault_work.h"
#include "serve/gateway_core.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <string.h>

enum { BLOCK_BYTES = 32 * 1024, HEADERS_MAX = 256 };

bool gateway_takes(const struct executor *x, const char *path)
{
	static const char *const ours[] = { "/health", "/metrics", "/config" };
	if (!x->ops->forward)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (strcmp(path, ours[i]) == 0)
			return false;
	return true;
}

static struct relay *relay_of(const struct call *call)
{
	return &((struct gateway_request *)call->job->executor_data)->relay;
}

/* ---- the request ---- */

struct header_list {
	struct forward_header at[HEADERS_MAX];
	size_t n;
	bool too_many;
};

static enum MHD_Result take_header(
        void *ctx, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct header_list *list = ctx;
	(void)kind;
	list->too_many |= list->n == HEADERS_MAX;
	if (!list->too_many)
		list->at[list->n++] = (struct forward_header){ name, value ? value : "" };
	return MHD_YES;
}

static bool refuse_full(struct server *s, struct api_error *error)
{
	struct executor *x = s->executor;
	api_error_set(error, 429, "queue_full",
	        _("%lld requests are waiting already; try again later"),
	        (long long)s->options.queue_max);
	error->retry_after_s = x->ops->retry_after_s ? x->ops->retry_after_s(x) : 0;
	return false;
}

static bool forward(struct call *call, struct api_error *error)
{
	struct server *s = call->server;
	struct header_list headers = { .n = 0 };
	if (call->n_body > s->options.body_bytes_max)
		return api_error_set(error, 413, NULL,
		        _("the body has more than the %lld bytes that this service takes"),
		        (long long)s->options.body_bytes_max);
	if (atomic_load(&s->stopping))
		return api_error_set(error, 503, NULL, "%s", _("the service is shutting down"));
	if (s->options.queue_max > 0 &&
	        metrics_get(s->executor->metrics, METRIC_WAITING) >= (double)s->options.queue_max)
		return refuse_full(s, error);
	MHD_get_connection_values(call->connection, MHD_HEADER_KIND, take_header, &headers);
	if (headers.too_many)
		return api_error_set(
		        error, 431, NULL, _("the request has more than %d headers"), HEADERS_MAX);
	const struct forward f = {
		.method = call->method,
		.target = call->target,
		.headers = headers.at,
		.n_headers = headers.n,
		.body = buf_str(&call->job->body),
	};
	return s->executor->ops->forward(s->executor, call->job, &f, error);
}

/* ---- the answer ---- */

static void add_headers(struct MHD_Response *response, const struct relay *relay)
{
	const char *at = relay->headers.s, *end = at + relay->headers.len;
	while (at < end) {
		const char *name = at, *value = name + strlen(name) + 1;
		at = value + strlen(value) + 1;
		if (!header_is_named(buf_str(&relay->connection), str_of(name)))
			MHD_add_response_header(response, name, value);
	}
}

static size_t take_out(struct relay *relay, char *to, size_t max)
{
	size_t n = relay->out.len - relay->n_out_sent;
	n = n < max ? n : max;
	if (n > 0)
		memcpy(to, relay->out.s + relay->n_out_sent, n);
	relay->n_out_sent += n;
	size_t left = relay->out.len - relay->n_out_sent;
	if (left == 0 || relay->n_out_sent > GATEWAY_RELAY_HIGH) {
		if (left > 0)
			memmove(relay->out.s, relay->out.s + relay->n_out_sent, left);
		relay->out.len = left;
		relay->n_out_sent = 0;
	}
	return n;
}

static void resume_upstream(struct call *call)
{
	struct gateway_request *r = call->job->executor_data;
	pthread_mutex_lock(&r->gateway->lock);
	gateway_tell(r->gateway, r);
	pthread_mutex_unlock(&r->gateway->lock);
}

/* A stream may be told to be held back. */
static bool may_go(const struct call *call, const struct relay *relay)
{
	int64_t least = call->server->executor->wire.buffer_bytes;
	return (int64_t)(relay->out.len - relay->n_out_sent) >= least ||
	       call->job->state == JOB_ENDED;
}

/* The content reader: what has come so far, and no waiting for more. */
static ssize_t read_relay(void *arg, uint64_t pos, char *to, size_t max)
{
	struct call *call = arg;
	struct job *job = call->job;
	struct relay *relay = relay_of(call);
	ssize_t result;
	(void)pos;
	pthread_mutex_lock(&job->lock);
	size_t n = may_go(call, relay) ? take_out(relay, to, max) : 0;
	bool resume = relay->paused && relay->out.len < GATEWAY_RELAY_LOW;
	if (resume)
		relay->paused = false;
	if (n > 0) {
		job->sent_last_ns = clock_now_ns();
		if (!job->sent_first_ns)
			job->sent_first_ns = job->sent_last_ns;
		result = (ssize_t)n;
	} else if (job->state != JOB_ENDED) {
		call->suspended = true;
		MHD_suspend_connection(call->connection);
		result = 0;
	} else {
		bool good = job->end == JOB_STOP || job->end == JOB_FAILED;
		result =
		        good ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
	}
	pthread_mutex_unlock(&job->lock);
	if (resume)
		resume_upstream(call);
	return result;
}

/* The relay has the head; whole: and all of the body. */
static enum MHD_Result reply_relay(struct call *call, bool whole)
{
	struct relay *relay = relay_of(call);
	struct MHD_Response *response;
	if (whole && strcmp(call->method, "HEAD") != 0) {
		response = MHD_create_response_from_buffer(
		        relay->out.len, relay->out.s, MHD_RESPMEM_PERSISTENT);
		call->job->sent_first_ns = call->job->sent_last_ns = clock_now_ns();
	} else {
		uint64_t size = relay->content_length < 0 ? MHD_SIZE_UNKNOWN
		                                          : (uint64_t)relay->content_length;
		response = MHD_create_response_from_callback(
		        size, BLOCK_BYTES, read_relay, call, NULL);
	}
	if (!response)
		return MHD_NO;
	add_headers(response, relay);
	call->job->status = relay->status;
	return reply_response(call, relay->status, response);
}

enum MHD_Result gateway_resumed(struct call *call)
{
	struct job *job = call->job;
	pthread_mutex_lock(&job->lock);
	bool ended = job->state == JOB_ENDED;
	bool has_head = relay_of(call)->has_head;
	if (!ended && !has_head) {
		call->suspended = true;
		MHD_suspend_connection(call->connection);
	}
	pthread_mutex_unlock(&job->lock);
	if (has_head)
		return reply_relay(call, ended);
	if (!ended)
		return MHD_YES;
	return job->end == JOB_REFUSED ? reply_error(call, &job->refusal, NULL) : MHD_NO;
}

enum MHD_Result gateway_answer(struct call *call)
{
	struct api_error error = { 0 };
	struct fault_work *work = call->server->options.work;
	fault_work_request(work);
	fault_work_enter(work);
	bool taken = forward(call, &error);
	fault_work_leave(work);
	if (!taken) {
		job_end(call->job, JOB_REFUSED, (struct str){ 0 }, NULL, clock_now_ns());
		return reply_error(call, &error, NULL);
	}
	call_submitted(call);
	return gateway_resumed(call);
}
