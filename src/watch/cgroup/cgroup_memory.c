/*
 * Memory of control groups: what they use and may use, how often they came to their limit, what
 * the memory is and what was thrown away too early. As with quotas, the least limit up the tree is
 * the one that counts, and the fullest one is the one that is met first.
 *
 * Source: Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst of Linux
 */
#include "watch/sources.h"

#include "watch/cgroup/cgroup_tree.h"
#include "watch/keyed.h"
#include "watch/procfile.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { TEXT_BYTES = 16 * 1024, NUMBER_BYTES = 64, N_STATS = 5 };

enum {
	LIMIT,
	LIMIT_LEVEL,
	USED_RATIO,
	ROOM,
	PATH,
	STATS,
	FIRST_OF_LEVEL = STATS + N_STATS,
	USED = FIRST_OF_LEVEL,
	PEAK,
	SWAP,
	LEVEL_LIMIT,
	AT_LIMIT,
	AT_HIGH,
	OOM_KILLS,
	N_ROWS,
};

static const struct watch_row rows[N_ROWS] = {
	[LIMIT] = { .name = "cgroup_memory_limit_bytes",
	        .unit = "bytes",
	        .kind = WATCH_GAUGE,
	        .from = "memory.max or memory.limit_in_bytes, the least up the tree",
	        .help = N_("memory that the process's group may use, its parents' limits "
	                   "included") },
	[LIMIT_LEVEL] = { .name = "cgroup_memory_limit_level",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = "memory.max or memory.limit_in_bytes, the least up the tree",
	        .help = N_("which group, of the process's own and its parents, has the least "
	                   "limit") },
	[USED_RATIO] = { .name = "cgroup_memory_used_ratio",
	        .unit = "ratio",
	        .kind = WATCH_GAUGE,
	        .from = "memory.current / memory.max, or memory.usage_in_bytes / "
	                "memory.limit_in_bytes, the most up the tree",
	        .help = N_("how full the fullest limit is, of the group's and its parents'; "
	                   "contents of files that can be dropped count, too") },
	[ROOM] = { .name = "cgroup_memory_room_bytes",
	        .unit = "bytes",
	        .kind = WATCH_GAUGE,
	        .from = "memory.max - memory.current, or memory.limit_in_bytes - "
	                "memory.usage_in_bytes, the least up the tree",
	        .help = N_("memory that the group can still get before a limit is met") },
	[PATH] = { .name = "cgroup_memory_path",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = "/proc/PID/cgroup",
	        .help = N_("group of a process where memory is shared out") },
	[STATS] = { .name = "cgroup_anon_bytes",
	        .unit = "bytes",
	        .kind = WATCH_GAUGE,
	        .from = "memory.stat, anon or total_rss",
	        .help = N_("memory of the group that is of no file") },
	{ .name = "cgroup_file_bytes",
	        .unit = "bytes",
	        .kind = WATCH_GAUGE,
	        .from = "memory.stat, file or total_cache",
	        .help = N_("contents of files that count as the group's") },
	{ .name = "cgroup_refault_pages_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "memory.stat, workingset_refault* or total_workingset_refault*",
	        .help = N_("pages that the group needed again soon after they had been dropped") },
	{ .name = "cgroup_major_faults_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "memory.stat, pgmajfault or total_pgmajfault",
	        .help = N_("accesses of the group to memory that had to wait for a disk") },
	{ .name = "cgroup_anon_hugepage_bytes",
	        .unit = "bytes",
	        .kind = WATCH_GAUGE,
	        .from = "memory.stat, anon_thp or total_rss_huge",
	        .help = N_("memory of the group in transparent huge pages") },
	[USED] = { .name = "cgroup_memory_used_bytes",
	        .unit = "bytes",
	        .kind = WATCH_GAUGE,
	        .from = "memory.current or memory.usage_in_bytes",
	        .help = N_("memory of the group and those below it, contents of files included") },
	[PEAK] = { .name = "cgroup_memory_peak_bytes",
	        .unit = "bytes",
	        .kind = WATCH_GAUGE,
	        .from = "memory.peak or memory.max_usage_in_bytes",
	        .help = N_("the most memory that the group ever had") },
	[SWAP] = { .name = "cgroup_swap_bytes",
	        .unit = "bytes",
	        .kind = WATCH_GAUGE,
	        .from = "memory.swap.current, or memory.memsw.usage_in_bytes - "
	                "memory.usage_in_bytes",
	        .help = N_("memory of the group that is swapped out") },
	[LEVEL_LIMIT] = { .name = "cgroup_level_memory_limit_bytes",
	        .unit = "bytes",
	        .kind = WATCH_GAUGE,
	        .from = "memory.max or memory.limit_in_bytes",
	        .help = N_("memory that this one group may use") },
	[AT_LIMIT] = { .name = "cgroup_memory_at_limit_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "memory.events, max, or memory.failcnt",
	        .help = N_("times that the group met its limit and memory had to be freed first") },
	[AT_HIGH] = { .name = "cgroup_memory_at_high_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "memory.events, high",
	        .help = N_("times that the group was slowed down for being above memory.high") },
	[OOM_KILLS] = { .name = "cgroup_oom_kills_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "memory.events or memory.oom_control, oom_kill",
	        .help = N_("processes of the group that were killed because memory ran out") },
};

