#include "serve/call.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "serve/answer.h"
#include "serve/fault_work.h"
#include "serve/faults.h"
#include "text/json.h"

#include <string.h>

static const char json_type[] = "application/json";

struct route {
	const char *path, *method;
	enum MHD_Result (*answer)(struct call *call);
	enum api_endpoint endpoint;
};

static void end_refused(struct job *job)
{
	job_end(job, JOB_REFUSED, (struct str){ 0 }, NULL, clock_now_ns());
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

static bool take_request(struct call *call, struct api_error *error)
{
	struct server *s = call->server;
	struct job *job = call->job;
	if (call->n_body > s->options.body_bytes_max)
		return api_error_set(error, 413, NULL,
		        _("the body has more than the %lld bytes that this service takes"),
		        (long long)s->options.body_bytes_max);
	if (!api_parse(job->endpoint, buf_str(&call->body), &job->arena, &job->request, error))
		return false;
	if (job->request.model && strcmp(job->request.model, s->executor->model_name) != 0)
		return api_error_set(error, 404, "model_not_found",
		        _("the model '%s' does not exist here; this service has '%s'"),
		        job->request.model, s->executor->model_name);
	if (atomic_load(&s->stopping))
		return api_error_set(error, 503, NULL, "%s", _("the service is shutting down"));
	if (s->options.queue_max > 0 &&
	        metrics_get(s->executor->metrics, METRIC_WAITING) >= (double)s->options.queue_max)
		return refuse_full(s, error);
	return s->executor->ops->submit(s->executor, job, error);
}

/* The body of the answer, more than once where that is the fault. */
static void write_answer(const struct call *call, struct buf *text)
{
	const struct server *s = call->server;
	fault_work_enter(s->options.work);
	for (int64_t i = s->options.faults->serialize_repeat; i > 1; i--) {
		answer_whole(text, call->job, s->executor->model_name);
		buf_clear(text);
	}
	answer_whole(text, call->job, s->executor->model_name);
	fault_work_leave(s->options.work);
}

/* The job has ended: its whole answer, or why there is none. */
static enum MHD_Result answer_ended(struct call *call)
{
	AUTO(auto_buf) struct buf text = { 0 };
	struct api_error error;
	switch (call->job->end) {
	case JOB_STOP:
	case JOB_LENGTH:
		write_answer(call, &text);
		return reply_text(call, MHD_HTTP_OK, json_type, buf_str(&text));
	case JOB_REFUSED:
		return reply_error(call, &call->job->refusal, NULL);
	case JOB_FAILED:
		api_error_set(&error, 500, NULL, "%s", call->job->failure);
		return reply_error(call, &error, NULL);
	default:
		return MHD_NO; /* breaks the connection off */
	}
}

static enum MHD_Result wait_or_answer(struct call *call)
{
	struct job *job = call->job;
	pthread_mutex_lock(&job->lock);
	bool ended = job->state == JOB_ENDED;
	if (!ended) {
		call->suspended = true;
		MHD_suspend_connection(call->connection);
	}
	pthread_mutex_unlock(&job->lock);
	return ended ? answer_ended(call) : MHD_YES;
}

static enum MHD_Result answer_inference(struct call *call)
{
	struct api_error error;
	struct fault_work *work = call->server->options.work;
	if (!slots_enter(&call->server->slots, call))
		return MHD_YES;
	fault_work_request(work);
	fault_work_enter(work);
	bool taken = take_request(call, &error);
	fault_work_leave(work);
	if (!taken) {
		end_refused(call->job);
		return reply_error(call, &error, NULL);
	}
	call_submitted(call);
	buf_release(&call->body);
	return call->job->request.stream ? reply_stream(call) : wait_or_answer(call);
}

static enum MHD_Result answer_model_list(struct call *call)
{
	AUTO(auto_buf) struct buf text = { 0 };
	const struct executor *x = call->server->executor;
	answer_models(&text, x->model_name, x->n_ctx, call->server->started_s);
	return reply_text(call, MHD_HTTP_OK, json_type, buf_str(&text));
}

static enum MHD_Result answer_health(struct call *call)
{
	int status = MHD_HTTP_SERVICE_UNAVAILABLE;
	if (atomic_load(&call->server->stopping))
		return reply_text(call, status, json_type, STR("{\"status\":\"stopping\"}"));
	if (atomic_load(&call->server->executor->warming))
		return reply_text(call, status, json_type, STR("{\"status\":\"warming up\"}"));
	return reply_text(call, MHD_HTTP_OK, json_type, STR("{\"status\":\"ok\"}"));
}

static enum MHD_Result answer_metrics(struct call *call)
{
	AUTO(auto_buf) struct buf text = { 0 };
	metrics_print(call->server->executor->metrics, &text);
	return reply_text(
	        call, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", buf_str(&text));
}

static enum MHD_Result answer_unknown(struct call *call)
{
	struct api_error error;
	api_error_set(&error, 404, NULL, _("there is no '%s' here"), call->path);
	return reply_error(call, &error, NULL);
}

static enum MHD_Result answer_config(struct call *call)
{
	AUTO(auto_buf) struct buf text = { 0 };
	const struct server *s = call->server;
	struct json j;
	if (!s->options.expose_config)
		return answer_unknown(call);
	json_init(&j, &text, false);
	json_object_open(&j);
	json_put_string(&j, "model", s->executor->model_name);
	json_put_int(&j, "max_model_len", s->executor->n_ctx);
	json_put_int(&j, "max_queue", s->options.queue_max);
	s->executor->ops->config(s->executor, &j);
	json_object_close(&j);
	return reply_text(call, MHD_HTTP_OK, json_type, buf_str(&text));
}

static const struct route routes[] = {
	{ "/v1/completions", "POST", answer_inference, API_COMPLETIONS },
	{ "/v1/chat/completions", "POST", answer_inference, API_CHAT },
	{ "/v1/embeddings", "POST", answer_inference, API_EMBEDDINGS },
	{ "/v1/models", "GET", answer_model_list, 0 },
	{ "/health", "GET", answer_health, 0 },
	{ "/metrics", "GET", answer_metrics, 0 },
	{ "/config", "GET", answer_config, 0 },
};

static const struct route *find_route(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (strcmp(routes[i].path, path) == 0)
			return &routes[i];
	return NULL;
}

static bool method_fits(const struct route *route, const char *method)
{
	return strcmp(route->method, method) == 0 ||
	       (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

void route_begin(struct call *call)
{
	const struct route *route = find_route(call->path);
	if (route && route->answer == answer_inference && method_fits(route, call->method))
		call_set_job(call, route->endpoint);
}

enum MHD_Result route_call(struct call *call)
{
	const struct route *route = find_route(call->path);
	struct api_error error;
	if (!route)
		return answer_unknown(call);
	if (method_fits(route, call->method))
		return route->answer(call);
	api_error_set(&error, 405, NULL, _("'%s' takes %s, not %s"), call->path, route->method,
	        call->method);
	return reply_error(call, &error, route->method);
}

enum MHD_Result route_resumed(struct call *call)
{
	return wait_or_answer(call);
}
