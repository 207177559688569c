#include "serve/gateway_core.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "text/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

void gateway_tell(struct gateway *g, struct gateway_request *r)
{
	if (r && !r->told) {
		r->told = true;
		r->next_told = NULL;
		job_ref(r->job);
		*(g->told_last ? &g->told_last->next_told : &g->told_first) = r;
		g->told_last = r;
	}
	if (!g->is_told)
		eventfd_write(g->wake_fd, 1);
	g->is_told = true;
}

static void tell_changed(void *ctx)
{
	struct gateway *g = ctx;
	atomic_store(&g->base.warming, !upstreams_any_up(&g->upstreams));
	pthread_mutex_lock(&g->lock);
	gateway_tell(g, NULL);
	pthread_mutex_unlock(&g->lock);
}

/* ---- ends of requests ---- */

void gateway_finish(struct gateway_request *r)
{
	struct job *job = r->job;
	r->ended = true;
	pthread_mutex_lock(&job->lock);
	r->relay.has_head = true;
	int status = r->relay.status;
	pthread_mutex_unlock(&job->lock);
	job_end(job, status < 400 ? JOB_STOP : JOB_FAILED, (struct str){ 0 }, NULL, clock_now_ns());
}

void gateway_refuse(struct gateway_request *r, int status, const char *code, int64_t retry_after_s,
        const char *message)
{
	struct api_error error = { 0 };
	r->ended = true;
	api_error_set(&error, status, code, "%s", message);
	error.retry_after_s = retry_after_s;
	job_refuse(r->job, &error, clock_now_ns());
}

void gateway_refuse_end(struct gateway_request *r, enum client_end end, const char *why)
{
	char message[sizeof(r->job->refusal.message)];
	bool timeout = end == CLIENT_TIMEOUT;
	if (timeout)
		snprintf(message, sizeof(message), "%s", _("the upstream did not answer in time"));
	else
		snprintf(message, sizeof(message),
		        end == CLIENT_UNREACHED ? _("the upstream cannot be reached: %s")
		                                : _("the answer of the upstream broke off: %s"),
		        why);
	gateway_refuse(r, timeout ? 504 : 502, timeout ? "upstream_timeout" : "upstream_failed", 0,
	        message);
}

/* ---- the loop ---- */

static void handle_told(struct gateway *g, struct gateway_request *r)
{
	bool gone = job_is_cancelled(r->job) && !r->ended;
	if (r->is_merged && gone)
		calls_cancel(g, r);
	else if (!r->is_merged && gone)
		pass_cancel(g, r);
	else if (!r->is_merged && !r->begun)
		pass_begin(g, r);
	else if (!r->is_merged)
		client_resume(&g->client, &r->call);
	job_unref(r->job);
}

static struct gateway_request *take_told(struct gateway *g, bool *ret_closing)
{
	pthread_mutex_lock(&g->lock);
	struct gateway_request *list = g->told_first;
	for (struct gateway_request *r = list; r; r = r->next_told)
		r->told = false, r->next_in_turn = r->next_told;
	g->told_first = g->told_last = NULL;
	g->is_told = false;
	*ret_closing = g->closing;
	pthread_mutex_unlock(&g->lock);
	return list;
}

/*
 * A request that was taken off the list may be told of again at once, so its link is read before
 * anything is done about it; told again, it is in the next list.
 */
static void handle_all_told(struct gateway *g, bool *ret_closing)
{
	struct gateway_request *list = take_told(g, ret_closing);
	while (list) {
		struct gateway_request *r = list;
		list = r->next_in_turn;
		handle_told(g, r);
	}
}

static void *run_loop(void *arg)
{
	struct gateway *g = arg;
	bool closing = false;
	while (!closing) {
		int64_t now = clock_now_ns(), wake = INT64_MAX;
		handle_all_told(g, &closing);
		if (upstreams_all_down(&g->upstreams)) {
			calls_refuse_waiting(g);
			pass_refuse_waiting(g);
		}
		pass_dispatch(g);
		calls_dispatch(g, now, &wake);
		int64_t expiry = client_expire(&g->client, &g->upstreams, now);
		int n = loop_wait(&g->client.loop, expiry < wake ? expiry : wake);
		for (int i = 0; i < n; i++) {
			struct epoll_event *event = &g->client.loop.events[i];
			eventfd_t ignored;
			if (event->data.ptr == g)
				eventfd_read(g->wake_fd, &ignored);
			else
				client_on_event(&g->client, event->data.ptr, event->events);
		}
		client_turn(&g->client);
	}
	return NULL;
}

