/*
 * The encoder's executor around an encoder that is made here: its embedding of a sequence is
 * [sum of the ids, number of tokens], its scores are [number of tokens]. It computes only while
 * the gate is open.
 */
#include "serve/executor.h"

#include "base/clock.h"
#include "engine/encoder.h"
#include "serve/batcher.h"
#include "serve/job.h"
#include "tap.h"

#include <pthread.h>
#include <stdatomic.h>

enum { N_VOCAB = 1000, N_POSITIONS = 32, DIM = 2, POISON = 666 };

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
static bool gate_open = true;
static int n_runs, n_computed, n_wrong; /* under the lock */

struct encoder {
	struct tokenizer *tokenizer;
};

struct encoder_info encoder_info(const struct encoder *e)
{
	(void)e;
	return (struct encoder_info){ .name = "fake",
		.architecture = "fake",
		.n_vocab = N_VOCAB,
		.n_positions = N_POSITIONS,
		.max_tokens = N_POSITIONS,
		.dim = DIM,
		.n_labels = 1 };
}

const struct tokenizer *encoder_tokenizer(const struct encoder *e)
{
	return e->tokenizer;
}

void encoder_drop_weights(struct encoder *e)
{
	(void)e;
}

bool encoder_load_weights(struct encoder *e, struct err *err)
{
	(void)e;
	(void)err;
	return true;
}

bool encoder_session_open(const struct encoder *e, struct pool *pool, int rows_max,
        struct profile *profile, struct encoder_session **ret_session, struct err *err)
{
	(void)e;
	(void)pool;
	(void)profile;
	(void)err;
	int *rows = malloc(sizeof(*rows));
	*rows = rows_max;
	*ret_session = (struct encoder_session *)rows;
	return true;
}

void encoder_session_close(struct encoder_session *s)
{
	free(s);
}

static void pass_gate(int n)
{
	pthread_mutex_lock(&gate_lock);
	n_runs++;
	pthread_cond_broadcast(&gate_changed);
	while (!gate_open)
		pthread_cond_wait(&gate_changed, &gate_lock);
	n_computed += n;
	pthread_mutex_unlock(&gate_lock);
}

static void set_gate(bool open)
{
	pthread_mutex_lock(&gate_lock);
	gate_open = open;
	n_runs = n_computed = 0;
	pthread_cond_broadcast(&gate_changed);
	pthread_mutex_unlock(&gate_lock);
}

static void wait_for_run(void)
{
	pthread_mutex_lock(&gate_lock);
	while (n_runs == 0)
		pthread_cond_wait(&gate_changed, &gate_lock);
	pthread_mutex_unlock(&gate_lock);
}

bool encoder_run(struct encoder_session *s, const struct encoder_batch *b,
        enum encoder_output output, float *out, struct err *err)
{
	int rows = 0;
	pass_gate(b->n);
	for (int i = 0; i < b->n; i++) {
		float sum = 0;
		rows += b->pad_to ? b->pad_to : b->lengths[i];
		n_wrong += b->pad_to && b->pad_to < b->lengths[i];
		for (int k = 0; k < b->lengths[i]; k++) {
			if (b->ids[i][k] == POISON)
				return err_set(err, ERR_SYSTEM, "no numbers");
			sum += (float)b->ids[i][k];
		}
		if (output == ENCODER_EMBEDDING)
			out[i * DIM] = sum;
		out[output == ENCODER_EMBEDDING ? i * DIM + 1 : i] = (float)b->lengths[i];
	}
	n_wrong += rows > *(int *)s;
	return true;
}

struct service {
	struct encoder encoder;
	struct batcher_options batching;
	struct encode_options options;
	struct metrics metrics;
	struct executor *x;
};

static struct service service_of(struct batcher_options batching, bool async)
{
	struct service s = { .batching = batching };
	s.batching.max_batch = s.batching.max_batch ? s.batching.max_batch : 8;
	s.options = (struct encode_options){
		.tokenize_async = async, .tokenize_threads = 2, .packed = true
	};
	return s;
}

static void start(struct service *s)
{
	struct err err;
	s->encoder.tokenizer = tokenizer_synthetic(N_VOCAB);
	s->options.batching = &s->batching;
	metrics_init(&s->metrics);
	n_wrong = 0;
	CHECK(encode_open(&s->encoder, &s->options, &s->metrics, &s->x, &err));
	s->metrics.model_name = s->x->model_name;
}

