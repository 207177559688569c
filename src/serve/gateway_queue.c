#include "serve/gateway_core.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- what requests must have in common ---- */

/*
 * The headers that may decide about the answer, credentials above all, in the order in which they
 * came; and what is to be computed.
 */
static void write_key(const struct forward *f, const struct gateway_request *r, struct buf *key,
        size_t *ret_headers_len)
{
	for (size_t i = 0; i < f->n_headers; i++) {
		struct str name = str_of(f->headers[i].name);
		if (header_is_hop(name) || header_is_noise(name))
			continue;
		for (size_t k = 0; k < name.len; k++)
			buf_add_char(key, (char)tolower((unsigned char)name.s[k]));
		buf_add(key, STR(": "));
		buf_add_c(key, f->headers[i].value);
		buf_add(key, STR("\r\n"));
	}
	*ret_headers_len = key->len;
	buf_printf(key, "%s\n%s\n%d\n", r->target, r->merge.api->inputs, r->merge.ids);
	buf_add(key, r->merge.params);
}

static struct gateway_group *new_group(const struct gateway *g, const struct gateway_request *r,
        struct str key, size_t headers_len)
{
	struct arena arena = { 0 };
	struct gateway_group *group = mem_zeroed(1, sizeof(*group));
	group->key = str_dup(key, &arena);
	group->like = r->merge;
	group->like.inputs = NULL;
	group->like.n_inputs = 0;
	group->like.params = str_dup(r->merge.params, &arena);
	group->target = arena_strdup(&arena, r->target);
	group->headers = (struct str){ group->key.s, headers_len };
	group->arena = arena;
	group->batcher = batcher_new(&g->options.batching);
	return group;
}

static void free_group(struct gateway_group *group)
{
	batcher_free(group->batcher);
	arena_release(&group->arena);
	free(group);
}

static void keep_counts(struct gateway *g, const struct gateway_group *group)
{
	for (int i = 0; i < batcher_n_lanes(group->batcher); i++) {
		struct batcher_lane_state lane = batcher_lane(group->batcher, i);
		g->past[i].batches += lane.batches;
		g->past[i].items += lane.items;
		g->past[i].tokens += lane.tokens;
		g->past[i].padding += lane.padding;
	}
}

static bool is_unused(const struct gateway_group *group)
{
	return group->n_waiting == 0 && group->n_calls == 0;
}

/* A place for one more kind; -1 when all have something to do. */
static int find_place(struct gateway *g)
{
	if (g->n_groups < GATEWAY_GROUPS_MAX)
		return g->n_groups++;
	for (int i = 0; i < g->n_groups; i++) {
		if (!is_unused(g->groups[i]))
			continue;
		keep_counts(g, g->groups[i]);
		free_group(g->groups[i]);
		return i;
	}
	return -1;
}

/* Under the lock. NULL: there are too many kinds already. */
static struct gateway_group *find_group(
        struct gateway *g, const struct gateway_request *r, const struct forward *f)
{
	AUTO(auto_buf) struct buf key = { 0 };
	size_t headers_len;
	write_key(f, r, &key, &headers_len);
	for (int i = 0; i < g->n_groups; i++)
		if (str_eq(g->groups[i]->key, buf_str(&key)))
			return g->groups[i];
	int place = find_place(g);
	if (place < 0)
		return NULL;
	g->groups[place] = new_group(g, r, buf_str(&key), headers_len);
	return g->groups[place];
}

/* ---- tokens ---- */

static int64_t count_tokens(const struct gateway *g, struct str input, struct buf *scratch)
{
	buf_clear(scratch);
	if (!g->tokenizer || !merge_text(input, scratch) || scratch->len > TOKENIZER_TEXT_BYTES_MAX)
		return merge_estimate_tokens(input);
	int32_t *ids;
	size_t n;
	tokenizer_encode(g->tokenizer, buf_str(scratch), TOKENIZER_FRAME, &ids, &n);
	free(ids);
	return (int64_t)n;
}

