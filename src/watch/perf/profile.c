/*
 * profile.c - where the watched processes spend their CPU time: the kernel's CPU clock interrupts
 * each thread 99 times for each second that it runs, and notes the instruction that it was at.
 *
 * A thread has its own sampler and ring, so that a process can be looked into without rights over
 * the machine; threads are looked for every second. What is noted is counted by address in a table
 * of fixed size; names are looked up when somebody asks for a report.
 *
 * Cost: a sample takes the thread some 2 to 5 us, that is 0.02 to 0.05 % of its time; a switch of
 * threads takes some 0.3 us longer, as long as a sampler is on one of them.
 */
#include "watch/perf/perf_open.h"
#include "watch/perf/perf_ring.h"
#include "watch/perf/profile_elf.h"
#include "watch/perf/profile_table.h"
#include "watch/sources.h"
#include "watch/tasks.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Not 100: what happens every 10 ms would be seen always or never. */
	SAMPLES_PER_S = 99,
	RING_BYTES = 8192,       /* of 24 bytes a sample: more than 3 s */
	TOO_MANY_PROCESSES = -1, /* beside errno's values */
};
#define SAMPLE_NS (NS_PER_S / SAMPLES_PER_S)
#define DRAIN_NS (NS_PER_S / 2)
#define SCAN_NS NS_PER_S

enum { ROW_CPU, ROW_SAMPLES, ROW_LOST, ROW_THREADS, N_ROWS };

static const struct watch_row rows[N_ROWS] = {
	[ROW_CPU] = { .name = "profile_cpu_ratio",
	        .unit = "ratio",
	        .kind = WATCH_RATE,
	        .scale = 1e-9,
	        .from = "perf_event_open, cpu-clock, samples",
	        .help = N_("CPU time that the samples stand for; what it lacks of the "
	                   "process's CPU time was not sampled"),
	        .grain = N_("samples of 10.1 ms of CPU time") },
	[ROW_SAMPLES] = { .name = "profile_samples_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "perf_event_open, cpu-clock, samples",
	        .help = N_("samples of what the threads were doing on a CPU") },
	[ROW_LOST] = { .name = "profile_lost_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "perf_event_open, PERF_RECORD_LOST",
	        .help = N_("samples for which there was no room before we came to read them") },
	[ROW_THREADS] = { .name = "profile_threads",
	        .unit = "1",
	        .kind = WATCH_GAUGE,
	        .from = "perf_event_open, cpu-clock",
	        .help = N_("threads that are sampled") },
};

struct sampled {
	int tid;
	int process; /* place in the table */
	struct perf_ring ring;
	bool seen;
};

struct watched {
	struct channel *channels[N_ROWS];
	uint64_t n_samples, n_lost;
	int64_t n_threads;
	bool ended;
};

struct profile {
	struct tasks tasks;
	struct profile_table *table;
	struct sampled *threads; /* by tid */
	size_t n, max;
	struct watched *watched; /* [n_watched + 1]; the last is the sum of all */
	size_t n_watched;
	bool user_only;
	int refused; /* errno of the thread that could not be sampled last; 0: all can */
	int64_t next_scan_ns;
	char assumed[BOARD_REASON_BYTES];
	struct sampled *draining;
};

static int compare(const void *key, const void *member)
{
	const struct sampled *s = member;
	int tid = *(const int *)key;
	return (tid > s->tid) - (tid < s->tid);
}

static int watched_of(const struct profile *p, const struct sampled *s)
{
	return profile_table_watched(p->table, s->process);
}

static void on_record(void *ctx, const struct perf_record *record)
{
	struct profile *p = ctx;
	struct watched *w = &p->watched[watched_of(p, p->draining)];
	uint64_t fields[2]; /* an address and two ids; an id and a count */
	if (record->n < sizeof(fields))
		return;
	memcpy(fields, record->body, sizeof(fields));
	if (record->type == PERF_RECORD_LOST)
		w->n_lost += fields[1];
	if (record->type != PERF_RECORD_SAMPLE)
		return;
	int mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	w->n_samples++;
	profile_table_count(
	        p->table, p->draining->process, fields[0], mode == PERF_RECORD_MISC_KERNEL);
}

static void drain(struct profile *p, struct sampled *s)
{
	p->draining = s;
	perf_ring_drain(&s->ring, on_record, p);
}

static void set_attr(const struct profile *p, struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = SAMPLE_NS,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
		.exclude_kernel = p->user_only,
		.exclude_hv = 1,
		/* Nobody waits for it: we come by the clock. */
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX,
	};
}

