/*
 * fuzz_host.c - any bytes as the files of the kernel that the sources of the machine and of groups
 * read: whole, then half, then whole again. No source fails, every signal has values or a reason,
 * shares are shares, and what the parsers of groups find lies inside the text.
 */
#include "../unit/watch_tree.h"

#include "watch/cgroup/cgroup_tree.h"
#include "watch/psi.h"
#include "watch/sampler.h"
#include "watch/sources.h"

#include "base/clock.h"

#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PID = 1 };

static const char *const files[] = {
	"proc/stat",
	"proc/loadavg",
	"proc/meminfo",
	"proc/vmstat",
	"proc/diskstats",
	"proc/softirqs",
	"proc/cpuinfo",
	"proc/pressure/cpu",
	"proc/pressure/io",
	"proc/net/dev",
	"proc/net/snmp",
	"proc/net/netstat",
	"proc/net/sockstat",
	"sys/devices/system/cpu/online",
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
	"sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
	"sys/kernel/mm/transparent_hugepage/enabled",
	"cg/g/cpu.stat",
	"cg/g/cpu.max",
	"cg/g/memory.current",
	"cg/g/memory.max",
	"cg/g/memory.events",
	"cg/g/memory.stat",
	"cg/g/cpuset.cpus.effective",
	"cg/g/pids.max",
	"cg/g/io.stat",
	"cg/g/cpu.pressure",
	"v1/cpu.cfs_quota_us",
	"v1/cpu.cfs_period_us",
	"v1/cpuacct.usage",
	"v1/blkio.throttle.io_service_bytes_recursive",
};

/* With NULs, too. Not emptied first: some file systems then write to the disk, at each close. */
static void write_file(const char *name, const uint8_t *data, size_t size)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", tree_root, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || ftruncate(fd, (off_t)size) != 0)
		abort();
	close(fd);
}

static void write_files(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		write_file(files[i], data, size);
}

/* Version 1 for every second input, so that both readers are met. */
static void write_mounts(bool is_first)
{
	tree_put("proc/1/cgroup", "%s", is_first ? "1:cpu,cpuacct,blkio:/\n" : "0::/g\n");
	tree_put("proc/self/mountinfo", "%s",
	        is_first ? "1 0 0:1 / /v1 rw - cgroup cgroup rw,cpu,cpuacct,blkio\n"
	                 : "1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n");
}

static void check_signal(const struct signal *s)
{
	bool has_values = s->state == SIGNAL_MEASURED || s->state == SIGNAL_ESTIMATED;
	if (!s->name || !s->unit || s->n < 0 || (!has_values && !s->reason))
		abort();
	if (isinf(s->mean) || isinf(s->last) || isinf(s->p95) || s->max < s->min)
		abort();
	bool is_share = strncmp(s->name, "host_core_", 10) == 0 && strstr(s->name, "_ratio");
	if (is_share && (s->min < 0 || s->max > 1 + 1e-9))
		abort();
}

static void check_watch(const uint8_t *data, size_t size)
{
	static const struct watch_source *const sources[] = { &host_cpu_source, &host_psi_source,
		&host_memory_source, &host_disk_source, &host_network_source, &host_softirq_source,
		&host_clock_source, &cgroup_cpu_source, &cgroup_memory_source,
		&cgroup_other_source };
	const int pid = PID;
	const struct watch_config config = { .root = tree_root,
		.interval_ns = NS_PER_S,
		.pids = &pid,
		.n_pids = 1,
		.sources = sources,
		.n_sources = ARRAY_LEN(sources) };
	struct arena run = { 0 };
	struct signal_system got;
	struct sampler *s;
	struct err err;
	write_mounts(size % 2);
	write_files(data, size);
	if (!sampler_open(&config, &run, &s, &err))
		abort();
	for (int i = 0; i < 3; i++) {
		write_files(data, i == 1 ? size / 2 : size);
		sampler_step(s, (i + 1) * NS_PER_S);
	}
	sampler_report(s, 0, &run, &got);
	for (size_t i = 0; i < got.n_signals; i++)
		check_signal(&got.signals[i]);
	sampler_close(s);
	arena_release(&run);
}

static void check_inside(struct str text, struct str part)
{
	if (part.len && (part.s < text.s || part.s + part.len > text.s + text.len))
		abort();
}

static void check_parsers(struct str text)
{
	char top[CGROUP_PATH_MAX], dir[CGROUP_PATH_MAX];
	struct str path = { "/a/b", 4 }, below;
	uint64_t total;
	for (int version = 1; version <= 2; version++) {
		if (cgroup_path_of(text, "cpu", version, &path)) {
			check_inside(text, path);
			if (path.s[0] != '/')
				abort();
		}
		if (!cgroup_mount_of(text, "cpu", version, path, top, dir, &below))
			continue;
		check_inside(path, below);
		if (top[0] != '/' || dir[0] != '/' || strlen(dir) >= CGROUP_PATH_MAX)
			abort();
	}
	if (psi_total_us(text, "some", &total) && text.len == 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!tree_root[0]) {
		tree_new();
		atexit(tree_remove);
		for (size_t i = 0; i < ARRAY_LEN(files); i++)
			tree_put(files[i], "%s", "");
	}
	check_parsers((struct str){ (const char *)data, size });
	check_watch(data, size);
	return 0;
}
