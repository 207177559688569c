#include "serve/job.h"

#include "base/clock.h"
#include "serve/stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SPARE_JOBS_MAX = 256,
	SPARE_BYTES_MAX = 256 * 1024, /* of each kind of memory that a job keeps */
	SPARE_TOKENS_MAX = 4096,
};

static const char *const id_prefixes[] = {
	[API_COMPLETIONS] = "cmpl",
	[API_CHAT] = "chatcmpl",
	[API_EMBEDDINGS] = "embd",
	[API_RERANK] = "rerank",
	[API_CLASSIFY] = "classify",
	[API_INFER] = "infer",
	[API_FORWARDED] = "forward",
};

static const char *const end_names[] = {
	[JOB_STOP] = "stop",
	[JOB_LENGTH] = "length",
	[JOB_CANCELLED] = "cancelled",
	[JOB_FAILED] = "failed",
	[JOB_CUT] = "cut",
	[JOB_REFUSED] = "refused",
};

/* Memory of ended jobs for the next ones, so that a steady service allocates nothing for them. */
static struct {
	pthread_mutex_t lock;
	struct job *first;
	size_t n;
} spare = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct job *take_spare(void)
{
	pthread_mutex_lock(&spare.lock);
	struct job *job = spare.first;
	if (job) {
		spare.first = job->next_spare;
		spare.n--;
	}
	pthread_mutex_unlock(&spare.lock);
	return job ? job : mem_zeroed(1, sizeof(*job));
}

static void job_free(struct job *job)
{
	buf_release(&job->body);
	buf_release(&job->text);
	free(job->token_ns);
	free(job->text_end);
	arena_release(&job->arena);
	free(job);
}

/* A request that was larger than most is no reason to hold so much for ever. */
static void keep_buf(struct buf *b)
{
	if (b->cap > SPARE_BYTES_MAX)
		buf_release(b);
	else if (b->s)
		buf_clear(b);
}

static void keep_spare(struct job *job)
{
	if (job->cap_tokens > SPARE_TOKENS_MAX) {
		job_free(job);
		return;
	}
	keep_buf(&job->body);
	keep_buf(&job->text);
	if (job->arena.total_bytes > SPARE_BYTES_MAX)
		arena_release(&job->arena);
	else
		arena_rewind(&job->arena);
	pthread_mutex_lock(&spare.lock);
	bool kept = spare.n < SPARE_JOBS_MAX;
	if (kept) {
		job->next_spare = spare.first;
		spare.first = job;
		spare.n++;
	}
	pthread_mutex_unlock(&spare.lock);
	if (!kept)
		job_free(job);
}

/* "embd-0000000000000017" */
static void name_job(struct job *job, uint64_t number)
{
	const char *prefix = id_prefixes[job->endpoint];
	size_t n = strlen(prefix);
	memcpy(job->id, prefix, n);
	job->id[n++] = '-';
	for (int shift = 60; shift >= 0; shift -= 4)
		job->id[n++] = "0123456789abcdef"[number >> shift & 15];
	job->id[n] = '\0';
}

struct job *job_new(enum api_endpoint endpoint, struct metrics *metrics)
{
	static atomic_ullong n_jobs;
	struct job *job = take_spare();
	*job = (struct job){
		.endpoint = endpoint,
		.metrics = metrics,
		.status = 200,
		.arena = job->arena,
		.body = job->body,
		.text = job->text,
		.token_ns = job->token_ns,
		.text_end = job->text_end,
		.cap_tokens = job->cap_tokens,
	};
	job->received_ns = clock_now_ns();
	job->created_s = clock_read_ns(CLOCK_REALTIME) / NS_PER_S;
	name_job(job, atomic_fetch_add(&n_jobs, 1) + 1);
	atomic_init(&job->n_refs, 1);
	pthread_mutex_init(&job->lock, NULL);
	return job;
}

void job_ref(struct job *job)
{
	atomic_fetch_add(&job->n_refs, 1);
}

void job_unref(struct job *job)
{
	if (atomic_fetch_sub(&job->n_refs, 1) != 1)
		return;
	if (job->release_executor_data)
		job->release_executor_data(job);
	pthread_mutex_destroy(&job->lock);
	keep_spare(job);
}

void job_queue(struct job *job)
{
	pthread_mutex_lock(&job->lock);
	bool queued = job->state == JOB_NEW;
	if (queued) {
		job->state = JOB_WAITING;
		metrics_add(job->metrics, METRIC_WAITING, 1);
	}
	pthread_mutex_unlock(&job->lock);
	if (!queued)
		return;
	metrics_add(job->metrics, METRIC_PROMPT_TOKENS, job->n_prompt);
}

void job_tokenized(struct job *job, int64_t n_prompt, int64_t now_ns)
{
	pthread_mutex_lock(&job->lock);
	job->n_prompt = n_prompt;
	job->queued_ns = now_ns;
	pthread_mutex_unlock(&job->lock);
}

