/*
 * The executor that only pretends: one thread that sleeps until the schedule (sim_schedule.h) has
 * something due and delivers it. Whatever a request draws at random depends on the seed and on
 * how many came before it, not on timing.
 */
#include "serve/executor.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "serve/fault_work.h"
#include "serve/job.h"
#include "serve/sim_config.h"
#include "serve/sim_schedule.h"
#include "text/json.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CALIBRATIONS = 15 };

/* Another hash of the second text of a pair than of a first one. */
#define PAIR_FACTOR UINT64_C(0x9e3779b97f4a7c15)

#define CALIBRATION_SLEEP_NS (300 * NS_PER_US)
#define LEAD_STEP_NS (NS_PER_US / 4)
#define LEAD_MAX_NS (200 * NS_PER_US)
#define SLEEP_LEAST_NS (1 * NS_PER_US)

struct simulator {
	struct executor base;
	struct arena run;
	struct sim_config config;
	struct fault_work *work;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	struct sim_schedule schedule;
	uint64_t n_submitted;
	int64_t lead_ns; /* how much earlier than wanted a sleep is to end */
	bool closing;
};

/* What a request was given; lives in the job's arena. */
struct sim_job {
	struct sim_seq seq;
	struct job *job;
	enum job_end end;
	const char *failure;
};

/* Where a share of the requests ends otherwise than it should. */
struct draw {
	double service_ms;
	int64_t n_output;
	enum { DRAW_GOOD, DRAW_CUT, DRAW_ERROR_EVENT, DRAW_EMPTY, DRAW_REFUSE } fate;
};

static const char *const words[] = { " the", " river", " narrows", " here", " and", " runs",
	" faster", " until", " it", " widens", " again", " below", " quiet", " stones", " under",
	" light" };

static struct draw draw(const struct sim_config *c, uint64_t ordinal)
{
	struct draw d = { 0 };
	struct rng rng;
	rng_init(&rng, (uint64_t)c->seed * UINT64_C(0x9e3779b97f4a7c15) + ordinal);
	if (c->has_service)
		d.service_ms = fmin(dist_sample(&c->service_ms, &rng), SIM_MS_MAX);
	d.n_output = llround(fmin(fmax(dist_sample(&c->output_tokens, &rng), 1), 1e9));

	const double ratios[] = { c->cut.ratio, c->error_event.ratio, c->empty.ratio,
		c->refuse.ratio };
	double u = rng_uniform(&rng);
	for (size_t i = 0; i < ARRAY_LEN(ratios) && d.fate == DRAW_GOOD; i++) {
		if (u < ratios[i])
			d.fate = DRAW_CUT + (unsigned)i;
		u -= ratios[i];
	}
	return d;
}

/* A token is a run of ASCII between blanks, or one character beyond ASCII. */
static int64_t count_tokens(struct str text)
{
	int64_t n = 0;
	bool in_word = false;
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.s[i];
		bool begins_other = c >= 0xc0;
		bool word = c > ' ' && c < 0x80;
		n += begins_other || (word && !in_word);
		in_word = word;
	}
	return n;
}

static int64_t count_prompt(const struct api_request *r)
{
	int64_t n = 0;
	for (size_t i = 0; i < r->n_inputs; i++) {
		const struct api_input *in = &r->inputs[i];
		n += in->ids ? (int64_t)in->n_ids : count_tokens(in->text) + count_tokens(in->pair);
	}
	return n;
}

static uint64_t hash_bytes(const void *bytes, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
	return h;
}

static uint64_t hash_input(const struct api_input *in)
{
	if (in->ids)
		return hash_bytes(in->ids, in->n_ids * sizeof(*in->ids));
	uint64_t h = hash_bytes(in->text.s, in->text.len);
	return in->has_pair ? h ^ hash_bytes(in->pair.s, in->pair.len) * PAIR_FACTOR : h;
}

/* Unit vectors, or normal scores of the classes, that depend on nothing but the input. */
static void fill_vectors(struct job *job, const struct sim_config *c)
{
	const struct api_request *r = &job->request;
	size_t n_dims = (size_t)(r->scores ? c->n_labels : c->n_dims);
	float *vectors = arena_new_n(&job->arena, float, r->n_inputs *n_dims);
	for (size_t i = 0; i < r->n_inputs; i++) {
		float *v = vectors + i * n_dims;
		double squares = 0;
		struct rng rng;
		rng_init(&rng, hash_input(&r->inputs[i]));
		for (size_t k = 0; k < n_dims; k++) {
			v[k] = (float)rng_normal(&rng);
			squares += (double)v[k] * v[k];
		}
		for (size_t k = 0; !r->scores && k < n_dims; k++)
			v[k] = (float)(v[k] / sqrt(squares));
	}
	job->vectors = vectors;
	job->n_dims = (int)n_dims;
}

static bool generates(const struct job *job)
{
	return job->endpoint == API_COMPLETIONS || job->endpoint == API_CHAT;
}

