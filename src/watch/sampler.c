#include "watch/sampler.h"

#include "watch/procfile.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { ROW_LATE, ROW_CPU };

const struct watch_row sampler_rows[] = {
	[ROW_LATE] = { .name = "watch_late_ms",
	        .unit = "ms",
	        .kind = WATCH_GAUGE,
	        .from = "clock_gettime(CLOCK_MONOTONIC)",
	        .help = N_("how late samples are taken, after their planned moment") },
	[ROW_CPU] = { .name = "watch_cpu_ratio",
	        .unit = "ratio",
	        .kind = WATCH_RATE,
	        .scale = 1e-9,
	        .from = "clock_gettime(CLOCK_THREAD_CPUTIME_ID)",
	        .help = N_("what the sampler itself takes of one core") },
};
const size_t sampler_n_rows = ARRAY_LEN(sampler_rows);

struct opened {
	const struct watch_source *source;
	void *self; /* NULL: could not be opened */
	int64_t next_ns;
};

struct sampler {
	struct watch_config config;
	struct board *board;
	struct arena memory; /* of the sources, also while they sample */
	struct opened *sources;
	size_t n_sources;
	struct channel *late, *cpu;
	void (*on_sample)(void *ctx, struct board *b);
	void *ctx;

	pthread_mutex_t lock; /* of all that follows, and of the board */
	pthread_cond_t changed;
	int64_t begin_ns; /* of the window; 0: not yet */
	int64_t n_samples;
	bool wants_begin, wants_end, wants_stop;
	bool paused; /* between the end of a window and the next begin */
	bool has_thread;
	pthread_t thread;
};

/* Is there such a process? Who may not look may still be told by name. */
static bool check_pid(const struct watch_config *config, int pid, struct err *err)
{
	char path[PROCFILE_PATH_MAX];
	snprintf(path, sizeof(path), "%s/proc/%d", config->root, pid);
	if (access(path, F_OK) == 0)
		return true;
	err_set(err, ERR_SYSTEM, _("there is no process %d"), pid);
	return err_hint(err, _("processes of another container are seen from the host, or from a "
	                       "container with its PID namespace"));
}

static void open_source(struct sampler *s, struct opened *o)
{
	const struct watch_source *source = o->source;
	struct err err = { 0 };
	if (source->open(&s->config, s->board, &s->memory, &o->self, &err))
		return;
	o->self = NULL;
	board_absent(s->board, source->rows, source->n_rows, SIGNAL_NOT_SUPPORTED, err.text);
}

