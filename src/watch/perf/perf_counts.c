/*
 * perf_counts.c - counters of the kernel and of the processor for the watched processes, by
 * perf_event_open.
 *
 * A counter is opened on each thread that is there at the begin and inherited by what it starts
 * from then on: a new thread costs no descriptor, and no look misses one that has ended already.
 * What a thread starts between our list of threads and the opening of its counters is not counted.
 *
 * Groups are counted together, so that their ratios are of the same time. When the processor has
 * fewer counters than there are groups, the kernel takes turns, and growth is scaled by the time in
 * which nobody counted: an estimate.
 *
 * Source: perf_event_open(2); the four shares of pipeline slots: Yasin, A Top-Down Method for
 * Performance Analysis and Counters Architecture, ISPASS 2014.
 */

#include "watch/perf/perf_open.h"
#include "watch/perf/perf_pmu.h"
#include "watch/perf/perf_scale.h"
#include "watch/sources.h"
#include "watch/tasks.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum event {
	TASK_CLOCK,
	MIGRATIONS,
	ALIGNMENT_FAULTS,
	EMULATION_FAULTS,
	CYCLES,
	INSTRUCTIONS,
	CACHE_MISSES,
	BRANCHES,
	BRANCH_MISSES,
	STALL_CYCLES, /* cycles, once more: counted together with the stalled ones */
	STALLED_FRONTEND,
	STALLED_BACKEND,
	SLOTS,
	RETIRING,
	BAD_SPECULATION,
	FRONTEND_BOUND,
	BACKEND_BOUND,
	N_EVENTS,
};

struct event_row {
	uint32_t type;
	uint64_t config;
	const char *name; /* in the PMU's folder of events, instead of type and config */
};

static const struct event_row event_rows[N_EVENTS] = {
	[TASK_CLOCK] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, NULL },
	[MIGRATIONS] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, NULL },
	[ALIGNMENT_FAULTS] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, NULL },
	[EMULATION_FAULTS] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, NULL },
	[CYCLES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, NULL },
	[INSTRUCTIONS] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, NULL },
	[CACHE_MISSES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, NULL },
	[BRANCHES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, NULL },
	[BRANCH_MISSES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, NULL },
	[STALL_CYCLES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, NULL },
	[STALLED_FRONTEND] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, NULL },
	[STALLED_BACKEND] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, NULL },
	[SLOTS] = { .name = "slots" },
	[RETIRING] = { .name = "topdown-retiring" },
	[BAD_SPECULATION] = { .name = "topdown-bad-spec" },
	[FRONTEND_BOUND] = { .name = "topdown-fe-bound" },
	[BACKEND_BOUND] = { .name = "topdown-be-bound" },
};

/* Which kernels count what software has to do for unaligned or missing instructions. */
#if defined(__aarch64__) || defined(__arm__) || defined(__powerpc__) || defined(__mips__)
enum { COUNTS_HANDLED_FAULTS = 1 };
#else
enum { COUNTS_HANDLED_FAULTS = 0 };
#endif

enum { GROUP_TASK_CLOCK, GROUP_MIGRATIONS, GROUP_FAULTS, GROUP_CORE, GROUP_STALLS, GROUP_TOPDOWN };

static const struct group_row {
	enum event first;
	int n;
	bool in_kernel; /* what is counted happens in the kernel: without it nothing is left */
} group_rows[] = {
	[GROUP_MIGRATIONS] = { MIGRATIONS, 1, true },
	[GROUP_TASK_CLOCK] = { TASK_CLOCK, 1, false },
	[GROUP_FAULTS] = { ALIGNMENT_FAULTS, 2, true },
	[GROUP_CORE] = { CYCLES, 5, false },
	[GROUP_STALLS] = { STALL_CYCLES, 3, false },
	[GROUP_TOPDOWN] = { SLOTS, 5, false },
};
enum { N_GROUPS = ARRAY_LEN(group_rows) };

enum { CACHE_LINE_BYTES = 64 };

#define TOPDOWN(word, text)                                                                        \
	{                                                                                          \
		.name = "perf_topdown_" word "_ratio", .unit = "ratio", .kind = WATCH_SHARE,       \
		.from = "perf_event_open, slots and topdown-*", .help = text                       \
	}

