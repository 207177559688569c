/*
 * measure.c - one measurement: workers are started, the window is opened when the service has
 * settled and closed in time, and what they counted becomes a load_run.
 */
#include "load/internal.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "load/observer.h"
#include "load/own_limits.h"
#include "load/pulse.h"
#include "stats/steady.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const int64_t tick_ns = 10 * NS_PER_MS;
/* Once the window is open; each look costs the thread that is measured some 50 us. */
static const int64_t slow_tick_ns = 50 * NS_PER_MS;
static const int64_t progress_ns = 500 * NS_PER_MS;
static const int64_t warmup_max_ns = 10 * NS_PER_S;
static const int64_t drain_min_ns = 1 * NS_PER_S;
static const int64_t gone_after_ns = 5 * NS_PER_S;
static const int64_t backlog_every_ns = 250 * NS_PER_MS;
static const int64_t backlog_window_max_ns = 2 * NS_PER_S;
static const int64_t never_good_after_ns = 2 * NS_PER_S;

/* Requests whose ends show that the service has filled. */
enum { FILLING = 32 };

enum { EARLY_MIN = 50, EARLY_CHECK_EVERY = 10, FAILURES_ENOUGH = 10 };

/* The controller's own state during one measurement. */
struct control {
	struct load *load;
	const struct load_shape *shape;
	const struct load_hooks *hooks;
	struct load_shared *shared;
	struct worker *workers;
	struct load_run planned; /* as it is described before it has begun */
	struct observer observer;
	int64_t n_checked; /* early completions at the last search for the steady state */
	int64_t last_progress_ns;
	int64_t drain_until_ns;
	int64_t filled_ns;      /* when the first requests had all ended; 0: not yet */
	int64_t last_backlog_ns; /* when a backlog was last looked for */
	int64_t sent_all_ns;    /* when the last request was sent; 0: not yet, or by time */
	struct pulse pulse;
	struct load_saturation saturation;
	bool settled;
	bool partial;
	bool told_open, told_closed; /* to the hook */
};

int load_n_threads(const struct load *load, const struct load_shape *shape)
{
	int64_t n = load->config.threads > 0 ? load->config.threads : 1;
	if (shape->rate_per_s <= 0 && n > shape->concurrency)
		n = shape->concurrency;
	return (int)(n > LOAD_THREADS_MAX ? LOAD_THREADS_MAX : n < 1 ? 1 : n);
}

static void open_window(struct control *c, int64_t now_ns)
{
	struct load_shared *shared = c->shared;
	if (c->shape->duration_ns > 0)
		atomic_store(&shared->window_end_ns, now_ns + c->shape->duration_ns);
	atomic_store(&shared->window_start_ns, now_ns);
}

/*
 * Have the latency of the first completions, throughput and the number in flight settled? Looks only
 * when enough have come since the last time.
 */
static bool has_settled(struct control *c)
{
	int64_t n = c->shared->n_early, min = 2 * c->shape->concurrency;
	size_t cut;
	if (min < EARLY_MIN)
		min = EARLY_MIN;
	if (n < min || (n < c->n_checked + EARLY_CHECK_EVERY && n < LOAD_EARLY_MAX))
		return false;
	c->n_checked = n;
	pthread_mutex_lock(&c->shared->early_lock);
	bool settled = steady_mser5(c->shared->early_ms, (size_t)n, &cut);
	pthread_mutex_unlock(&c->shared->early_lock);
	return settled && pulse_has_settled(&c->pulse);
}

/* A warm-up longer than this share of the run would be a second run. */
static int64_t warmup_limit_ns(const struct load_shape *shape)
{
	if (shape->duration_ns > 0 && shape->duration_ns < warmup_max_ns)
		return shape->duration_ns;
	return warmup_max_ns;
}

/* Failures do not warm anything up: they belong into the report. */
static bool only_failures(const struct load_shared *shared)
{
	return shared->last_success_ns == 0 && shared->n_all_failed >= FAILURES_ENOUGH;
}

