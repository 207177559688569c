#include "watch/process/process_threads.h"

#include "watch/process/process_parse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	CALM_READS = 10, /* after which a thread waits for its turn */
	CREDIT_MAX = 3,
	REST_RUNS = 64, /* times on a CPU, after which a calm thread is asked for its status */
	PATH_BYTES = 64,
};
#define CALM_RATIO 0.02
/* The end of a window comes at any moment; a look this soon after the one before is a rest. */
#define REST_RATIO 0.5
#define BUSY_RATIO 0.9
/* What the threads that are not read may have used more than they use to: a share of the time. */
#define SURPRISE_RATIO 0.1
/* Full looks out of turn, when one surprise follows the other. */
#define CREDIT_NS (500 * NS_PER_MS)
/* A calm thread of many is read at every second turn only, and asked for its status yet more
 * seldom. */
#define REST_NS (THREADS_TURN_NS * 3 / 2)
#define REST_STATUS_NS (5 * NS_PER_S)
/* Others may change where a thread may run while it sleeps. */
#define STATUS_NS (10 * NS_PER_S)

static bool is_calm(const struct thread *th)
{
	return th->n_calm >= CALM_READS;
}

static void thread_path(char *path, int tid, const char *name)
{
	snprintf(path, PATH_BYTES, "task/%d/%s", tid, name);
}

static const char *times_file(const struct thread_set *t)
{
	return t->has_schedstat ? "schedstat" : "stat";
}

static bool read_text(
        const struct thread_set *t, struct thread *th, const char *name, struct str *ret_text)
{
	char path[PATH_BYTES];
	thread_path(path, th->tid, name);
	bool ok = procfile_once_at(t->dir_fd, t->shared->text, THREADS_TEXT_BYTES, ret_text, path);
	th->is_gone |= !ok && (errno == ENOENT || errno == ESRCH);
	return ok;
}

static bool parse_times(
        const struct thread_set *t, struct str text, struct process_schedstat *ret_times)
{
	struct process_stat stat;
	if (t->has_schedstat)
		return process_parse_schedstat(text, ret_times);
	if (!process_parse_stat(text, &stat))
		return false;
	uint64_t ticks = stat.user_ticks + stat.system_ticks;
	*ret_times = (struct process_schedstat){ .cpu_ns = ticks * (uint64_t)t->shared->tick_ns };
	return true;
}

static bool read_times(
        const struct thread_set *t, struct thread *th, struct process_schedstat *ret_times)
{
	struct str text;
	if (!procfile_is_open(&th->file)) {
		if (!read_text(t, th, times_file(t), &text))
			return false;
	} else if (!procfile_read(&th->file, t->shared->text, THREADS_TEXT_BYTES, &text)) {
		th->is_gone |= errno == ESRCH;
		return false;
	}
	return parse_times(t, text, ret_times);
}

static void add_recent(struct thread *th, double ratio, unsigned times)
{
	for (unsigned i = 0; i < times && i < THREADS_RECENT; i++) {
		th->recent[th->recent_at] = (float)ratio;
		th->recent_at = (th->recent_at + 1) % THREADS_RECENT;
		th->n_recent += th->n_recent < THREADS_RECENT;
	}
}

/* What a counter grew by. One that went back is another thread's of the same number. */
static uint64_t advance(uint64_t *counter, uint64_t *begin, uint64_t now)
{
	uint64_t by = now >= *counter ? now - *counter : 0;
	if (now < *counter)
		*begin += now - *counter;
	*counter = now;
	return by;
}

/*
 * What a thread that was not read for some looks used beyond its habit, it used since the newest
 * look: before that, the clock of the process would have told. 0: it kept to its habit.
 */
static double late_ratio(
        const struct thread_set *t, const struct thread *th, double cpu_ns, int64_t now_ns)
{
	double since_look_ns = (double)(now_ns - t->look_ns);
	double beyond_ns = cpu_ns - th->cpu_ratio * (double)(t->look_ns - th->read_ns);
	bool is_late = t->has_clock && th->read_ns < t->look_ns && since_look_ns > 0 &&
	               beyond_ns > SURPRISE_RATIO * since_look_ns;
	return is_late ? fmin(1, beyond_ns / since_look_ns) : 0;
}

