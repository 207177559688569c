/*
 * waits.c - what the busiest threads of the watched processes do while they are not on a CPU.
 *
 * Idle threads of a pool wait all the time, which says nothing; a thread that does much and yet
 * waits is what holds a service up. Every 3 s the time that each thread was on a CPU and in a
 * run queue is read, and from then on the busiest are looked at in every sample: in which call
 * they are. Looks are taken at planned moments and so count time, not calls.
 *
 * That a thread was blocked is what is left of the time that it was neither on a CPU nor waiting
 * for one; both are exact in the kernel, so that no record of each switch is needed.
 *
 * Cost: 3 system calls for each thread in 3 s, one for each busy thread in a sample.
 */
#include "watch/sources.h"
#include "watch/tasks.h"
#include "watch/perf/wait_kind.h"

#include "watch/procfile.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BUSY_MAX = 8,
	BUSY_PER_THOUSAND = 10, /* of a core at least */
};
#define SCAN_NS (3 * NS_PER_S)

#define WAITS(word, text)                                                                          \
	{                                                                                          \
		.name = "thread_wait_" word "_ratio", .unit = "ratio", .kind = WATCH_SHARE,        \
		.from = "/proc/PID/task/TID/syscall", .help = text                                 \
	}

enum { ROW_BLOCKED = WAIT_KINDS, ROW_QUEUED, N_ROWS };

static const struct watch_row rows[N_ROWS] = {
	[WAIT_CPU] = WAITS(
	        "cpu", N_("time in which the busiest threads ran, or could run but for a CPU")),
	[WAIT_LOCK] = WAITS(
	        "lock", N_("time in which the busiest threads waited for another thread (futex)")),
	[WAIT_EVENTS] = WAITS("events",
	        N_("time in which the busiest threads waited for any of their descriptors, as when "
	           "there is nothing to do")),
	[WAIT_NETWORK] =
	        WAITS("network", N_("time in which the busiest threads waited for a socket")),
	[WAIT_IO] = WAITS("io", N_("time in which the busiest threads waited in a read or write of "
	                           "a pipe, a socket, "
	                           "a terminal or a file")),
	[WAIT_STORAGE] =
	        WAITS("storage", N_("time in which the busiest threads waited for a file system")),
	[WAIT_SLEEP] = WAITS("sleep", N_("time in which the busiest threads let time pass")),
	[WAIT_MEMORY] = WAITS("memory",
	        N_("time in which the busiest threads waited for a page, or for the map of their "
	           "memory")),
	[WAIT_DEVICE] = WAITS(
	        "device", N_("time in which the busiest threads waited for a driver (ioctl)")),
	[WAIT_OTHER] =
	        WAITS("other", N_("time in which the busiest threads waited for anything else")),
	[ROW_BLOCKED] = { .name = "thread_blocked_ratio",
	        .unit = "ratio",
	        .kind = WATCH_SHARE,
	        .from = "/proc/PID/task/TID/schedstat, fields 1 and 2",
	        .help = N_("time in which the busiest threads neither ran nor waited for a CPU"),
	        .grain = N_("the CPU time of a thread that runs is told up to its last tick") },
	[ROW_QUEUED] = { .name = "thread_run_queue_ratio",
	        .unit = "ratio",
	        .kind = WATCH_SHARE,
	        .from = "/proc/PID/task/TID/schedstat, field 2",
	        .help = N_("time in which the busiest threads could run, but waited for a CPU") },
};

struct thread {
	int tid, pid;
	uint64_t cpu_ns, queued_ns; /* since it began */
	int64_t at_ns;
	uint64_t cpu_new_ns;        /* in the newest interval */
	uint32_t looks[WAIT_KINDS]; /* since the begin of the window */
	bool seen;
};

struct busy {
	struct thread *thread;
	struct procfile syscall, wchan, stat;
};

struct waits {
	struct tasks tasks;
	struct thread *threads; /* [TASKS_MAX], by tid */
	size_t n;
	struct busy busy[BUSY_MAX];
	size_t n_busy;
	struct channel *channels[N_ROWS];
	uint64_t looks[WAIT_KINDS], n_looks;
	uint64_t blocked_ns, queued_ns, wall_ns;
	int64_t scanned_ns, next_scan_ns;
	bool refused; /* nobody may know what threads wait for */
};

static int compare(const void *key, const void *member)
{
	const struct thread *t = member;
	int tid = *(const int *)key;
	return (tid > t->tid) - (tid < t->tid);
}

static struct thread *find(const struct waits *w, int tid)
{
	return bsearch(&tid, w->threads, w->n, sizeof(*w->threads), compare);
}

static struct thread *add(struct waits *w, const struct task *task)
{
	if (w->n == TASKS_MAX)
		return NULL;
	size_t at = w->n++;
	for (; at > 0 && w->threads[at - 1].tid > task->tid; at--)
		w->threads[at] = w->threads[at - 1];
	w->threads[at] = (struct thread){ .tid = task->tid, .pid = task->pid };
	return &w->threads[at];
}

