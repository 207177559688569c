/*
 * The machine's part of a fingerprint. What is missing or makes no sense is left out: a wrong
 * value would forbid a comparison, or allow one, without a reason.
 */
#include "record/fingerprint.h"

#include "base/str.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
	FILE_MAX_BYTES = 16 * 1024 * 1024, /* cpuinfo takes about 2 KiB for each CPU */
	VALUE_MAX_BYTES = 256,
	CPU_MAX = 8192,         /* of Linux: NR_CPUS with MAXSMP */
	GROUP_MAX_BYTES = 4096, /* PATH_MAX */
};

struct host {
	struct fingerprint *fp;
	struct arena *run;
	const char *root;
	struct arena tmp;
};

/* The text of a file below the root; empty when it cannot be read. */
static struct str read_text(struct host *h, const char *path)
{
	struct str text = { 0 };
	struct err err;
	const char *full = arena_printf(&h->tmp, "%s%s", h->root, path);
	if (!str_read_file(full, FILE_MAX_BYTES, &h->tmp, &text, &err))
		return (struct str){ "", 0 };
	return text;
}

static struct str read_line(struct host *h, const char *path)
{
	struct str rest;
	return str_trim(str_cut(read_text(h, path), '\n', &rest));
}

static void set_text(struct host *h, const char *name, struct str value)
{
	if (value.len == 0 || value.len > VALUE_MAX_BYTES || memchr(value.s, '\0', value.len))
		return;
	fingerprint_set(h->fp, h->run, name, "%.*s", STR_ARG(value));
}

static void set_count(struct host *h, const char *name, int64_t count)
{
	if (count > 0)
		fingerprint_set(h->fp, h->run, name, "%lld", (long long)count);
}

/* The first "key : value" line of text; empty when there is none. */
static struct str field(struct str text, const char *key)
{
	while (text.len) {
		struct str value;
		struct str name = str_trim(str_cut(str_cut(text, '\n', &text), ':', &value));
		if (str_eq(name, str_of(key)))
			return str_trim(value);
	}
	return (struct str){ "", 0 };
}

/* One part of a list such as "0-3,8-11": "8-11" or "5". */
static bool parse_range(struct str range, int64_t *ret_first, int64_t *ret_last)
{
	struct str last;
	struct str first = str_cut(range, '-', &last);
	if (!str_to_i64(first, ret_first))
		return false;
	*ret_last = *ret_first;
	if (first.len < range.len && !str_to_i64(last, ret_last))
		return false;
	return *ret_first >= 0 && *ret_last >= *ret_first && *ret_last < CPU_MAX;
}

/* How many CPUs or nodes a list names; 0 when it is no list. */
static int64_t count_list(struct str list)
{
	int64_t count = 0;
	while (list.len) {
		int64_t first, last;
		if (!parse_range(str_trim(str_cut(list, ',', &list)), &first, &last))
			return 0;
		count += last - first + 1;
	}
	return count;
}

static void add_cpu(struct host *h)
{
	/* x86, MIPS, POWER, RISC-V; Arm has no such line and gives numbers of the maker. */
	static const char *const keys[] = { "model name", "cpu model", "cpu", "uarch" };
	struct str info = read_text(h, "/proc/cpuinfo");
	struct str model = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(keys) && model.len == 0; i++)
		model = field(info, keys[i]);
	struct str maker = field(info, "CPU implementer"), part = field(info, "CPU part");
	if (model.len == 0 && maker.len && part.len)
		model = str_of(arena_printf(
		        &h->tmp, "implementer %.*s part %.*s", STR_ARG(maker), STR_ARG(part)));
	set_text(h, "host.cpu", model);
}

static void add_cores(struct host *h)
{
	set_count(h, "host.cores", count_list(read_line(h, "/sys/devices/system/cpu/online")));
	set_count(h, "host.cores_allowed",
	        count_list(field(read_text(h, "/proc/self/status"), "Cpus_allowed_list")));
	set_count(
	        h, "host.numa_nodes", count_list(read_line(h, "/sys/devices/system/node/online")));
}

static void add_memory(struct host *h)
{
	struct str unit;
	int64_t kib;
	struct str number = str_cut(field(read_text(h, "/proc/meminfo"), "MemTotal"), ' ', &unit);
	if (str_eq(str_trim(unit), STR("kB")) && str_to_i64(number, &kib) && kib > 0 &&
	        kib <= INT64_MAX / 1024)
		set_count(h, "host.memory_bytes", kib * 1024);
}

