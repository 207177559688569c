#include "watch/process/process_rows.h"
#include "watch/process/process_tree.h"
#include "watch/sources.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	OWN_MAX = 64,         /* processes that have channels of their own, in all the time */
	FILES_WANTED = 16384, /* descriptors, if the hard limit allows */
	REASON_BYTES = BOARD_REASON_BYTES,
};
/* Children that end sooner are only in the sums; who was asked for has its own at once. */
#define OWN_NS (2 * NS_PER_S)
/* stat, status, io. */
#define FILES_NS (500 * NS_PER_MS)

/* A process's own channels, by its label; they outlast it. */
struct own {
	int pid;
	uint64_t start_ticks;
	struct channel *channels[PROCESS_N_ROWS];
};

struct process_watch {
	struct process_place place;
	struct tree tree;
	struct board *board;
	const int *pids;
	size_t n_pids;
	bool is_begun; /* the processes were taken in */
	bool thorough; /* the next sample */
	int64_t now_ns, files_next_ns, states_next_ns;
	size_t open_files_at; /* whose open files are counted */
	uint64_t ended[PROCESS_N_COUNTERS];
	struct channel *sums[PROCESS_N_ROWS];
	struct own own[OWN_MAX];
	size_t n_own;
	char last_end[REASON_BYTES];
	char partial[PROCESS_N_GROUPS][REASON_BYTES]; /* why a sum is not whole; "": it is */
};

static const char *const group_files[PROCESS_N_GROUPS] = {
	[GROUP_CPU] = "stat",
	[GROUP_STAT] = "stat",
	[GROUP_STATUS] = "status",
	[GROUP_IO] = "io",
	[GROUP_ROLLUP] = "smaps_rollup",
	[GROUP_FILES] = "fd",
	[GROUP_SOCKETS] = "fd",
	[GROUP_WAITS] = "schedstat",
	[GROUP_STATES] = "task",
	[GROUP_BUSIEST] = "task",
	[GROUP_TREE] = "stat",
};

/* Why a process does not tell what belongs to a group. */
static enum signal_state explain(const struct process *p, enum process_group group, char *reason)
{
	const char *file = group_files[group];
	switch (p->error[group]) {
	case 0:
		snprintf(reason, REASON_BYTES, _("'/proc/%d/%s' does not tell it"), p->pid, file);
		return SIGNAL_NOT_SUPPORTED;
	case EAGAIN:
		snprintf(reason, REASON_BYTES, _("'/proc/%d/%s' has not been read to its end yet"),
		        p->pid, file);
		return SIGNAL_NOT_COUNTED;
	case EBADMSG:
		snprintf(reason, REASON_BYTES, _("'/proc/%d/%s' is not understood"), p->pid, file);
		return SIGNAL_NOT_COUNTED;
	case EFBIG:
		snprintf(reason, REASON_BYTES,
		        _("'/proc/%d/%s' walks through all pages, too many to do it meanwhile"),
		        p->pid, file);
		return SIGNAL_NOT_COUNTED;
	case ENOSYS:
		snprintf(reason, REASON_BYTES,
		        _("this kernel keeps no '/proc/%d/%s': it counts no waiting"), p->pid,
		        file);
		return SIGNAL_NOT_SUPPORTED;
	default:
		snprintf(reason, REASON_BYTES, _("cannot read '/proc/%d/%s': %s"), p->pid, file,
		        strerror(p->error[group]));
		return SIGNAL_NOT_SUPPORTED;
	}
}

/* The value of a row of one process; NAN: unknown. */
static double value_of(const struct process *p, const struct process_manner *m)
{
	if (p->error[m->group])
		return NAN;
	if (m->how == PROCESS_HOW_GAUGE)
		return p->shown[m->which];
	return p->has_stand[m->which] || m->which >= COUNT_WAIT_NS ? (double)p->grown[m->which]
	                                                           : NAN;
}

