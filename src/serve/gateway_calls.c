#include "serve/gateway_core.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <stdlib.h>
#include <string.h>

enum { UNREACHED_MAX = 3 };

/* With a deadline, what waits is looked at so often while there is no room for a call. */
#define LATE_CHECK_NS (20 * NS_PER_MS)

/* ---- calls ---- */

static struct gateway_call *new_call(struct gateway *g)
{
	struct gateway_call *call = g->spare;
	int n_max = g->options.batching.max_batch;
	if (call) {
		g->spare = call->next;
		call->next = NULL;
		return call;
	}
	call = mem_zeroed(1, sizeof(*call));
	call->gateway = g;
	call->cap = n_max;
	call->items = mem_zeroed((size_t)n_max, sizeof(struct gateway_item *));
	call->batch.items = mem_zeroed((size_t)n_max, sizeof(struct batcher_item *));
	return call;
}

/* Keeps its buffers for the next one. */
static void put_call(struct gateway *g, struct gateway_call *call)
{
	call->n = call->batch.n = call->n_unreached = 0;
	call->verbatim = call->is_retry = call->too_large = false;
	call->avoid = NULL;
	call->group = NULL;
	arena_rewind(&call->arena);
	call->next = g->spare;
	g->spare = call;
}

static void free_call(struct gateway_call *call)
{
	free(call->items);
	free(call->batch.items);
	buf_release(&call->body);
	buf_release(&call->out);
	buf_release(&call->answer);
	relay_release(&call->relay);
	arena_release(&call->arena);
	free(call);
}

static void activate(struct gateway *g, struct gateway_call *call)
{
	call->prev = NULL;
	call->next = g->active;
	if (g->active)
		g->active->prev = call;
	g->active = call;
}

static void deactivate(struct gateway *g, struct gateway_call *call)
{
	*(call->prev ? &call->prev->next : &g->active) = call->next;
	if (call->next)
		call->next->prev = call->prev;
}

/* ---- requests ---- */

/* So many of its inputs neither wait nor are in a call any more. The request may be gone then. */
static void close_items(struct gateway *g, struct gateway_request *r, size_t n)
{
	r->n_open -= n;
	if (n == 0 || r->n_open > 0)
		return;
	queue_left(g, r);
	job_unref(r->job);
}

static size_t remove_waiting(struct gateway *g, struct gateway_request *r)
{
	pthread_mutex_lock(&g->lock);
	size_t n = queue_remove(g, r);
	pthread_mutex_unlock(&g->lock);
	return n;
}

/* Which items from the i-th on are of its request; they stand together, as they were added. */
static int run_of(const struct gateway_call *call, int i)
{
	int n = 1;
	while (i + n < call->n && call->items[i + n]->request == call->items[i]->request)
		n++;
	return n;
}

static bool of_one_request(const struct gateway_call *call)
{
	for (int i = 1; i < call->n; i++)
		if (call->items[i]->request != call->items[0]->request)
			return false;
	return true;
}

static void finish_call(struct gateway *g, struct gateway_call *call)
{
	deactivate(g, call);
	queue_done(g, call, clock_now_ns() - call->client.sent_ns);
	for (int i = 0, n; i < call->n; i += n) {
		n = run_of(call, i);
		close_items(g, call->items[i]->request, (size_t)n);
	}
	put_call(g, call);
}

/* ---- answers ---- */

/* The answer as the upstream gave it, to one request. */
static void pass_on(struct gateway *g, struct gateway_call *call, struct gateway_request *r)
{
	struct job *job = r->job;
	if (r->ended)
		return;
	pthread_mutex_lock(&job->lock);
	r->relay.status = call->relay.status;
	buf_add(&r->relay.headers, buf_str(&call->relay.headers));
	buf_add(&r->relay.connection, buf_str(&call->relay.connection));
	if (call->verbatim) {
		r->relay.out = call->answer;
		call->answer = (struct buf){ 0 };
	} else {
		buf_add(&r->relay.out, buf_str(&call->answer));
	}
	pthread_mutex_unlock(&job->lock);
	gateway_finish(r);
	close_items(g, r, remove_waiting(g, r));
}