/* ---- the executor ---- */

static void release_request(struct job *job)
{
	struct gateway_request *r = job->executor_data;
	relay_release(&r->relay);
	buf_release(&r->headers);
	buf_release(&r->results);
	buf_release(&r->out);
	arena_release(&r->arena);
	free(r);
}

static void take_headers(const struct forward *f, struct gateway_request *r)
{
	struct str connection = STR("");
	for (size_t i = 0; i < f->n_headers; i++)
		if (str_eq_nocase(str_of(f->headers[i].name), STR("connection")))
			connection = str_of(f->headers[i].value);
	for (size_t i = 0; i < f->n_headers; i++) {
		struct str name = str_of(f->headers[i].name);
		if (header_is_hop(name) || header_is_named(connection, name) ||
		        strpbrk(f->headers[i].value, "\r\n"))
			continue;
		/* the answer of a merged call is read here, and not unpacked */
		if (r->is_merged && str_eq_nocase(name, STR("accept-encoding")))
			continue;
		buf_add(&r->headers, name);
		buf_add(&r->headers, STR(": "));
		buf_add_c(&r->headers, f->headers[i].value);
		buf_add(&r->headers, STR("\r\n"));
	}
}

static struct str header_value(const struct forward *f, struct str name)
{
	for (size_t i = 0; i < f->n_headers; i++)
		if (str_eq_nocase(str_of(f->headers[i].name), name))
			return str_of(f->headers[i].value);
	return STR("");
}

/* JSON that is not packed, for a path that we know. */
static bool may_be_merged(const struct forward *f, struct str path)
{
	struct str parameters;
	struct str type = str_cut(header_value(f, STR("content-type")), ';', &parameters);
	return strcmp(f->method, "POST") == 0 && merge_knows(path) &&
	       (type.len == 0 || str_eq_nocase(str_trim(type), STR("application/json"))) &&
	       header_value(f, STR("content-encoding")).len == 0;
}

static struct gateway_request *new_request(
        struct gateway *g, struct job *job, const struct forward *f)
{
	struct gateway_request *r = mem_zeroed(1, sizeof(*r));
	struct str query;
	r->gateway = g;
	r->job = job;
	r->method = arena_strdup(&r->arena, f->method);
	r->target = arena_strdup(&r->arena, f->target);
	r->body = f->body;
	r->relay.content_length = -1;
	r->usage = (struct merge_usage){ -1, -1 };
	struct str path = str_cut(str_of(r->target), '?', &query);
	r->is_merged = g->options.batching.batching != BATCHING_NONE && may_be_merged(f, path) &&
	               merge_parse(path, r->body, &r->arena, &r->merge);
	take_headers(f, r);
	return r;
}

static bool gateway_forward(
        struct executor *x, struct job *job, const struct forward *f, struct api_error *error)
{
	struct gateway *g = (struct gateway *)x;
	if (f->target[0] != '/')
		return api_error_set(
		        error, 400, NULL, _("'%s' is no path of this service"), f->target);
	if (upstreams_all_down(&g->upstreams)) {
		api_error_set(error, 503, "no_upstream", "%s", _("no upstream can be reached"));
		error->retry_after_s = 1;
		return false;
	}
	struct gateway_request *r = new_request(g, job, f);
	job->executor_data = r;
	job->release_executor_data = release_request;
	job_ref(job);
	if (r->is_merged && queue_add(g, r, f, error)) {
		gateway_count(g, GATEWAY_MERGED, 1);
		return true;
	}
	if (r->is_merged) {
		job_unref(job);
		return false;
	}
	gateway_count(g, GATEWAY_PASSED, 1);
	job_queue(job);
	pthread_mutex_lock(&g->lock);
	gateway_tell(g, r);
	pthread_mutex_unlock(&g->lock);
	return true;
}

static bool gateway_submit(struct executor *x, struct job *job, struct api_error *error)
{
	(void)x;
	(void)job;
	return api_error_set(error, 404, NULL, "%s", _("this service only passes requests on"));
}