static void stop(struct service *s)
{
	s->x->ops->close(s->x);
	tokenizer_close(s->encoder.tokenizer);
	CHECK_INT(n_wrong, 0);
	CHECK_INT(metrics_get(&s->metrics, METRIC_WAITING), 0);
	CHECK_INT(metrics_get(&s->metrics, METRIC_RUNNING), 0);
}

/* A job of n_inputs sequences, each of length ids from first on. */
static struct job *job_of(struct service *s, int n_inputs, int length, int first)
{
	struct job *job = job_new(API_EMBEDDINGS, &s->metrics);
	struct api_input *inputs = arena_new_n(&job->arena, struct api_input, (size_t)n_inputs);
	for (int i = 0; i < n_inputs; i++) {
		int32_t *ids = arena_new_n(&job->arena, int32_t, (size_t)length);
		for (int k = 0; k < length; k++)
			ids[k] = first + i;
		inputs[i].ids = ids;
		inputs[i].n_ids = (size_t)length;
	}
	job->request = (struct api_request){
		.endpoint = API_EMBEDDINGS, .inputs = inputs, .n_inputs = (size_t)n_inputs
	};
	return job;
}

static bool submit(struct service *s, struct job *job)
{
	struct api_error error;
	return s->x->ops->submit(s->x, job, &error);
}

static enum job_end end_of(struct job *job)
{
	for (;;) {
		pthread_mutex_lock(&job->lock);
		bool ended = job->state == JOB_ENDED;
		enum job_end end = job->end;
		pthread_mutex_unlock(&job->lock);
		if (ended)
			return end;
		clock_sleep_until(clock_now_ns() + NS_PER_MS / 5);
	}
}

static void check_vectors(const struct job *job, int length, int first)
{
	for (size_t i = 0; i < job->request.n_inputs; i++) {
		CHECK_NEAR(job->vectors[i * DIM], (double)length * (first + (int)i), 0);
		CHECK_NEAR(job->vectors[i * DIM + 1], length, 0);
	}
}

static void check_answers(struct service *s)
{
	enum { N = 60 };
	struct job *jobs[N];
	start(s);
	for (int i = 0; i < N; i++) {
		jobs[i] = job_of(s, 1 + i % 5, 1 + (i * 7) % N_POSITIONS, 10 + i);
		CHECK(submit(s, jobs[i]));
	}
	for (int i = 0; i < N; i++) {
		CHECK_INT(end_of(jobs[i]), JOB_STOP);
		check_vectors(jobs[i], 1 + (i * 7) % N_POSITIONS, 10 + i);
		CHECK_INT(jobs[i]->n_prompt, (1 + i % 5) * (1 + (i * 7) % N_POSITIONS));
		job_unref(jobs[i]);
	}
	CHECK_INT(metrics_get(&s->metrics, METRIC_BATCHED_ITEMS), N * 3);
	stop(s);
}

static void every_input_gets_its_own_answer_in_every_mode(void)
{
	for (int mode = 0; mode < 12; mode++) {
		struct service s =
		        service_of((struct batcher_options){ .batching = (enum batching)(mode % 3),
		                           .max_tokens = mode % 2 ? 40 : 0,
		                           .max_wait_ns = NS_PER_MS,
		                           .learn_buckets = mode > 8,
		                           .lanes = { .n = mode % 4 ? 2 : 0, .at = { 8, 16 } } },
		                mode % 2);
		s.options.packed = mode < 6;
		check_answers(&s);
	}
}

static void what_is_wrong_is_refused_before_or_after_submit(void)
{
	for (int async = 0; async < 2; async++) {
		struct service s = service_of((struct batcher_options){ 0 }, async);
		start(&s);
		struct job *jobs[] = { job_of(&s, 2, N_POSITIONS + 1, 5), job_of(&s, 1, 3, N_VOCAB),
			job_of(&s, 1, 0, 1) };
		for (size_t i = 0; i < 3; i++) {
			struct api_error error = { 0 };
			if (s.x->ops->submit(s.x, jobs[i], &error)) {
				CHECK(async);
				CHECK_INT(end_of(jobs[i]), JOB_REFUSED);
				error = jobs[i]->refusal;
			} else {
				job_refuse(jobs[i], &error, clock_now_ns());
			}
			CHECK_INT(error.status, 400);
			job_unref(jobs[i]);
		}
		struct job *cut = job_of(&s, 1, N_POSITIONS + 9, 5);
		cut->request.truncate_tokens = API_TRUNCATE_TO_MODEL;
		CHECK(submit(&s, cut));
		CHECK_INT(end_of(cut), JOB_STOP);
		CHECK_NEAR(cut->vectors[1], N_POSITIONS, 0);
		job_unref(cut);
		stop(&s);
	}
}