static bool open_ring(struct profile *p, struct perf_ring *ring, int tid)
{
	struct perf_event_attr attr;
	*ring = (struct perf_ring){ 0 };
	set_attr(p, &attr);
	if (perf_ring_open(ring, &attr, tid, RING_BYTES))
		return true;
	if (p->user_only || p->n > 0 || (errno != EACCES && errno != EPERM))
		return false;
	p->user_only = true;
	set_attr(p, &attr);
	if (perf_ring_open(ring, &attr, tid, RING_BYTES))
		return true;
	p->user_only = false;
	return false;
}

static void add(struct profile *p, const struct task *task)
{
	struct sampled s = { .tid = task->tid, .seen = true };
	if (p->n == p->max) {
		p->refused = EMFILE;
		return;
	}
	s.process = profile_table_process(p->table, task->pid, task->watched);
	if (s.process < 0 || !open_ring(p, &s.ring, task->tid)) {
		if (s.process < 0 || errno != ESRCH)
			p->refused = s.process < 0 ? TOO_MANY_PROCESSES : errno;
		return;
	}
	size_t at = p->n++;
	for (; at > 0 && p->threads[at - 1].tid > s.tid; at--)
		p->threads[at] = p->threads[at - 1];
	p->threads[at] = s;
}

static void drop_unseen(struct profile *p)
{
	size_t kept = 0;
	for (size_t i = 0; i < p->n; i++) {
		struct sampled *s = &p->threads[i];
		if (s->seen) {
			p->watched[watched_of(p, s)].n_threads++;
			p->threads[kept++] = *s;
			continue;
		}
		drain(p, s);
		perf_ring_close(&s->ring);
	}
	p->n = kept;
}

static void scan(struct profile *p, int64_t now_ns)
{
	tasks_scan_threads(&p->tasks, now_ns);
	p->refused = 0;
	for (size_t i = 0; i < p->n; i++)
		p->threads[i].seen = false;
	for (size_t i = 0; i < p->n_watched; i++) {
		p->watched[i].n_threads = 0;
		p->watched[i].ended = true;
	}
	/* The known first: the new ones are put between them. */
	for (size_t i = 0; i < p->tasks.n; i++) {
		struct task *task = &p->tasks.tasks[i];
		struct sampled *s =
		        bsearch(&task->tid, p->threads, p->n, sizeof(*p->threads), compare);
		p->watched[task->watched].ended = false;
		if (s && profile_table_pid(p->table, s->process) == task->pid)
			s->seen = true;
	}
	drop_unseen(p);
	for (size_t i = 0; i < p->tasks.n; i++) {
		struct task *task = &p->tasks.tasks[i];
		if (bsearch(&task->tid, p->threads, p->n, sizeof(*p->threads), compare))
			continue;
		size_t before = p->n;
		add(p, task);
		p->watched[task->watched].n_threads += p->n > before;
	}
}

/* What the samples do not show, as far as it is known. */
static void tell_assumed(struct profile *p, struct channel *c)
{
	char why[BOARD_REASON_BYTES];
	struct perf_event_attr attr;
	set_attr(p, &attr);
	if (p->refused == EPERM && p->n > 0)
		snprintf(p->assumed, sizeof(p->assumed),
		        _("there is no memory for the rings of all threads "
		          "(kernel.perf_event_mlock_kb)"));
	else if (p->refused == EMFILE)
		snprintf(p->assumed, sizeof(p->assumed),
		        _("%zu of %zu threads are sampled, for the limit of open files (ulimit "
		          "-n)"),
		        p->n, p->tasks.n);
	else if (p->refused == TOO_MANY_PROCESSES)
		snprintf(p->assumed, sizeof(p->assumed),
		        _("only the first %d processes are sampled"), PROFILE_PROCESSES_MAX);
	else if (p->refused) {
		perf_why_not(p->refused, &attr, "", why);
		snprintf(p->assumed, sizeof(p->assumed), "%s", why);
	} else if (p->user_only)
		snprintf(p->assumed, sizeof(p->assumed),
		        _("what the process does in the kernel may not be sampled here"));
	if (p->assumed[0])
		channel_estimated(c, p->assumed);
}