static void set_ratio(struct thread_set *t, struct thread *th, double cpu_ns, int64_t now_ns)
{
	double late = late_ratio(t, th, cpu_ns, now_ns);
	if (late > 0) {
		add_recent(th, th->cpu_ratio, th->n_unread);
		th->n_unread = 0;
		th->cpu_ratio = late;
	} else {
		th->cpu_ratio = cpu_ns / (double)(now_ns - th->read_ns);
	}
	add_recent(th, th->cpu_ratio, th->n_unread + 1);
	th->n_unread = 0;
	th->cpu_ratio_max = fmax(th->cpu_ratio_max, th->cpu_ratio);
}

static void take_times(struct thread_set *t, struct thread *th,
        const struct process_schedstat *times, int64_t now_ns)
{
	uint64_t cpu_ns = advance(&th->cpu_ns, &th->begin_cpu_ns, times->cpu_ns);
	uint64_t wait_ns = advance(&th->wait_ns, &th->begin_wait_ns, times->wait_ns);
	double interval_ns = (double)(now_ns - th->read_ns);
	/* Ticks of the scheduler would show in a rest, not the thread. */
	if (!t->is_rest || th->read_ns < t->look_ns) {
		set_ratio(t, th, (double)cpu_ns, now_ns);
		th->wait_ratio = (double)wait_ns / interval_ns;
		th->n_calm = th->cpu_ratio + th->wait_ratio < CALM_RATIO ? th->n_calm + 1 : 0;
		th->n_reads++;
	}
	th->n_runs = times->n_runs;
	th->read_ns = now_ns;
	t->seen_ns += cpu_ns;
	t->run_ns += cpu_ns;
	t->wait_ns += wait_ns;
}

static void look_at_times(struct thread_set *t, struct thread *th, int64_t now_ns)
{
	struct process_schedstat times;
	if (th->read_ns < now_ns && !th->is_gone && read_times(t, th, &times))
		take_times(t, th, &times, now_ns);
}

static void set_cpus(struct thread *th, struct str cpus)
{
	struct cpulist set = { 0 };
	if (cpus.len < sizeof(th->cpus))
		snprintf(th->cpus, sizeof(th->cpus), "%.*s", STR_ARG(cpus));
	else if (cpulist_add(&set, cpus))
		cpulist_print(&set, th->cpus, sizeof(th->cpus));
}

static void look_at_status(struct thread_set *t, struct thread *th, int64_t now_ns)
{
	struct process_status status;
	struct str text;
	bool same = t->has_schedstat && th->status_ns && th->n_runs == th->n_runs_of_status &&
	            th->state != 'R' && now_ns - th->status_ns < STATUS_NS;
	if (same || th->is_gone || !read_text(t, th, "status", &text))
		return;
	process_parse_status(text, &status);
	th->state = status.state;
	th->status_ns = now_ns;
	th->n_runs_of_status = th->n_runs;
	process_name(th->name, sizeof(th->name), status.name);
	set_cpus(th, status.cpus);
	if (status.voluntary != PROCESS_ABSENT)
		t->voluntary += advance(&th->voluntary, &th->begin_voluntary, status.voluntary);
	if (status.involuntary != PROCESS_ABSENT)
		t->involuntary +=
		        advance(&th->involuntary, &th->begin_involuntary, status.involuntary);
}

static int compare_tids(const void *a, const void *b)
{
	const struct thread *const *x = a, *const *y = b;
	return ((*x)->tid > (*y)->tid) - ((*x)->tid < (*y)->tid);
}

/* Among the first n, which are in order. */
static bool knows(const struct thread_set *t, size_t n, int tid)
{
	const struct thread key = { .tid = tid }, *key_at = &key;
	return n && bsearch(&key_at, t->threads, n, sizeof(*t->threads), compare_tids);
}

static void add_thread(struct thread_set *t, int tid)
{
	if (t->n == THREADS_MAX) {
		t->n_left_out++;
		return;
	}
	if (t->n == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 16;
		t->threads = mem_realloc(t->threads, t->cap * sizeof(struct thread *));
	}
	struct thread *th = mem_zeroed(1, sizeof(*th));
	char path[PATH_BYTES];
	th->pid = t->pid;
	th->tid = tid;
	/* Born since the look before: what it used, it used since then. */
	th->read_ns = t->look_ns;
	thread_path(path, tid, times_file(t));
	if (t->shared->n_kept < t->shared->n_kept_max)
		t->shared->n_kept += procfile_open_at(&th->file, t->dir_fd, path);
	t->threads[t->n++] = th;
}