static const struct watch_row rows[] = {
	{ .name = "perf_task_clock_ratio",
	        .unit = "ratio",
	        .kind = WATCH_RATE,
	        .scale = 1e-9,
	        .from = "perf_event_open, task-clock",
	        .help = N_("CPU time of a process with all that it has started, also what ended "
	                   "between two samples; 1 is one core"),
	        .grain = N_("the switches themselves are left out: a tenth or two of a thread that "
	                    "runs for some microseconds at a time") },
	{ .name = "perf_migrations_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "perf_event_open, cpu-migrations",
	        .help = N_("how often the kernel moves the process's threads to another CPU") },
	{ .name = "perf_alignment_faults_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "perf_event_open, alignment-faults",
	        .help = N_("unaligned accesses that the kernel has to carry out") },
	{ .name = "perf_emulation_faults_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "perf_event_open, emulation-faults",
	        .help = N_("instructions that the kernel has to carry out for the processor") },
	{ .name = "perf_cycles_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "perf_event_open, cycles",
	        .help = N_("cycles of the cores while the process runs, of all its threads") },
	{ .name = "perf_instructions_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "perf_event_open, instructions",
	        .help = N_("instructions that the process has carried out") },
	{ .name = "perf_ipc",
	        .unit = "1",
	        .kind = WATCH_SHARE,
	        .from = "perf_event_open, instructions and cycles",
	        .help = N_("instructions for each cycle") },
	{ .name = "perf_cache_misses_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "perf_event_open, cache-misses",
	        .help = N_("accesses that miss the last cache") },
	{ .name = "perf_memory_bytes_per_s",
	        .unit = "bytes/s",
	        .kind = WATCH_RATE,
	        .scale = CACHE_LINE_BYTES,
	        .from = "perf_event_open, cache-misses",
	        .help = N_("memory traffic at least, from the misses of the last cache") },
	{ .name = "perf_branch_miss_ratio",
	        .unit = "ratio",
	        .kind = WATCH_SHARE,
	        .from = "perf_event_open, branch-misses and branches",
	        .help = N_("branches that were predicted wrongly") },
	{ .name = "perf_stalled_frontend_ratio",
	        .unit = "ratio",
	        .kind = WATCH_SHARE,
	        .from = "perf_event_open, stalled-cycles-frontend and cycles",
	        .help = N_("cycles in which no instruction could be fetched") },
	{ .name = "perf_stalled_backend_ratio",
	        .unit = "ratio",
	        .kind = WATCH_SHARE,
	        .from = "perf_event_open, stalled-cycles-backend and cycles",
	        .help = N_(
	                "cycles in which no instruction could be carried out, as while waiting for "
	                "memory") },
	TOPDOWN("retiring", N_("share of the pipeline's slots that did useful work")),
	TOPDOWN("bad_speculation", N_("share of the pipeline's slots lost to wrong predictions")),
	TOPDOWN("frontend", N_("share of the pipeline's slots that got no instruction")),
	TOPDOWN("backend", N_("share of the pipeline's slots that waited for memory or a unit")),
};

/* What the row of the same place shows: a counter, or its growth for each of another one. */
static const struct {
	enum event part, whole;
} shown[] = {
	{ TASK_CLOCK, N_EVENTS },
	{ MIGRATIONS, N_EVENTS },
	{ ALIGNMENT_FAULTS, N_EVENTS },
	{ EMULATION_FAULTS, N_EVENTS },
	{ CYCLES, N_EVENTS },
	{ INSTRUCTIONS, N_EVENTS },
	{ INSTRUCTIONS, CYCLES },
	{ CACHE_MISSES, N_EVENTS },
	{ CACHE_MISSES, N_EVENTS },
	{ BRANCH_MISSES, BRANCHES },
	{ STALLED_FRONTEND, STALL_CYCLES },
	{ STALLED_BACKEND, STALL_CYCLES },
	{ RETIRING, SLOTS },
	{ BAD_SPECULATION, SLOTS },
	{ FRONTEND_BOUND, SLOTS },
	{ BACKEND_BOUND, SLOTS },
};
enum { N_ROWS = ARRAY_LEN(rows) };
_Static_assert(ARRAY_LEN(shown) == N_ROWS, "a row shows something");

/* One group on one thread. */
struct counter {
	int fds[PERF_GROUP_MAX]; /* the leader first; -1 */
	int watched;
	struct perf_reading before;
};

struct group {
	struct counter *counters; /* [n]; none: not supported */
	size_t n;
	bool user_only; /* the kernel's part may not be counted */
};

struct watched {
	int folder_fd; /* of /proc/PID, which leads nowhere once the process has ended */
	bool ended;
	double totals[N_EVENTS];
	struct channel *channels[N_ROWS]; /* NULL: not supported */
};

struct perf_counts {
	struct group groups[N_GROUPS];
	struct watched *watched; /* [n_watched + 1]; the last is the sum of all */
	size_t n_watched;
	size_t n_descriptors;
};