void job_start(struct job *job, int64_t now_ns)
{
	pthread_mutex_lock(&job->lock);
	bool starts = job->state == JOB_WAITING;
	if (starts) {
		job->state = JOB_RUNNING;
		job->started_ns = now_ns;
	}
	pthread_mutex_unlock(&job->lock);
	if (!starts)
		return;
	metrics_add(job->metrics, METRIC_WAITING, -1);
	metrics_add(job->metrics, METRIC_RUNNING, 1);
	metrics_observe_ns(job->metrics, METRIC_QUEUE_TIME, now_ns - job->received_ns);
}

static void record_token_time(const struct job *job, int64_t now_ns)
{
	if (job->n_tokens == 0)
		metrics_observe_ns(job->metrics, METRIC_TTFT, now_ns - job->received_ns);
	else
		metrics_observe_ns(
		        job->metrics, METRIC_ITL, now_ns - job->token_ns[job->n_tokens - 1]);
	metrics_add(job->metrics, METRIC_GENERATION_TOKENS, 1);
}

static void push_token(struct job *job, size_t text_end, int64_t now_ns)
{
	if (job->n_tokens == job->cap_tokens) {
		job->cap_tokens = job->cap_tokens ? 2 * job->cap_tokens : 32;
		job->token_ns = mem_realloc(job->token_ns, job->cap_tokens * sizeof(int64_t));
		job->text_end = mem_realloc(job->text_end, job->cap_tokens * sizeof(size_t));
	}
	record_token_time(job, now_ns);
	job->token_ns[job->n_tokens] = now_ns;
	job->text_end[job->n_tokens] = text_end;
	job->n_tokens++;
}

/* Takes text in; true when it completed a stop sequence, from which on everything is dropped. */
static bool add_text(struct job *job, struct str text, size_t *ret_visible)
{
	const struct api_request *r = &job->request;
	size_t visible = job->n_tokens ? job->text_end[job->n_tokens - 1] : 0;
	buf_add(&job->text, text);
	size_t at;
	bool stopped = stop_find(buf_str(&job->text), visible, r->stops, r->n_stops, &at);
	if (stopped) {
		job->text.len = at;
		job->text.s[at] = '\0';
	}
	*ret_visible =
	        stopped ? at : job->text.len - stop_held(buf_str(&job->text), r->stops, r->n_stops);
	if (*ret_visible < visible)
		*ret_visible = visible;
	return stopped;
}

static void wake(struct job *job)
{
	if (job->wake)
		job->wake(job->wake_ctx);
}

static void end_locked(struct job *job, enum job_end end, int64_t now_ns)
{
	bool was_running = job->state == JOB_RUNNING;
	bool was_waiting = job->state == JOB_WAITING;
	job->state = JOB_ENDED;
	job->end = end;
	job->made_ns = now_ns;
	if (was_running || was_waiting)
		metrics_add(job->metrics, was_running ? METRIC_RUNNING : METRIC_WAITING, -1);
	metrics_count(job->metrics, METRIC_ENDED, job_end_name(end));
	if (end == JOB_STOP || end == JOB_LENGTH)
		metrics_observe_ns(job->metrics, METRIC_E2E, now_ns - job->received_ns);
	wake(job);
}

bool job_token(struct job *job, struct str text, int64_t now_ns)
{
	pthread_mutex_lock(&job->lock);
	bool wanted = job->state == JOB_RUNNING && !job->cancelled;
	if (wanted) {
		size_t visible;
		bool stopped = add_text(job, text, &visible);
		push_token(job, visible, now_ns);
		wanted = !stopped;
		if (stopped)
			end_locked(job, JOB_STOP, now_ns);
		else
			wake(job);
	}
	pthread_mutex_unlock(&job->lock);
	return wanted;
}

void job_end(
        struct job *job, enum job_end end, struct str text, const char *failure, int64_t now_ns)
{
	pthread_mutex_lock(&job->lock);
	if (job->state != JOB_ENDED) {
		size_t visible;
		if (add_text(job, text, &visible))
			end = JOB_STOP;
		if (failure)
			snprintf(job->failure, sizeof(job->failure), "%s", failure);
		end_locked(job, job->cancelled ? JOB_CANCELLED : end, now_ns);
	}
	pthread_mutex_unlock(&job->lock);
}

void job_refuse(struct job *job, const struct api_error *error, int64_t now_ns)
{
	pthread_mutex_lock(&job->lock);
	if (job->state != JOB_ENDED) {
		job->refusal = *error;
		end_locked(job, job->cancelled ? JOB_CANCELLED : JOB_REFUSED, now_ns);
	}
	pthread_mutex_unlock(&job->lock);
}

void job_set_due(struct job *job, int64_t due_ns)
{
	pthread_mutex_lock(&job->lock);
	if (job->state != JOB_ENDED)
		job->due_ns = due_ns;
	pthread_mutex_unlock(&job->lock);
}

void job_cancel(struct job *job)
{
	pthread_mutex_lock(&job->lock);
	job->cancelled = true;
	pthread_mutex_unlock(&job->lock);
}

bool job_is_cancelled(struct job *job)
{
	pthread_mutex_lock(&job->lock);
	bool cancelled = job->cancelled || job->state == JOB_ENDED;
	pthread_mutex_unlock(&job->lock);
	return cancelled;
}

const char *job_end_name(enum job_end end)
{
	return end_names[end];
}