/* Empty where the CPU has no governor, as in most virtual machines. */
static struct str governor_of(struct host *h, int64_t cpu)
{
	return read_line(
	        h, arena_printf(&h->tmp, "/sys/devices/system/cpu/cpu%lld/cpufreq/scaling_governor",
	                   (long long)cpu));
}

/* "mixed" when CPUs differ: then no single name is true of the run. */
static void add_governor(struct host *h)
{
	struct str online = read_line(h, "/sys/devices/system/cpu/online");
	struct str governor = { 0 };
	while (online.len) {
		int64_t first, last;
		if (!parse_range(str_trim(str_cut(online, ',', &online)), &first, &last))
			return;
		for (int64_t cpu = first; cpu <= last; cpu++) {
			struct str one = governor_of(h, cpu);
			if (governor.len && one.len && !str_eq(governor, one)) {
				set_text(h, "host.governor", STR("mixed"));
				return;
			}
			if (one.len)
				governor = one;
		}
	}
	set_text(h, "host.governor", governor);
}

/* Cores that a quota grants: INFINITY for no limit, NAN when the numbers make no sense. */
static double quota_of(struct str quota, struct str period)
{
	int64_t quota_us, period_us;
	if (str_eq(quota, STR("max")) || str_eq(quota, STR("-1")))
		return INFINITY;
	if (!str_to_i64(quota, &quota_us) || !str_to_i64(period, &period_us))
		return NAN;
	return quota_us > 0 && period_us > 0 ? (double)quota_us / (double)period_us : NAN;
}

/* The quota of one group; version 2 keeps both numbers in one file, version 1 in two. */
static double quota_of_group(struct host *h, const char *dir)
{
	struct str period;
	struct str quota =
	        str_cut(read_line(h, arena_printf(&h->tmp, "%s/cpu.max", dir)), ' ', &period);
	if (quota.len)
		return quota_of(quota, period);
	quota = read_line(h, arena_printf(&h->tmp, "%s/cpu.cfs_quota_us", dir));
	period = read_line(h, arena_printf(&h->tmp, "%s/cpu.cfs_period_us", dir));
	return quota_of(quota, period);
}

/* The smallest quota from a group up to the root of its hierarchy: a parent's limit binds too. */
static double quota_upwards(struct host *h, const char *mount, struct str group)
{
	double least = NAN;
	for (;;) {
		while (str_ends(group, STR("/")))
			group.len--;
		const char *dir = arena_printf(&h->tmp, "%s%.*s", mount, STR_ARG(group));
		least = fmin(least, quota_of_group(h, dir)); /* fmin passes over NAN */
		if (group.len == 0)
			return least;
		while (group.len && group.s[group.len - 1] != '/')
			group.len--;
	}
}

static bool names_cpu(struct str controllers)
{
	while (controllers.len)
		if (str_eq(str_cut(controllers, ',', &controllers), STR("cpu")))
			return true;
	return false;
}

/* Both versions may be mounted side by side; the tighter limit is the one that binds. */
static void add_cpu_quota(struct host *h)
{
	struct str groups = read_text(h, "/proc/self/cgroup");
	double quota = NAN;
	while (groups.len) {
		struct str group;
		struct str line = str_trim(str_cut(groups, '\n', &groups));
		str_cut(line, ':', &group); /* the number of the hierarchy */
		struct str controllers = str_cut(group, ':', &group);
		if (group.len == 0 || group.len > GROUP_MAX_BYTES)
			continue;
		if (controllers.len == 0) {
			quota = fmin(quota, quota_upwards(h, "/sys/fs/cgroup", group));
			quota = fmin(quota, quota_upwards(h, "/sys/fs/cgroup/unified", group));
		} else if (names_cpu(controllers)) {
			quota = fmin(quota, quota_upwards(h, "/sys/fs/cgroup/cpu", group));
		}
	}
	if (isinf(quota))
		set_text(h, "host.cpu_quota", STR("none"));
	else if (!isnan(quota))
		fingerprint_set(h->fp, h->run, "host.cpu_quota", "%.6g", quota);
}

void fingerprint_host(struct fingerprint *fp, struct arena *run, const char *root)
{
	struct host h = { .fp = fp, .run = run, .root = root };
	add_cpu(&h);
	add_cores(&h);
	add_memory(&h);
	set_text(&h, "host.kernel", read_line(&h, "/proc/sys/kernel/osrelease"));
	add_governor(&h);
	add_cpu_quota(&h);
	fingerprint_set(fp, run, "tool.version", "%s", VENTURI_VERSION);
	arena_release(&h.tmp);
}