static void on_event(void *ctx, enum sim_event event, struct sim_seq *seq, int64_t at_ns)
{
	(void)ctx;
	struct sim_job *sj = seq->owner;
	switch (event) {
	case SIM_STARTED:
		job_start(sj->job, clock_now_ns());
		break;
	case SIM_TOKEN: {
		const char *word = words[(size_t)(seq->n_made - 1) % ARRAY_LEN(words)];
		if (!job_token(sj->job, str_of(word), clock_now_ns()))
			seq->cancelled = true;
		break;
	}
	case SIM_ENDED:
		job_set_due(sj->job, at_ns);
		job_end(sj->job, sj->end, (struct str){ 0 }, sj->failure, clock_now_ns());
		job_unref(sj->job);
		break;
	}
}

static void on_step(void *ctx, int64_t n)
{
	struct simulator *x = ctx;
	metrics_observe(x->base.metrics, METRIC_BATCH_SIZE, n);
}

/* Follows the median of how late sleeps end on this machine. */
static void learn_lateness(struct simulator *x, int64_t late_ns)
{
	int64_t step = late_ns > x->lead_ns ? LEAD_STEP_NS : -LEAD_STEP_NS;
	x->lead_ns += step;
	if (x->lead_ns < 0)
		x->lead_ns = 0;
	if (x->lead_ns > LEAD_MAX_NS)
		x->lead_ns = LEAD_MAX_NS;
}

static void calibrate_sleep(struct simulator *x)
{
	int64_t late[CALIBRATIONS];
	for (size_t i = 0; i < CALIBRATIONS; i++) {
		int64_t until = clock_now_ns() + CALIBRATION_SLEEP_NS;
		clock_sleep_until(until);
		late[i] = clock_now_ns() - until;
		for (size_t k = i; k > 0 && late[k] < late[k - 1]; k--) {
			int64_t swapped = late[k];
			late[k] = late[k - 1];
			late[k - 1] = swapped;
		}
	}
	x->lead_ns = late[CALIBRATIONS / 2];
	learn_lateness(x, x->lead_ns);
}

/*
 * Sleeps under the lock until due_ns or until something changes. Sleeps end late by about the same
 * each time (a virtual machine's halted core: 75 us), so they are begun for that much less.
 */
static void sleep_until(struct simulator *x, int64_t now_ns, int64_t due_ns)
{
	int64_t aim = due_ns - x->lead_ns;
	if (aim < now_ns + SLEEP_LEAST_NS)
		aim = now_ns + SLEEP_LEAST_NS;
	struct timespec until = clock_to_timespec(aim);
	bool timed_out = pthread_cond_timedwait(&x->changed, &x->lock, &until) == ETIMEDOUT;
	if (timed_out && aim - now_ns >= CALIBRATION_SLEEP_NS)
		learn_lateness(x, clock_now_ns() - aim);
}

/* Where the thread stops when all do. */
static void pass_seam(struct simulator *x)
{
	if (!x->work)
		return;
	pthread_mutex_unlock(&x->lock);
	fault_work_pause(x->work);
	pthread_mutex_lock(&x->lock);
}

static void *run_thread(void *arg)
{
	struct simulator *x = arg;
	pthread_mutex_lock(&x->lock);
	while (!x->closing) {
		pass_seam(x);
		int64_t due = sim_schedule_due_ns(&x->schedule);
		int64_t now = clock_now_ns();
		if (due == INT64_MAX)
			pthread_cond_wait(&x->changed, &x->lock);
		else if (due - now <= x->lead_ns / 2) /* nearer than after another sleep */
			sim_schedule_run(&x->schedule, due > now ? due : now);
		else
			sleep_until(x, now, due);
	}
	pthread_mutex_unlock(&x->lock);
	return NULL;
}

static void apply_fate(const struct sim_config *c, const struct draw *d, struct sim_job *sj)
{
	struct sim_seq *seq = &sj->seq;
	const struct sim_fault *fault = d->fate == DRAW_CUT ? &c->cut : &c->error_event;
	if (d->fate == DRAW_EMPTY)
		seq->n_output = seq->n_made_max = 0;
	if (d->fate != DRAW_CUT && d->fate != DRAW_ERROR_EVENT)
		return;
	sj->end = d->fate == DRAW_CUT ? JOB_CUT : JOB_FAILED;
	sj->failure = d->fate == DRAW_CUT ? NULL : _("the answer could not be completed");
	if (fault->after_tokens < seq->n_made_max)
		seq->n_made_max = fault->after_tokens;
}

