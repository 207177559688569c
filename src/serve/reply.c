#include "serve/call.h"

#include "base/clock.h"
#include "serve/answer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { BLOCK_BYTES = 4096 };

const char tensor_header[] = "Inference-Header-Content-Length";

/* Gives MHD the next bytes of out. Nothing is left: 0. */
static size_t take_out(struct call *call, char *to, size_t max)
{
	size_t n = call->out.len - call->n_out_sent;
	n = n < max ? n : max;
	if (n == 0)
		return 0;
	memcpy(to, call->out.s + call->n_out_sent, n);
	call->n_out_sent += n;
	if (call->n_out_sent == call->out.len) {
		buf_clear(&call->out);
		call->n_out_sent = 0;
	}
	return n;
}

/* Just before the bytes go to the socket; bears_token: some of the answer's text is among them. */
static void stamp_sent(struct job *job, bool bears_token)
{
	job->sent_last_ns = clock_now_ns();
	if (!job->sent_first_ns && bears_token)
		job->sent_first_ns = job->sent_last_ns;
}

/* libmicrohttpd has switched Nagle's algorithm off for the header; here it comes back. */
static void spoil_nodelay(const struct call *call)
{
	const union MHD_ConnectionInfo *info =
	        MHD_get_connection_info(call->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	int off = 0;
	if (info && call->server->executor->wire.nagle)
		setsockopt(info->connect_fd, IPPROTO_TCP, TCP_NODELAY, &off, sizeof(off));
}

void reply_wake(void *arg)
{
	struct call *call = arg;
	if (!call->suspended)
		return;
	call->suspended = false;
	MHD_resume_connection(call->connection);
}

/*
 * Puts the next events into out: one, so that each is a write of its own, or as many as a stream
 * that is held back wants. Returns what came after the last of them.
 */
static enum stream_next fill_out(struct call *call)
{
	const struct wire *wire = &call->server->executor->wire;
	enum stream_next next = STREAM_WAIT;
	while (!call->flushing && (next = stream_next(&call->stream, &call->out)) == STREAM_EVENT)
		call->flushing = call->out.len >= (size_t)wire->buffer_bytes;
	if (next == STREAM_END || next == STREAM_BREAK)
		call->flushing = true;
	return next;
}

/* The content reader of a stream. */
static ssize_t read_stream(void *arg, uint64_t pos, char *to, size_t max)
{
	struct call *call = arg;
	struct job *job = call->job;
	ssize_t result;
	(void)pos;
	spoil_nodelay(call);
	pthread_mutex_lock(&job->lock);
	enum stream_next next = fill_out(call);
	size_t n = call->flushing ? take_out(call, to, max) : 0;
	if (n > 0) {
		call->flushing = call->out.len > 0;
		stamp_sent(job, call->stream.i_token > 0);
		result = (ssize_t)n;
	} else if (next == STREAM_END) {
		result = MHD_CONTENT_READER_END_OF_STREAM;
	} else if (next == STREAM_BREAK) {
		result = MHD_CONTENT_READER_END_WITH_ERROR;
	} else {
		call->suspended = true;
		MHD_suspend_connection(call->connection);
		result = 0;
	}
	pthread_mutex_unlock(&job->lock);
	return result;
}

/* The content reader of a whole answer that is not to travel with its header. */
static ssize_t read_out(void *arg, uint64_t pos, char *to, size_t max)
{
	struct call *call = arg;
	(void)pos;
	spoil_nodelay(call);
	size_t n = take_out(call, to, max);
	return n > 0 ? (ssize_t)n : MHD_CONTENT_READER_END_OF_STREAM;
}

enum MHD_Result reply_response(struct call *call, int status, struct MHD_Response *response)
{
	if (!response)
		return MHD_NO;
	if (call->server->executor->wire.close || atomic_load(&call->server->stopping))
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	enum MHD_Result result = MHD_queue_response(call->connection, (unsigned)status, response);
	MHD_destroy_response(response);
	return result;
}

/* call->out outlives the response: nothing is sent any more when the call has ended. */
static struct MHD_Response *response_of(struct call *call)
{
	if (call->job && call->server->executor->wire.nagle)
		return MHD_create_response_from_callback(
		        call->out.len, BLOCK_BYTES, read_out, call, NULL);
	return MHD_create_response_from_buffer(
	        call->out.len, call->out.s, MHD_RESPMEM_PERSISTENT);
}

static void add_number(struct MHD_Response *response, const char *name, int64_t value)
{
	char text[32];
	snprintf(text, sizeof(text), "%lld", (long long)value);
	MHD_add_response_header(response, name, text);
}

/* Headers that some APIs have beside their answers. */
static void add_api_headers(const struct call *call, struct MHD_Response *response)
{
	if (call->form.family == API_TEI)
		add_number(response, "x-compute-tokens", call->job->n_prompt);
	if (call->n_out_json)
		add_number(response, tensor_header, (int64_t)call->n_out_json);
}

static enum MHD_Result reply(
        struct call *call, int status, const char *content_type, struct MHD_Response *response)
{
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
	if (call->job && status == MHD_HTTP_OK)
		add_api_headers(call, response);
	if (call->job) {
		pthread_mutex_lock(&call->job->lock);
		call->job->status = status;
		stamp_sent(call->job, status == MHD_HTTP_OK);
		pthread_mutex_unlock(&call->job->lock);
	}
	return reply_response(call, status, response);
}

enum MHD_Result reply_out(struct call *call, int status, const char *content_type)
{
	return reply(call, status, content_type, response_of(call));
}

enum MHD_Result reply_text(struct call *call, int status, const char *content_type, struct str text)
{
	buf_clear(&call->out);
	buf_add(&call->out, text);
	return reply_out(call, status, content_type);
}

enum MHD_Result reply_error(struct call *call, const struct api_error *error, const char *allow)
{
	buf_clear(&call->out);
	answer_error(&call->out, error, call->form.family);
	struct MHD_Response *response = response_of(call);
	if (response && allow)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
	if (response && error->retry_after_s > 0)
		add_number(response, MHD_HTTP_HEADER_RETRY_AFTER, error->retry_after_s);
	return reply(call, error->status, "application/json", response);
}

enum MHD_Result reply_stream(struct call *call)
{
	stream_init(&call->stream, call->job, &call->server->executor->wire,
	        call->server->executor->model_name);
	struct MHD_Response *response = MHD_create_response_from_callback(
	        MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, call, NULL);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(
	        response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream; charset=utf-8");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	return reply_response(call, MHD_HTTP_OK, response);
}