static void step_warmup(struct control *c, int64_t now_ns)
{
	struct load_shared *shared = c->shared;
	int64_t elapsed = now_ns - shared->start_ns;
	switch (c->shape->warmup) {
	case LOAD_WARMUP_TIME:
		if (elapsed >= c->shape->warmup_ns) {
			c->settled = true;
			open_window(c, now_ns);
		}
		break;
	case LOAD_WARMUP_AUTO:
		c->settled = has_settled(c);
		if (c->settled || only_failures(shared) || c->saturation.present || elapsed >= warmup_limit_ns(c->shape) ||
			(c->shape->requests > 0 &&
				shared->n_early >= c->shape->requests + 2 * c->shape->concurrency))
			open_window(c, now_ns);
		break;
	case LOAD_WARMUP_NONE:
	case LOAD_WARMUP_REQUESTS:
		break;
	}
}

/* With a warm-up by requests a worker opens the window; only its end is set here. */
static void close_by_time(struct control *c)
{
	struct load_shared *shared = c->shared;
	if (shared->window_end_ns == INT64_MAX && c->shape->duration_ns > 0)
		atomic_store(&shared->window_end_ns,
			shared->window_start_ns + c->shape->duration_ns);
}

static void begin_drain(struct control *c, int64_t now_ns)
{
	int64_t grace = c->shape->duration_ns / 5;
	if (grace < drain_min_ns)
		grace = drain_min_ns;
	if (grace > c->shared->timeout_ns)
		grace = c->shared->timeout_ns;
	c->drain_until_ns = now_ns + grace;
	atomic_store(&c->shared->phase, PHASE_DRAIN);
}

/* Nothing answers any more, or nothing ever did. */
static bool target_is_gone(const struct control *c, int64_t now_ns)
{
	const struct load_shared *shared = c->shared;
	int64_t enough = c->shape->concurrency > FAILURES_ENOUGH ? c->shape->concurrency : FAILURES_ENOUGH;
	if (shared->last_success_ns == 0)
		return now_ns - shared->start_ns > never_good_after_ns &&
			shared->n_all_failed >= enough;
	return now_ns - shared->last_success_ns > gone_after_ns && shared->n_gone >= enough;
}

static void stop_now(struct control *c)
{
	c->partial = true;
	atomic_store(&c->shared->phase, PHASE_STOP);
}

static void show_progress(struct control *c, int64_t now_ns)
{
	struct load_shared *shared = c->shared;
	if (!c->hooks || !c->hooks->progress || now_ns - c->last_progress_ns < progress_ns)
		return;
	c->last_progress_ns = now_ns;
	bool warming_up = shared->window_start_ns == INT64_MAX;
	int64_t from = warming_up ? shared->start_ns : shared->window_start_ns;
	double elapsed = (double)(now_ns - from) / 1e9;
	int64_t done = warming_up ? shared->n_early : shared->n_done;
	struct load_progress p = {
		.warming_up = warming_up,
		.elapsed_s = elapsed,
		.expected_s = c->shape->duration_ns > 0 ? (double)c->shape->duration_ns / 1e9 : NAN,
		.done = done,
		.expected = c->shape->requests,
		.failed = shared->n_failed,
		.in_flight = shared->n_open,
		.requests_per_s = elapsed > 0 ? (double)done / elapsed : 0,
		.output_tokens_per_s = shared->streaming && !warming_up && elapsed > 0 ?
			(double)shared->n_token_events / elapsed :
			NAN,
	};
	c->hooks->progress(c->hooks->ctx, &p);
}

/* The window is closed once nothing is sent any more that belongs to it. */
static void tell_window(struct control *c, bool closed)
{
	if (!c->hooks || !c->hooks->window)
		return;
	if (!c->told_open && c->shared->window_start_ns != INT64_MAX) {
		c->told_open = true;
		c->hooks->window(c->hooks->ctx, true);
	}
	if (closed && c->told_open && !c->told_closed) {
		c->told_closed = true;
		c->hooks->window(c->hooks->ctx, false);
	}
}