static void forget_busy(struct waits *w)
{
	for (size_t i = 0; i < w->n_busy; i++) {
		procfile_close(&w->busy[i].syscall);
		procfile_close(&w->busy[i].wchan);
		procfile_close(&w->busy[i].stat);
	}
	w->n_busy = 0;
}

static bool is_busy(const struct waits *w, const struct thread *t)
{
	for (size_t i = 0; i < w->n_busy; i++)
		if (w->busy[i].thread->tid == t->tid)
			return true;
	return false;
}

/* Its two totals now; what they grew by counts when it was one of the busiest in the interval. */
static void read_thread(struct waits *w, struct thread *t, bool counts, int64_t now_ns)
{
	char buf[96];
	struct str text;
	uint64_t cpu_ns, queued_ns;
	if (!procfile_once(w->tasks.config->root, buf, sizeof(buf), &text,
	            "/proc/%d/task/%d/schedstat", t->pid, t->tid) ||
	        !procfile_u64(procfile_word(&text), &cpu_ns) ||
	        !procfile_u64(procfile_word(&text), &queued_ns))
		return;
	t->seen = true;
	bool went_on = t->at_ns && cpu_ns >= t->cpu_ns && queued_ns >= t->queued_ns;
	t->cpu_new_ns = went_on || !t->at_ns ? cpu_ns - t->cpu_ns : 0;
	if (counts && went_on && now_ns > t->at_ns) {
		uint64_t wall = (uint64_t)(now_ns - t->at_ns);
		uint64_t queued = queued_ns - t->queued_ns, used = t->cpu_new_ns + queued;
		w->wall_ns += wall;
		w->queued_ns += queued;
		w->blocked_ns += used < wall ? wall - used : 0;
	}
	t->cpu_ns = cpu_ns;
	t->queued_ns = queued_ns;
	t->at_ns = now_ns;
}

static void drop_unseen(struct waits *w)
{
	size_t kept = 0;
	for (size_t i = 0; i < w->n; i++)
		if (w->threads[i].seen)
			w->threads[kept++] = w->threads[i];
	w->n = kept;
}

/* The busiest of the interval, from the first look on: of all their lives. */
static void choose_busy(struct waits *w, int64_t interval_ns)
{
	uint64_t least = (uint64_t)interval_ns / 1000 * BUSY_PER_THOUSAND;
	for (size_t i = 0; i < w->n; i++) {
		struct thread *t = &w->threads[i];
		size_t at = w->n_busy;
		if (t->cpu_new_ns < least || t->cpu_new_ns == 0)
			continue;
		if (at == BUSY_MAX && w->busy[--at].thread->cpu_new_ns >= t->cpu_new_ns)
			continue;
		w->n_busy = at + 1;
		for (; at > 0 && w->busy[at - 1].thread->cpu_new_ns < t->cpu_new_ns; at--)
			w->busy[at] = w->busy[at - 1];
		w->busy[at] = (struct busy){ .thread = t };
	}
}

static void open_busy(struct waits *w)
{
	const char *root = w->tasks.config->root;
	for (size_t i = 0; i < w->n_busy; i++) {
		struct busy *b = &w->busy[i];
		int pid = b->thread->pid, tid = b->thread->tid;
		if (procfile_open(&b->syscall, root, "/proc/%d/task/%d/syscall", pid, tid))
			continue;
		(void)!procfile_open(&b->wchan, root, "/proc/%d/task/%d/wchan", pid, tid);
		(void)!procfile_open(&b->stat, root, "/proc/%d/task/%d/stat", pid, tid);
	}
}

static void scan(struct waits *w, int64_t now_ns)
{
	int64_t interval_ns = w->scanned_ns ? now_ns - w->scanned_ns : SCAN_NS;
	tasks_scan_threads(&w->tasks, now_ns);
	w->scanned_ns = now_ns;
	for (size_t i = 0; i < w->n; i++)
		w->threads[i].seen = false;
	/* The known first, whose places do not change; then the new ones between them. */
	for (size_t i = 0; i < w->tasks.n; i++) {
		struct thread *t = find(w, w->tasks.tasks[i].tid);
		if (t && t->pid == w->tasks.tasks[i].pid)
			read_thread(w, t, is_busy(w, t), now_ns);
	}
	forget_busy(w);
	drop_unseen(w);
	for (size_t i = 0; i < w->tasks.n; i++) {
		const struct task *task = &w->tasks.tasks[i];
		struct thread *t = find(w, task->tid) ? NULL : add(w, task);
		if (t)
			read_thread(w, t, false, now_ns);
	}
	choose_busy(w, interval_ns);
	open_busy(w);
}

/* "S" of "1234 (a name) S 1 ..."; a name may hold anything. */
static bool is_runnable(const struct procfile *stat)
{
	char buf[512];
	struct str text;
	if (!procfile_read(stat, buf, sizeof(buf), &text))
		return false;
	const char *end = memrchr(text.s, ')', text.len);
	return end && end + 2 < text.s + text.len && end[2] == 'R';
}

