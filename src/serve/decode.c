/*
 * The executor that computes: one thread takes requests in order of arrival and decodes each to
 * its end before the next.
 */
#include "serve/executor.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "engine/model.h"
#include "engine/sampler.h"
#include "serve/fault_work.h"
#include "serve/job.h"
#include "text/json.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	COMPLETION_TOKENS_DEFAULT = 16, /* as OpenAI has it; a chat goes on to its end */
	PREFILL_CHUNK =
	        64, /* prompt tokens between two looks at whether the client is still there */
};

struct decoder {
	struct executor base;
	struct model *model;
	struct sequence *sequence; /* the thread's */
	struct profile *profile;   /* NULL: not wanted */
	struct fault_work *work;   /* NULL: none */
	size_t piece_bytes_max;    /* of any token */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	struct decode_job *first, *last;
	bool closing;
};

/* A job in the queue; lives in the job's arena. */
struct decode_job {
	struct job *job;
	struct decode_job *next;
	const int32_t *ids;
	int n_ids;
	int n_output_max;
	uint64_t seed;
};

static bool next_job(struct decoder *x, struct decode_job **ret_job)
{
	pthread_mutex_lock(&x->lock);
	while (!x->first && !x->closing)
		pthread_cond_wait(&x->changed, &x->lock);
	struct decode_job *dj = x->first;
	if (dj) {
		x->first = dj->next;
		x->last = x->first ? x->last : NULL;
	}
	pthread_mutex_unlock(&x->lock);
	*ret_job = dj;
	return dj != NULL;
}

/* False: failed, or nobody waits any more (then err is untouched). */
static bool prefill(
        struct decoder *x, const struct decode_job *dj, const float **ret_logits, struct err *err)
{
	for (int i = 0; i < dj->n_ids; i += PREFILL_CHUNK) {
		int n = dj->n_ids - i < PREFILL_CHUNK ? dj->n_ids - i : PREFILL_CHUNK;
		fault_work_pause(x->work);
		int64_t start = profile_start(x->profile);
		if (job_is_cancelled(dj->job) ||
		        !sequence_eval(x->sequence, dj->ids + i, n, ret_logits, err))
			return false;
		profile_step(x->profile, "prefill", n, start);
		metrics_observe(x->base.metrics, METRIC_BATCH_SIZE, 1);
	}
	return true;
}

static void deliver(struct decode_job *dj, enum job_end end, struct detokenizer *detokenizer,
        const char *failure)
{
	AUTO(auto_buf) struct buf rest = { 0 };
	detokenizer_end(detokenizer, &rest);
	job_end(dj->job, end, buf_str(&rest), failure, clock_now_ns());
}

/* Tokens until there is a reason to end, which is returned; JOB_FAILED fills err. */
static enum job_end generate(struct decoder *x, struct decode_job *dj, const float *logits,
        struct sampler *sampler, struct detokenizer *detokenizer, struct err *err)
{
	const struct tokenizer *tokenizer = model_tokenizer(x->model);
	size_t n_vocab = (size_t)model_info(x->model).n_vocab;
	AUTO(auto_buf) struct buf text = { 0 };
	for (int i = 1;; i++) {
		int32_t id = sampler_pick(sampler, logits, n_vocab);
		if (tokenizer_is_end(tokenizer, id) && !dj->job->request.ignore_eos)
			return JOB_STOP;
		buf_clear(&text);
		detokenizer_add(detokenizer, id, &text);
		if (!job_token(dj->job, buf_str(&text), clock_now_ns()))
			return JOB_CANCELLED;
		if (i == dj->n_output_max)
			return JOB_LENGTH;
		fault_work_pause(x->work);
		int64_t start = profile_start(x->profile);
		if (!sequence_eval(x->sequence, &id, 1, &logits, err))
			return JOB_FAILED;
		profile_step(x->profile, "decode", 1, start);
		metrics_observe(x->base.metrics, METRIC_BATCH_SIZE, 1);
	}
}

static void serve_one(struct decoder *x, struct decode_job *dj)
{
	const struct api_request *r = &dj->job->request;
	struct sampler sampler;
	struct detokenizer detokenizer;
	const float *logits = NULL;
	struct err err = { .kind = 0 };
	sampler_init(&sampler, r->temperature, r->top_p, dj->seed);
	bool at_start = !r->inputs[0].ids && r->inputs[0].text.len == 0;
	detokenizer_init(&detokenizer, model_tokenizer(x->model), at_start);
	sequence_reset(x->sequence);
	job_start(dj->job, clock_now_ns());
	enum job_end end = JOB_CANCELLED;
	if (prefill(x, dj, &logits, &err))
		end = generate(x, dj, logits, &sampler, &detokenizer, &err);
	else if (err.kind)
		end = JOB_FAILED;
	deliver(dj, end, &detokenizer, end == JOB_FAILED ? err.text : NULL);
	sampler_release(&sampler);
}

static void *run_thread(void *arg)
{
	struct decoder *x = arg;
	struct decode_job *dj;
	while (next_job(x, &dj)) {
		if (!job_is_cancelled(dj->job))
			serve_one(x, dj);
		job_end(dj->job, JOB_CANCELLED, (struct str){ 0 }, NULL, clock_now_ns());
		job_unref(dj->job);
	}
	return NULL;
}

static bool check_ids(const struct decoder *x, const struct api_input *in, struct api_error *error)
{
	int n_vocab = model_info(x->model).n_vocab;
	for (size_t i = 0; i < in->n_ids; i++)
		if (in->ids[i] >= n_vocab)
			return api_error_set(error, 400, NULL,
			        _("the token id %d is not below %d, the size of the vocabulary"),
			        in->ids[i], n_vocab);
	return true;
}

