/*
 * What else control groups decide: on which CPUs and memory nodes, how many tasks; what the group
 * reads and writes; how long it stood because something was short.
 *
 * Source: Documentation/admin-guide/cgroup-v1/{cpusets,pids,blkio-controller}.rst, cgroup-v2.rst
 */
#include "watch/sources.h"

#include "watch/cgroup/cgroup_tree.h"
#include "watch/cpulist.h"
#include "watch/keyed.h"
#include "watch/procfile.h"
#include "watch/psi.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <string.h>

enum { TEXT_BYTES = 16 * 1024, N_PSI = 6 };

enum {
	CPUS,
	CPUS_COUNT,
	MEMS,
	TASKS,
	TASKS_LIMIT,
	TASKS_LEVEL,
	READ_BYTES,
	WRITE_BYTES,
	PSI,
	N_ROWS = PSI + N_PSI,
};

#define PRESSURE(resource, line, help_)                                                            \
	{                                                                                          \
		.name = "cgroup_psi_" resource "_" line "_ratio", .unit = "ratio",                 \
		.kind = WATCH_RATE, .scale = 1e-6, .most = 1,                                      \
		.from = resource ".pressure, " line ", total", .help = help_                       \
	}

static const struct watch_row rows[N_ROWS] = {
	[CPUS] = { .name = "cgroup_cpus",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = "cpuset.cpus.effective or cpuset.effective_cpus",
	        .help = N_("CPUs that the group may run on") },
	[CPUS_COUNT] = { .name = "cgroup_cpus_count",
	        .unit = "1",
	        .kind = WATCH_GAUGE,
	        .from = "cpuset.cpus.effective or cpuset.effective_cpus",
	        .help = N_("how many CPUs the group may run on") },
	[MEMS] = { .name = "cgroup_memory_nodes",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = "cpuset.mems.effective or cpuset.effective_mems",
	        .help = N_("memory nodes that the group may take memory from") },
	[TASKS] = { .name = "cgroup_tasks",
	        .unit = "1",
	        .kind = WATCH_GAUGE,
	        .from = "pids.current",
	        .help = N_("processes and threads of the group and those below it") },
	[TASKS_LIMIT] = { .name = "cgroup_tasks_limit",
	        .unit = "1",
	        .kind = WATCH_GAUGE,
	        .from = "pids.max, the least up the tree",
	        .help = N_("processes and threads that the group may have, its parents' limits "
	                   "included") },
	[TASKS_LEVEL] = { .name = "cgroup_tasks_limit_level",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = "pids.max, the least up the tree",
	        .help = N_("which group, of the process's own and its parents, has the least limit "
	                   "of tasks") },
	[READ_BYTES] = { .name = "cgroup_io_read_bytes_per_s",
	        .unit = "bytes/s",
	        .kind = WATCH_RATE,
	        .from = "io.stat, rbytes, or blkio.throttle.io_service_bytes_recursive, Read",
	        .help = N_("what the group read from disks") },
	[WRITE_BYTES] = { .name = "cgroup_io_write_bytes_per_s",
	        .unit = "bytes/s",
	        .kind = WATCH_RATE,
	        .from = "io.stat, wbytes, or blkio.throttle.io_service_bytes_recursive, Write",
	        .help = N_("what the group wrote to disks") },
	[PSI] = PRESSURE("cpu", "some",
	        N_("share of the time in which some task of the group waited for a core or for its "
	           "quota")),
	PRESSURE("cpu", "full",
	        N_("share of the time in which no task of the group got a core while some wanted "
	           "one")),
	PRESSURE("memory", "some",
	        N_("share of the time in which some task of the group waited for memory")),
	PRESSURE("memory", "full",
	        N_("share of the time in which all tasks of the group that had work waited for "
	           "memory")),
	PRESSURE("io", "some",
	        N_("share of the time in which some task of the group waited for a disk")),
	PRESSURE("io", "full",
	        N_("share of the time in which all tasks of the group that had work waited for a "
	           "disk")),
};

static const struct psi_part psi_parts[N_PSI] = {
	{ "cpu", "some" },
	{ "cpu", "full" },
	{ "memory", "some" },
	{ "memory", "full" },
	{ "io", "some" },
	{ "io", "full" },
};

enum { PART_CPUSET, PART_PIDS, PART_IO, PART_PSI, N_PARTS, PART_ROWS_MAX = 3 };