/* What one process told before stays in the sum of counters when it cannot be read now. */
static uint64_t total_of(const struct process_watch *w, enum process_counter c)
{
	uint64_t total = w->ended[c];
	for (size_t i = 0; i < w->tree.n; i++)
		total += w->tree.processes[i]->grown[c];
	return total;
}

/* A sum without the processes that do not tell is an estimate. */
static void tell_partial(struct process_watch *w, enum process_group group,
        const struct process *missing, struct channel *c)
{
	char *partial = w->partial[group];
	if (!missing->error[group] || missing->error[group] == EAGAIN)
		return;
	if (!partial[0])
		explain(missing, group, partial);
	channel_estimated(c, partial);
}

/*
 * Is a row told by any process? If not, its channel says why; if only by some, that they are not
 * all.
 */
static bool is_told(struct process_watch *w, enum process_row row)
{
	const struct process_manner *m = &process_manners[row];
	const struct process *missing = NULL;
	char reason[REASON_BYTES];
	size_t n_told = 0;
	for (size_t i = 0; i < w->tree.n; i++) {
		const struct process *p = w->tree.processes[i];
		bool told = m->how == PROCESS_HOW_SPECIAL ? p->error[m->group] == 0
		                                          : !isnan(value_of(p, m));
		n_told += told;
		if (!told && (!missing || p->error[m->group]))
			missing = p;
	}
	if (missing && n_told)
		tell_partial(w, m->group, missing, w->sums[row]);
	if (missing && !n_told) {
		enum signal_state state = explain(missing, m->group, reason);
		channel_absent(w->sums[row], state, reason);
	}
	return n_told > 0;
}

static double sum_of(const struct process_watch *w, const struct process_manner *m)
{
	double sum = 0;
	for (size_t i = 0; i < w->tree.n; i++) {
		double value = value_of(w->tree.processes[i], m);
		sum += isnan(value) ? 0 : value;
	}
	return sum;
}

static struct own *own_of(struct process_watch *w, const struct process *p)
{
	for (size_t i = 0; i < w->n_own; i++)
		if (w->own[i].pid == p->pid && w->own[i].start_ticks == p->start_ticks)
			return &w->own[i];
	bool is_young = !p->is_asked_for && w->now_ns - p->since_ns < OWN_NS;
	if (w->n_own == OWN_MAX || is_young)
		return NULL;
	struct own *own = &w->own[w->n_own++];
	own->pid = p->pid;
	own->start_ticks = p->start_ticks;
	for (size_t row = 0; row < PROCESS_N_ROWS; row++) {
		if (!process_manners[row].is_own)
			continue;
		own->channels[row] = board_channel(w->board, &process_rows[row], p->label);
		channel_forget(own->channels[row]);
	}
	return own;
}

static void write_own(struct process_watch *w, enum process_row row)
{
	const struct process_manner *m = &process_manners[row];
	/* One process alone is the sum. */
	if (!m->is_own || (w->tree.n < 2 && w->n_own == 0))
		return;
	for (size_t i = 0; i < w->tree.n; i++) {
		const struct process *p = w->tree.processes[i];
		const struct own *own = own_of(w, p);
		char reason[REASON_BYTES];
		if (!own)
			continue;
		struct channel *c = own->channels[row];
		if (row == PROCESS_ROW_MEMS)
			channel_text(c, str_of(p->mems));
		else if (isnan(value_of(p, m)))
			channel_absent(c, explain(p, m->group, reason), reason);
		else if (m->how == PROCESS_HOW_COUNTER)
			channel_total(c, p->grown[m->which]);
		else
			channel_value(c, p->shown[m->which]);
	}
}

static void write_cpus(struct process_watch *w)
{
	char text[BOARD_TEXT_BYTES];
	struct cpulist cpus = { 0 };
	int64_t n_confined = 0;
	for (size_t i = 0; i < w->tree.n; i++)
		threads_add_cpus(&w->tree.processes[i]->threads, &cpus);
	unsigned n_cpus = cpulist_count(&cpus);
	if (n_cpus == 0)
		return;
	for (size_t i = 0; i < w->tree.n; i++)
		n_confined += threads_count_confined(&w->tree.processes[i]->threads, n_cpus);
	cpulist_print(&cpus, text, sizeof(text));
	channel_text(w->sums[PROCESS_ROW_CPUS], str_of(text));
	channel_value(w->sums[PROCESS_ROW_N_CPUS], n_cpus);
	channel_value(w->sums[PROCESS_ROW_CONFINED], (double)n_confined);
}