static const struct group_row *group_of(enum event event)
{
	const struct group_row *group = group_rows;
	while (event < group->first || (int)event >= (int)group->first + group->n)
		group++;
	return group;
}

static bool set_event(struct perf_event_attr *attr, const char *root, enum event event)
{
	const struct event_row *row = &event_rows[event];
	*attr = (struct perf_event_attr){
		.type = row->type,
		.config = row->config,
		.inherit = 1,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
		               PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	return !row->name || perf_pmu_find(root, row->name, attr);
}

static void close_counter(struct counter *c)
{
	for (int i = PERF_GROUP_MAX - 1; i >= 0; i--)
		if (c->fds[i] >= 0)
			close(c->fds[i]);
}

/* The group on one thread; false: errno says why, and attr what was refused. */
static bool open_counter(struct counter *c, const struct group_row *row, const char *root, int tid,
        bool user_only, struct perf_event_attr *attr)
{
	for (int i = 0; i < PERF_GROUP_MAX; i++)
		c->fds[i] = -1;
	for (int i = 0; i < row->n; i++) {
		bool known = set_event(attr, root, row->first + (enum event)i);
		attr->exclude_kernel = attr->exclude_hv = user_only;
		if (known)
			c->fds[i] = perf_open(attr, tid, i > 0 ? c->fds[0] : -1);
		if (c->fds[i] < 0) {
			int code = errno;
			close_counter(c);
			errno = code;
			return false;
		}
	}
	return true;
}

static void close_group(struct group *g)
{
	for (size_t i = 0; i < g->n; i++)
		close_counter(&g->counters[i]);
	g->n = 0;
}

/* On all threads or on none: a part of the threads would be counted as if it were all. */
static bool open_group(struct perf_counts *p, int place, const struct tasks *tasks,
        struct arena *run, char why[BOARD_REASON_BYTES])
{
	const struct group_row *row = &group_rows[place];
	const char *root = tasks->config->root;
	struct group *g = &p->groups[place];
	size_t n_wanted = tasks->n * (size_t)row->n;
	if (p->n_descriptors + n_wanted > perf_descriptors_max()) {
		snprintf(why, BOARD_REASON_BYTES,
		        _("the process has %zu threads, too many for the limit of open files "
		          "(ulimit "
		          "-n)"),
		        tasks->n);
		return false;
	}
	g->counters = arena_new_n(run, struct counter, tasks->n + 1);
	for (size_t i = 0; i < tasks->n; i++) {
		struct perf_event_attr attr;
		struct counter *c = &g->counters[g->n];
		int tid = tasks->tasks[i].tid;
		c->watched = tasks->tasks[i].watched;
		bool ok = open_counter(c, row, root, tid, g->user_only, &attr);
		if (!ok && (errno == EACCES || errno == EPERM) && g->n == 0 && !row->in_kernel) {
			g->user_only = true;
			ok = open_counter(c, row, root, tid, true, &attr);
		}
		if (ok) {
			g->n++;
		} else if (errno != ESRCH || i + 1 == tasks->n) {
			perf_why_not(errno, &attr, root, why);
			close_group(g);
			return false;
		}
	}
	p->n_descriptors += n_wanted;
	return true;
}

/* Values are estimates for as long as nobody says otherwise. */
static void say_what_is_assumed(struct perf_counts *p, int row, struct channel *c)
{
	const struct group_row *group = group_of(shown[row].part);
	if (rows[row].scale == CACHE_LINE_BYTES)
		channel_estimated(
		        c, _("64 bytes for each miss, without what the processor fetches ahead "
		             "and writes back"));
	else if (p->groups[group - group_rows].user_only && shown[row].part != TASK_CLOCK)
		channel_estimated(
		        c, _("what the process does in the kernel may not be counted here"));
}

static void make_channels(struct perf_counts *p, const struct watch_config *config,
        struct board *board, int group, const char *why)
{
	for (int row = 0; row < N_ROWS; row++) {
		if (group_of(shown[row].part) != &group_rows[group])
			continue;
		if (why)
			channel_absent(
			        board_channel(board, &rows[row], NULL), SIGNAL_NOT_SUPPORTED, why);
		/* The sum has no instance; of one process it is all there is to tell. */
		for (size_t i = config->n_pids > 1 ? 0 : 1; i <= config->n_pids && !why; i++) {
			char label[TASK_LABEL_BYTES];
			if (i < config->n_pids)
				task_label(config, config->pids[i], label);
			struct channel *c =
			        board_channel(board, &rows[row], i < config->n_pids ? label : NULL);
			p->watched[i].channels[row] = c;
			say_what_is_assumed(p, row, c);
		}
	}
}

static void open_groups(struct perf_counts *p, const struct watch_config *config,
        struct board *board, struct arena *run)
{
	struct arena tmp = { 0 };
	struct tasks tasks;
	tasks_init(&tasks, config, &tmp);
	tasks_scan(&tasks);
	for (int i = 0; i < N_GROUPS; i++) {
		char why[BOARD_REASON_BYTES];
		bool ok = false;
		if (i == GROUP_FAULTS && !COUNTS_HANDLED_FAULTS)
			snprintf(why, sizeof(why),
			        _("kernels for this kind of processor do not count them"));
		else
			ok = open_group(p, i, &tasks, run, why);
		make_channels(p, config, board, i, ok ? NULL : why);
	}
	arena_release(&tmp);
}

static bool perf_counts_open(const struct watch_config *config, struct board *board,
        struct arena *run, void **ret_self, struct err *err)
{
	if (!perf_is_live(config, err))
		return false;
	if (config->n_pids == 0)
		return err_set(err, ERR_SYSTEM, _("no process is watched"));
	struct perf_counts *p = arena_new(run, struct perf_counts);
	p->n_watched = config->n_pids;
	p->watched = arena_new_n(run, struct watched, config->n_pids + 1);
	for (size_t i = 0; i < config->n_pids; i++) {
		char path[32];
		snprintf(path, sizeof(path), "/proc/%d", config->pids[i]);
		p->watched[i].folder_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	open_groups(p, config, board, run);
	*ret_self = p;
	return true;
}

static void say_shared(struct watched *w, const struct group_row *group)
{
	for (int row = 0; row < N_ROWS; row++)
		if (group_of(shown[row].part) == group)
			channel_estimated(w->channels[row],
			        _("the processor's counters were shared out in turns, and growth "
			          "is scaled "
			          "by the time that was counted"));
}

static void read_counter(struct perf_counts *p, struct counter *c, const struct group_row *row)
{
	struct perf_reading now;
	double growth[PERF_GROUP_MAX];
	ssize_t n = read(c->fds[0], &now, sizeof(now));
	enum perf_growth how = perf_scale(&now, n > 0 ? (size_t)n : 0, row->n, &c->before, growth);
	if (how == PERF_NOTHING)
		return;
	struct watched *both[] = { &p->watched[c->watched], &p->watched[p->n_watched] };
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		for (int j = 0; j < row->n; j++)
			both[i]->totals[(int)row->first + j] += growth[j];
		if (how == PERF_SCALED)
			say_shared(both[i], row);
	}
}

static void show(struct watched *w)
{
	for (int row = 0; row < N_ROWS; row++) {
		struct channel *c = w->channels[row];
		uint64_t part = (uint64_t)w->totals[shown[row].part];
		if (rows[row].kind == WATCH_SHARE)
			channel_share(c, part, (uint64_t)w->totals[shown[row].whole]);
		else
			channel_total(c, part);
	}
}

/* A process that has ended counts no further, which is not the same as 0. */
static void show_or_end(struct watched *w, bool ended)
{
	if (!ended)
		show(w);
	for (int row = 0; row < N_ROWS && ended && !w->ended; row++)
		channel_absent(w->channels[row], SIGNAL_NOT_COUNTED, _("the process has ended"));
	w->ended = ended;
}

static void perf_counts_sample(void *self, int64_t now_ns)
{
	struct perf_counts *p = self;
	(void)now_ns;
	for (int i = 0; i < N_GROUPS; i++)
		for (size_t j = 0; j < p->groups[i].n; j++)
			read_counter(p, &p->groups[i].counters[j], &group_rows[i]);
	bool all_ended = true;
	for (size_t i = 0; i < p->n_watched; i++) {
		struct watched *w = &p->watched[i];
		show_or_end(w, faccessat(w->folder_fd, "stat", F_OK, 0) != 0);
		all_ended &= w->ended;
	}
	show_or_end(&p->watched[p->n_watched], all_ended);
}

static void perf_counts_close(void *self)
{
	struct perf_counts *p = self;
	for (int i = 0; i < N_GROUPS; i++)
		close_group(&p->groups[i]);
	for (size_t i = 0; i < p->n_watched; i++)
		if (p->watched[i].folder_fd >= 0)
			close(p->watched[i].folder_fd);
}

const struct watch_source perf_counts_source = {
	.name = "perf",
	.rows = rows,
	.n_rows = N_ROWS,
	.period_ns = 2 * NS_PER_S,
	.open = perf_counts_open,
	.sample = perf_counts_sample,
	.close = perf_counts_close,
};