static void texts_and_pairs_are_framed(void)
{
	struct service s = service_of((struct batcher_options){ 0 }, true);
	start(&s);
	struct job *job = job_new(API_EMBEDDINGS, &s.metrics);
	struct api_input inputs[] = {
		{ .text = STR("one two three") },
		{ .text = STR("one two"), .pair = STR("three"), .has_pair = true },
	};
	job->request =
	        (struct api_request){ .endpoint = API_EMBEDDINGS, .inputs = inputs, .n_inputs = 2 };
	CHECK(submit(&s, job));
	CHECK_INT(end_of(job), JOB_STOP);
	CHECK_NEAR(job->vectors[1], 5, 0);
	CHECK_NEAR(job->vectors[DIM + 1], 6, 0);
	job_unref(job);
	stop(&s);
}

static void scores_and_embeddings_may_share_a_batch(void)
{
	struct service s = service_of(
	        (struct batcher_options){
	                .batching = BATCHING_STATIC, .max_batch = 4, .max_wait_ns = 10 * NS_PER_S },
	        false);
	struct job *jobs[4];
	start(&s);
	for (int i = 0; i < 4; i++) {
		jobs[i] = job_of(&s, 1, 3 + i, 7);
		jobs[i]->request.scores = i % 2;
		CHECK(submit(&s, jobs[i]));
	}
	for (int i = 0; i < 4; i++) {
		CHECK_INT(end_of(jobs[i]), JOB_STOP);
		CHECK_INT(jobs[i]->n_dims, i % 2 ? 1 : 2);
		CHECK_NEAR(jobs[i]->vectors[i % 2 ? 0 : 1], 3 + i, 0);
		job_unref(jobs[i]);
	}
	CHECK_INT(metrics_get(&s.metrics, METRIC_BATCHES), 1);
	stop(&s);
}

static void who_fails_fails_alone(void)
{
	struct service s = service_of(
	        (struct batcher_options){
	                .batching = BATCHING_STATIC, .max_batch = 3, .max_wait_ns = 10 * NS_PER_S },
	        false);
	struct job *jobs[3];
	start(&s);
	for (int i = 0; i < 3; i++) {
		jobs[i] = job_of(&s, 1, 3, i == 1 ? POISON : 5);
		CHECK(submit(&s, jobs[i]));
	}
	for (int i = 0; i < 3; i++) {
		CHECK_INT(end_of(jobs[i]), i == 1 ? JOB_FAILED : JOB_STOP);
		if (i != 1)
			check_vectors(jobs[i], 3, 5);
	}
	CHECK_STR(jobs[1]->failure, "no numbers");
	for (int i = 0; i < 3; i++)
		job_unref(jobs[i]);
	stop(&s);
}

/* As the HTTP side does it. */
static void leave(struct service *s, struct job *job)
{
	job_end(job, JOB_CANCELLED, (struct str){ 0 }, NULL, clock_now_ns());
	job_cancel(job);
	s->x->ops->cancel(s->x, job);
	job_unref(job);
}

static void who_leaves_is_not_computed(void)
{
	for (int async = 0; async < 2; async++) {
		struct service s =
		        service_of((struct batcher_options){ .batching = BATCHING_NONE }, async);
		start(&s);
		set_gate(false);
		struct job *first = job_of(&s, 1, 3, 1), *left = job_of(&s, 4, 3, 1),
		           *last = job_of(&s, 2, 3, 9);
		CHECK(submit(&s, first));
		wait_for_run();
		CHECK(submit(&s, left));
		CHECK(submit(&s, last));
		leave(&s, left);
		set_gate(true);
		CHECK_INT(end_of(last), JOB_STOP);
		check_vectors(last, 3, 9);
		CHECK_INT(end_of(first), JOB_STOP);
		CHECK_INT(n_computed, 3);
		job_unref(first);
		job_unref(last);
		stop(&s);
	}
}