/* Calls add_thread for the numbers that are new; who is gone shows when it is read. */
static void scan(struct thread_set *t)
{
	size_t n_known = t->n;
	int fd = t->task_fd_plus_1 - 1;
	long got;
	t->wants_scan = false;
	t->n_left_out = 0;
	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return;
	while ((got = syscall(SYS_getdents64, fd, t->shared->text, THREADS_TEXT_BYTES)) > 0) {
		for (long at = 0; at < got;) {
			const struct dirent64 *entry = (const void *)(t->shared->text + at);
			int64_t tid;
			at += entry->d_reclen;
			if (str_to_i64(str_of(entry->d_name), &tid) && tid > 0 && tid < INT32_MAX &&
			        !knows(t, n_known, (int)tid))
				add_thread(t, (int)tid);
		}
	}
	if (t->n > n_known)
		qsort(t->threads, t->n, sizeof(*t->threads), compare_tids);
}

/* Keeps the busiest of those that ended. */
static void remember(struct threads_shared *shared, const struct thread *th)
{
	struct thread *place = shared->ended;
	if (shared->n_ended < THREADS_ENDED_MAX) {
		place = &shared->ended[shared->n_ended++];
	} else {
		for (size_t i = 1; i < THREADS_ENDED_MAX; i++)
			if (thread_window_cpu_ns(&shared->ended[i]) < thread_window_cpu_ns(place))
				place = &shared->ended[i];
		if (thread_window_cpu_ns(place) >= thread_window_cpu_ns(th))
			return;
	}
	*place = *th;
	place->state = '\0';
}

static void free_thread(struct threads_shared *shared, struct thread *th)
{
	shared->n_kept -= procfile_is_open(&th->file);
	procfile_close(&th->file);
	remember(shared, th);
	free(th);
}

static void drop_gone(struct thread_set *t)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++) {
		struct thread *th = t->threads[i];
		if (!th->is_gone) {
			t->threads[n++] = th;
			continue;
		}
		/* Its number may be in use again, unseen until now. */
		t->wants_scan = true;
		t->turn_at -= t->turn_at > n;
		free_thread(t->shared, th);
	}
	t->n = n;
}

static void read_clock(struct thread_set *t)
{
	struct timespec at;
	if (!t->has_clock)
		return;
	if (clock_gettime(t->clock, &at) == 0)
		t->clock_ns = (uint64_t)clock_of_timespec(at);
	else
		t->error = ESRCH;
}

static void look_at_all(struct thread_set *t, int64_t now_ns)
{
	scan(t);
	for (size_t i = 0; i < t->n; i++)
		look_at_times(t, t->threads[i], now_ns);
	read_clock(t);
	t->unseen_ns = (int64_t)(t->clock_ns - t->seen_ns);
}

static bool has_run_on(const struct thread *th)
{
	return !th->status_ns || th->state == 'R' || th->n_runs - th->n_runs_of_status > REST_RUNS;
}

/* The share of the threads whose turn comes in this look. */
static void take_turns(struct thread_set *t, int64_t now_ns)
{
	double share = (double)(now_ns - t->look_ns) / (double)THREADS_TURN_NS;
	t->turn_share += (double)t->n * fmin(share, 1);
	for (; t->turn_share >= 1 && t->n; t->turn_share--) {
		if (t->turn_at >= t->n)
			t->turn_at = 0;
		struct thread *th = t->threads[t->turn_at++];
		bool may_rest = is_calm(th) && t->n > THREADS_ALWAYS;
		if (!may_rest || now_ns - th->read_ns >= REST_NS)
			look_at_times(t, th, now_ns);
		if (!may_rest || has_run_on(th) || now_ns - th->status_ns >= REST_STATUS_NS)
			look_at_status(t, th, now_ns);
	}
}

/* Did threads that were not read use more than they use to? */
static bool is_surprised(const struct thread_set *t, int64_t now_ns)
{
	double used_ns = (double)((int64_t)(t->clock_ns - t->seen_ns) - t->unseen_ns), usual_ns = 0;
	for (size_t i = 0; i < t->n; i++) {
		const struct thread *th = t->threads[i];
		usual_ns += th->cpu_ratio * (double)(now_ns - th->read_ns);
	}
	return used_ns - usual_ns > SURPRISE_RATIO * (double)(now_ns - t->look_ns);
}