struct cgroup_other {
	const struct watch_config *config;
	struct board *board;
	struct arena *run;
	struct cgroup_tree trees[N_PARTS]; /* controllers may have hierarchies of their own */
	struct channel *channels[N_PARTS][CGROUP_GROUPS_MAX][PART_ROWS_MAX];
	struct psi psi[CGROUP_GROUPS_MAX];
	struct cgroup_moves moves;
	char text[TEXT_BYTES];
};

/* One group of one controller. */
struct place {
	struct cgroup_other *self;
	const struct cgroup_tree *tree;
	int level;
	struct channel **channels;
};

static void sample_cpuset(struct place p);
static void sample_pids(struct place p);
static void sample_io(struct place p);

static const struct part {
	const char *controller; /* as version 1 calls it */
	size_t first_row, n_rows;
	void (*sample)(struct place p);
} parts[N_PARTS] = {
	[PART_CPUSET] = { "cpuset", CPUS, TASKS - CPUS, sample_cpuset },
	[PART_PIDS] = { "pids", TASKS, READ_BYTES - TASKS, sample_pids },
	[PART_IO] = { "blkio", READ_BYTES, PSI - READ_BYTES, sample_io },
	[PART_PSI] = { "", PSI, N_PSI, NULL },
};

/* A file of the group; names: of version 1 and 2. False: the channel says why. */
static bool read_file(
        struct place p, const char *const names[2], struct channel *c, struct str *ret_text)
{
	const char *name = names[p.tree->version - 1];
	if (procfile_once(p.self->config->root, p.self->text, TEXT_BYTES, ret_text, "%s/%s",
	            p.tree->levels[p.level].dir, name))
		return true;
	channel_unreadable(c, name, errno);
	return false;
}

static void sample_cpuset(struct place p)
{
	static const char *const cpus[] = { "cpuset.effective_cpus", "cpuset.cpus.effective" };
	static const char *const mems[] = { "cpuset.effective_mems", "cpuset.mems.effective" };
	struct str text;
	struct cpulist list = { 0 };
	if (read_file(p, cpus, p.channels[CPUS - CPUS], &text))
		channel_text(p.channels[CPUS - CPUS], str_trim(text));
	if (read_file(p, cpus, p.channels[CPUS_COUNT - CPUS], &text) && cpulist_add(&list, text))
		channel_value(p.channels[CPUS_COUNT - CPUS], cpulist_count(&list));
	if (read_file(p, mems, p.channels[MEMS - CPUS], &text))
		channel_text(p.channels[MEMS - CPUS], str_trim(text));
}

static void sample_pids(struct place p)
{
	static const char *const current[] = { "pids.current", "pids.current" };
	struct channel **channels = p.channels;
	struct str text;
	uint64_t count, least = UINT64_MAX;
	int which = -1;
	if (read_file(p, current, channels[TASKS - TASKS], &text) &&
	        procfile_u64(str_trim(text), &count))
		channel_value(channels[TASKS - TASKS], (double)count);
	for (int i = p.level; i >= 0; i = p.tree->levels[i].parent)
		if (procfile_once(p.self->config->root, p.self->text, TEXT_BYTES, &text,
		            "%s/pids.max", p.tree->levels[i].dir) &&
		        procfile_u64(str_trim(text), &count) && count < least) {
			least = count;
			which = i;
		}
	if (which >= 0) {
		channel_value(channels[TASKS_LIMIT - TASKS], (double)least);
		channel_text(channels[TASKS_LEVEL - TASKS], str_of(p.tree->levels[which].name));
		return;
	}
	for (size_t i = TASKS_LIMIT; i <= TASKS_LEVEL; i++)
		channel_absent(channels[i - TASKS], SIGNAL_NOT_SUPPORTED,
		        _("no group that can be seen has a limit of tasks"));
}

/* "8:0 rbytes=1 wbytes=2 ..." and "8:0 Read 1": sums over devices. */
static bool sum_io(struct str text, int version, uint64_t *ret_read, uint64_t *ret_write)
{
	*ret_read = *ret_write = 0;
	while (text.len && memchr(text.s, '\n', text.len)) {
		struct str line = procfile_line(&text), word;
		uint64_t bytes;
		procfile_word(&line); /* the device; in version 1 also "Total" */
		while ((word = procfile_word(&line)).len) {
			struct str value, name = word;
			if (version == 2)
				name = str_cut(word, '=', &value);
			else
				value = procfile_word(&line);
			bool is_read = str_eq(name, version == 2 ? STR("rbytes") : STR("Read"));
			bool is_write = str_eq(name, version == 2 ? STR("wbytes") : STR("Write"));
			if (!is_read && !is_write)
				continue;
			if (!procfile_u64(value, &bytes))
				return false;
			*(is_read ? ret_read : ret_write) += bytes;
		}
	}
	return true;
}