/* What a version calls its files and the fields in them; NULL: has none. */
struct words {
	const char *used, *peak, *limit, *swap, *fail_count, *events;
	struct keyed_name stats[N_STATS];
};

static const struct words words_of[3] = {
	[1] = { .used = "memory.usage_in_bytes",
	        .peak = "memory.max_usage_in_bytes",
	        .limit = "memory.limit_in_bytes",
	        .swap = "memory.memsw.usage_in_bytes",
	        .fail_count = "memory.failcnt",
	        .events = "memory.oom_control",
	        .stats = { { "total_rss", false }, { "total_cache", false },
	                { "total_workingset_refault", true }, { "total_pgmajfault", false },
	                { "total_rss_huge", false } } },
	[2] = { .used = "memory.current",
	        .peak = "memory.peak",
	        .limit = "memory.max",
	        .swap = "memory.swap.current",
	        .events = "memory.events",
	        .stats = { { "anon", false }, { "file", false }, { "workingset_refault", true },
	                { "pgmajfault", false }, { "anon_thp", false } } },
};

enum { FILE_USED, FILE_PEAK, FILE_LIMIT, FILE_SWAP, FILE_FAIL_COUNT, FILE_EVENTS, N_FILES };

struct level {
	struct procfile files[N_FILES];
	int codes[N_FILES]; /* why they are not open */
	struct channel *channels[N_ROWS];
	double limit, used; /* limit INFINITY: none; NAN: not told */
};

struct group {
	struct procfile stat;
	int stat_code;
	struct keyed stats;
	struct channel *channels[STATS];
};

struct cgroup_memory {
	const struct watch_config *config;
	struct board *board;
	struct arena *run;
	struct cgroup_tree tree;
	const struct words *words;
	struct level levels[CGROUP_LEVELS_MAX];
	struct group groups[CGROUP_GROUPS_MAX];
	struct cgroup_moves moves;
	char text[TEXT_BYTES];
};

/* ---- one level ---- */

/* A number of bytes; INFINITY for "max", NAN when it cannot be read; code says why. */
static double read_bytes(const struct level *l, size_t file, int *ret_code)
{
	char memory[NUMBER_BYTES];
	struct str text;
	uint64_t bytes;
	*ret_code = l->codes[file];
	if (*ret_code != 0)
		return NAN;
	if (!procfile_read(&l->files[file], memory, sizeof(memory), &text)) {
		*ret_code = errno;
		return NAN;
	}
	text = str_trim(text);
	if (str_eq(text, STR("max")))
		return INFINITY;
	return procfile_u64(text, &bytes) ? (double)bytes : NAN;
}

/*
 * Version 1 writes "no limit" as the largest number of pages. Without a file there is none: at the
 * top, and where version 2 does not control memory.
 */
static double read_limit(const struct level *l, int *ret_code)
{
	double limit = read_bytes(l, FILE_LIMIT, ret_code);
	if (*ret_code == ENOENT)
		return INFINITY;
	return limit >= 0x1p62 ? INFINITY : limit;
}

static void show_bytes(struct channel *c, double bytes, int code, const char *path)
{
	if (code != 0)
		channel_unreadable(c, path, code);
	else
		channel_value(c, bytes);
}

static void show_limit(struct level *l, int code, const char *path)
{
	if (isinf(l->limit))
		channel_absent(l->channels[LEVEL_LIMIT], SIGNAL_NOT_SUPPORTED,
		        _("this group has no limit"));
	else
		show_bytes(l->channels[LEVEL_LIMIT], l->limit, code, path);
}

