/*
 * The executor that computes with an encoder: what a request goes through is in encode_parts.h.
 */
#include "serve/encode_parts.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "text/json.h"

#include <stdlib.h>
#include <string.h>

bool encode_refuse_full(struct encode *x, int64_t retry_ns, struct api_error *error)
{
	metrics_count(x->base.metrics, METRIC_REJECTED, "queue_full");
	api_error_set(error, 429, "queue_full", "%s",
	        _("too many requests are waiting already; try again later"));
	error->retry_after_s = executor_retry_s(retry_ns);
	return false;
}

bool encode_refuse_late(struct encode *x, int64_t retry_ns, struct api_error *error)
{
	metrics_count(x->base.metrics, METRIC_REJECTED, "deadline");
	api_error_set(error, 429, "deadline", "%s",
	        _("the answer would come later than this service promises; try again later"));
	error->retry_after_s = executor_retry_s(retry_ns);
	return false;
}

void encode_items_done(struct encode_job *ej, int n)
{
	struct job *job = ej->job;
	if (atomic_fetch_sub(&ej->n_left, n) != n)
		return;
	job_end(job, JOB_STOP, (struct str){ 0 }, NULL, clock_now_ns());
	job_unref(job);
}

/* Takes out of the batcher what waits there; how many. Under the lock. */
static int withdraw(struct encode *x, struct encode_job *ej)
{
	int n = 0;
	for (int i = 0; i < ej->n_items; i++)
		n += batcher_remove(x->batcher, &ej->items[i].base);
	if (n > 0) {
		metrics_stage_queued(x->base.metrics, STAGE_BATCH, -n);
		pthread_cond_broadcast(&x->room);
	}
	return n;
}

void encode_refuse(struct encode_job *ej, const struct api_error *error)
{
	job_refuse(ej->job, error, clock_now_ns());
	encode_items_done(ej, ej->n_items);
}

static struct encode_job *make_job(struct encode *x, struct job *job)
{
	int n_items = (int)job->request.n_inputs;
	size_t bytes = sizeof(struct encode_job) + (size_t)n_items * sizeof(struct encode_item);
	struct encode_job *ej = arena_alloc(&job->arena, bytes);
	ej->job = job;
	ej->n_items = n_items;
	ej->n_dims = job->request.scores ? x->info.n_labels : x->info.dim;
	atomic_init(&ej->n_left, n_items);
	ej->vectors = arena_alloc(
	        &job->arena, (size_t)n_items * (size_t)ej->n_dims * sizeof(*ej->vectors));
	for (int i = 0; i < n_items; i++)
		ej->items[i] = (struct encode_item){ .job = ej, .index = i };
	job->executor_data = ej;
	job->vectors = ej->vectors;
	job->n_dims = ej->n_dims;
	return ej;
}

static int64_t backlog_ns(struct encode *x)
{
	pthread_mutex_lock(&x->lock);
	int64_t ns = batcher_backlog_ns(x->batcher, clock_now_ns());
	pthread_mutex_unlock(&x->lock);
	return ns;
}

/* Tokenization in the thread that speaks HTTP. */
static bool submit_inline(struct encode *x, struct encode_job *ej, struct api_error *error)
{
	struct job *job = ej->job;
	job_queue(job);
	if (!encode_tokenize(x, ej, error))
		return false;
	job_ref(job);
	if (encode_enqueue(x, ej, false, error))
		return true;
	job_unref(job);
	return false;
}

static bool submit_async(struct encode *x, struct encode_job *ej, struct api_error *error)
{
	struct job *job = ej->job;
	job_ref(job);
	job_queue(job);
	metrics_stage_queued(x->base.metrics, STAGE_TOKENIZE, 1);
	if (stage_try_push(&x->tokenizing, ej))
		return true;
	metrics_stage_queued(x->base.metrics, STAGE_TOKENIZE, -1);
	job_unref(job);
	return encode_refuse_full(x, backlog_ns(x), error);
}

static bool encode_submit(struct executor *base, struct job *job, struct api_error *error)
{
	struct encode *x = (struct encode *)base;
	if (job->request.n_inputs == 0)
		return api_error_set(error, 400, NULL, "%s", _("there is no input"));
	struct encode_job *ej = make_job(x, job);
	return x->n_tokenizers > 0 ? submit_async(x, ej, error) : submit_inline(x, ej, error);
}

