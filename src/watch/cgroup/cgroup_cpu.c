/*
 * CPU time of control groups: what a quota grants, how often and how long it holds the group back,
 * what is used. A quota binds all that is below it, so that every group from that of a process up
 * to the top is looked at, and the least quota is the one that counts.
 *
 * throttled_time is summed over the cores on which the group was held back: two threads held back
 * on two cores make two seconds in each. A period counts as throttled however short that was.
 *
 * Source: Documentation/scheduler/sched-bwc.rst, admin-guide/cgroup-v2.rst, cpuacct.rst of Linux
 */
#include "watch/sources.h"

#include "watch/cgroup/cgroup_tree.h"
#include "watch/keyed.h"
#include "watch/procfile.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 4096, NUMBERS_BYTES = 64 };

enum {
	QUOTA,
	QUOTA_LEVEL,
	PATH,
	LEVEL_QUOTA,
	THROTTLED,
	THROTTLED_TIME,
	THROTTLED_PERIODS,
	USE,
	N_ROWS,
	FIRST_OF_LEVEL = LEVEL_QUOTA,
};

static const struct watch_row rows[N_ROWS] = {
	[QUOTA] = { .name = "cgroup_quota_cores",
	        .unit = "1",
	        .kind = WATCH_GAUGE,
	        .from = "cpu.max, or cpu.cfs_quota_us / cpu.cfs_period_us, the least up the tree",
	        .help = N_("cores that the process's group may use, its parents' quotas "
	                   "included") },
	[QUOTA_LEVEL] = { .name = "cgroup_quota_level",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = "cpu.max, or cpu.cfs_quota_us / cpu.cfs_period_us, the least up the tree",
	        .help = N_("which group, of the process's own and its parents, has the least "
	                   "quota") },
	[PATH] = { .name = "cgroup_cpu_path",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = "/proc/PID/cgroup",
	        .help = N_("group of a process where CPU time is shared out") },
	[LEVEL_QUOTA] = { .name = "cgroup_level_quota_cores",
	        .unit = "1",
	        .kind = WATCH_GAUGE,
	        .from = "cpu.max, or cpu.cfs_quota_us / cpu.cfs_period_us",
	        .help = N_("cores that the quota of this one group grants") },
	[THROTTLED] = { .name = "cgroup_throttled_ratio",
	        .unit = "ratio",
	        .kind = WATCH_SHARE,
	        .from = "cpu.stat, nr_throttled / nr_periods",
	        .help = N_("share of the quota's periods in which the group used it up and was "
	                   "held back"),
	        .grain = N_("the quota's period, mostly 100 ms") },
	[THROTTLED_TIME] = { .name = "cgroup_throttled_time_ratio",
	        .unit = "ratio",
	        .kind = WATCH_RATE,
	        .scale = 1e-9,
	        .from = "cpu.stat, throttled_usec or throttled_time",
	        .help = N_("time in which the group was held back, summed over cores: 2 is two "
	                   "cores all the time"),
	        .grain = N_("counted when the group may go on: once a period") },
	[THROTTLED_PERIODS] = { .name = "cgroup_throttled_periods_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "cpu.stat, nr_throttled",
	        .help = N_("periods in which the group was held back") },
	[USE] = { .name = "cgroup_cpu_ratio",
	        .unit = "ratio",
	        .kind = WATCH_RATE,
	        .scale = 1e-9,
	        .from = "cpu.stat, usage_usec, or cpuacct.usage",
	        .help = N_("CPU time of the group and those below it: 1 is one core") },
};

/* One level of the tree. Files of version 1 that version 2 has not stay closed. */
struct level {
	struct procfile stat, max, quota, period, usage;
	int stat_code, quota_code, usage_code; /* why they are not open */
	struct channel *channels[N_ROWS];
	double quota_cores; /* INFINITY: none; NAN: not told */
};