static void pass_on_all(struct gateway *g, struct gateway_call *call)
{
	for (int i = 0, n; i < call->n; i += n) {
		n = run_of(call, i);
		pass_on(g, call, call->items[i]->request);
	}
}

static void refuse_all(
        struct gateway *g, struct gateway_call *call, enum client_end end, const char *why)
{
	for (int i = 0, n; i < call->n; i += n) {
		struct gateway_request *r = call->items[i]->request;
		n = run_of(call, i);
		if (r->ended)
			continue;
		gateway_refuse_end(r, end, why);
		close_items(g, r, remove_waiting(g, r));
	}
}

static void put_in_relay(struct gateway_request *r, struct buf *text)
{
	static const char estimated[] = "X-Venturi-Usage";
	pthread_mutex_lock(&r->job->lock);
	r->relay.status = 200;
	relay_add_header(&r->relay, STR("Content-Type"), STR("application/json"));
	if (r->usage_estimated)
		relay_add_header(&r->relay, str_of(estimated), STR("estimated"));
	r->relay.out = *text;
	pthread_mutex_unlock(&r->job->lock);
}

static bool has_all_results(const struct gateway_request *r)
{
	for (size_t i = 0; i < r->merge.n_inputs; i++)
		if (!r->items[i].done)
			return false;
	return true;
}

static void compose(struct gateway_request *r)
{
	size_t n = r->merge.n_inputs;
	struct merge_result *results = arena_new_n(&r->arena, struct merge_result, n);
	struct buf text = { 0 };
	for (size_t i = 0; i < n; i++)
		results[i] = r->items[i].result;
	buf_reserve(&text, r->results.len + r->frame.len + n * 32 + 256);
	merge_compose(
	        &r->merge, buf_str(&r->results), results, r->frame, r->usage, &r->arena, &text);
	put_in_relay(r, &text);
	gateway_finish(r);
}

static void add_usage(int64_t *sum, int64_t share)
{
	if (share >= 0)
		*sum = (*sum < 0 ? 0 : *sum) + share;
}

/* What the upstream said of the call, divided among its items by their tokens. */
static void share_usage(struct gateway_call *call, const struct merge_usage *usage)
{
	size_t n = (size_t)call->n;
	int64_t *weights = arena_new_n(&call->arena, int64_t, n);
	int64_t *prompt = arena_new_n(&call->arena, int64_t, n);
	int64_t *total = arena_new_n(&call->arena, int64_t, n);
	int64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += weights[i] = call->items[i]->wait.n_tokens;
	merge_share(usage->prompt_tokens, weights, n, prompt);
	merge_share(usage->total_tokens, weights, n, total);
	int64_t said = usage->prompt_tokens >= 0 ? usage->prompt_tokens : usage->total_tokens;
	bool exact = of_one_request(call) || (call->gateway->tokenizer && said == sum);
	for (size_t i = 0; i < n; i++) {
		struct gateway_request *r = call->items[i]->request;
		if (usage->prompt_tokens >= 0)
			add_usage(&r->usage.prompt_tokens, prompt[i]);
		if (usage->total_tokens >= 0)
			add_usage(&r->usage.total_tokens, total[i]);
		r->usage_estimated |= said >= 0 && !exact;
	}
}

static void keep_result(
        struct gateway_item *item, struct str text, const struct merge_result *result)
{
	struct gateway_request *r = item->request;
	item->result = *result;
	item->result.at = r->results.len;
	item->done = true;
	buf_add(&r->results, (struct str){ text.s + result->at, result->len });
}