/* What is not in the batcher yet, or not any more, is skipped where it is met. */
static void encode_cancel(struct executor *base, struct job *job)
{
	struct encode *x = (struct encode *)base;
	struct encode_job *ej = job->executor_data;
	if (!ej)
		return;
	pthread_mutex_lock(&x->lock);
	int n = withdraw(x, ej);
	pthread_mutex_unlock(&x->lock);
	if (n > 0)
		encode_items_done(ej, n);
}

static int64_t encode_retry_after_s(struct executor *base)
{
	struct encode *x = (struct encode *)base;
	metrics_count(base->metrics, METRIC_REJECTED, "queue_full");
	return executor_retry_s(backlog_ns(x));
}

static void put_edges(struct json *j, const char *name, const struct batcher_edges *edges)
{
	json_key(j, name);
	json_array_open(j);
	for (int i = 0; i < edges->n; i++)
		json_int(j, edges->at[i]);
	json_array_close(j);
}

static void encode_config(const struct executor *base, struct json *j)
{
	static const char *const batching_names[] = {
		[BATCHING_NONE] = "none",
		[BATCHING_STATIC] = "static",
		[BATCHING_DYNAMIC] = "dynamic",
	};
	const struct encode *x = (const struct encode *)base;
	const struct batcher_options *b = &x->batching;
	json_put_string(j, "architecture", x->info.architecture);
	json_put_int(j, "parameters", x->info.n_params);
	json_put_int(j, "weight_bytes", x->info.weight_bytes);
	json_put_string(j, "weights", dtype_name(x->info.weights));
	json_put_string(j, "fuse", x->info.fuse ? "on" : "off");
	json_put_string(j, "pooling", x->info.pooling == ENCODER_POOL_CLS ? "cls" : "mean");
	json_put_string(j, "batching", batching_names[b->batching]);
	json_put_int(j, "max_batch", b->max_batch);
	json_put_int(j, "max_batch_tokens", b->max_tokens);
	json_put_int(j, "max_wait_us", b->max_wait_ns / NS_PER_US);
	put_edges(j, "lanes", &b->lanes);
	json_put_bool(j, "packed", x->options.packed);
	json_put_bool(j, "learn_buckets", b->learn_buckets);
	put_edges(j, "buckets", &b->buckets);
	if (x->info.check.n > 0) {
		json_put_double(j, "check_cosine_min", x->info.check.cosine_min);
		json_put_int(j, "check_wide_layers", x->info.check.n_wide);
	}
	json_put_string(j, "tokenize", x->options.tokenize_async ? "async" : "inline");
	json_put_int(
	        j, "tokenize_threads", x->options.tokenize_async ? x->options.tokenize_threads : 0);
	json_put_int(j, "deadline_us", x->options.deadline_ns / NS_PER_US);
}

static void lane_name(const struct batcher_edges *edges, int lane, char out[32])
{
	int from = lane > 0 ? edges->at[lane - 1] + 1 : 1;
	if (lane < edges->n)
		snprintf(out, 32, "%d-%d", from, edges->at[lane]);
	else
		snprintf(out, 32, "%d-", from);
}

static void print_lanes(void *ctx, const char *label, struct buf *out)
{
	static const struct {
		const char *name, *type, *help;
	} rows[] = {
		{ "venturi_serve_lane_waiting", "gauge", "Texts of a lane that wait now." },
		{ "venturi_serve_lane_waiting_tokens", "gauge", "Their tokens." },
		{ "venturi_serve_lane_batches_total", "counter", "Batches of a lane." },
		{ "venturi_serve_lane_items_total", "counter", "Texts of a lane computed." },
		{ "venturi_serve_lane_tokens_total", "counter", "Their tokens." },
		{ "venturi_serve_lane_padding_tokens_total", "counter", "Their padding." },
	};
	struct encode *x = ctx;
	struct batcher_lane_state states[BATCHER_LANES_MAX];
	int n_lanes = batcher_n_lanes(x->batcher);
	pthread_mutex_lock(&x->lock);
	for (int i = 0; i < n_lanes; i++)
		states[i] = batcher_lane(x->batcher, i);
	pthread_mutex_unlock(&x->lock);
	for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
		metrics_print_head(out, rows[r].name, rows[r].type, rows[r].help);
		for (int i = 0; i < n_lanes; i++) {
			const struct batcher_lane_state *s = &states[i];
			const uint64_t figures[] = { (uint64_t)s->waiting,
				(uint64_t)s->waiting_tokens, s->batches, s->items, s->tokens,
				s->padding };
			char name[32];
			lane_name(&x->batching.lanes, i, name);
			buf_printf(out, "%s{%s,lane=\"%s\"} %llu\n", rows[r].name, label, name,
			        (unsigned long long)figures[r]);
		}
	}
}