static void plan(
        const struct simulator *x, const struct draw *d, uint64_t ordinal, struct sim_job *sj)
{
	const struct sim_config *c = &x->config;
	const struct api_request *r = &sj->job->request;
	int64_t room = x->base.n_ctx - sj->job->n_prompt;
	int64_t n_output = r->max_tokens ? r->max_tokens : d->n_output;
	if (!generates(sj->job))
		n_output = 0;
	else if (n_output > room)
		n_output = room;
	sj->seq = (struct sim_seq){
		.arrival_ns = sj->job->received_ns,
		.n_prompt = sj->job->n_prompt,
		.n_output = n_output,
		.n_made_max = n_output,
		.service_ms = d->service_ms,
		.extra_ms = ordinal <= (uint64_t)c->cold_requests ? c->cold_extra_ms : 0,
		.owner = sj,
	};
	sj->end = r->max_tokens || n_output < d->n_output ? JOB_LENGTH : JOB_STOP;
	if (!generates(sj->job))
		sj->end = JOB_STOP;
	apply_fate(c, d, sj);
}

static bool simulate_submit(struct executor *base, struct job *job, struct api_error *error)
{
	struct simulator *x = (struct simulator *)base;
	const struct api_request *r = &job->request;
	job->n_prompt = count_prompt(r);
	if (!executor_check_length(base, job->n_prompt, r->max_tokens, error))
		return false;
	if (!generates(job))
		fill_vectors(job, &x->config);
	struct sim_job *sj = arena_new(&job->arena, struct sim_job);
	sj->job = job;

	pthread_mutex_lock(&x->lock);
	uint64_t ordinal = ++x->n_submitted;
	struct draw d = draw(&x->config, ordinal);
	bool refused = d.fate == DRAW_REFUSE;
	if (!refused) {
		plan(x, &d, ordinal, sj);
		job->executor_data = sj;
		job_ref(job);
		job_queue(job);
		int64_t due = sim_schedule_due_ns(&x->schedule);
		sim_schedule_add(&x->schedule, &sj->seq);
		int64_t now_due = sim_schedule_due_ns(&x->schedule);
		if (now_due <= job->received_ns) /* it takes no time: the thread is spared */
			sim_schedule_run(&x->schedule, now_due);
		if (sim_schedule_due_ns(&x->schedule) < due)
			pthread_cond_signal(&x->changed);
	}
	pthread_mutex_unlock(&x->lock);
	if (refused)
		return api_error_set(error, (int)x->config.refuse_status, NULL, "%s",
		        _("the service cannot take the request now"));
	return true;
}

static void simulate_cancel(struct executor *base, struct job *job)
{
	struct simulator *x = (struct simulator *)base;
	pthread_mutex_lock(&x->lock);
	struct sim_job *sj = job->executor_data;
	if (sj && sj->seq.state != SIM_SEQ_ENDED)
		sim_schedule_cancel(&x->schedule, &sj->seq, clock_now_ns());
	pthread_cond_signal(&x->changed);
	pthread_mutex_unlock(&x->lock);
}

static void simulate_config(const struct executor *base, struct json *j)
{
	const struct simulator *x = (const struct simulator *)base;
	json_put_int(j, "slots", x->config.slots);
	json_put_string(j, "batching", x->config.continuous ? "continuous" : "none");
}

static void simulate_close(struct executor *base)
{
	struct simulator *x = (struct simulator *)base;
	pthread_mutex_lock(&x->lock);
	x->closing = true;
	pthread_cond_signal(&x->changed);
	pthread_mutex_unlock(&x->lock);
	pthread_join(x->thread, NULL);
	sim_schedule_run(&x->schedule, INT64_MAX - 1); /* gives the last jobs back */
	sim_schedule_release(&x->schedule);
	pthread_cond_destroy(&x->changed);
	pthread_mutex_destroy(&x->lock);
	arena_release(&x->run);
	free(x);
}

static const struct executor_ops simulate_ops = {
	.submit = simulate_submit,
	.cancel = simulate_cancel,
	.config = simulate_config,
	.close = simulate_close,
};

static void init_locks(struct simulator *x)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&x->changed, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&x->lock, NULL);
}

bool simulate_open(const char *path, struct fault_work *work, struct metrics *metrics,
        struct executor **ret_x, struct err *err)
{
	struct arena run = { 0 };
	struct sim_config config;
	if (!sim_config_load(path, &run, &config, err)) {
		arena_release(&run);
		return false;
	}
	struct simulator *x = mem_realloc(NULL, sizeof(*x));
	*x = (struct simulator){ .run = run, .config = config, .work = work };
	x->base = (struct executor){
		.ops = &simulate_ops,
		.model_name = config.name,
		.tasks = EXECUTOR_GENERATES | EXECUTOR_EMBEDS | EXECUTOR_CLASSIFIES,
		.n_labels = (int)config.n_labels,
		.n_dims = (int)config.n_dims,
		.n_ctx = config.n_ctx,
		.wire = config.wire,
		.metrics = metrics,
	};
	struct sim_callbacks callbacks = { .event = on_event, .step = on_step, .ctx = x };
	sim_schedule_init(&x->schedule, &x->config, callbacks);
	init_locks(x);
	calibrate_sleep(x);
	int failed = pthread_create(&x->thread, NULL, run_thread, x);
	if (failed) {
		sim_schedule_release(&x->schedule);
		arena_release(&x->run);
		free(x);
		return err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(failed));
	}
	*ret_x = &x->base;
	return true;
}
