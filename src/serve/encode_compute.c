#include "serve/encode_parts.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <string.h>

static struct encode_item *item_of(const struct batch *batch, int i)
{
	return (struct encode_item *)batch->items[i];
}

/* Ends those whose deadline has passed while they waited. Under the lock. */
static void drop_late(struct encode *x, int64_t now_ns)
{
	struct batcher_item *late;
	while ((late = batcher_take_late(x->batcher, now_ns))) {
		struct encode_job *ej = ((struct encode_item *)late)->job;
		struct api_error error;
		encode_refuse_late(x, batcher_backlog_ns(x->batcher, now_ns), &error);
		metrics_stage_queued(x->base.metrics, STAGE_BATCH, -1);
		job_refuse(ej->job, &error, now_ns);
		encode_items_done(ej, 1);
	}
}

static void wait_for_work(struct encode *x, int64_t until_ns)
{
	struct timespec until = clock_to_timespec(until_ns);
	if (until_ns == INT64_MAX)
		pthread_cond_wait(&x->work, &x->lock);
	else
		pthread_cond_timedwait(&x->work, &x->lock, &until);
}

/* Unloads a model that had nothing to do for so long. Under the lock; returns when to look again.
 */
static int64_t unload_idle(struct encode *x, int64_t since_ns, int64_t now_ns, int64_t wake_ns)
{
	int64_t due_ns = since_ns + x->faults->reload_idle_ns;
	if (!x->options.reloadable || x->unloaded)
		return wake_ns;
	if (now_ns < due_ns)
		return due_ns < wake_ns ? due_ns : wake_ns;
	encoder_drop_weights(x->options.reloadable);
	x->unloaded = true;
	return wake_ns;
}

/* False: the service closes. */
static bool next_batch(struct encode *x, struct batch *batch)
{
	bool taken = false;
	pthread_mutex_lock(&x->lock);
	int64_t idle_since = clock_now_ns();
	while (!x->closing && !taken) {
		int64_t wake, now = clock_now_ns();
		drop_late(x, now);
		taken = batcher_take(x->batcher, now, batch, &wake);
		if (!taken)
			wait_for_work(x, unload_idle(x, idle_since, now, wake));
	}
	if (taken) {
		metrics_stage_queued(x->base.metrics, STAGE_BATCH, -batch->n);
		pthread_cond_broadcast(&x->room);
	}
	pthread_mutex_unlock(&x->lock);
	return taken;
}

/* Takes out those that nobody waits for any more. */
static void skip_cancelled(struct batch *batch)
{
	int n = 0;
	for (int i = 0; i < batch->n; i++) {
		struct encode_item *item = item_of(batch, i);
		if (job_is_cancelled(item->job->job))
			encode_items_done(item->job, 1);
		else
			batch->items[n++] = batch->items[i];
	}
	batch->n = n;
}

/* Those that want scores go to the end: they are computed in a second run. Returns where. */
static int sort_by_output(struct batch *batch)
{
	int n = 0;
	for (int i = 0; i < batch->n; i++) {
		struct batcher_item *item = batch->items[i];
		if (item_of(batch, i)->job->job->request.scores)
			continue;
		batch->items[i] = batch->items[n];
		batch->items[n++] = item;
	}
	return n;
}

static bool run(
        struct encode *x, struct encode_slot *slot, int from, int n, float *out, struct err *err)
{
	bool scores = item_of(&slot->batch, from)->job->job->request.scores;
	const struct encoder_batch batch = {
		.n = n,
		.ids = slot->ids + from,
		.types = slot->types + from,
		.lengths = slot->lengths + from,
		.pad_to = slot->batch.pad_to,
	};
	if (x->unloaded && !encoder_load_weights(x->options.reloadable, err))
		return false;
	x->unloaded = false;
	return encoder_run(
	        x->session, &batch, scores ? ENCODER_LOGITS : ENCODER_EMBEDDING, out, err);
}

/* Items from .. to - 1, which want the same. What fails is tried alone, so that it fails alone. */
static void compute(struct encode *x, struct encode_slot *slot, int from, int to, float *out)
{
	struct err err;
	if (from == to)
		return;
	int n_dims = item_of(&slot->batch, from)->job->n_dims;
	for (int i = from; i < to; i++)
		item_of(&slot->batch, i)->vector = out + (size_t)(i - from) * (size_t)n_dims;
	if (run(x, slot, from, to - from, out, &err))
		return;
	for (int i = from; i < to; i++) {
		struct encode_item *item = item_of(&slot->batch, i);
		float *vector = out + (size_t)(i - from) * (size_t)n_dims;
		if (to - from > 1 && run(x, slot, i, 1, vector, &err))
			continue;
		job_end(item->job->job, JOB_FAILED, (struct str){ 0 }, err.text, clock_now_ns());
	}
}