static void show_count(struct channel *c, struct str text, const char *name, const char *path)
{
	uint64_t count;
	if (procfile_field_u64(text, name, &count))
		channel_total(c, count);
	else
		channel_unreadable(c, path, ENOENT);
}

static void show_events(struct level *l, const struct words *words)
{
	char memory[512];
	struct str text = { "", 0 };
	bool is_second = !words->fail_count;
	if (l->codes[FILE_EVENTS] == 0 &&
	        !procfile_read(&l->files[FILE_EVENTS], memory, sizeof(memory), &text))
		text = (struct str){ "", 0 };
	show_count(l->channels[OOM_KILLS], text, "oom_kill", words->events);
	if (is_second) {
		show_count(l->channels[AT_LIMIT], text, "max", words->events);
		show_count(l->channels[AT_HIGH], text, "high", words->events);
		return;
	}
	int code;
	double count = read_bytes(l, FILE_FAIL_COUNT, &code);
	if (code == 0 && count >= 0 && count < 0x1p63)
		channel_total(l->channels[AT_LIMIT], (uint64_t)count);
	else
		channel_unreadable(l->channels[AT_LIMIT], words->fail_count, code);
	channel_absent(l->channels[AT_HIGH], SIGNAL_NOT_SUPPORTED,
	        _("groups of version 1 have no 'memory.high'"));
}

static void show_swap(struct level *l, const struct words *words)
{
	int code;
	double swap = read_bytes(l, FILE_SWAP, &code);
	if (words->fail_count) /* memory and swap together; read at two moments */
		swap = fmax(swap - l->used, 0);
	show_bytes(l->channels[SWAP], swap, code, words->swap);
}

static void sample_level(struct cgroup_memory *self, int i)
{
	struct level *l = &self->levels[i];
	const struct words *words = self->words;
	int code;
	l->used = read_bytes(l, FILE_USED, &code);
	show_bytes(l->channels[USED], l->used, code, words->used);
	double peak = read_bytes(l, FILE_PEAK, &code);
	show_bytes(l->channels[PEAK], peak, code, words->peak);
	l->limit = read_limit(l, &code);
	show_limit(l, code, words->limit);
	show_swap(l, words);
	show_events(l, words);
}

/* ---- a group: its own level and those above ---- */

struct bounds {
	double limit, room, used_ratio;
	int level;
};

static struct bounds bounds_of(const struct cgroup_memory *self, int level)
{
	struct bounds b = { .limit = INFINITY, .room = NAN, .used_ratio = NAN, .level = -1 };
	for (int i = level; i >= 0; i = self->tree.levels[i].parent) {
		const struct level *l = &self->levels[i];
		if (!isfinite(l->limit))
			continue;
		if (l->limit < b.limit) {
			b.limit = l->limit;
			b.level = i;
		}
		b.room = fmin(b.room, fmax(l->limit - l->used, 0));
		if (l->limit > 0)
			b.used_ratio = fmax(b.used_ratio, l->used / l->limit);
	}
	return b;
}

static void show_bounds(struct cgroup_memory *self, int group)
{
	struct channel **channels = self->groups[group].channels;
	struct bounds b = bounds_of(self, self->tree.groups[group]);
	if (b.level >= 0) {
		channel_value(channels[LIMIT], b.limit);
		channel_value(channels[ROOM], b.room);
		channel_value(channels[USED_RATIO], b.used_ratio);
		channel_text(channels[LIMIT_LEVEL], str_of(self->tree.levels[b.level].name));
		return;
	}
	bool is_broken = isnan(self->levels[self->tree.groups[group]].limit);
	const char *reason =
	        is_broken ? _("the group's limit cannot be read")
	        : self->tree.hides_parents
	                ? _("no group that can be seen has a memory limit; groups above are hidden")
	                : _("no group up to the top has a memory limit");
	for (size_t i = LIMIT; i <= ROOM; i++)
		channel_absent(
		        channels[i], is_broken ? SIGNAL_NOT_COUNTED : SIGNAL_NOT_SUPPORTED, reason);
}

static void show_stats(struct cgroup_memory *self, struct group *g)
{
	struct str text;
	int code = g->stat_code;
	if (code == 0 && !procfile_read(&g->stat, self->text, sizeof(self->text), &text))
		code = errno;
	if (code != 0) {
		keyed_unreadable(&g->stats, "memory.stat", code);
		return;
	}
	keyed_clear(&g->stats);
	keyed_lines(&g->stats, text);
	keyed_write(&g->stats, "memory.stat");
}