static void show(struct profile *p, struct watched *w)
{
	if (w->ended) {
		for (int row = 0; row < N_ROWS; row++)
			channel_absent(
			        w->channels[row], SIGNAL_NOT_COUNTED, _("the process has ended"));
		return;
	}
	channel_total(w->channels[ROW_CPU], w->n_samples * (uint64_t)SAMPLE_NS);
	channel_total(w->channels[ROW_SAMPLES], w->n_samples);
	channel_total(w->channels[ROW_LOST], w->n_lost);
	channel_value(w->channels[ROW_THREADS], (double)w->n_threads);
	tell_assumed(p, w->channels[ROW_CPU]);
	if (profile_elf_why_not())
		channel_estimated(w->channels[ROW_SAMPLES], profile_elf_why_not());
}

static void show_all(struct profile *p)
{
	struct watched *sum = &p->watched[p->n_watched];
	sum->n_samples = sum->n_lost = 0;
	sum->n_threads = 0;
	sum->ended = true;
	for (size_t i = 0; i < p->n_watched; i++) {
		struct watched *w = &p->watched[i];
		sum->n_samples += w->n_samples;
		sum->n_lost += w->n_lost;
		sum->n_threads += w->n_threads;
		sum->ended &= w->ended;
		show(p, w);
	}
	show(p, sum);
}

static void profile_sample(void *self, int64_t now_ns)
{
	struct profile *p = self;
	for (size_t i = 0; i < p->n; i++)
		drain(p, &p->threads[i]);
	if (now_ns >= p->next_scan_ns) {
		scan(p, now_ns);
		p->next_scan_ns = now_ns + SCAN_NS - DRAIN_NS / 2;
	}
	show_all(p);
	profile_table_drained(p->table);
}

static void profile_close(void *self)
{
	struct profile *p = self;
	for (size_t i = 0; i < p->n; i++)
		perf_ring_close(&p->threads[i].ring);
	free(p->threads);
	profile_table_free(p->table);
}

static void make_channels(struct profile *p, const struct watch_config *config, struct board *board)
{
	/* The sum has no instance; of one process it is all there is to tell. */
	for (size_t i = p->n_watched > 1 ? 0 : 1; i <= p->n_watched; i++) {
		char label[TASK_LABEL_BYTES];
		if (i < p->n_watched)
			task_label(config, config->pids[i], label);
		for (int row = 0; row < N_ROWS; row++)
			p->watched[i].channels[row] =
			        board_channel(board, &rows[row], i < p->n_watched ? label : NULL);
	}
}

/* Nothing is asked of the machine before a first thread could be sampled. */
static bool start(struct profile *p, const struct watch_config *config, struct err *err)
{
	size_t most = perf_descriptors_max();
	p->max = most < TASKS_MAX ? most : TASKS_MAX;
	p->threads = mem_zeroed(p->max + 1, sizeof(*p->threads));
	p->table = profile_table_new();
	scan(p, 0);
	if (p->n > 0)
		return true;
	char why[BOARD_REASON_BYTES];
	struct perf_event_attr attr;
	set_attr(p, &attr);
	perf_why_not(p->refused ? p->refused : ESRCH, &attr, config->root, why);
	profile_close(p);
	return err_set(err, ERR_SYSTEM, "%s", why);
}

static bool profile_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	if (!config->profile) {
		board_absent(board, rows, N_ROWS, SIGNAL_NOT_COUNTED,
		        _("nobody asked for samples of where CPU time goes"));
		*ret_self = NULL;
		return true;
	}
	if (!perf_is_live(config, err))
		return false;
	if (config->n_pids == 0)
		return err_set(err, ERR_SYSTEM, _("no process is watched"));
	struct profile *p = arena_new(run, struct profile);
	tasks_init(&p->tasks, config, run);
	p->n_watched = config->n_pids;
	p->watched = arena_new_n(run, struct watched, config->n_pids + 1);
	if (!start(p, config, err))
		return false;
	make_channels(p, config, board);
	*ret_self = p;
	return true;
}

static void profile_thorough(void *self)
{
	struct profile *p = self;
	p->next_scan_ns = INT64_MIN;
	profile_table_thorough(p->table);
}

static void profile_begin(void *self)
{
	struct profile *p = self;
	profile_table_begin(p->table);
}

static void profile_report(const void *self, struct arena *run, struct signal_system *to)
{
	const struct profile *p = self;
	profile_table_report(p->table, run, to);
}

const struct watch_source profile_source = {
	.name = "profile",
	.rows = rows,
	.n_rows = N_ROWS,
	.period_ns = DRAIN_NS,
	.open = profile_open,
	.sample = profile_sample,
	.thorough = profile_thorough,
	.begin = profile_begin,
	.report = profile_report,
	.close = profile_close,
};