static bool all_finished(const struct control *c)
{
	for (int i = 0; i < c->shared->n_threads; i++)
		if (!atomic_load(&c->workers[i].finished))
			return false;
	return true;
}

/* When to look again: whatever happens by time falls on a look. */
static int64_t next_look_ns(const struct control *c, int64_t now_ns)
{
	const struct load_shared *shared = c->shared;
	if (shared->window_start_ns == INT64_MAX)
		return now_ns + tick_ns;
	int64_t next = now_ns + slow_tick_ns;
	int64_t due = shared->phase == PHASE_RUN ? shared->window_end_ns : c->drain_until_ns;
	return due > now_ns && due < next ? due : next;
}

/* Sleeps until then or until all threads have finished; false when they have. */
static bool wait_for_workers(const struct control *c, int64_t until_ns)
{
	struct load_shared *shared = c->shared;
	struct timespec until = clock_to_timespec(until_ns);
	pthread_mutex_lock(&shared->gate_lock);
	bool finished = all_finished(c);
	if (!finished)
		pthread_cond_timedwait(&shared->gate, &shared->gate_lock, &until);
	pthread_mutex_unlock(&shared->gate_lock);
	return !finished;
}

static void take_pulse(struct control *c, int64_t now_ns)
{
	struct load_shared *shared = c->shared;
	int64_t sent = shared->n_sent, in_flight = shared->n_open;
	const struct pulse_sample sample = {
		.sent = sent,
		.done = sent - in_flight,
		.ok = sent - in_flight - shared->n_all_failed,
		.ok_latency_s = (double)shared->ok_latency_us / 1e6,
		.in_flight = in_flight,
	};
	pulse_take(&c->pulse, now_ns, &sample);
	if (c->sent_all_ns == 0 && c->shape->requests > 0 &&
		shared->n_window_sent >= c->shape->requests)
		c->sent_all_ns = now_ns;
}

/* A rate that changes by plan may well exceed for a while what the service can do. */
static bool is_level(const struct load_shape *shape)
{
	return shape->arrival.kind != ARRIVAL_SCHEDULE && shape->arrival.n_knots == 0;
}

/* Failed ones have no latency. */
static bool first_requests_ended(const struct load_shared *shared)
{
	int64_t missing = 0;
	for (int i = 0; i < FILLING; i++)
		missing += shared->first_latencies[i] == 0;
	return missing <= shared->n_all_failed;
}

/* The window of a run that is stopped holds enough to show what happened. */
static int64_t backlog_window_ns(const struct load_shape *shape)
{
	int64_t share = shape->duration_ns / 5;
	return share > 0 && share < backlog_window_max_ns ? share : backlog_window_max_ns;
}

static void watch_backlog(struct control *c, int64_t now_ns)
{
	struct load_shared *shared = c->shared;
	struct load_saturation found;
	/* Sessions send more and longer requests until as many end as begin. */
	bool fills = shared->targets->workload.sessions != NULL;
	if (c->shape->rate_per_s <= 0 || !is_level(c->shape) || fills || shared->phase != PHASE_RUN)
		return;
	if (c->filled_ns == 0 && first_requests_ended(shared))
		c->filled_ns = now_ns;
	if (c->filled_ns == 0 || now_ns - c->last_backlog_ns < backlog_every_ns)
		return;
	c->last_backlog_ns = now_ns;
	if (!pulse_is_saturated(&c->pulse, now_ns, c->filled_ns,
		    fmax(1, c->shape->arrival.cv), &found))
		return;
	int64_t start = shared->window_start_ns;
	bool enough = start != INT64_MAX && now_ns - start >= backlog_window_ns(c->shape);
	if (!c->saturation.present || (c->shape->stop_when_saturated && enough))
		c->saturation = found;
	if (!c->shape->stop_when_saturated || !enough)
		return;
	c->saturation.stopped = true;
	atomic_store(&shared->window_end_ns, now_ns);
	begin_drain(c, now_ns);
	c->drain_until_ns = now_ns + drain_min_ns;
}