/* False: it does not fit the call. */
static bool split(struct gateway_call *call)
{
	struct merge_answer answer;
	struct str text = buf_str(&call->answer);
	if (!merge_split(call->group->like.api, text, (size_t)call->n, &call->arena, &answer))
		return false;
	share_usage(call, &answer.usage);
	for (int i = 0; i < call->n; i++)
		if (!call->items[i]->request->ended)
			keep_result(call->items[i], text, &answer.results[i]);
	for (int i = 0, n; i < call->n; i += n) {
		struct gateway_request *r = call->items[i]->request;
		n = run_of(call, i);
		if (r->ended)
			continue;
		r->frame = str_dup(answer.frame, &r->arena);
		if (has_all_results(r))
			compose(r);
	}
	return true;
}

/* ---- ends of calls ---- */

static void push_retry(struct gateway *g, struct gateway_call *call)
{
	call->next = NULL;
	*(g->retry_last ? &g->retry_last->next : &g->retry_first) = call;
	g->retry_last = call;
}

/* The same call once more. */
static void call_again(struct gateway *g, struct gateway_call *call)
{
	deactivate(g, call);
	call->avoid = call->client.upstream;
	push_retry(g, call);
}

/* Each of its requests gets a call of its own, so that only the guilty one fails. */
static void take_apart(struct gateway *g, struct gateway_call *call)
{
	gateway_count(g, GATEWAY_TAKEN_APART, 1);
	for (int i = 0, n; i < call->n; i += n) {
		struct gateway_request *r = call->items[i]->request;
		n = run_of(call, i);
		if (r->ended)
			continue;
		struct gateway_call *part = new_call(g);
		part->group = call->group;
		part->n = n;
		part->is_retry = true;
		memcpy(part->items, call->items + i, (size_t)n * sizeof(struct gateway_item *));
		r->n_open += (size_t)n; /* which the end of the call takes away */
		queue_hold(g, part->group);
		push_retry(g, part);
	}
	finish_call(g, call);
}

/* Of the service, the kind of request or the credentials, which all requests of a call share. */
static bool is_for_all(int status)
{
	static const int statuses[] = { 401, 402, 403, 404, 405, 415, 429, 503 };
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
		if (statuses[i] == status)
			return true;
	return false;
}

/* A second try may succeed where the first did not, and does no harm. */
static bool may_call_again(struct gateway *g, const struct gateway_call *call)
{
	return !call->is_retry && upstreams_another(&g->upstreams, call->client.upstream);
}

static void on_answer(struct gateway *g, struct gateway_call *call)
{
	int status = call->relay.status;
	bool good = status >= 200 && status < 300;
	bool one = of_one_request(call);
	if (call->too_large) {
		refuse_all(g, call, CLIENT_CUT, _("it is too large"));
	} else if (good && !call->verbatim) {
		bool fits = split(call);
		if (!fits && !one) {
			take_apart(g, call);
			return;
		}
		if (!fits)
			refuse_all(g, call, CLIENT_CUT, _("it does not fit the request"));
	} else if (good || is_for_all(status)) {
		pass_on_all(g, call);
	} else if (!one) {
		take_apart(g, call);
		return;
	} else if (status >= 500 && may_call_again(g, call)) {
		call->is_retry = true;
		call_again(g, call);
		return;
	} else {
		pass_on_all(g, call);
	}
	finish_call(g, call);
}

static void on_no_answer(
        struct gateway *g, struct gateway_call *call, enum client_end end, const char *why)
{
	upstream_failed(&g->upstreams, call->client.upstream, end == CLIENT_UNREACHED);
	bool none = upstreams_all_down(&g->upstreams);
	if (end == CLIENT_UNREACHED && !none && ++call->n_unreached < UNREACHED_MAX) {
		call_again(g, call);
		return;
	}
	if (end == CLIENT_LOST && !none && !call->is_retry && !of_one_request(call)) {
		take_apart(g, call); /* one of them may have brought the service down */
		return;
	}
	bool again = end == CLIENT_LOST ? !none && !call->is_retry
	                                : end == CLIENT_TIMEOUT && may_call_again(g, call);
	if (again) {
		call->is_retry = true;
		call_again(g, call);
		return;
	}
	refuse_all(g, call, end, why);
	finish_call(g, call);
}