/* ---- opening, and opening again when a process has moved ---- */

static void open_level(struct cgroup_memory *self, int i)
{
	const struct cgroup_level *at = &self->tree.levels[i];
	const struct words *w = self->words;
	const char *const names[N_FILES] = { w->used, w->peak, w->limit, w->swap, w->fail_count,
		w->events };
	struct level *l = &self->levels[i];
	*l = (struct level){ 0 };
	for (size_t k = FIRST_OF_LEVEL; k < N_ROWS; k++)
		l->channels[k] = board_channel(self->board, &rows[k], at->name);
	for (size_t k = 0; k < N_FILES; k++)
		if (!names[k] || !procfile_open(&l->files[k], self->config->root, "%s/%s", at->dir,
		                         names[k]))
			l->codes[k] = names[k] ? errno : ENOENT;
}

static void open_group(struct cgroup_memory *self, int i)
{
	const struct cgroup_level *at = &self->tree.levels[self->tree.groups[i]];
	struct group *g = &self->groups[i];
	*g = (struct group){ 0 };
	for (size_t k = 0; k < PATH; k++)
		g->channels[k] = board_channel(self->board, &rows[k], at->name);
	keyed_init(&g->stats, &rows[STATS], self->words->stats, N_STATS, self->board, at->name,
	        self->run);
	if (!procfile_open(&g->stat, self->config->root, "%s/memory.stat", at->dir))
		g->stat_code = errno;
	if (self->tree.hides_parents)
		for (size_t k = LIMIT; k <= ROOM; k++)
			channel_estimated(g->channels[k],
			        _("groups above are hidden, and their limits may be less"));
}

static bool open_all(struct cgroup_memory *self, struct err *err)
{
	const struct watch_config *c = self->config;
	if (!cgroup_tree_read(&self->tree, c->root, c->pids, c->n_pids, "memory", self->run, err))
		return false;
	self->words = &words_of[self->tree.version];
	for (int i = 0; i < self->tree.n_levels; i++)
		open_level(self, i);
	for (int i = 0; i < self->tree.n_groups; i++)
		open_group(self, i);
	cgroup_show_paths(&self->tree, c->pids, c->n_pids, self->board, &rows[PATH]);
	return true;
}

static void close_all(struct cgroup_memory *self)
{
	for (int i = 0; i < self->tree.n_levels; i++)
		for (size_t k = 0; k < N_FILES; k++)
			procfile_close(&self->levels[i].files[k]);
	for (int i = 0; i < self->tree.n_groups; i++)
		procfile_close(&self->groups[i].stat);
}

static void move(struct cgroup_memory *self)
{
	struct err err;
	close_all(self);
	for (int i = 0; i < self->tree.n_levels; i++)
		cgroup_leave(&self->levels[i].channels[FIRST_OF_LEVEL], N_ROWS - FIRST_OF_LEVEL);
	for (int i = 0; i < self->tree.n_groups; i++) {
		cgroup_leave(self->groups[i].channels, PATH);
		cgroup_leave(self->groups[i].stats.channels, N_STATS);
	}
	if (!open_all(self, &err))
		self->tree = (struct cgroup_tree){ 0 };
}

static void cgroup_memory_sample(void *self_, int64_t now_ns)
{
	struct cgroup_memory *self = self_;
	const struct watch_config *c = self->config;
	if (cgroup_moved(&self->moves, c->root, c->pids, c->n_pids, now_ns))
		move(self);
	for (int i = 0; i < self->tree.n_levels; i++)
		sample_level(self, i);
	for (int i = 0; i < self->tree.n_groups; i++) {
		show_bounds(self, i);
		show_stats(self, &self->groups[i]);
	}
}

static bool cgroup_memory_open(const struct watch_config *config, struct board *board,
        struct arena *run, void **ret_self, struct err *err)
{
	struct cgroup_memory *self = arena_new(run, struct cgroup_memory);
	self->config = config;
	self->board = board;
	self->run = run;
	*ret_self = self;
	return open_all(self, err);
}

static void cgroup_memory_close(void *self)
{
	close_all(self);
}

const struct watch_source cgroup_memory_source = {
	.name = "cgroup_memory",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.period_ns = NS_PER_S,
	.open = cgroup_memory_open,
	.sample = cgroup_memory_sample,
	.close = cgroup_memory_close,
};