static void control_loop(struct control *c)
{
	struct load_shared *shared = c->shared;
	pulse_init(&c->pulse, shared->start_ns);
	while (wait_for_workers(c, next_look_ns(c, clock_now_ns()))) {
		int64_t now = clock_now_ns();
		if ((c->hooks && c->hooks->stop && atomic_load(c->hooks->stop)) ||
			target_is_gone(c, now))
			stop_now(c);
		take_pulse(c, now);
		watch_backlog(c, now);
		if (shared->window_start_ns == INT64_MAX)
			step_warmup(c, now);
		else
			close_by_time(c);
		if (shared->phase == PHASE_RUN && now >= shared->window_end_ns)
			begin_drain(c, now);
		if (shared->phase == PHASE_DRAIN && now >= c->drain_until_ns)
			atomic_store(&shared->phase, PHASE_STOP);
		tell_window(c, shared->phase != PHASE_RUN);
		observer_tick(&c->observer, shared, c->workers, now);
		show_progress(c, now);
	}
	tell_window(c, true);
}

/* The window of a run that ended by requests, or early. */
static void settle_window(struct control *c)
{
	struct load_shared *shared = c->shared;
	int64_t now = clock_now_ns(), last = 0;
	if (shared->window_start_ns == INT64_MAX)
		shared->window_start_ns = now;
	if (shared->window_end_ns <= now)
		return;
	for (int i = 0; i < shared->n_threads; i++)
		if (c->workers[i].counts.last_end_ns > last)
			last = c->workers[i].counts.last_end_ns;
	bool by_number = load_ends_by_number(c->shape) && !c->partial;
	shared->window_end_ns = by_number && last > shared->window_start_ns ? last : now;
}

/* Of a run by requests, until the last was sent: then the number in flight falls. */
static void judge_window(struct control *c, struct load_run *r)
{
	struct load_shared *shared = c->shared;
	int64_t end = shared->window_end_ns;
	if (c->sent_all_ns > 0 && c->sent_all_ns < end)
		end = c->sent_all_ns;
	bool by_plan = c->shape->rate_per_s > 0 && !is_level(c->shape);
	r->saturation = c->saturation;
	r->window.judged = !by_plan &&
		pulse_drift(&c->pulse, shared->window_start_ns, end, &r->window);
	r->window.steady = c->settled && r->window.n_drift == 0 && !r->saturation.present;
}

static void open_gate(struct control *c, int n_threads)
{
	struct load_shared *shared = c->shared;
	pthread_mutex_lock(&shared->gate_lock);
	while (shared->n_at_gate < n_threads)
		pthread_cond_wait(&shared->gate, &shared->gate_lock);
	shared->start_ns = clock_now_ns();
	if (c->shape->warmup == LOAD_WARMUP_NONE)
		open_window(c, shared->start_ns);
	recorder_start(shared->recorder, shared->start_ns);
	shared->gate_open = true;
	pthread_cond_broadcast(&shared->gate);
	pthread_mutex_unlock(&shared->gate_lock);
}

static bool start_workers(struct control *c, struct arena *run, struct err *err)
{
	struct load_shared *shared = c->shared;
	int n = shared->n_threads;
	for (int i = 0; i < n; i++) {
		int64_t slots = c->shape->concurrency / n + (i < c->shape->concurrency % n);
		worker_init(&c->workers[i], shared, i, slots, run);
	}
	for (int i = 0; i < n; i++) {
		int code = pthread_create(&c->workers[i].thread, NULL, worker_run, &c->workers[i]);
		if (code == 0)
			continue;
		atomic_store(&shared->phase, PHASE_STOP);
		open_gate(c, i);
		for (int k = 0; k < i; k++)
			pthread_join(c->workers[k].thread, NULL);
		return err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(code));
	}
	open_gate(c, n);
	return true;
}