static void on_call_end(struct client_call *client, enum client_end end, const char *why)
{
	struct gateway_call *call = (struct gateway_call *)client;
	struct gateway *g = call->gateway;
	if (end != CLIENT_DONE) {
		on_no_answer(g, call, end, why);
		return;
	}
	upstream_answered(client->upstream);
	upstream_observe(client->upstream, clock_now_ns() - client->sent_ns);
	on_answer(g, call);
}

static void on_call_header(struct client_call *client, struct str name, struct str value)
{
	relay_add_header(&((struct gateway_call *)client)->relay, name, value);
}

static void on_call_head(struct client_call *client, const struct http *http)
{
	((struct gateway_call *)client)->relay.status = http->status;
}

static void on_call_body(struct client_call *client, struct str piece)
{
	struct gateway_call *call = (struct gateway_call *)client;
	call->too_large |= call->answer.len + piece.len > GATEWAY_ANSWER_MAX;
	if (!call->too_large)
		buf_add(&call->answer, piece);
}

/* ---- sending ---- */

static void write_call(struct gateway_call *call, const struct upstream *up)
{
	struct gateway_request *first = call->items[0]->request;
	struct gateway_group *group = call->group;
	call->verbatim = of_one_request(call) && (size_t)call->n == first->merge.n_inputs;
	if (call->verbatim) {
		headers_write_request(up, "POST", first->target, buf_str(&first->headers),
		        first->body, true, &call->out);
		return;
	}
	buf_clear(&call->body);
	merge_write_begin(&group->like, &call->body);
	for (int i = 0; i < call->n; i++) {
		const struct gateway_request *r = call->items[i]->request;
		merge_write_input(
		        &r->merge, r->merge.inputs[call->items[i] - r->items], i == 0, &call->body);
	}
	merge_write_end(&call->body);
	const char *headers = arena_printf(&call->arena, "%.*s%s", STR_ARG(group->headers),
	        "Content-Type: application/json\r\nAccept: application/json\r\n");
	headers_write_request(
	        up, "POST", group->target, str_of(headers), buf_str(&call->body), true, &call->out);
}

static void count_call(struct gateway *g, const struct gateway_call *call)
{
	int64_t n_tokens = 0;
	for (int i = 0; i < call->n; i++)
		n_tokens += call->items[i]->wait.n_tokens;
	gateway_count(g, GATEWAY_CALLS, 1);
	gateway_count(g, GATEWAY_INPUTS, (uint64_t)call->n);
	gateway_count(g, GATEWAY_TOKENS, (uint64_t)n_tokens);
	gateway_count(g, GATEWAY_SHARED, !of_one_request(call));
	metrics_observe(g->base.metrics, METRIC_BATCH_SIZE, call->n);
}

static void send_call(struct gateway *g, struct gateway_call *call, struct upstream *up)
{
	int64_t now = clock_now_ns();
	write_call(call, up);
	count_call(g, call);
	if (call->is_retry || call->n_unreached)
		upstream_count(up, UPSTREAM_RETRIES);
	for (int i = 0; i < call->n; i += run_of(call, i))
		job_start(call->items[i]->request->job, now);
	buf_clear(&call->answer);
	buf_clear(&call->relay.headers);
	buf_clear(&call->relay.connection);
	call->relay.status = 0;
	call->too_large = false;
	call->client = (struct client_call){
		.request = buf_str(&call->out),
		.kind = UPSTREAM_MERGED,
		.on_header = on_call_header,
		.on_head = on_call_head,
		.on_body = on_call_body,
		.on_end = on_call_end,
	};
	activate(g, call);
	upstreams_chosen(&g->upstreams, up);
	client_start(&g->client, &call->client, up);
}