struct cgroup_cpu {
	const struct watch_config *config;
	struct board *board;
	struct arena *run;
	struct cgroup_tree tree;
	struct cgroup_tree acct; /* of cpuacct, in version 1; else empty */
	struct level levels[CGROUP_LEVELS_MAX], acct_levels[CGROUP_LEVELS_MAX];
	struct channel *quota[CGROUP_GROUPS_MAX], *quota_level[CGROUP_GROUPS_MAX];
	struct cgroup_moves moves;
};

/* ---- one level ---- */

/* "max 100000", or "150000 100000" µs. */
static double parse_max(struct str text)
{
	uint64_t quota, period;
	struct str first = procfile_word(&text);
	if (!procfile_u64(procfile_word(&text), &period) || period == 0)
		return NAN;
	if (str_eq(first, STR("max")))
		return INFINITY;
	return procfile_u64(first, &quota) ? (double)quota / (double)period : NAN;
}

/* -1 is none. */
static double parse_quota(struct str quota_text, struct str period_text)
{
	uint64_t quota, period;
	if (str_eq(str_trim(quota_text), STR("-1")))
		return INFINITY;
	if (!procfile_u64(str_trim(quota_text), &quota) ||
	        !procfile_u64(str_trim(period_text), &period) || period == 0)
		return NAN;
	return (double)quota / (double)period;
}

/* Without a file there is no quota: at the top, and where version 2 does not control CPU time. */
static double read_quota(const struct level *l)
{
	char memory[NUMBERS_BYTES], other[NUMBERS_BYTES];
	struct str text, period;
	if (l->quota_code != 0)
		return l->quota_code == ENOENT ? INFINITY : NAN;
	if (procfile_is_open(&l->max))
		return procfile_read(&l->max, memory, sizeof(memory), &text) ? parse_max(text)
		                                                             : NAN;
	if (procfile_read(&l->quota, memory, sizeof(memory), &text) &&
	        procfile_read(&l->period, other, sizeof(other), &period))
		return parse_quota(text, period);
	return NAN;
}

static void show_level_quota(struct level *l)
{
	struct channel *c = l->channels[LEVEL_QUOTA];
	if (isinf(l->quota_cores))
		channel_absent(c, SIGNAL_NOT_SUPPORTED, _("this group has no quota"));
	else if (isnan(l->quota_cores))
		channel_absent(c, SIGNAL_NOT_SUPPORTED, _("this group does not tell its quota"));
	else
		channel_value(c, l->quota_cores);
}

/* µs of version 2 and ns of version 1, as ns. */
static bool find_time_ns(struct str text, const char *us_name, const char *ns_name, uint64_t *ret)
{
	if (ns_name && procfile_field_u64(text, ns_name, ret))
		return true;
	return procfile_field_u64(text, us_name, ret) && *ret <= UINT64_MAX / 1000 &&
	       ((*ret *= 1000), true);
}

static void show_throttling(struct level *l, struct str text)
{
	uint64_t periods, throttled, time_ns;
	bool has_periods = procfile_field_u64(text, "nr_periods", &periods) &&
	                   procfile_field_u64(text, "nr_throttled", &throttled);
	bool has_time = find_time_ns(text, "throttled_usec", "throttled_time", &time_ns);
	if (has_time)
		channel_total(l->channels[THROTTLED_TIME], time_ns);
	if (has_periods)
		channel_total(l->channels[THROTTLED_PERIODS], throttled);
	if (has_periods && !isinf(l->quota_cores))
		channel_share(l->channels[THROTTLED], throttled, periods);
	else
		channel_absent(
		        l->channels[THROTTLED], SIGNAL_NOT_SUPPORTED, _("this group has no quota"));
	for (size_t i = THROTTLED_TIME; i <= THROTTLED_PERIODS; i++)
		if (i == THROTTLED_TIME ? !has_time : !has_periods)
			channel_absent(l->channels[i], SIGNAL_NOT_SUPPORTED,
			        _("this group's 'cpu.stat' tells nothing of a quota"));
}

