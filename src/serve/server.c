#include "serve/server.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "serve/call.h"
#include "serve/fault_work.h"
#include "serve/faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	CONNECTIONS_DEFAULT = 65536,
	/*
	 * Header and read buffer of one connection. libmicrohttpd clears all of it after each
	 * request.
	 */
	CONNECTION_MEMORY_BYTES = 32 * 1024,
	/* libmicrohttpd overlooks the end of a client that leaves in the middle of its request. */
	IDLE_TIMEOUT_S = 75,
	SPARE_CALLS_MAX = 256,
	SPARE_BYTES_MAX = 256 * 1024, /* of an answer whose memory is kept for the next one */
	DROP_FACTOR = 4, /* a body is read on, and dropped, up to so many times its limit */
};

#define STOP_POLL_NS (2 * NS_PER_MS)
#define STOP_CUT_NS (NS_PER_S / 2)

/* The memory of a call that has ended, or new one. */
static struct call *take_spare(struct server *server)
{
	pthread_mutex_lock(&server->lock);
	struct call *call = server->spare;
	if (call) {
		server->spare = call->next;
		server->n_spare--;
	}
	pthread_mutex_unlock(&server->lock);
	return call ? call : mem_zeroed(1, sizeof(*call));
}

static void call_free(struct call *call)
{
	buf_release(&call->out);
	arena_release(&call->arena);
	free(call);
}

static void keep_spare(struct server *server, struct call *call)
{
	if (call->out.cap > SPARE_BYTES_MAX)
		buf_release(&call->out);
	arena_rewind(&call->arena);
	pthread_mutex_lock(&server->lock);
	bool kept = server->n_spare < SPARE_CALLS_MAX;
	if (kept) {
		call->next = server->spare;
		server->spare = call;
		server->n_spare++;
	}
	pthread_mutex_unlock(&server->lock);
	if (!kept)
		call_free(call);
}

static struct call *call_new(struct server *server, struct MHD_Connection *connection)
{
	struct call *call = take_spare(server);
	struct arena arena = call->arena;
	struct buf out = call->out;
	if (out.s)
		buf_clear(&out);
	*call = (struct call){
		.server = server,
		.connection = connection,
		.arena = arena,
		.out = out,
		.fd = -1,
	};
	return call;
}

/* Of a gateway: the request line is there, which libmicrohttpd is about to take apart. */
static void *on_target(void *arg, const char *target, struct MHD_Connection *connection)
{
	struct call *call = call_new(arg, connection);
	call->target = arena_strdup(&call->arena, target);
	return call;
}

static void call_open(struct call *call, const char *method, const char *path)
{
	call->method = arena_strdup(&call->arena, method);
	call->path = arena_strdup(&call->arena, path);
	route_begin(call);
}

void call_set_job(struct call *call)
{
	call->job = job_new(call->form.endpoint, call->server->executor->metrics);
	call->job->wake = reply_wake;
	call->job->wake_ctx = call;
}

static bool has_ended(struct job *job)
{
	pthread_mutex_lock(&job->lock);
	bool ended = job->state == JOB_ENDED;
	pthread_mutex_unlock(&job->lock);
	return ended;
}