/* Nobody wants any of it any more. */
static bool all_ended(const struct gateway_call *call)
{
	for (int i = 0; i < call->n; i++)
		if (!call->items[i]->request->ended)
			return false;
	return true;
}

static void drop_retry(struct gateway *g, struct gateway_call *call)
{
	activate(g, call); /* as if it had been sent */
	finish_call(g, call);
}

static struct gateway_call *pop_retry(struct gateway *g)
{
	struct gateway_call *call = g->retry_first;
	g->retry_first = call->next;
	if (!g->retry_first)
		g->retry_last = NULL;
	return call;
}

static void dispatch_retries(struct gateway *g)
{
	while (g->retry_first) {
		struct upstream *up =
		        upstreams_choose(&g->upstreams, UPSTREAM_MERGED, g->retry_first->avoid);
		if (!up)
			return;
		struct gateway_call *call = pop_retry(g);
		if (all_ended(call))
			drop_retry(g, call);
		else
			send_call(g, call, up);
	}
}

/* False: there is no room, or nothing to send. */
static bool dispatch_next(struct gateway *g, int64_t now_ns, int64_t *wake_ns)
{
	struct upstream *up = upstreams_choose(&g->upstreams, UPSTREAM_MERGED, NULL);
	struct gateway_call *call = up ? new_call(g) : NULL;
	if (!call)
		return false;
	if (!queue_take(g, now_ns, call, wake_ns)) {
		put_call(g, call);
		return false;
	}
	send_call(g, call, up);
	return true;
}

static void refuse_late(struct gateway *g, int64_t now_ns)
{
	struct gateway_request *r;
	size_t n;
	while ((r = queue_take_late(g, now_ns, &n))) {
		if (!r->ended)
			gateway_refuse(r, 429, "deadline", 1,
			        _("the request would have to wait too long; try again later"));
		close_items(g, r, n);
	}
}

void calls_dispatch(struct gateway *g, int64_t now_ns, int64_t *ret_wake_ns)
{
	*ret_wake_ns = INT64_MAX;
	if (g->options.deadline_ns > 0)
		refuse_late(g, now_ns);
	do
		dispatch_retries(g);
	while (dispatch_next(g, now_ns, ret_wake_ns));
	dispatch_retries(g); /* of what could not be sent just now */
	bool waits_for_room = *ret_wake_ns == INT64_MAX;
	if (g->options.deadline_ns > 0 && waits_for_room)
		*ret_wake_ns = now_ns + LATE_CHECK_NS;
}

void calls_cancel(struct gateway *g, struct gateway_request *r)
{
	struct gateway_call *call = g->active, *next;
	r->ended = true;
	for (; call; call = next) {
		next = call->next;
		if (!all_ended(call))
			continue;
		client_cancel(&g->client, &call->client);
		finish_call(g, call);
	}
	close_items(g, r, remove_waiting(g, r));
}

void calls_refuse_waiting(struct gateway *g)
{
	struct gateway_request *r;
	size_t n;
	while (g->retry_first) {
		struct gateway_call *call = pop_retry(g);
		refuse_all(g, call, CLIENT_UNREACHED, _("none of them answers"));
		drop_retry(g, call);
	}
	while ((r = queue_take_any(g, &n))) {
		if (!r->ended)
			gateway_refuse(r, 503, "no_upstream", 1, _("no upstream can be reached"));
		close_items(g, r, n);
	}
}

void calls_close(struct gateway *g)
{
	while (g->active) {
		struct gateway_call *call = g->active;
		client_cancel(&g->client, &call->client);
		refuse_all(g, call, CLIENT_CUT, _("the service is shutting down"));
		finish_call(g, call);
	}
	calls_refuse_waiting(g);
	while (g->spare) {
		struct gateway_call *call = g->spare;
		g->spare = call->next;
		free_call(call);
	}
}