static void init_shared(struct control *c, struct arena *run)
{
	struct load *load = c->load;
	struct load_shared *shared = c->shared;
	*shared = (struct load_shared){
		.endpoint = load->endpoint,
		.targets = load->targets,
		.n_targets = load->n_targets,
		.balance = load->balance,
		.shape = c->shape,
		.slo = load->slo,
		.streaming = load->streaming,
		.timeout_ns = load->config.timeout_ns,
		.seed = load->config.seed,
		.nonce = workload_nonce(),
		.n_threads = load_n_threads(load, c->shape),
		.window_start_ns = INT64_MAX,
		.window_end_ns = INT64_MAX,
		.early_ms = arena_new_n(run, double, LOAD_EARLY_MAX),
	};
	pthread_mutex_init(&shared->early_lock, NULL);
	pthread_mutex_init(&shared->gate_lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&shared->gate, &monotonic);
	pthread_condattr_destroy(&monotonic);
	c->settled = c->shape->warmup == LOAD_WARMUP_NONE ||
		c->shape->warmup == LOAD_WARMUP_REQUESTS;
}

/* The file is opened, and the run described, before the clock of the arrivals starts. */
static bool open_recorder(
	struct control *c, struct recorder **ret, struct arena *run, struct err *err)
{
	*ret = NULL;
	if (!c->hooks || !c->hooks->records)
		return true;
	load_describe(c->load, c->shape, NULL, 0, run, &c->planned);
	return recorder_open(ret, c->hooks->records, load_n_threads(c->load, c->shape), &c->planned,
		err);
}

static void close_recorder(struct control *c, struct load_records *ret)
{
	const struct records_done done = {
		.window_start_ns = c->shared->window_start_ns,
		.window_end_ns = c->shared->window_end_ns,
		.partial = c->partial,
	};
	recorder_close(c->shared->recorder, &done, ret);
}

bool load_measure(struct load *load, const struct load_shape *shape, const struct load_hooks *hooks,
	struct arena *run, struct load_run *ret_run, struct err *err)
{
	struct control c = { .load = load, .shape = shape, .hooks = hooks };
	struct load_records records = { 0 };
	struct recorder *recorder;
	char started_at[32];
	time_t wall = time(NULL);
	const struct own_limits limits = own_limits_read(&load->targets[0].conn);
	if (!own_limits_allow(&limits, shape, load->n_targets, err))
		return false;
	strftime(started_at, sizeof(started_at), "%Y-%m-%dT%H:%M:%SZ", gmtime(&wall));
	c.planned.started_at = started_at;
	if (!open_recorder(&c, &recorder, run, err))
		return false;
	c.shared = arena_new(run, struct load_shared);
	init_shared(&c, run);
	c.shared->recorder = recorder;
	c.workers = arena_new_n(run, struct worker, (size_t)c.shared->n_threads);
	bool ok = start_workers(&c, run, err);
	if (ok) {
		control_loop(&c);
		for (int i = 0; i < c.shared->n_threads; i++)
			pthread_join(c.workers[i].thread, NULL);
	}
	for (int i = 0; ok && i < c.shared->n_threads; i++)
		if (c.workers[i].failed) {
			*err = c.workers[i].err;
			ok = false;
		}
	settle_window(&c);
	close_recorder(&c, &records);
	if (ok) {
		struct load_run r = { .partial = c.partial, .records = records };
		r.started_at = arena_strdup(run, started_at);
		judge_window(&c, &r);
		load_summarize(load, c.shared, c.workers, run, &r);
		r.window.start_ns = c.shared->window_start_ns;
		observer_fill(&c.observer, c.shared, c.workers, run, &r);
		*ret_run = r;
	}
	for (int i = 0; i < c.shared->n_threads; i++)
		worker_release(&c.workers[i]);
	pthread_mutex_destroy(&c.shared->early_lock);
	pthread_mutex_destroy(&c.shared->gate_lock);
	pthread_cond_destroy(&c.shared->gate);
	return ok;
}