static void sample_level(struct level *l)
{
	char memory[TEXT_BYTES];
	struct str text;
	uint64_t use_ns;
	int code = l->stat_code;
	l->quota_cores = read_quota(l);
	show_level_quota(l);
	if (code == 0 && !procfile_read(&l->stat, memory, sizeof(memory), &text))
		code = errno;
	if (code != 0) {
		for (size_t i = THROTTLED; i <= THROTTLED_PERIODS; i++)
			channel_unreadable(l->channels[i], "cpu.stat", code);
		channel_unreadable(l->channels[USE], "cpu.stat", code);
		return;
	}
	show_throttling(l, text);
	if (find_time_ns(text, "usage_usec", NULL, &use_ns))
		channel_total(l->channels[USE], use_ns);
}

/* Of version 1, where the hierarchy may be another one. */
static void sample_usage(struct level *l)
{
	char memory[NUMBERS_BYTES];
	struct str text;
	uint64_t use_ns;
	int code = l->usage_code;
	if (code == 0 && !procfile_read(&l->usage, memory, sizeof(memory), &text))
		code = errno;
	if (code != 0)
		channel_unreadable(l->channels[USE], "cpuacct.usage", code);
	else if (procfile_u64(str_trim(text), &use_ns))
		channel_total(l->channels[USE], use_ns);
}

/* ---- a group: its own level and those above ---- */

static void show_quota(struct cgroup_cpu *self, int group)
{
	const struct cgroup_tree *t = &self->tree;
	double least = INFINITY;
	int which = -1;
	for (int i = t->groups[group]; i >= 0; i = t->levels[i].parent)
		if (self->levels[i].quota_cores < least) {
			least = self->levels[i].quota_cores;
			which = i;
		}
	if (which >= 0) {
		channel_value(self->quota[group], least);
		channel_text(self->quota_level[group], str_of(t->levels[which].name));
		return;
	}
	if (isnan(self->levels[t->groups[group]].quota_cores)) {
		const char *why = _("the group's quota cannot be read");
		channel_absent(self->quota[group], SIGNAL_NOT_COUNTED, why);
		channel_absent(self->quota_level[group], SIGNAL_NOT_COUNTED, why);
		return;
	}
	const char *reason =
	        t->hides_parents
	                ? _("no group that can be seen has a CPU quota; groups above are hidden")
	                : _("no group up to the top has a CPU quota");
	channel_absent(self->quota[group], SIGNAL_NOT_SUPPORTED, reason);
	channel_absent(self->quota_level[group], SIGNAL_NOT_SUPPORTED, reason);
}

/* ---- opening, and opening again when a process has moved ---- */

static void open_level(struct cgroup_cpu *self, int i)
{
	const struct cgroup_level *at = &self->tree.levels[i];
	const char *root = self->config->root;
	struct level *l = &self->levels[i];
	*l = (struct level){ 0 };
	for (size_t k = FIRST_OF_LEVEL; k < N_ROWS; k++)
		if (k != USE || self->acct.n_levels == 0)
			l->channels[k] = board_channel(self->board, &rows[k], at->name);
	if (!procfile_open(&l->stat, root, "%s/cpu.stat", at->dir))
		l->stat_code = errno;
	if (!procfile_open(&l->max, root, "%s/cpu.max", at->dir) &&
	        (!procfile_open(&l->quota, root, "%s/cpu.cfs_quota_us", at->dir) ||
	                !procfile_open(&l->period, root, "%s/cpu.cfs_period_us", at->dir)))
		l->quota_code = errno;
}

static void open_acct_level(struct cgroup_cpu *self, int i)
{
	const struct cgroup_level *at = &self->acct.levels[i];
	struct level *l = &self->acct_levels[i];
	*l = (struct level){ 0 };
	l->channels[USE] = board_channel(self->board, &rows[USE], at->name);
	if (!procfile_open(&l->usage, self->config->root, "%s/cpuacct.usage", at->dir))
		l->usage_code = errno;
}