static void make_items(const struct gateway *g, struct gateway_request *r)
{
	AUTO(auto_buf) struct buf scratch = { 0 };
	r->items = arena_new_n(&r->arena, struct gateway_item, r->merge.n_inputs);
	for (size_t i = 0; i < r->merge.n_inputs; i++) {
		struct gateway_item *item = &r->items[i];
		int64_t n = count_tokens(g, r->merge.inputs[i], &scratch);
		item->request = r;
		item->wait.n_tokens = n < INT32_MAX ? (int)n : INT32_MAX;
		item->wait.arrived_ns = r->job->received_ns;
		if (g->options.deadline_ns > 0)
			item->wait.deadline_ns = r->job->received_ns + g->options.deadline_ns;
		r->job->n_prompt += n;
	}
}

/* ---- in ---- */

static bool refuse(enum batcher_verdict verdict, int64_t retry_ns, struct api_error *error)
{
	if (verdict == BATCHER_FULL)
		api_error_set(error, 429, "queue_full", "%s",
		        _("too much is waiting already; try again later"));
	else
		api_error_set(error, 429, "deadline", "%s",
		        _("the request would have to wait too long; try again later"));
	error->retry_after_s = (retry_ns + NS_PER_S - 1) / NS_PER_S;
	if (error->retry_after_s < 1)
		error->retry_after_s = 1;
	return false;
}

static enum batcher_verdict admit(
        const struct gateway *g, const struct gateway_request *r, int64_t *ret_retry_ns)
{
	int n_longest = 0;
	for (size_t i = 0; i < r->merge.n_inputs; i++)
		if (r->items[i].wait.n_tokens > n_longest)
			n_longest = r->items[i].wait.n_tokens;
	/* the limit is of all kinds together, which none of their batchers knows */
	int64_t n = (int64_t)r->merge.n_inputs, others = g->n_waiting - r->group->n_waiting;
	int64_t queue_max = g->options.batching.queue_max;
	enum batcher_verdict verdict = batcher_admit(r->group->batcher, n, r->job->n_prompt,
	        n_longest, r->items[0].wait.deadline_ns, clock_now_ns(), ret_retry_ns);
	if (verdict == BATCHER_QUEUED && queue_max > 0 && others > 0 &&
	        g->n_waiting + n > queue_max)
		verdict = BATCHER_FULL;
	return verdict;
}

static bool add_items(struct gateway *g, struct gateway_request *r, struct api_error *error)
{
	struct gateway_group *group = r->group;
	int64_t retry_ns = 0;
	enum batcher_verdict verdict = admit(g, r, &retry_ns);
	if (verdict != BATCHER_QUEUED)
		return refuse(verdict, retry_ns, error);
	for (size_t i = 0; i < r->merge.n_inputs; i++)
		batcher_put(group->batcher, &r->items[i].wait);
	group->n_waiting += (int64_t)r->merge.n_inputs;
	g->n_waiting += (int64_t)r->merge.n_inputs;
	return true;
}

bool queue_add(struct gateway *g, struct gateway_request *r, const struct forward *f,
        struct api_error *error)
{
	make_items(g, r);
	pthread_mutex_lock(&g->lock);
	r->group = find_group(g, r, f);
	bool ok = r->group && add_items(g, r, error);
	if (ok) {
		r->n_open = r->merge.n_inputs;
		r->next_open = g->open;
		if (g->open)
			g->open->prev_open = r;
		g->open = r;
		job_queue(r->job);
		gateway_tell(g, NULL);
	}
	pthread_mutex_unlock(&g->lock);
	if (!r->group)
		return api_error_set(error, 429, "too_many_kinds",
		        _("requests of %d kinds are waiting already; try again later"),
		        GATEWAY_GROUPS_MAX);
	return ok;
}

size_t queue_remove(struct gateway *g, struct gateway_request *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->merge.n_inputs; i++)
		n += batcher_remove(r->group->batcher, &r->items[i].wait);
	r->group->n_waiting -= (int64_t)n;
	g->n_waiting -= (int64_t)n;
	return n;
}

