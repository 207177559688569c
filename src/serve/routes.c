#include "serve/call.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "serve/answer.h"
#include "serve/fault_work.h"
#include "serve/faults.h"
#include "text/json.h"

#include <string.h>

static const char json_type[] = "application/json";

/* For one path, or for what follows the name of a model behind models_path. */
struct route {
	const char *path, *method;
	enum MHD_Result (*answer)(struct call *call);
	struct api_form form;
};

static const struct str models_path = STR_INIT("/v2/models/");

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

static bool not_suitable(const struct executor *x, const char *fmt, struct api_error *error)
{
	return api_error_set(error, 400, "model_not_suitable", fmt, x->model_name);
}

/* The tensor asked for; the scores where none is and there is a head that gives them. */
static bool choose_output(struct api_request *r, const struct executor *x, struct api_error *error)
{
	bool embeds = x->tasks & EXECUTOR_EMBEDS, classifies = x->tasks & EXECUTOR_CLASSIFIES;
	if (!embeds && !classifies)
		return not_suitable(x, _("the model '%s' has no tensors"), error);
	r->scores = r->output.s ? str_eq(r->output, answer_output_name(true)) : classifies;
	if (r->output.s &&
	        !(r->scores ? classifies : embeds && str_eq(r->output, answer_output_name(false))))
		return api_error_set(
		        error, 400, NULL, _("there is no output '%.*s' here"), STR_ARG(r->output));
	return true;
}

/* Which vectors the answer needs, if the model gives them. */
static bool choose_vectors(struct job *job, const struct executor *x, struct api_error *error)
{
	bool embeds = x->tasks & EXECUTOR_EMBEDS, classifies = x->tasks & EXECUTOR_CLASSIFIES;
	struct api_request *r = &job->request;
	switch (job->endpoint) {
	case API_EMBEDDINGS:
		return embeds ||
		       not_suitable(x, _("the model '%s' does not give embeddings"), error);
	case API_CLASSIFY:
		r->scores = true;
		return classifies || not_suitable(x, _("the model '%s' does not classify"), error);
	case API_RERANK:
		r->scores = classifies && x->n_labels == 1;
		if (!r->scores && embeds)
			api_rerank_by_cosine(r, &job->arena);
		return r->scores || embeds ||
		       not_suitable(x, _("the model '%s' is no reranker"), error);
	case API_INFER:
		return choose_output(r, x, error);
	default:
		return x->tasks & EXECUTOR_GENERATES ||
		       not_suitable(x, _("the model '%s' does not generate text"), error);
	}
}

static bool check_against_model(
        const struct api_request *r, const struct executor *x, struct api_error *error)
{
	if (r->model && strcmp(r->model, x->model_name) != 0)
		return api_error_set(error, 404, "model_not_found",
		        _("the model '%s' does not exist here; this service has '%s'"), r->model,
		        x->model_name);
	if (x->n_dims > 0 && r->dimensions > x->n_dims)
		return api_error_set(error, 400, NULL,
		        _("'dimensions' must be at most %d with this model"), x->n_dims);
	return true;
}

/* How long the JSON is before the tensors of an inference; SIZE_MAX: not a number. */
static size_t json_bytes(struct call *call)
{
	const char *text =
	        MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, tensor_header);
	int64_t n;
	if (!text)
		return 0;
	return str_to_i64(str_of(text), &n) && n >= 0 ? (size_t)n : SIZE_MAX;
}

static bool take_request(struct call *call, struct api_error *error)
{
	struct server *s = call->server;
	struct job *job = call->job;
	if (call->n_body > s->options.body_bytes_max)
		return api_error_set(error, 413, NULL,
		        _("the body has more than the %lld bytes that this service takes"),
		        (long long)s->options.body_bytes_max);
	if (job->endpoint == API_INFER)
		call->form.json_bytes = json_bytes(call);
	if (!api_parse(&call->form, buf_str(&job->body), &job->arena, &job->request, error) ||
	        !choose_vectors(job, s->executor, error) ||
	        !check_against_model(&job->request, s->executor, error))
		return false;
	if (atomic_load(&s->stopping))
		return api_error_set(error, 503, NULL, "%s", _("the service is shutting down"));
	if (s->options.queue_max > 0 &&
	        metrics_get(s->executor->metrics, METRIC_WAITING) >= s->options.queue_max)
		return refuse_full(s, error);
	return s->executor->ops->submit(s->executor, job, error);
}