static void init_lock(struct sampler *s)
{
	pthread_condattr_t attributes;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

bool sampler_open(const struct watch_config *config, struct arena *run,
        struct sampler **ret_sampler, struct err *err)
{
	for (size_t i = 0; i < config->n_pids; i++)
		if (!check_pid(config, config->pids[i], err))
			return false;
	struct sampler *s = arena_new(run, struct sampler);
	s->config = *config;
	s->board = board_new();
	s->n_sources = config->sources ? config->n_sources : watch_n_sources;
	s->sources = arena_new_n(run, struct opened, s->n_sources + 1);
	init_lock(s);
	for (size_t i = 0; i < s->n_sources; i++) {
		s->sources[i].source = config->sources ? config->sources[i] : watch_sources[i];
		open_source(s, &s->sources[i]);
	}
	s->late = board_channel(s->board, &sampler_rows[ROW_LATE], NULL);
	s->cpu = board_channel(s->board, &sampler_rows[ROW_CPU], NULL);
	*ret_sampler = s;
	return true;
}

void sampler_on_sample(struct sampler *s, void (*on_sample)(void *ctx, struct board *b), void *ctx)
{
	s->on_sample = on_sample;
	s->ctx = ctx;
}

/* What is not on the board, and the zero of the axis. */
static int64_t report_window(struct sampler *s, int64_t zero_ns, struct signal_system *to)
{
	int64_t from_ns = zero_ns == INT64_MIN ? s->begin_ns : zero_ns;
	*to = (struct signal_system){
		.from_s = s->begin_ns ? (double)(s->begin_ns - from_ns) / 1e9 : NAN,
		.to_s = s->begin_ns ? (double)(board_now_ns(s->board) - from_ns) / 1e9 : NAN,
		.interval_s = (double)s->config.interval_ns / 1e9,
		.n_samples = s->n_samples,
	};
	return from_ns;
}

static void report_sources(struct sampler *s, struct arena *run, struct signal_system *to)
{
	for (size_t i = 0; i < s->n_sources; i++)
		if (s->sources[i].self && s->sources[i].source->report)
			s->sources[i].source->report(s->sources[i].self, run, to);
}

static void begin_window(struct sampler *s, int64_t now_ns)
{
	s->begin_ns = now_ns;
	s->n_samples = 0;
	s->paused = false;
	board_begin(s->board);
	for (size_t i = 0; i < s->n_sources; i++)
		if (s->sources[i].self && s->sources[i].source->begin)
			s->sources[i].source->begin(s->sources[i].self);
}

/* all: also sources whose period is not over, since a window begins or ends here. */
static void sample(struct sampler *s, int64_t now_ns, bool all)
{
	for (size_t i = 0; i < s->n_sources; i++) {
		struct opened *o = &s->sources[i];
		/* Half an interval early is nearer than a whole one late. */
		if (!o->self || (!all && now_ns + s->config.interval_ns / 2 < o->next_ns))
			continue;
		if (all && o->source->thorough)
			o->source->thorough(o->self);
		o->next_ns = now_ns + o->source->period_ns;
		o->source->sample(o->self, board_now_ns(s->board));
	}
	s->n_samples++;
	if (!s->begin_ns)
		begin_window(s, now_ns);
	if (s->on_sample)
		s->on_sample(s->ctx, s->board);
}

void sampler_step(struct sampler *s, int64_t now_ns)
{
	pthread_mutex_lock(&s->lock);
	board_at(s->board, now_ns);
	sample(s, now_ns, false);
	pthread_mutex_unlock(&s->lock);
}

/* The times of a planned moment are those of the reading, not of the plan. */
static void sample_now(struct sampler *s, int64_t planned_ns, bool all)
{
	int64_t now_ns = clock_now_ns();
	board_at(s->board, now_ns);
	if (planned_ns)
		channel_value(s->late, (double)(now_ns - planned_ns) / 1e6);
	channel_total(s->cpu, (uint64_t)clock_thread_cpu_ns());
	sample(s, now_ns, all);
}

/* Under the lock: what was asked for from outside. A begin that came with an end is the later. */
static void answer_wishes(struct sampler *s)
{
	sample_now(s, 0, true);
	if (s->wants_begin)
		begin_window(s, board_now_ns(s->board));
	else
		s->paused = true;
	s->wants_begin = s->wants_end = false;
	pthread_cond_broadcast(&s->changed);
}

static bool has_wishes(const struct sampler *s)
{
	return s->wants_begin || s->wants_end || s->wants_stop;
}

static void wait_until(struct sampler *s, int64_t at_ns)
{
	struct timespec at = clock_to_timespec(at_ns);
	while (!has_wishes(s) && (s->paused || clock_now_ns() < at_ns)) {
		if (s->paused)
			pthread_cond_wait(&s->changed, &s->lock);
		else
			pthread_cond_timedwait(&s->changed, &s->lock, &at);
	}
}

/* Moments that have passed already are left out, which the lateness of the last one tells. */
static int64_t next_moment(const struct sampler *s, int64_t planned_ns)
{
	int64_t interval = s->config.interval_ns, next_ns = planned_ns + interval;
	int64_t behind = clock_now_ns() - next_ns;
	return behind > 0 ? next_ns + (behind / interval + 1) * interval : next_ns;
}

static void *sampler_thread(void *arg)
{
	struct sampler *s = arg;
	int64_t next_ns = clock_now_ns();
	prctl(PR_SET_TIMERSLACK, 1UL);
	prctl(PR_SET_NAME, "sampler");
	pthread_mutex_lock(&s->lock);
	while (!s->wants_stop) {
		wait_until(s, next_ns);
		if (s->wants_begin || s->wants_end) {
			answer_wishes(s);
			next_ns = board_now_ns(s->board) + s->config.interval_ns;
		} else if (!s->wants_stop) {
			sample_now(s, next_ns, false);
			next_ns = next_moment(s, next_ns);
		}
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

bool sampler_start(struct sampler *s, struct err *err)
{
	int code = pthread_create(&s->thread, NULL, sampler_thread, s);
	if (code != 0)
		return err_set(err, ERR_SYSTEM, _("cannot start a thread: %s"), strerror(code));
	s->has_thread = true;
	return true;
}

static void tell(struct sampler *s, bool *what)
{
	pthread_mutex_lock(&s->lock);
	*what = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void sampler_begins(struct sampler *s)
{
	tell(s, &s->wants_begin);
}

void sampler_ends(struct sampler *s)
{
	tell(s, &s->wants_end);
}

static void lock_answered(struct sampler *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->has_thread && (s->wants_begin || s->wants_end))
		pthread_cond_wait(&s->changed, &s->lock);
}

void sampler_report(
        struct sampler *s, int64_t zero_ns, struct arena *run, struct signal_system *ret_system)
{
	lock_answered(s);
	int64_t from_ns = report_window(s, zero_ns, ret_system);
	board_report(s->board, from_ns, run, ret_system);
	report_sources(s, run, ret_system);
	pthread_mutex_unlock(&s->lock);
}

void sampler_glance(struct sampler *s, int64_t zero_ns, bool (*wants)(const char *name),
        struct arena *run, struct signal_system *ret_system)
{
	lock_answered(s);
	int64_t from_ns = report_window(s, zero_ns, ret_system);
	board_glance(s->board, from_ns, wants, run, ret_system);
	report_sources(s, run, ret_system);
	pthread_mutex_unlock(&s->lock);
}

int64_t sampler_begin_ns(struct sampler *s)
{
	lock_answered(s);
	int64_t begin_ns = s->begin_ns;
	pthread_mutex_unlock(&s->lock);
	return begin_ns;
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	if (s->has_thread) {
		tell(s, &s->wants_stop);
		pthread_join(s->thread, NULL);
	}
	for (size_t i = 0; i < s->n_sources; i++)
		if (s->sources[i].self && s->sources[i].source->close)
			s->sources[i].source->close(s->sources[i].self);
	board_free(s->board);
	arena_release(&s->memory);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
}