static void start_items(struct encode *x, struct encode_slot *slot, int64_t now_ns)
{
	for (int i = 0; i < slot->batch.n; i++) {
		struct encode_item *item = item_of(&slot->batch, i);
		slot->ids[i] = item->ids;
		slot->types[i] = item->types;
		slot->lengths[i] = item->base.n_tokens;
		metrics_stage_time(x->base.metrics, STAGE_BATCH, now_ns - item->base.arrived_ns);
		job_start(item->job->job, now_ns);
	}
}

static void count_batch(struct encode *x, const struct batch *batch, int64_t took_ns)
{
	struct metrics *m = x->base.metrics;
	metrics_add(m, METRIC_BATCHES, 1);
	metrics_add(m, METRIC_BATCHED_ITEMS, batch->n);
	metrics_add(m, METRIC_BATCHED_TOKENS, batch->n_tokens);
	metrics_add(m, METRIC_PADDING_TOKENS, batch->n_rows - batch->n_tokens);
	metrics_observe(m, METRIC_BATCH_SIZE, batch->n);
	metrics_observe(m, METRIC_BATCH_TOKENS, batch->n_rows);
	metrics_stage_busy(m, STAGE_COMPUTE, took_ns);
	for (int i = 0; i < batch->n; i++)
		metrics_stage_time(m, STAGE_COMPUTE, took_ns);
}

static void burn(struct encode *x, int64_t us)
{
	fault_work_enter(x->options.work);
	fault_work_burn(us);
	fault_work_leave(x->options.work);
}

static void compute_batch(struct encode *x, struct encode_slot *slot)
{
	struct batch *batch = &slot->batch;
	int64_t start = clock_now_ns();
	skip_cancelled(batch);
	if (batch->n > 0) {
		int n_embeddings = sort_by_output(batch);
		start_items(x, slot, start);
		burn(x, batch->n * x->faults->prepare_serial_us);
		compute(x, slot, 0, n_embeddings, slot->out);
		compute(x, slot, n_embeddings, batch->n,
		        slot->out + (size_t)n_embeddings * (size_t)x->info.dim);
		burn(x, batch->n * x->faults->collect_us);
	}
	int64_t now = clock_now_ns();
	if (batch->n > 0)
		count_batch(x, batch, now - start);
	pthread_mutex_lock(&x->lock);
	batcher_done(x->batcher, batch, now - start, now);
	pthread_mutex_unlock(&x->lock);
}

void encode_drop_waiting(struct encode *x)
{
	struct batch *batch = &x->slots[0].batch;
	int64_t wake;
	while (batcher_take(x->batcher, INT64_MAX / 2, batch, &wake))
		for (int i = 0; i < batch->n; i++) {
			struct encode_job *ej = item_of(batch, i)->job;
			job_end(ej->job, JOB_CUT, (struct str){ 0 }, NULL, clock_now_ns());
			encode_items_done(ej, 1);
		}
}

void *encode_computer_thread(void *encode)
{
	struct encode *x = encode;
	encode_warm_up(x);
	atomic_store(&x->base.warming, false);
	void *work = NULL;
	while (stage_pop(&x->idle_slots, &work)) {
		struct encode_slot *slot = work;
		if (!next_batch(x, &slot->batch))
			break;
		compute_batch(x, slot);
		metrics_stage_queued(x->base.metrics, STAGE_FINISH, 1);
		(void)!stage_push(&x->finishing, slot);
	}
	return NULL;
}

static void finish_batch(struct encode *x, struct batch *batch)
{
	int64_t start = clock_now_ns(), at = start;
	for (int i = 0; i < batch->n; i++) {
		struct encode_item *item = item_of(batch, i);
		struct encode_job *ej = item->job;
		size_t n_dims = (size_t)ej->n_dims;
		fault_work_enter(x->options.work);
		memcpy(ej->vectors + (size_t)item->index * n_dims, item->vector,
		        n_dims * sizeof(float));
		fault_work_leave(x->options.work);
		encode_items_done(ej, 1);
		int64_t now = clock_now_ns();
		metrics_stage_time(x->base.metrics, STAGE_FINISH, now - at);
		at = now;
	}
	metrics_stage_busy(x->base.metrics, STAGE_FINISH, at - start);
}

void *encode_finisher_thread(void *encode)
{
	struct encode *x = encode;
	void *work;
	while (stage_pop(&x->finishing, &work)) {
		struct encode_slot *slot = work;
		metrics_stage_queued(x->base.metrics, STAGE_FINISH, -1);
		finish_batch(x, &slot->batch);
		(void)!stage_try_push(&x->idle_slots, slot);
	}
	return NULL;
}