/* The body of the answer, more than once where that is the fault. */
static void write_answer(struct call *call)
{
	const struct server *s = call->server;
	fault_work_enter(s->options.work);
	for (int64_t i = s->options.faults->serialize_repeat; i > 1; i--) {
		answer_whole(&call->out, call->job, call->form.family, s->executor);
		buf_clear(&call->out);
	}
	call->n_out_json = answer_whole(&call->out, call->job, call->form.family, s->executor);
	fault_work_leave(s->options.work);
}

/* The job has ended: its whole answer, or why there is none. */
static enum MHD_Result answer_ended(struct call *call)
{
	struct api_error error;
	switch (call->job->end) {
	case JOB_STOP:
	case JOB_LENGTH:
		write_answer(call);
		return reply_out(call, MHD_HTTP_OK,
		        call->n_out_json ? "application/octet-stream" : json_type);
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
	return call->job->request.stream ? reply_stream(call) : wait_or_answer(call);
}

static enum MHD_Result answer_model_list(struct call *call)
{
	const struct executor *x = call->server->executor;
	answer_models(&call->out, x->model_name, x->n_ctx, call->server->started_s);
	return reply_out(call, MHD_HTTP_OK, json_type);
}

static enum MHD_Result answer_tei_info(struct call *call)
{
	const struct server *s = call->server;
	answer_info(&call->out, s->executor, s->options.queue_max);
	return reply_out(call, MHD_HTTP_OK, json_type);
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

/* The name is that of the model that there is, with or without its only version. */
static bool names_model(const struct call *call, struct str name)
{
	static const struct str version = STR_INIT("/versions/1");
	if (str_ends(name, version))
		name.len -= version.len;
	return str_eq(name, str_of(call->server->executor->model_name));
}

static bool is_ready(const struct server *s)
{
	return !atomic_load(&s->stopping) && !atomic_load(&s->executor->warming);
}

static enum MHD_Result answer_kserve_live(struct call *call)
{
	return reply_text(call, MHD_HTTP_OK, json_type, STR("{\"live\":true}"));
}

static enum MHD_Result answer_kserve_ready(struct call *call)
{
	bool ready = is_ready(call->server);
	return reply_text(call, ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, json_type,
	        ready ? STR("{\"ready\":true}") : STR("{\"ready\":false}"));
}

static enum MHD_Result answer_kserve_root(struct call *call)
{
	answer_kserve_service(&call->out);
	return reply_out(call, MHD_HTTP_OK, json_type);
}

static enum MHD_Result answer_kserve_models(struct call *call)
{
	struct json j;
	json_init(&j, &call->out, false);
	json_object_open(&j);
	json_key(&j, "models");
	json_array_open(&j);
	json_str_c(&j, call->server->executor->model_name);
	json_array_close(&j);
	json_object_close(&j);
	return reply_out(call, MHD_HTTP_OK, json_type);
}

static enum MHD_Result answer_kserve_description(struct call *call)
{
	answer_kserve_model(&call->out, call->server->executor);
	return reply_out(call, MHD_HTTP_OK, json_type);
}

static enum MHD_Result answer_metrics(struct call *call)
{
	struct executor *x = call->server->executor;
	metrics_print(x->metrics, &call->out);
	if (x->ops->metrics)
		x->ops->metrics(x, &call->out);
	return reply_out(call, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8");
}

static enum MHD_Result answer_unknown(struct call *call)
{
	struct api_error error;
	api_error_set(&error, 404, NULL, _("there is no '%s' here"), call->path);
	return reply_error(call, &error, NULL);
}

static enum MHD_Result answer_config(struct call *call)
{
	const struct server *s = call->server;
	struct json j;
	if (!s->options.expose_config)
		return answer_unknown(call);
	json_init(&j, &call->out, false);
	json_object_open(&j);
	json_put_string(&j, "model", s->executor->model_name);
	json_put_int(&j, "max_model_len", s->executor->n_ctx);
	json_put_int(&j, "max_queue", s->options.queue_max);
	s->executor->ops->config(s->executor, &j);
	json_object_close(&j);
	return reply_out(call, MHD_HTTP_OK, json_type);
}

#define INFERENCE(path_, ...)                                                                      \
	{                                                                                          \
		.path = (path_), .method = "POST", .answer = answer_inference, .form = {           \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define PAGE(path_, answer_, family_)                                                              \
	{                                                                                          \
		.path = (path_), .method = "GET", .answer = (answer_), .form = {                   \
			.family = (family_)                                                        \
		}                                                                                  \
	}

static const struct route routes[] = {
	INFERENCE("/v1/embeddings", API_EMBEDDINGS, API_OPENAI),
	INFERENCE("/v1/completions", API_COMPLETIONS, API_OPENAI),
	INFERENCE("/v1/chat/completions", API_CHAT, API_OPENAI),
	INFERENCE("/v1/rerank", API_RERANK, API_OPENAI),
	INFERENCE("/v2/rerank", API_RERANK, API_OPENAI),
	INFERENCE("/rerank", API_RERANK, API_OPENAI, .either = true),
	INFERENCE("/classify", API_CLASSIFY, API_OPENAI),
	INFERENCE("/embed", API_EMBEDDINGS, API_TEI),
	INFERENCE("/predict", API_CLASSIFY, API_TEI),
	PAGE("/v1/models", answer_model_list, API_OPENAI),
	PAGE("/info", answer_tei_info, API_TEI),
	PAGE("/v2", answer_kserve_root, API_KSERVE),
	PAGE("/v2/health/live", answer_kserve_live, API_KSERVE),
	PAGE("/v2/health/ready", answer_kserve_ready, API_KSERVE),
	PAGE("/v2/models", answer_kserve_models, API_KSERVE),
	PAGE("/health", answer_health, API_OPENAI),
	PAGE("/metrics", answer_metrics, API_OPENAI),
	PAGE("/config", answer_config, API_OPENAI),
};

/* The last one fits what has neither. */
static const struct route model_routes[] = {
	INFERENCE("/infer", API_INFER, API_KSERVE),
	PAGE("/ready", answer_kserve_ready, API_KSERVE),
	PAGE("", answer_kserve_description, API_KSERVE),
};

/* What is asked about the model that the path names. NULL: there is no such model. */
static const struct route *find_model_route(const struct call *call, struct str path)
{
	struct str rest = { path.s + models_path.len, path.len - models_path.len };
	size_t i = 0;
	while (!str_ends(rest, str_of(model_routes[i].path)))
		i++;
	rest.len -= strlen(model_routes[i].path);
	return names_model(call, rest) ? &model_routes[i] : NULL;
}

static const struct route *find_route(const struct call *call)
{
	struct str path = str_of(call->path);
	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (str_eq(str_of(routes[i].path), path))
			return &routes[i];
	return str_starts(path, models_path) ? find_model_route(call, path) : NULL;
}

static bool method_fits(const struct route *route, const char *method)
{
	return strcmp(route->method, method) == 0 ||
	       (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

void route_begin(struct call *call)
{
	const struct route *route = find_route(call);
	if (gateway_takes(call->server->executor, call->path)) {
		call->form.endpoint = API_FORWARDED;
		call_set_job(call);
		return;
	}
	call->route = route;
	if (route)
		call->form = route->form;
	else if (str_starts(str_of(call->path), STR("/v2/")))
		call->form.family = API_KSERVE;
	if (route && route->answer == answer_inference && method_fits(route, call->method))
		call_set_job(call);
}

enum MHD_Result route_call(struct call *call)
{
	const struct route *route = call->route;
	struct api_error error;
	if (gateway_takes(call->server->executor, call->path))
		return gateway_answer(call);
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
	if (call->job->endpoint == API_FORWARDED)
		return gateway_resumed(call);
	return wait_or_answer(call);
}