/* The kernel does not tell everybody; who may not know of calls may know of the function. */
static bool look_at(struct waits *w, struct busy *b, enum wait_kind *ret_kind)
{
	const char *root = w->tasks.config->root;
	char buf[256];
	struct str text;
	int pid = b->thread->pid, tid = b->thread->tid;
	if (procfile_is_open(&b->syscall)) {
		if (procfile_read(&b->syscall, buf, sizeof(buf), &text))
			return wait_kind_of_syscall(text, ret_kind);
		if (errno != EPERM && errno != EACCES)
			return false;
		procfile_close(&b->syscall);
		(void)!procfile_open(&b->wchan, root, "/proc/%d/task/%d/wchan", pid, tid);
		(void)!procfile_open(&b->stat, root, "/proc/%d/task/%d/stat", pid, tid);
	}
	if (!procfile_read(&b->wchan, buf, sizeof(buf), &text))
		return false;
	if (wait_kind_of_wchan(text, ret_kind))
		return true;
	*ret_kind = WAIT_CPU;
	if (is_runnable(&b->stat))
		return true;
	w->refused = true;
	return false;
}

static void look(struct waits *w)
{
	for (size_t i = 0; i < w->n_busy; i++) {
		enum wait_kind kind;
		if (!look_at(w, &w->busy[i], &kind))
			continue;
		w->busy[i].thread->looks[kind]++;
		w->looks[kind]++;
		w->n_looks++;
	}
}

static void say_absent(struct waits *w)
{
	for (int row = 0; row < N_ROWS; row++) {
		if (w->n_busy == 0)
			channel_absent(w->channels[row], SIGNAL_NOT_COUNTED,
			        _("no thread is busy: none used 1 % of a core of late"));
		else if (w->refused && row < WAIT_KINDS)
			channel_absent(w->channels[row], SIGNAL_NOT_SUPPORTED,
			        _("/proc/PID/task/TID/syscall and wchan may not be read: it takes "
			          "the "
			          "rights of ptrace"));
	}
}

static void show(struct waits *w)
{
	w->refused = w->refused && w->n_looks == 0;
	if (w->n_busy == 0 || w->refused)
		say_absent(w);
	for (int kind = 0; kind < WAIT_KINDS && w->n_looks > 0 && w->n_busy > 0; kind++)
		channel_share(w->channels[kind], w->looks[kind], w->n_looks);
	if (w->n_busy > 0) {
		channel_share(w->channels[ROW_BLOCKED], w->blocked_ns, w->wall_ns);
		channel_share(w->channels[ROW_QUEUED], w->queued_ns, w->wall_ns);
	}
}

static void waits_sample(void *self, int64_t now_ns)
{
	struct waits *w = self;
	look(w);
	if (now_ns >= w->next_scan_ns) {
		scan(w, now_ns);
		/* A service that was idle may be put under load any moment. */
		w->next_scan_ns = now_ns + (w->n_busy ? SCAN_NS : NS_PER_S);
	}
	show(w);
}

static bool waits_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	if (config->n_pids == 0)
		return err_set(err, ERR_SYSTEM, _("no process is watched"));
	struct waits *w = arena_new(run, struct waits);
	tasks_init(&w->tasks, config, run);
	w->threads = mem_zeroed(TASKS_MAX, sizeof(*w->threads));
	for (int row = 0; row < N_ROWS; row++)
		w->channels[row] = board_channel(board, &rows[row], NULL);
	*ret_self = w;
	return true;
}

static void waits_thorough(void *self)
{
	struct waits *w = self;
	w->next_scan_ns = INT64_MIN;
}

static void waits_begin(void *self)
{
	struct waits *w = self;
	for (size_t i = 0; i < w->n; i++)
		memset(w->threads[i].looks, 0, sizeof(w->threads[i].looks));
}

/* To the threads that are reported, which another source has found. */
static void waits_report(const void *self, struct arena *run, struct signal_system *to)
{
	const struct waits *w = self;
	(void)run;
	for (size_t i = 0; i < to->n_threads; i++) {
		const struct thread *t = find(w, to->threads[i].tid);
		uint32_t most = WAIT_LOCK, n = 0;
		for (uint32_t kind = WAIT_LOCK; t && kind < WAIT_KINDS; kind++) {
			n += t->looks[kind];
			most = t->looks[kind] > t->looks[most] ? kind : most;
		}
		if (n == 0)
			continue;
		to->threads[i].waits_for = wait_kind_names[most];
		to->threads[i].waits_for_ratio = (double)t->looks[most] / n;
	}
}

static void waits_close(void *self)
{
	struct waits *w = self;
	forget_busy(w);
	free(w->threads);
}

const struct watch_source waits_source = {
	.name = "waits",
	.rows = rows,
	.n_rows = N_ROWS,
	.open = waits_open,
	.sample = waits_sample,
	.thorough = waits_thorough,
	.begin = waits_begin,
	.report = waits_report,
	.close = waits_close,
};