static void write_mems(struct process_watch *w)
{
	char text[BOARD_TEXT_BYTES];
	struct cpulist mems = { 0 };
	for (size_t i = 0; i < w->tree.n; i++)
		if (!cpulist_add(&mems, str_of(w->tree.processes[i]->mems)))
			return;
	cpulist_print(&mems, text, sizeof(text));
	channel_text(w->sums[PROCESS_ROW_MEMS], str_of(text));
}

static void write_wait_share(struct process_watch *w)
{
	uint64_t wait_ns = total_of(w, COUNT_WAIT_NS);
	channel_share(
	        w->sums[PROCESS_ROW_WAIT_SHARE], wait_ns, wait_ns + total_of(w, COUNT_RUN_NS));
}

static void write_files_ratio(struct process_watch *w)
{
	double ratio = NAN;
	for (size_t i = 0; i < w->tree.n; i++)
		ratio = fmax(ratio, w->tree.processes[i]->shown[SHOW_FILES_RATIO]);
	channel_value(w->sums[PROCESS_ROW_FILES_RATIO], ratio);
}

static void write_busiest(struct process_watch *w)
{
	char text[BOARD_TEXT_BYTES];
	const struct thread *busiest = NULL;
	bool has_schedstat = false;
	int64_t n_busy = 0;
	for (size_t i = 0; i < w->tree.n; i++) {
		const struct thread_set *t = &w->tree.processes[i]->threads;
		n_busy += t->n_busy;
		if (t->is_rest || !t->busiest ||
		        (busiest && t->busiest->cpu_ratio <= busiest->cpu_ratio))
			continue;
		busiest = t->busiest;
		has_schedstat = t->has_schedstat;
	}
	/* Somebody must have been read twice. */
	if (!busiest || busiest->n_recent == 0)
		return;
	snprintf(text, sizeof(text), "%d %s", busiest->tid, busiest->name);
	channel_value(w->sums[PROCESS_ROW_BUSIEST_CPU], busiest->cpu_ratio);
	channel_value(w->sums[PROCESS_ROW_BUSY], (double)n_busy);
	channel_text(w->sums[PROCESS_ROW_BUSIEST], str_of(text));
	if (has_schedstat)
		channel_value(w->sums[PROCESS_ROW_BUSIEST_WAIT], busiest->wait_ratio);
}

static void write_special(struct process_watch *w, enum process_row row)
{
	switch (row) {
	case PROCESS_ROW_WAIT_SHARE:
		write_wait_share(w);
		break;
	case PROCESS_ROW_COUNT:
		channel_value(w->sums[row], (double)w->tree.n);
		break;
	case PROCESS_ROW_CPUS:
		write_cpus(w);
		break;
	case PROCESS_ROW_MEMS:
		write_mems(w);
		break;
	case PROCESS_ROW_FILES_RATIO:
		write_files_ratio(w);
		break;
	case PROCESS_ROW_BUSIEST:
		write_busiest(w);
		break;
	default:
		break;
	}
}

static void write_group(struct process_watch *w, enum process_group group)
{
	for (enum process_row row = 0; row < PROCESS_N_ROWS; row++) {
		const struct process_manner *m = &process_manners[row];
		if (m->group != group || !is_told(w, row))
			continue;
		if (m->how == PROCESS_HOW_COUNTER)
			channel_total(w->sums[row], total_of(w, (enum process_counter)m->which));
		else if (m->how == PROCESS_HOW_GAUGE)
			channel_value(w->sums[row], sum_of(w, m));
		else
			write_special(w, row);
		write_own(w, row);
	}
}