static void open_groups(struct cgroup_cpu *self, int group)
{
	const char *name = self->tree.levels[self->tree.groups[group]].name;
	self->quota[group] = board_channel(self->board, &rows[QUOTA], name);
	self->quota_level[group] = board_channel(self->board, &rows[QUOTA_LEVEL], name);
	if (self->tree.hides_parents)
		channel_estimated(self->quota[group],
		        _("groups above are hidden, and their quotas may be less"));
}

static bool open_all(struct cgroup_cpu *self, struct err *err)
{
	struct err no_acct;
	const struct watch_config *c = self->config;
	if (!cgroup_tree_read(&self->tree, c->root, c->pids, c->n_pids, "cpu", self->run, err))
		return false;
	if (self->tree.version == 2 || !cgroup_tree_read(&self->acct, c->root, c->pids, c->n_pids,
	                                       "cpuacct", self->run, &no_acct))
		self->acct = (struct cgroup_tree){ 0 };
	for (int i = 0; i < self->tree.n_levels; i++)
		open_level(self, i);
	for (int i = 0; i < self->acct.n_levels; i++)
		open_acct_level(self, i);
	for (int i = 0; i < self->tree.n_groups; i++)
		open_groups(self, i);
	cgroup_show_paths(&self->tree, c->pids, c->n_pids, self->board, &rows[PATH]);
	return true;
}

static void close_level(struct level *l)
{
	procfile_close(&l->stat);
	procfile_close(&l->max);
	procfile_close(&l->quota);
	procfile_close(&l->period);
	procfile_close(&l->usage);
}

static void close_all(struct cgroup_cpu *self)
{
	for (int i = 0; i < self->tree.n_levels; i++)
		close_level(&self->levels[i]);
	for (int i = 0; i < self->acct.n_levels; i++)
		close_level(&self->acct_levels[i]);
}

static void move(struct cgroup_cpu *self)
{
	struct err err;
	close_all(self);
	for (int i = 0; i < self->tree.n_levels; i++)
		cgroup_leave(&self->levels[i].channels[FIRST_OF_LEVEL], N_ROWS - FIRST_OF_LEVEL);
	for (int i = 0; i < self->acct.n_levels; i++)
		cgroup_leave(&self->acct_levels[i].channels[USE], 1);
	cgroup_leave(self->quota, (size_t)self->tree.n_groups);
	cgroup_leave(self->quota_level, (size_t)self->tree.n_groups);
	if (!open_all(self, &err))
		self->tree = self->acct = (struct cgroup_tree){ 0 };
}

static void cgroup_cpu_sample(void *self_, int64_t now_ns)
{
	struct cgroup_cpu *self = self_;
	const struct watch_config *c = self->config;
	if (cgroup_moved(&self->moves, c->root, c->pids, c->n_pids, now_ns))
		move(self);
	for (int i = 0; i < self->tree.n_levels; i++)
		sample_level(&self->levels[i]);
	for (int i = 0; i < self->acct.n_levels; i++)
		sample_usage(&self->acct_levels[i]);
	for (int i = 0; i < self->tree.n_groups; i++)
		show_quota(self, i);
}

static bool cgroup_cpu_open(const struct watch_config *config, struct board *board,
        struct arena *run, void **ret_self, struct err *err)
{
	struct cgroup_cpu *self = arena_new(run, struct cgroup_cpu);
	self->config = config;
	self->board = board;
	self->run = run;
	*ret_self = self;
	return open_all(self, err);
}

static void cgroup_cpu_close(void *self)
{
	close_all(self);
}

const struct watch_source cgroup_cpu_source = {
	.name = "cgroup_cpu",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.open = cgroup_cpu_open,
	.sample = cgroup_cpu_sample,
	.close = cgroup_cpu_close,
};