static void a_full_service_refuses_and_never_blocks(void)
{
	for (int async = 0; async < 2; async++) {
		struct service s = service_of(
		        (struct batcher_options){ .batching = BATCHING_NONE, .queue_max = 10 },
		        async);
		static struct job *jobs[2000];
		struct api_error error = { 0 };
		int n = 0;
		start(&s);
		set_gate(false);
		for (; n < 2000; n++) {
			jobs[n] = job_of(&s, 1, 3, 1);
			if (!s.x->ops->submit(s.x, jobs[n], &error))
				break;
		}
		CHECK(n < 2000);
		CHECK_INT(error.status, 429);
		CHECK(error.retry_after_s >= 1);
		job_refuse(jobs[n], &error, clock_now_ns());
		set_gate(true);
		for (int i = 0; i < n; i++)
			CHECK_INT(end_of(jobs[i]), JOB_STOP);
		for (int i = 0; i <= n; i++)
			job_unref(jobs[i]);
		stop(&s);
	}
}

static void who_would_be_late_is_refused(void)
{
	struct service s = service_of((struct batcher_options){ .batching = BATCHING_NONE }, false);
	s.options.deadline_ns = 20 * NS_PER_MS;
	start(&s);
	set_gate(false);
	struct job *first = job_of(&s, 1, 3, 1), *late = job_of(&s, 1, 3, 1);
	CHECK(submit(&s, first));
	wait_for_run();
	CHECK(submit(&s, late)); /* nothing is known about how long it takes */
	clock_sleep_until(clock_now_ns() + 40 * NS_PER_MS);
	set_gate(true);
	CHECK_INT(end_of(first), JOB_STOP);
	CHECK_INT(end_of(late), JOB_REFUSED);
	CHECK_INT(late->refusal.status, 429);
	/* Now it is: 3 tokens took 40 ms. */
	struct job *refused = job_of(&s, 1, 30, 1);
	struct api_error error = { 0 };
	CHECK(!s.x->ops->submit(s.x, refused, &error));
	CHECK_INT(error.status, 429);
	job_refuse(refused, &error, clock_now_ns());
	job_unref(first);
	job_unref(late);
	job_unref(refused);
	stop(&s);
}

static void it_is_not_ready_before_it_is_warm(void)
{
	struct service s = service_of((struct batcher_options){ .max_batch = 4 }, true);
	s.options.warmup = 1;
	set_gate(false);
	start(&s);
	wait_for_run();
	CHECK(atomic_load(&s.x->warming));
	struct job *job = job_of(&s, 1, 3, 1);
	CHECK(submit(&s, job));
	set_gate(true);
	CHECK_INT(end_of(job), JOB_STOP);
	CHECK(!atomic_load(&s.x->warming));
	job_unref(job);
	stop(&s);
}

static void closing_ends_whatever_waits(void)
{
	for (int async = 0; async < 2; async++) {
		struct service s = service_of((struct batcher_options){ .batching = BATCHING_STATIC,
		                                      .max_batch = 8,
		                                      .queue_max = 5,
		                                      .max_wait_ns = 100 * NS_PER_S },
		        async);
		struct job *jobs[8];
		start(&s);
		int n = async ? 8 : 5;
		for (int i = 0; i < n; i++) {
			jobs[i] = job_of(&s, 1, 3, 1);
			CHECK(submit(&s, jobs[i]));
		}
		stop(&s);
		for (int i = 0; i < n; i++) {
			CHECK(end_of(jobs[i]) != JOB_STOP);
			job_unref(jobs[i]);
		}
	}
}

int main(void)
{
	TAP_RUN(every_input_gets_its_own_answer_in_every_mode);
	TAP_RUN(what_is_wrong_is_refused_before_or_after_submit);
	TAP_RUN(texts_and_pairs_are_framed);
	TAP_RUN(scores_and_embeddings_may_share_a_batch);
	TAP_RUN(who_fails_fails_alone);
	TAP_RUN(who_leaves_is_not_computed);
	TAP_RUN(a_full_service_refuses_and_never_blocks);
	TAP_RUN(who_would_be_late_is_refused);
	TAP_RUN(it_is_not_ready_before_it_is_warm);
	TAP_RUN(closing_ends_whatever_waits);
	return tap_done();
}