/* An executor may have answered at once: then there is nothing to break off. */
void call_submitted(struct call *call)
{
	struct server *s = call->server;
	call->submitted = true;
	pthread_mutex_lock(&s->lock);
	call->next = s->calls;
	if (s->calls)
		s->calls->prev = call;
	s->calls = call;
	pthread_mutex_unlock(&s->lock);
	if (has_ended(call->job))
		return;
	const union MHD_ConnectionInfo *info =
	        MHD_get_connection_info(call->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	call->fd = info ? info->connect_fd : -1;
	if (call->fd >= 0)
		leave_watch(&s->leave, call->fd, call);
}

static void forget(struct server *s, struct call *call)
{
	pthread_mutex_lock(&s->lock);
	*(call->prev ? &call->prev->next : &s->calls) = call->next;
	if (call->next)
		call->next->prev = call->prev;
	pthread_mutex_unlock(&s->lock);
}

/* Ends a job from this side, whatever the executor is doing with it. */
static void break_off(struct server *s, struct job *job, enum job_end end)
{
	job_end(job, end, (struct str){ 0 }, NULL, clock_now_ns());
	job_cancel(job);
	s->executor->ops->cancel(s->executor, job);
}

static void on_left(void *watched)
{
	struct call *call = watched;
	break_off(call->server, call->job, JOB_CANCELLED);
}

static void finish_job(struct call *call)
{
	struct server *s = call->server;
	struct job *job = call->job;
	if (call->fd >= 0)
		leave_unwatch(&s->leave, call->fd);
	if (call->submitted)
		forget(s, call);
	pthread_mutex_lock(&job->lock);
	job->wake = NULL;
	bool ended = job->state == JOB_ENDED;
	pthread_mutex_unlock(&job->lock);
	if (!ended)
		break_off(s, job, JOB_CANCELLED);
	schedule_log_write(s->log, job);
	job_unref(job);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **con_cls,
        enum MHD_RequestTerminationCode why)
{
	struct call *call = *con_cls;
	(void)arg;
	(void)connection;
	(void)why;
	if (!call)
		return;
	slots_leave(&call->server->slots, call);
	if (call->whole)
		atomic_fetch_sub(&call->server->n_unanswered, 1);
	/* The next one may be long in coming, but not slow. NULL: not even this one has come. */
	if (call->arrival)
		arrival_expect(call->arrival, clock_now_ns() + IDLE_TIMEOUT_S * NS_PER_S +
		                                      call->server->options.arrive_ns);
	if (call->job)
		finish_job(call);
	keep_spare(call->server, call);
	*con_cls = NULL;
}

/* The header is there. */
static void expect_body(struct call *call)
{
	const union MHD_ConnectionInfo *info =
	        MHD_get_connection_info(call->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	call->arrival = info->socket_context;
	arrival_expect(call->arrival, clock_now_ns() + call->server->options.arrive_ns);
}

/* False: so much came beyond the limit that the connection is better closed. */
static bool take_body(struct call *call, const char *data, size_t n)
{
	int64_t max = call->server->options.body_bytes_max;
	call->n_body += (int64_t)n;
	if (call->job && call->n_body <= max)
		buf_add(&call->job->body, (struct str){ data, n });
	else if (call->job)
		buf_release(&call->job->body);
	return call->n_body <= DROP_FACTOR * max;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **socket_context,
        enum MHD_ConnectionNotificationCode what)
{
	struct server *s = arg;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		arrivals_remove(&s->arrivals, *socket_context);
		return;
	}
	const union MHD_ConnectionInfo *info =
	        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	*socket_context =
	        arrivals_add(&s->arrivals, info->connect_fd, clock_now_ns() + s->options.arrive_ns);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
        const char *method, const char *version, const char *upload, size_t *n_upload,
        void **con_cls)
{
	struct call *call = *con_cls;
	(void)version;
	fault_work_pause(((struct server *)arg)->options.work);
	if (!call || !call->path) {
		call = call ? call : call_new(arg, connection);
		call_open(call, method, path);
		expect_body(call);
		*con_cls = call;
		return MHD_YES;
	}
	if (*n_upload > 0) {
		bool ok = take_body(call, upload, *n_upload);
		*n_upload = 0;
		return ok ? MHD_YES : MHD_NO;
	}
	if (call->submitted)
		return route_resumed(call);
	arrival_expect(call->arrival, INT64_MAX);
	if (!call->whole)
		atomic_fetch_add(&call->server->n_unanswered, 1);
	call->whole = true;
	/* After the count: either the service still waits for the answer, or there is none. */
	if (atomic_load(&call->server->closed))
		return MHD_NO;
	return route_call(call);
}

static void drop_message(void *arg, const char *fmt, va_list ap)
{
	(void)arg;
	(void)fmt;
	(void)ap;
}

/* As many descriptors as we are allowed: connections must not fail for want of them. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static struct MHD_Daemon *start_daemon(struct server *s, int fd)
{
	int64_t n_max = s->executor->wire.connections_max;
	unsigned threads = (unsigned)s->options.threads;
	if (n_max > 0 && (unsigned)n_max < threads)
		threads = (unsigned)n_max;
	struct MHD_OptionItem more[3] = { 0 };
	int n_more = 0;
	if (threads > 1)
		more[n_more++] =
		        (struct MHD_OptionItem){ MHD_OPTION_THREAD_POOL_SIZE, threads, NULL };
	if (s->executor->ops->forward)
		more[n_more++] = (struct MHD_OptionItem){ MHD_OPTION_URI_LOG_CALLBACK,
			(intptr_t)on_target, s };
	more[n_more] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
	return MHD_start_daemon(
	        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
	        NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, drop_message, NULL,
	        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
	        MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_CONNECTION_LIMIT,
	        (unsigned)(n_max ? n_max : CONNECTIONS_DEFAULT), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	        (size_t)CONNECTION_MEMORY_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
	        (unsigned)IDLE_TIMEOUT_S, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
}

bool server_start(const struct listener *listener, const struct server_options *options,
        struct executor *executor, struct schedule_log *log, struct server **ret_server,
        struct err *err)
{
	struct server *s = mem_realloc(NULL, sizeof(*s));
	*s = (struct server){ .options = *options, .executor = executor, .log = log };
	s->started_s = clock_read_ns(CLOCK_REALTIME) / NS_PER_S;
	pthread_mutex_init(&s->lock, NULL);
	slots_init(&s->slots, options->faults->slots);
	raise_descriptor_limit();
	if (!arrivals_open(&s->arrivals, err)) {
		free(s);
		return false;
	}
	if (!leave_open(&s->leave, on_left, err)) {
		arrivals_close(&s->arrivals);
		free(s);
		return false;
	}
	s->daemon = start_daemon(s, listener->fd);
	if (!s->daemon) {
		leave_close(&s->leave);
		arrivals_close(&s->arrivals);
		free(s);
		return err_set(
		        err, ERR_SYSTEM, _("cannot start the HTTP server: %s"), strerror(errno));
	}
	*ret_server = s;
	return true;
}

/* Also for refusals that are only queued: stopping the daemon would close their connections. */
static void wait_for_answers(struct server *s, int64_t at_most_ns)
{
	int64_t until = clock_now_ns() + at_most_ns;
	while (atomic_load(&s->n_unanswered) > 0 && clock_now_ns() < until)
		clock_sleep_until(clock_now_ns() + STOP_POLL_NS);
}

/* Under the lock no call can end, so none of the jobs goes away meanwhile. */
static void break_off_all(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	for (struct call *call = s->calls; call; call = call->next)
		if (!has_ended(call->job))
			break_off(s, call->job, JOB_CUT);
	pthread_mutex_unlock(&s->lock);
}

void server_stop(struct server *s)
{
	atomic_store(&s->stopping, true);
	MHD_socket fd = MHD_quiesce_daemon(s->daemon);
	if (fd != MHD_INVALID_SOCKET)
		close(fd);
	slots_open(&s->slots);
	wait_for_answers(s, s->options.grace_ns);
	atomic_store(&s->closed, true);
	/* More than once: a request that was on its way in may come to wait only now. */
	for (int64_t until = clock_now_ns() + STOP_CUT_NS;
	        atomic_load(&s->n_unanswered) > 0 && clock_now_ns() < until;) {
		break_off_all(s);
		wait_for_answers(s, STOP_POLL_NS);
	}
	break_off_all(s);
	MHD_stop_daemon(s->daemon);
	leave_close(&s->leave);
	arrivals_close(&s->arrivals);
	while (s->spare) {
		struct call *call = s->spare;
		s->spare = call->next;
		call_free(call);
	}
	pthread_mutex_destroy(&s->lock);
	free(s);
}