/* ---- out ---- */

static bool take_from(struct gateway *g, struct gateway_group *group, int64_t now_ns,
        struct gateway_call *call, int64_t *wake_ns)
{
	int64_t wake = INT64_MAX;
	if (group->n_waiting == 0)
		return false;
	if (!batcher_take(group->batcher, now_ns, &call->batch, &wake)) {
		*wake_ns = wake < *wake_ns ? wake : *wake_ns;
		return false;
	}
	group->n_waiting -= call->batch.n;
	g->n_waiting -= call->batch.n;
	group->n_calls++;
	call->group = group;
	call->n = call->batch.n;
	for (int i = 0; i < call->n; i++)
		call->items[i] = (struct gateway_item *)call->batch.items[i];
	return true;
}

bool queue_take(struct gateway *g, int64_t now_ns, struct gateway_call *call, int64_t *ret_wake_ns)
{
	bool taken = false;
	pthread_mutex_lock(&g->lock);
	*ret_wake_ns = INT64_MAX;
	for (int i = 0; i < g->n_groups && !taken; i++) {
		int at = (g->next_group + i) % g->n_groups;
		taken = take_from(g, g->groups[at], now_ns, call, ret_wake_ns);
		if (taken)
			g->next_group = (at + 1) % g->n_groups;
	}
	pthread_mutex_unlock(&g->lock);
	return taken;
}

void queue_done(struct gateway *g, struct gateway_call *call, int64_t took_ns)
{
	pthread_mutex_lock(&g->lock);
	if (call->batch.n > 0)
		batcher_done(call->group->batcher, &call->batch, took_ns, clock_now_ns());
	call->batch.n = 0;
	call->group->n_calls--;
	pthread_mutex_unlock(&g->lock);
}

void queue_hold(struct gateway *g, struct gateway_group *group)
{
	pthread_mutex_lock(&g->lock);
	group->n_calls++;
	pthread_mutex_unlock(&g->lock);
}

struct gateway_request *queue_take_late(struct gateway *g, int64_t now_ns, size_t *ret_n_taken)
{
	struct gateway_request *r = NULL;
	pthread_mutex_lock(&g->lock);
	for (int i = 0; i < g->n_groups && !r; i++) {
		struct gateway_group *group = g->groups[i];
		struct batcher_item *item = batcher_take_late(group->batcher, now_ns);
		if (!item)
			continue;
		group->n_waiting--;
		g->n_waiting--;
		r = ((struct gateway_item *)item)->request;
		*ret_n_taken = 1 + queue_remove(g, r);
	}
	pthread_mutex_unlock(&g->lock);
	return r;
}

struct gateway_request *queue_take_any(struct gateway *g, size_t *ret_n_taken)
{
	struct gateway_request *r;
	pthread_mutex_lock(&g->lock);
	for (r = g->open; r; r = r->next_open) {
		*ret_n_taken = queue_remove(g, r);
		if (*ret_n_taken > 0)
			break;
	}
	pthread_mutex_unlock(&g->lock);
	return r;
}

void queue_left(struct gateway *g, struct gateway_request *r)
{
	pthread_mutex_lock(&g->lock);
	*(r->prev_open ? &r->prev_open->next_open : &g->open) = r->next_open;
	if (r->next_open)
		r->next_open->prev_open = r->prev_open;
	pthread_mutex_unlock(&g->lock);
}

int64_t queue_backlog_ns(struct gateway *g)
{
	int64_t sum = 0, now = clock_now_ns();
	pthread_mutex_lock(&g->lock);
	for (int i = 0; i < g->n_groups; i++)
		sum += batcher_backlog_ns(g->groups[i]->batcher, now);
	pthread_mutex_unlock(&g->lock);
	return sum;
}

void queue_close(struct gateway *g)
{
	for (int i = 0; i < g->n_groups; i++)
		free_group(g->groups[i]);
	g->n_groups = 0;
}