static void gateway_cancel(struct executor *x, struct job *job)
{
	struct gateway *g = (struct gateway *)x;
	if (!job->executor_data)
		return;
	pthread_mutex_lock(&g->lock);
	gateway_tell(g, job->executor_data);
	pthread_mutex_unlock(&g->lock);
}

static int64_t gateway_retry_after_s(struct executor *x)
{
	int64_t s = (queue_backlog_ns((struct gateway *)x) + NS_PER_S - 1) / NS_PER_S;
	return s > 1 ? s : 1;
}

static void gateway_config(const struct executor *x, struct json *j)
{
	const struct gateway *g = (const struct gateway *)x;
	json_key(j, "upstreams");
	json_array_open(j);
	for (int i = 0; i < g->upstreams.n; i++)
		json_str_c(j, g->upstreams.at[i].url.text);
	json_array_close(j);
	json_put_int(j, "upstream_in_flight", g->options.in_flight);
	json_put_int(j, "pass_in_flight", g->options.pass_in_flight);
	json_put_string(j, "tokens", g->tokenizer ? "counted" : "estimated");
}

static void release(struct gateway *g)
{
	tokenizer_close(g->tokenizer);
	if (g->wake_fd >= 0)
		close(g->wake_fd);
	pthread_mutex_destroy(&g->lock);
	arena_release(&g->run);
	free(g);
}

static void gateway_close(struct executor *x)
{
	struct gateway *g = (struct gateway *)x;
	bool ignored;
	pthread_mutex_lock(&g->lock);
	g->closing = true;
	gateway_tell(g, NULL);
	pthread_mutex_unlock(&g->lock);
	pthread_join(g->thread, NULL);
	upstreams_stop(&g->upstreams);
	handle_all_told(g, &ignored);
	calls_close(g);
	pass_close(g);
	client_close(&g->client, &g->upstreams);
	queue_close(g);
	upstreams_close(&g->upstreams);
	release(g);
}

static const struct executor_ops gateway_ops = {
	.submit = gateway_submit,
	.forward = gateway_forward,
	.cancel = gateway_cancel,
	.retry_after_s = gateway_retry_after_s,
	.config = gateway_config,
	.metrics = gateway_print_metrics,
	.close = gateway_close,
};

static bool open_parts(struct gateway *g, struct err *err)
{
	const struct gateway_options *o = &g->options;
	struct upstreams *u = &g->upstreams;
	if (!upstreams_init(u, o->urls, o->n_urls, &g->run, err))
		return false;
	u->insecure = o->insecure;
	u->health_path = o->health_path;
	u->balance = o->round_robin ? UPSTREAM_ROUND_ROBIN : UPSTREAM_LEAST;
	u->unbalanced_ratio = o->unbalanced_ratio;
	u->limits[UPSTREAM_MERGED] = o->in_flight;
	u->limits[UPSTREAM_PASSED] = o->pass_in_flight;
	u->changed = tell_changed;
	u->changed_ctx = g;
	if (o->tokenizer && !tokenizer_open_file(o->tokenizer, &g->tokenizer, err))
		return false;
	if (!client_open(&g->client, o->timeout_ns, err))
		return false;
	return loop_add(&g->client.loop, g->wake_fd, g, err);
}

static bool start_threads(struct gateway *g, struct err *err)
{
	int failed = pthread_create(&g->thread, NULL, run_loop, g);
	if (failed)
		return err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(failed));
	return upstreams_start(&g->upstreams, err);
}

bool gateway_open(const struct gateway_options *options, struct metrics *metrics,
        struct executor **ret_x, struct err *err)
{
	struct gateway *g = mem_zeroed(1, sizeof(*g));
	g->options = *options;
	g->base = (struct executor){
		.ops = &gateway_ops,
		.model_name = "upstream",
		.wire = WIRE_DEFAULT,
		.metrics = metrics,
	};
	atomic_store(&g->base.warming, true);
	pthread_mutex_init(&g->lock, NULL);
	g->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!open_parts(g, err)) {
		release(g);
		return false;
	}
	if (!start_threads(g, err))
		return false; /* the program ends */
	*ret_x = &g->base;
	return true;
}