static void look_by_turns(struct thread_set *t, int64_t now_ns)
{
	if (t->wants_scan)
		scan(t);
	bool each = !t->has_clock || t->n <= THREADS_ALWAYS;
	for (size_t i = 0; i < t->n; i++)
		if (each || !is_calm(t->threads[i]))
			look_at_times(t, t->threads[i], now_ns);
	take_turns(t, now_ns);
	read_clock(t);
	t->credit = fmin(CREDIT_MAX, t->credit + (double)(now_ns - t->look_ns) / (double)CREDIT_NS);
	if (t->has_clock && t->credit >= 1 && is_surprised(t, now_ns)) {
		t->credit--;
		look_at_all(t, now_ns);
	}
}

/* Whom the report of this look will name is asked for its name. */
static void find_busiest(struct thread_set *t, int64_t now_ns)
{
	struct thread *busiest = NULL;
	t->n_busy = 0;
	for (size_t i = 0; i < t->n; i++) {
		struct thread *th = t->threads[i];
		th->n_unread += th->read_ns < now_ns && !t->is_rest;
		t->n_busy += th->cpu_ratio >= BUSY_RATIO;
		if (!busiest || th->cpu_ratio > busiest->cpu_ratio)
			busiest = th;
	}
	if (busiest && !busiest->status_ns)
		look_at_status(t, busiest, now_ns);
	t->busiest = busiest;
}

void threads_look(struct thread_set *t, int64_t now_ns, bool all)
{
	int64_t before_ns = t->interval_ns;
	t->interval_ns = now_ns - t->look_ns;
	t->is_rest = (double)t->interval_ns < REST_RATIO * (double)before_ns;
	if (all) {
		look_at_all(t, now_ns);
		for (size_t i = 0; i < t->n; i++)
			look_at_status(t, t->threads[i], now_ns);
		t->turn_at = 0;
	} else {
		look_by_turns(t, now_ns);
	}
	drop_gone(t);
	find_busiest(t, now_ns);
	t->look_ns = now_ns;
}

/* "0 0 0" for a process that runs is a kernel that keeps no such times. */
static bool keeps_schedstat(const struct thread_set *t)
{
	struct process_schedstat times;
	struct str text;
	return procfile_once_at(
	               t->dir_fd, t->shared->text, THREADS_TEXT_BYTES, &text, "schedstat") &&
	       process_parse_schedstat(text, &times) && times.cpu_ns + times.n_runs > 0;
}

/* What the threads used before is nobody's growth. */
static void read_base(struct thread_set *t, int64_t now_ns)
{
	struct process_schedstat times;
	for (size_t i = 0; i < t->n; i++) {
		struct thread *th = t->threads[i];
		th->read_ns = now_ns;
		th->n_calm = CALM_READS;
		if (read_times(t, th, &times)) {
			th->cpu_ns = th->begin_cpu_ns = times.cpu_ns;
			th->wait_ns = th->begin_wait_ns = times.wait_ns;
			th->n_runs = times.n_runs;
		}
		look_at_status(t, th, now_ns);
		th->begin_voluntary = th->voluntary;
		th->begin_involuntary = th->involuntary;
	}
	read_clock(t);
	t->unseen_ns = (int64_t)t->clock_ns;
	t->voluntary = t->involuntary = 0;
	t->look_ns = now_ns;
}

void threads_open(struct thread_set *t, struct threads_shared *shared, int pid, int dir_fd,
        bool has_clock, int64_t now_ns)
{
	int fd = openat(dir_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*t = (struct thread_set){
		.shared = shared,
		.pid = pid,
		.dir_fd = dir_fd,
		.task_fd_plus_1 = fd + 1,
		.error = fd < 0 ? errno : 0,
		.has_clock = has_clock && clock_getcpuclockid(pid, &t->clock) == 0,
		.clock = t->clock,
		.credit = CREDIT_MAX,
	};
	t->has_schedstat = keeps_schedstat(t);
	scan(t);
	read_base(t, now_ns);
	drop_gone(t);
}

void threads_close(struct thread_set *t)
{
	for (size_t i = 0; i < t->n; i++)
		free_thread(t->shared, t->threads[i]);
	free(t->threads);
	if (t->task_fd_plus_1)
		close(t->task_fd_plus_1 - 1);
	*t = (struct thread_set){ 0 };
}