/* All processes are over: so is all that they told. */
static void tell_the_end(struct process_watch *w)
{
	for (size_t row = 0; row < PROCESS_N_ROWS; row++)
		if (row != PROCESS_ROW_ENDED)
			channel_absent(w->sums[row], SIGNAL_NOT_COUNTED, w->last_end);
}

static void end_process(struct process_watch *w, size_t i)
{
	const struct process *p = w->tree.processes[i];
	snprintf(w->last_end, sizeof(w->last_end), _("process %d (%s) has ended"), p->pid, p->name);
	channel_text(w->sums[PROCESS_ROW_ENDED], str_of(w->last_end));
	for (size_t c = 0; c < PROCESS_N_COUNTERS; c++)
		w->ended[c] += p->grown[c];
	for (size_t j = 0; j < w->n_own; j++)
		if (w->own[j].pid == p->pid && w->own[j].start_ticks == p->start_ticks)
			for (size_t row = 0; row < PROCESS_N_ROWS; row++)
				channel_absent(
				        w->own[j].channels[row], SIGNAL_NOT_COUNTED, w->last_end);
	tree_drop(&w->tree, i);
	if (w->tree.n == 0)
		tell_the_end(w);
}

static void end_processes(struct process_watch *w)
{
	for (size_t i = w->tree.n; i-- > 0;)
		if (w->tree.processes[i]->has_ended)
			end_process(w, i);
}

/* At the first sample rather than when the source is opened, so that all times are of one clock. */
static void begin_processes(struct process_watch *w, int64_t now_ns)
{
	w->is_begun = w->thorough = true;
	channel_absent(w->sums[PROCESS_ROW_ENDED], SIGNAL_NOT_COUNTED, _("none of them has ended"));
	for (size_t i = 0; i < w->n_pids; i++) {
		if (tree_add(&w->tree, w->pids[i], true, now_ns))
			continue;
		snprintf(w->last_end, sizeof(w->last_end), _("process %d cannot be watched: %s"),
		        w->pids[i], strerror(errno));
		channel_text(w->sums[PROCESS_ROW_ENDED], str_of(w->last_end));
	}
	if (w->tree.n == 0)
		tell_the_end(w);
}

static void look_at_files(struct process_watch *w, int64_t now_ns, bool all)
{
	if (!all && now_ns < w->files_next_ns)
		return;
	w->files_next_ns = now_ns + FILES_NS - w->place.interval_ns / 2;
	for (size_t i = 0; i < w->tree.n; i++)
		process_look_at_files(w->tree.processes[i]);
	end_processes(w);
	write_group(w, GROUP_STAT);
	write_group(w, GROUP_STATUS);
	write_group(w, GROUP_IO);
}

/* Of one process in each sample, so that no sample takes long. */
static void look_at_pages(struct process_watch *w, int64_t now_ns, bool all)
{
	bool looked = false;
	for (size_t i = 0; i < w->tree.n && (all || !looked); i++)
		looked |= process_look_at_pages(w->tree.processes[i], now_ns);
	/* What is read seldom is told at the edges of a window: it may not be read again inside. */
	if (looked || all)
		write_group(w, GROUP_ROLLUP);
}

static void look_at_open_files(struct process_watch *w, int64_t now_ns, bool all)
{
	bool looked = false;
	for (size_t i = 0; i < w->tree.n && (all || !looked); i++) {
		w->open_files_at = w->open_files_at + 1 < w->tree.n ? w->open_files_at + 1 : 0;
		looked |= process_look_at_open_files(
		        w->tree.processes[w->open_files_at], now_ns, all);
	}
	if (looked || all) {
		write_group(w, GROUP_FILES);
		write_group(w, GROUP_SOCKETS);
	}
}

