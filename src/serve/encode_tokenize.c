#include "serve/encode_parts.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <string.h>

static bool check_ids(const struct encode *x, const struct api_input *in, struct api_error *error)
{
	for (size_t i = 0; i < in->n_ids; i++)
		if (in->ids[i] < 0 || in->ids[i] >= x->info.n_vocab)
			return api_error_set(error, 400, NULL,
			        _("the token id %d is not below %d, the size of the vocabulary"),
			        in->ids[i], x->info.n_vocab);
	for (size_t i = 0; in->types && i < in->n_ids; i++)
		if (in->types[i] < 0 || (in->types[i] && in->types[i] >= x->info.n_types))
			return api_error_set(error, 400, NULL,
			        _("there is no token type %d; this model has %d"), in->types[i],
			        x->info.n_types);
	return true;
}

static const int32_t *keep(struct job *job, const int32_t *ids, int n)
{
	int32_t *kept = arena_new_n(&job->arena, int32_t, (size_t)n);
	return memcpy(kept, ids, (size_t)n * sizeof(*ids));
}

static bool refuse_long(const struct encode_item *item, int n_max, struct api_error *error)
{
	return api_error_set(error, 400, "context_length_exceeded",
	        _("input %d has more than the %d tokens that this model takes"), item->index,
	        n_max);
}

/* Ids as they came; of those that are cut the last one, which ends a text, stays the last. */
static bool take_ids(
        const struct encode *x, struct encode_item *item, int n_max, struct api_error *error)
{
	struct job *job = item->job->job;
	const struct api_input *in = &job->request.inputs[item->index];
	item->ids = in->ids;
	item->types = in->types;
	item->base.n_tokens = (int)in->n_ids;
	if (!check_ids(x, in, error))
		return false;
	if (in->n_ids <= (size_t)n_max)
		return true;
	if (job->request.truncate_tokens == 0)
		return refuse_long(item, n_max, error);
	int32_t *cut = arena_new_n(&job->arena, int32_t, (size_t)n_max);
	memcpy(cut, in->ids, (size_t)(n_max - 1) * sizeof(*cut));
	cut[n_max - 1] = in->ids[in->n_ids - 1];
	item->ids = cut;
	item->base.n_tokens = n_max;
	return true;
}

static bool take_text(const struct encode *x, struct encode_room *room, struct encode_item *item,
        int n_max, struct api_error *error)
{
	struct job *job = item->job->job;
	const struct api_input *in = &job->request.inputs[item->index];
	struct tokenizer_framed framed =
	        tokenizer_frame(encoder_tokenizer(x->encoder), room->encoding, in->text,
	                in->has_pair ? &in->pair : NULL, 0, n_max, room->ids, room->types);
	if (framed.cut && job->request.truncate_tokens == 0)
		return refuse_long(item, n_max, error);
	item->base.n_tokens = framed.n;
	item->ids = keep(job, room->ids, framed.n);
	item->types = in->has_pair ? keep(job, room->types, framed.n) : NULL;
	return true;
}

static bool prepare(struct encode *x, struct encode_room *room, struct encode_item *item,
        struct api_error *error)
{
	const struct api_request *r = &item->job->job->request;
	int n_max = x->longest;
	if (r->truncate_tokens > 0 && r->truncate_tokens < n_max)
		n_max = (int)r->truncate_tokens;
	bool ok = r->inputs[item->index].ids ? take_ids(x, item, n_max, error)
	                                     : take_text(x, room, item, n_max, error);
	if (ok && item->base.n_tokens == 0)
		return api_error_set(error, 400, NULL, _("input %d is empty"), item->index);
	return ok;
}

/* With all that the faults put around it. */
static bool prepare_badly(struct encode *x, struct encode_room *room, struct encode_item *item,
        struct api_error *error)
{
	fault_work_enter(x->options.work);
	bool ok = prepare(x, room, item, error);
	for (int64_t i = x->faults->tokenize_repeat; ok && i > 1; i--)
		ok = prepare(x, room, item, error);
	fault_work_burn(x->faults->prepare_us);
	fault_work_leave(x->options.work);
	return ok;
}

bool encode_tokenize(struct encode *x, struct encode_job *ej, struct api_error *error)
{
	struct job *job = ej->job;
	int64_t n_tokens = 0, start = clock_now_ns(), at = start;
	bool ok = true;
	void *room = NULL;
	(void)!stage_pop(&x->rooms, &room);
	for (int i = 0; ok && i < ej->n_items; i++) {
		ok = prepare_badly(x, room, &ej->items[i], error);
		n_tokens += ej->items[i].base.n_tokens;
		int64_t now = clock_now_ns();
		metrics_stage_time(x->base.metrics, STAGE_TOKENIZE, now - at);
		at = now;
	}
	(void)!stage_try_push(&x->rooms, room);
	metrics_stage_busy(x->base.metrics, STAGE_TOKENIZE, at - start);
	if (ok)
		job_tokenized(job, n_tokens, at);
	return ok;
}

static int longest_of(const struct encode_job *ej)
{
	int longest = 0;
	for (int i = 0; i < ej->n_items; i++)
		if (ej->items[i].base.n_tokens > longest)
			longest = ej->items[i].base.n_tokens;
	return longest;
}

static void put_all(struct encode *x, struct encode_job *ej, int64_t deadline_ns, int64_t now_ns)
{
	for (int i = 0; i < ej->n_items; i++) {
		ej->items[i].base.arrived_ns = now_ns;
		ej->items[i].base.deadline_ns = deadline_ns;
		batcher_put(x->batcher, &ej->items[i].base);
	}
	metrics_add(x->base.metrics, METRIC_PROMPT_TOKENS, ej->job->n_prompt);
	metrics_stage_queued(x->base.metrics, STAGE_BATCH, ej->n_items);
	pthread_cond_signal(&x->work);
}

bool encode_enqueue(struct encode *x, struct encode_job *ej, bool wait, struct api_error *error)
{
	struct job *job = ej->job;
	int64_t deadline = x->options.deadline_ns ? job->received_ns + x->options.deadline_ns : 0;
	int longest = longest_of(ej);
	int64_t retry_ns;
	pthread_mutex_lock(&x->lock);
	enum batcher_verdict verdict;
	while ((verdict = batcher_admit(x->batcher, ej->n_items, job->n_prompt, longest, deadline,
	                clock_now_ns(), &retry_ns)) == BATCHER_FULL &&
	        wait && !x->closing)
		pthread_cond_wait(&x->room, &x->lock);
	if (verdict == BATCHER_QUEUED)
		put_all(x, ej, deadline, clock_now_ns());
	pthread_mutex_unlock(&x->lock);
	if (verdict == BATCHER_TOO_LATE)
		return encode_refuse_late(x, retry_ns, error);
	return verdict == BATCHER_QUEUED || encode_refuse_full(x, retry_ns, error);
}

void *encode_tokenizer_thread(void *encode)
{
	struct encode *x = encode;
	void *work;
	while (stage_pop(&x->tokenizing, &work)) {
		struct encode_job *ej = work;
		struct api_error error;
		metrics_stage_queued(x->base.metrics, STAGE_TOKENIZE, -1);
		if (job_is_cancelled(ej->job))
			encode_items_done(ej, ej->n_items);
		else if (!encode_tokenize(x, ej, &error) || !encode_enqueue(x, ej, true, &error))
			encode_refuse(ej, &error);
	}
	return NULL;
}