/*
 * The prompt as ids in the job's arena. A text so long that it cannot fit whatever its tokens are
 * is refused before the work of taking it apart.
 */
static bool tokenize(
        const struct decoder *x, struct job *job, struct decode_job *dj, struct api_error *error)
{
	const struct api_input *in = &job->request.inputs[0];
	int64_t n_least = (int64_t)(in->text.len / x->piece_bytes_max);
	int64_t max_tokens = job->request.max_tokens;
	if (in->ids) {
		job->n_prompt = (int64_t)in->n_ids;
		dj->ids = in->ids;
		dj->n_ids = (int)in->n_ids;
		return executor_check_length(&x->base, job->n_prompt, max_tokens, error) &&
		       check_ids(x, in, error);
	}
	job->n_prompt = n_least;
	if (!executor_check_length(&x->base, n_least, max_tokens, error))
		return false;
	AUTO(auto_free) int32_t *ids = NULL;
	size_t n;
	tokenizer_encode(model_tokenizer(x->model), in->text, TOKENIZER_FRAME, &ids, &n);
	job->n_prompt = (int64_t)n;
	if (!executor_check_length(&x->base, job->n_prompt, max_tokens, error))
		return false;
	if (n == 0)
		return api_error_set(error, 400, NULL, "%s", _("the prompt is empty"));
	int32_t *kept = arena_new_n(&job->arena, int32_t, n);
	memcpy(kept, ids, n * sizeof(*ids));
	dj->ids = kept;
	dj->n_ids = (int)n;
	return true;
}

static int64_t output_max(const struct decoder *x, const struct job *job)
{
	int64_t room = x->base.n_ctx - job->n_prompt;
	int64_t wanted = job->request.max_tokens;
	if (wanted == 0)
		wanted = job->endpoint == API_COMPLETIONS ? COMPLETION_TOKENS_DEFAULT : room;
	return wanted < room ? wanted : room;
}

static bool decode_submit(struct executor *base, struct job *job, struct api_error *error)
{
	struct decoder *x = (struct decoder *)base;
	struct decode_job *dj = arena_new(&job->arena, struct decode_job);
	if (!tokenize(x, job, dj, error))
		return false;
	dj->job = job;
	dj->n_output_max = (int)output_max(x, job);
	dj->seed = job->request.has_seed ? (uint64_t)job->request.seed : (uint64_t)job->received_ns;
	job_ref(job);
	job_queue(job);
	pthread_mutex_lock(&x->lock);
	*(x->last ? &x->last->next : &x->first) = dj;
	x->last = dj;
	pthread_cond_signal(&x->changed);
	pthread_mutex_unlock(&x->lock);
	return true;
}

/* The thread looks at the job itself, before every step. */
static void decode_cancel(struct executor *x, struct job *job)
{
	(void)x;
	(void)job;
}

static void decode_config(const struct executor *base, struct json *j)
{
	const struct decoder *x = (const struct decoder *)base;
	struct model_info info = model_info(x->model);
	json_put_string(j, "architecture", info.architecture);
	json_put_int(j, "parameters", info.n_params);
	json_put_int(j, "weight_bytes", info.weight_bytes);
	json_put_int(j, "slots", 1);
	json_put_string(j, "batching", "none");
}

static void release(struct decoder *x)
{
	sequence_close(x->sequence);
	model_close(x->model);
	pthread_cond_destroy(&x->changed);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

static void decode_close(struct executor *base)
{
	struct decoder *x = (struct decoder *)base;
	pthread_mutex_lock(&x->lock);
	x->closing = true;
	pthread_cond_signal(&x->changed);
	pthread_mutex_unlock(&x->lock);
	pthread_join(x->thread, NULL);
	release(x);
}

static const struct executor_ops decode_ops = {
	.submit = decode_submit,
	.cancel = decode_cancel,
	.config = decode_config,
	.close = decode_close,
};

static size_t longest_piece(const struct tokenizer *t)
{
	size_t longest = 1;
	for (int32_t id = 0; id < tokenizer_size(t); id++) {
		size_t len = tokenizer_piece(t, id).len;
		longest = len > longest ? len : longest;
	}
	return longest;
}

bool decode_open(const char *path, struct fault_work *work, struct profile *profile,
        struct metrics *metrics, struct executor **ret_x, struct err *err)
{
	struct decoder *x = mem_realloc(NULL, sizeof(*x));
	*x = (struct decoder){ .base.ops = &decode_ops };
	pthread_mutex_init(&x->lock, NULL);
	pthread_cond_init(&x->changed, NULL);
	if (!model_open(path, &x->model, err) || !sequence_open(x->model, &x->sequence, err)) {
		release(x);
		return false;
	}
	x->profile = profile;
	x->work = work;
	sequence_profile(x->sequence, profile);
	struct model_info info = model_info(x->model);
	x->base.tasks = EXECUTOR_GENERATES;
	x->base.model_name = info.name;
	x->base.n_ctx = info.n_ctx;
	x->base.wire = WIRE_DEFAULT;
	x->base.metrics = metrics;
	x->piece_bytes_max = longest_piece(model_tokenizer(x->model));
	int failed = pthread_create(&x->thread, NULL, run_thread, x);
	if (failed) {
		release(x);
		return err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(failed));
	}
	*ret_x = &x->base;
	return true;
}