static void release_slots(struct encode *x)
{
	for (int i = 0; i < ENCODE_SLOTS; i++) {
		struct encode_slot *slot = &x->slots[i];
		free(slot->batch.items);
		free(slot->ids);
		free(slot->types);
		free(slot->lengths);
		free(slot->out);
	}
}

static void make_slots(struct encode *x)
{
	size_t n = (size_t)x->batching.max_batch;
	size_t dims = (size_t)(x->info.dim > x->info.n_labels ? x->info.dim : x->info.n_labels);
	for (int i = 0; i < ENCODE_SLOTS; i++) {
		x->slots[i] = (struct encode_slot){
			.batch.items = mem_zeroed(n, sizeof(struct batcher_item *)),
			.ids = mem_zeroed(n, sizeof(int32_t *)),
			.types = mem_zeroed(n, sizeof(int32_t *)),
			.lengths = mem_zeroed(n, sizeof(int)),
			.out = mem_zeroed(n * dims, sizeof(float)),
		};
		(void)!stage_try_push(&x->idle_slots, &x->slots[i]);
	}
}

static void make_rooms(struct encode *x)
{
	size_t n_ids = (size_t)x->longest;
	for (int i = 0; i < x->n_rooms; i++) {
		struct encode_room *room = mem_zeroed(1, sizeof(*room));
		room->encoding = encoding_new();
		room->ids = mem_zeroed(n_ids, sizeof(int32_t));
		room->types = mem_zeroed(n_ids, sizeof(int32_t));
		(void)!stage_try_push(&x->rooms, room);
	}
}

static void release_rooms(struct encode *x)
{
	void *work;
	while (stage_try_pop(&x->rooms, &work)) {
		struct encode_room *room = work;
		encoding_free(room->encoding);
		free(room->ids);
		free(room->types);
		free(room);
	}
	stage_release(&x->rooms);
}

static void release(struct encode *x)
{
	encoder_session_close(x->session);
	batcher_free(x->batcher);
	release_slots(x);
	release_rooms(x);
	stage_release(&x->idle_slots);
	stage_release(&x->finishing);
	stage_release(&x->tokenizing);
	pthread_cond_destroy(&x->room);
	pthread_cond_destroy(&x->work);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

/* From the first stage to the last: each gives what it has to the next before it ends. */
static void stop_threads(struct encode *x, bool computes, bool finishes)
{
	pthread_mutex_lock(&x->lock);
	x->closing = true;
	pthread_cond_broadcast(&x->work);
	pthread_cond_broadcast(&x->room);
	pthread_mutex_unlock(&x->lock);
	stage_close(&x->tokenizing);
	for (int i = 0; i < x->n_tokenizers; i++)
		pthread_join(x->tokenizers[i], NULL);
	if (computes)
		pthread_join(x->computer, NULL);
	stage_close(&x->finishing);
	if (finishes)
		pthread_join(x->finisher, NULL);
	encode_drop_waiting(x);
}

static void encode_close(struct executor *base)
{
	struct encode *x = (struct encode *)base;
	stop_threads(x, true, true);
	base->metrics->more = NULL;
	release(x);
}

static const struct executor_ops encode_ops = {
	.submit = encode_submit,
	.cancel = encode_cancel,
	.retry_after_s = encode_retry_after_s,
	.config = encode_config,
	.close = encode_close,
};

static void init_locks(struct encode *x)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&x->work, &attr);
	pthread_condattr_destroy(&attr);
	pthread_cond_init(&x->room, NULL);
	pthread_mutex_init(&x->lock, NULL);
}