static void sample_io(struct place p)
{
	static const char *const names[] = { "blkio.throttle.io_service_bytes_recursive",
		"io.stat" };
	struct channel *read = p.channels[READ_BYTES - READ_BYTES];
	struct channel *write = p.channels[WRITE_BYTES - READ_BYTES];
	struct str text;
	uint64_t n_read, n_written;
	bool is_read = read_file(p, names, read, &text),
	     is_same = read_file(p, names, write, &text);
	if (!is_read || !is_same || !sum_io(text, p.tree->version, &n_read, &n_written))
		return;
	channel_total(read, n_read);
	channel_total(write, n_written);
}

/* ---- opening, and opening again when a process has moved ---- */

static void open_psi(struct cgroup_other *self, int group)
{
	const struct cgroup_tree *tree = &self->trees[PART_PSI];
	const struct cgroup_level *at = &tree->levels[tree->groups[group]];
	struct psi *psi = &self->psi[group];
	psi_init(psi, &rows[PSI], psi_parts, N_PSI, self->board, at->name);
	psi_open(psi, self->config->root, at->dir, ".pressure");
}

static void open_part(struct cgroup_other *self, size_t k)
{
	const struct watch_config *c = self->config;
	const struct part *part = &parts[k];
	struct cgroup_tree *tree = &self->trees[k];
	struct err err;
	if (!cgroup_tree_read(
	            tree, c->root, c->pids, c->n_pids, part->controller, self->run, &err)) {
		board_absent(self->board, &rows[part->first_row], part->n_rows,
		        SIGNAL_NOT_SUPPORTED,
		        k == PART_PSI ? _("groups tell their pressure in version 2 only, and the "
		                          "process's group of that version is not seen here")
		                      : err.text);
		*tree = (struct cgroup_tree){ 0 };
	}
	for (int i = 0; i < tree->n_groups; i++) {
		const char *name = tree->levels[tree->groups[i]].name;
		if (k == PART_PSI)
			open_psi(self, i);
		for (size_t r = 0; r < part->n_rows && k != PART_PSI; r++)
			self->channels[k][i][r] =
			        board_channel(self->board, &rows[part->first_row + r], name);
	}
}

static void close_all(struct cgroup_other *self)
{
	for (int i = 0; i < self->trees[PART_PSI].n_groups; i++)
		psi_close(&self->psi[i]);
}

static void move(struct cgroup_other *self)
{
	close_all(self);
	for (size_t k = 0; k < N_PARTS; k++) {
		for (int i = 0; i < self->trees[k].n_groups; i++)
			if (k == PART_PSI)
				cgroup_leave(self->psi[i].channels, N_PSI);
			else
				cgroup_leave(self->channels[k][i], parts[k].n_rows);
		open_part(self, k);
	}
}

static void cgroup_other_sample(void *self_, int64_t now_ns)
{
	struct cgroup_other *self = self_;
	const struct watch_config *c = self->config;
	if (cgroup_moved(&self->moves, c->root, c->pids, c->n_pids, now_ns))
		move(self);
	for (size_t k = 0; k < N_PARTS; k++) {
		const struct cgroup_tree *tree = &self->trees[k];
		for (int i = 0; i < tree->n_groups; i++)
			if (k == PART_PSI)
				psi_sample(&self->psi[i]);
			else
				parts[k].sample((struct place){
				        self, tree, tree->groups[i], self->channels[k][i] });
	}
}

static bool cgroup_other_open(const struct watch_config *config, struct board *board,
        struct arena *run, void **ret_self, struct err *err)
{
	struct cgroup_other *self = arena_new(run, struct cgroup_other);
	if (config->n_pids == 0)
		return err_set(
		        err, ERR_SYSTEM, _("no process is named whose groups could be watched"));
	self->config = config;
	self->board = board;
	self->run = run;
	for (size_t k = 0; k < N_PARTS; k++)
		open_part(self, k);
	*ret_self = self;
	return true;
}

static void cgroup_other_close(void *self)
{
	close_all(self);
}

const struct watch_source cgroup_other_source = {
	.name = "cgroup_other",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.period_ns = NS_PER_S,
	.open = cgroup_other_open,
	.sample = cgroup_other_sample,
	.close = cgroup_other_close,
};