static void look_at_threads(struct process_watch *w, int64_t now_ns, bool all)
{
	for (size_t i = 0; i < w->tree.n; i++)
		process_look(w->tree.processes[i], now_ns, all);
	end_processes(w);
	write_group(w, GROUP_CPU);
	write_group(w, GROUP_WAITS);
	write_group(w, GROUP_BUSIEST);
	write_group(w, GROUP_TREE);
	if (!all && now_ns < w->states_next_ns)
		return;
	w->states_next_ns = now_ns + THREADS_TURN_NS - w->place.interval_ns / 2;
	write_group(w, GROUP_STATES);
}

static void sample(void *self, int64_t now_ns)
{
	struct process_watch *w = self;
	w->now_ns = now_ns;
	if (!w->is_begun)
		begin_processes(w, now_ns);
	bool all = w->thorough;
	w->thorough = false;
	tree_follow(&w->tree, now_ns, all);
	look_at_threads(w, now_ns, all);
	look_at_files(w, now_ns, all);
	look_at_pages(w, now_ns, all);
	look_at_open_files(w, now_ns, all);
}

/* PIDs in /proc may be those of another namespace. */
static bool is_here(const char *root)
{
	char link[32];
	int64_t pid;
	ssize_t n = root[0] ? -1 : readlink("/proc/self", link, sizeof(link));
	return n > 0 && str_to_i64((struct str){ link, (size_t)n }, &pid) && pid == getpid();
}

/* A descriptor for each thread: the soft limit is raised where the hard one allows. */
static size_t descriptors(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 0;
	rlim_t wanted = limit.rlim_max < FILES_WANTED ? limit.rlim_max : FILES_WANTED;
	struct rlimit raised = { wanted, limit.rlim_max };
	if (limit.rlim_cur < wanted && setrlimit(RLIMIT_NOFILE, &raised) == 0)
		limit.rlim_cur = wanted;
	/* The other half is for connections and whoever else needs them. */
	return limit.rlim_cur == RLIM_INFINITY ? FILES_WANTED : (size_t)limit.rlim_cur / 2;
}

static bool process_watch_open(const struct watch_config *config, struct board *board,
        struct arena *run, void **ret_self, struct err *err)
{
	if (config->n_pids == 0)
		return err_set(err, ERR_USAGE, _("no process was named to watch"));
	struct process_watch *w = arena_new(run, struct process_watch);
	w->place = (struct process_place){
		.root = config->root,
		.is_here = is_here(config->root),
		.tick_ns = NS_PER_S / sysconf(_SC_CLK_TCK),
		.interval_ns = config->interval_ns,
		.threads = { .text = arena_alloc(run, THREADS_TEXT_BYTES),
		        .n_kept_max = descriptors() },
	};
	w->place.threads.tick_ns = w->place.tick_ns;
	w->tree.place = &w->place;
	w->board = board;
	w->pids = config->pids;
	w->n_pids = config->n_pids;
	for (size_t row = 0; row < PROCESS_N_ROWS; row++)
		w->sums[row] = board_channel(board, &process_rows[row], NULL);
	*ret_self = w;
	return true;
}

static void thorough(void *self)
{
	((struct process_watch *)self)->thorough = true;
}

static void begin(void *self)
{
	struct process_watch *w = self;
	threads_shared_begin(&w->place.threads, w->now_ns);
	for (size_t i = 0; i < w->tree.n; i++)
		threads_begin(&w->tree.processes[i]->threads);
}

static void report(const void *self, struct arena *run, struct signal_system *to)
{
	const struct process_watch *w = self;
	const struct thread_set *sets[TREE_PROCESSES_MAX];
	for (size_t i = 0; i < w->tree.n; i++)
		sets[i] = &w->tree.processes[i]->threads;
	threads_report(&w->place.threads, sets, w->tree.n, w->now_ns, run, to);
}

static void process_watch_close(void *self)
{
	struct process_watch *w = self;
	while (w->tree.n)
		tree_drop(&w->tree, w->tree.n - 1);
}

const struct watch_source process_source = {
	.name = "process",
	.rows = process_rows,
	.n_rows = PROCESS_N_ROWS,
	.open = process_watch_open,
	.sample = sample,
	.thorough = thorough,
	.begin = begin,
	.report = report,
	.close = process_watch_close,
};