static int start_threads(struct encode *x)
{
	bool async = x->options.tokenize_async && !x->faults->tokenize_repeat;
	int n = async ? x->options.tokenize_threads : 0;
	int failed = pthread_create(&x->finisher, NULL, encode_finisher_thread, x);
	if (failed)
		return failed;
	failed = pthread_create(&x->computer, NULL, encode_computer_thread, x);
	bool computes = !failed;
	while (!failed && x->n_tokenizers < n) {
		failed = pthread_create(
		        &x->tokenizers[x->n_tokenizers], NULL, encode_tokenizer_thread, x);
		x->n_tokenizers += !failed;
	}
	if (failed)
		stop_threads(x, computes, true);
	return failed;
}

/* Without the edges that no sequence goes beyond. */
static void clip_edges(struct batcher_edges *edges, int longest)
{
	while (edges->n > 0 && edges->at[edges->n - 1] >= longest)
		edges->n--;
}

/* The last bucket that there is use for ends where the model does. */
static void clip_buckets(struct batcher_edges *edges, int longest)
{
	int n_given = edges->n;
	clip_edges(edges, longest);
	if (edges->n < n_given)
		edges->at[edges->n++] = longest;
}

static void plan_batches(struct encode *x)
{
	struct batcher_options *b = &x->batching;
	int longest = x->longest;
	*b = *x->options.batching;
	b->padded = !x->options.packed || x->faults->pad_to;
	b->pad_least = x->faults->pad_to ? (int)x->faults->pad_to : b->pad_least;
	b->queue_max = b->queue_max ? b->queue_max : ENCODE_ITEMS_MAX;
	if (b->batching == BATCHING_NONE)
		b->max_batch = 1;
	clip_edges(&b->lanes, longest);
	clip_buckets(&b->buckets, longest);
	b->pad_most = longest;
	if (b->pad_least > longest)
		b->pad_least = longest;
	int64_t rows = b->max_tokens ? b->max_tokens : (int64_t)b->max_batch * longest;
	int64_t most = (int64_t)b->max_batch * longest;
	rows = rows < most ? rows : most;
	x->rows_max = (int)(rows > longest ? rows : longest);
	x->batcher = batcher_new(b);
}

static void describe(struct encode *x, struct metrics *metrics)
{
	x->base = (struct executor){
		.ops = &encode_ops,
		.model_name = x->info.name,
		.tasks = EXECUTOR_EMBEDS | (x->info.n_labels > 0 ? EXECUTOR_CLASSIFIES : 0),
		.labels = x->info.labels,
		.n_labels = x->info.n_labels,
		.n_dims = x->info.dim,
		.multi_label = x->info.multi_label,
		.n_ctx = x->longest,
		.wire = WIRE_DEFAULT,
		.metrics = metrics,
		.warming = true,
	};
	metrics->stages[STAGE_TOKENIZE].n_workers =
	        x->options.tokenize_async ? x->options.tokenize_threads : 0;
	metrics->stages[STAGE_COMPUTE].n_workers = 1;
	metrics->stages[STAGE_FINISH].n_workers = 1;
	metrics->more = print_lanes;
	metrics->more_ctx = x;
}

bool encode_open(const struct encoder *encoder, const struct encode_options *options,
        struct metrics *metrics, struct executor **ret_x, struct err *err)
{
	struct encode *x = mem_zeroed(1, sizeof(*x));
	x->options = *options;
	static const struct faults none;
	x->faults = options->faults ? options->faults : &none;
	x->encoder = encoder;
	x->info = encoder_info(encoder);
	x->longest = x->info.max_tokens;
	stage_init(&x->tokenizing, ENCODE_JOBS_MAX);
	stage_init(&x->finishing, ENCODE_SLOTS);
	stage_init(&x->idle_slots, ENCODE_SLOTS);
	x->n_rooms = options->tokenize_async ? options->tokenize_threads : ENCODE_ROOMS;
	stage_init(&x->rooms, (size_t)x->n_rooms);
	init_locks(x);
	plan_batches(x);
	make_slots(x);
	make_rooms(x);
	describe(x, metrics);
	if (!encoder_session_open(
	            encoder, options->pool, x->rows_max, options->profile, &x->session, err)) {
		metrics->more = NULL;
		release(x);
		return false;
	}
	int failed = start_threads(x);
	if (failed) {
		metrics->more = NULL;
		release(x);
		return err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(failed));
	}
	*ret_x = &x->base;
	return true;
}
