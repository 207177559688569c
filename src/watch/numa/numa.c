/*
 * numa.c - memory nodes: what is free on each, what was taken from another than was asked for, and
 * where the pages of the watched processes lie.
 *
 * To read where pages lie the kernel walks the page tables of the whole process under its memory
 * lock. It is therefore done seldom, and the more seldom the longer it takes.
 */
#include "watch/process/affinity.h"
#include "watch/numa/numa_maps.h"
#include "watch/procfile.h"
#include "watch/sources.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	TEXT_BYTES = 4096,
	SCAN_PERIOD_S = 30,
	/* A scan takes at most this share of the sampler's time, so that other sources are not
	   late. */
	SCAN_SHARE = 200,
};

enum row {
	NODES,
	NODE_BYTES,
	NODE_FREE,
	HIT,
	MISS,
	FOREIGN,
	OTHER_NODE,
	PAGES,
	REMOTE,
	POLICY,
	CPU_NODES,
	SCAN_MS,
	N_ROWS,
};

static const struct watch_row rows[] = {
	[NODES] = { .name = "numa_nodes",
	        .unit = "1",
	        .kind = WATCH_GAUGE,
	        .from = "/sys/devices/system/node/has_memory",
	        .help = N_("nodes that have memory") },
	[NODE_BYTES] = { .name = "numa_node_bytes",
	        .unit = "bytes",
	        .kind = WATCH_GAUGE,
	        .from = "/sys/devices/system/node/nodeN/meminfo, MemTotal",
	        .help = N_("memory of the node") },
	[NODE_FREE] = { .name = "numa_node_free_bytes",
	        .unit = "bytes",
	        .kind = WATCH_GAUGE,
	        .from = "/sys/devices/system/node/nodeN/meminfo, MemFree",
	        .help = N_("memory of the node that nothing uses, not even the page cache") },
	[HIT] = { .name = "numa_hit_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "/sys/devices/system/node/nodeN/numastat, numa_hit",
	        .help = N_("pages taken from this node as was asked for") },
	[MISS] = { .name = "numa_miss_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "/sys/devices/system/node/nodeN/numastat, numa_miss",
	        .help = N_("pages taken from this node though another was asked for") },
	[FOREIGN] = { .name = "numa_foreign_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "/sys/devices/system/node/nodeN/numastat, numa_foreign",
	        .help = N_("pages asked of this node and taken from another") },
	[OTHER_NODE] = { .name = "numa_other_node_per_s",
	        .unit = "1/s",
	        .kind = WATCH_RATE,
	        .from = "/sys/devices/system/node/nodeN/numastat, other_node",
	        .help = N_("pages taken from this node by a CPU of another") },
	[PAGES] = { .name = "numa_pages_bytes",
	        .unit = "bytes",
	        .kind = WATCH_GAUGE,
	        .from = "/proc/PID/numa_maps",
	        .help = N_("pages of the watched processes on the node; shared ones count for "
	                   "each process") },
	[REMOTE] = { .name = "numa_remote_pages_ratio",
	        .unit = "ratio",
	        .kind = WATCH_GAUGE,
	        .from = "/proc/PID/numa_maps; /proc/PID/task/TID/status, Cpus_allowed_list",
	        .help = N_("share of a process's pages on nodes with no CPU that it may run on") },
	[POLICY] = { .name = "numa_policy",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = "/proc/PID/numa_maps",
	        .help = N_("memory policies of the mappings, the one of most pages first") },
	[CPU_NODES] = { .name = "numa_cpu_nodes",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = "/proc/PID/task/TID/status, Cpus_allowed_list",
	        .help = N_("nodes with CPUs that the watched processes may run on") },
	[SCAN_MS] = { .name = "numa_scan_ms",
	        .unit = "ms",
	        .kind = WATCH_GAUGE,
	        .from = "clock_gettime(CLOCK_MONOTONIC)",
	        .help = N_("how long it took to read where the pages lie") },
};

struct node {
	unsigned number;
	struct cpulist cpus;
	struct procfile meminfo, numastat;
	struct channel *bytes, *free, *counts[OTHER_NODE - HIT + 1], *pages;
};

struct numa {
	const struct watch_config *config;
	struct board *board;
	struct tasks tasks;
	struct node *nodes;
	size_t n_nodes;
	unsigned n_with_memory; /* 0: not known */
	struct channel *count, *remote, *policy, *cpu_nodes, *scan;
	int64_t scan_next_ns;
	char buf[NUMA_MAPS_BUF_BYTES];
};

static bool read_node(struct numa *n, struct node *node, unsigned number)
{
	static const char folder[] = "/sys/devices/system/node/node";
	const char *root = n->config->root;
	char text[TEXT_BYTES], instance[16];
	struct str cpus;
	node->number = number;
	/* A node without CPUs has an empty list. */
	if (!procfile_once(root, text, sizeof(text), &cpus, "%s%u/cpulist", folder, number) ||
	        !cpulist_add(&node->cpus, cpus))
		return false;
	snprintf(instance, sizeof(instance), "node%u", number);
	node->bytes = board_channel(n->board, &rows[NODE_BYTES], instance);
	node->free = board_channel(n->board, &rows[NODE_FREE], instance);
	node->pages = board_channel(n->board, &rows[PAGES], instance);
	for (int i = HIT; i <= OTHER_NODE; i++)
		node->counts[i - HIT] = board_channel(n->board, &rows[i], instance);
	if (!procfile_open(&node->meminfo, root, "%s%u/meminfo", folder, number)) {
		channel_absent(node->bytes, SIGNAL_NOT_SUPPORTED, strerror(errno));
		channel_absent(node->free, SIGNAL_NOT_SUPPORTED, strerror(errno));
	}
	if (!procfile_open(&node->numastat, root, "%s%u/numastat", folder, number))
		for (int i = HIT; i <= OTHER_NODE; i++)
			channel_absent(
			        node->counts[i - HIT], SIGNAL_NOT_SUPPORTED, strerror(errno));
	return true;
}

static bool read_list(
        const struct watch_config *config, const char *name, struct cpulist *ret_nodes)
{
	char text[TEXT_BYTES];
	struct str list;
	*ret_nodes = (struct cpulist){ 0 };
	errno = EINVAL;
	return procfile_once(config->root, text, sizeof(text), &list, "/sys/devices/system/node/%s",
	               name) &&
	       cpulist_add(ret_nodes, list);
}

static void open_processes(struct numa *n)
{
	static const enum row of_processes[] = { REMOTE, POLICY, CPU_NODES, SCAN_MS };
	n->remote = board_channel(n->board, &rows[REMOTE], NULL);
	n->policy = board_channel(n->board, &rows[POLICY], NULL);
	n->cpu_nodes = board_channel(n->board, &rows[CPU_NODES], NULL);
	n->scan = board_channel(n->board, &rows[SCAN_MS], NULL);
	const char *reason = _("no process was named");
	for (size_t i = 0; n->config->n_pids == 0 && i < ARRAY_LEN(of_processes); i++)
		channel_absent(board_channel(n->board, &rows[of_processes[i]], NULL),
		        SIGNAL_NOT_SUPPORTED, reason);
	for (size_t i = 0; n->config->n_pids == 0 && i < n->n_nodes; i++)
		channel_absent(n->nodes[i].pages, SIGNAL_NOT_SUPPORTED, reason);
}

static bool numa_open(const struct watch_config *config, struct board *board, struct arena *run,
        void **ret_self, struct err *err)
{
	struct cpulist numbers, with_memory;
	if (!read_list(config, "online", &numbers))
		return err_set(err, ERR_SYSTEM,
		        _("cannot read '/sys/devices/system/node/online': %s"), strerror(errno));
	struct numa *n = arena_new(run, struct numa);
	n->config = config;
	n->board = board;
	tasks_init(&n->tasks, config, run);
	n->nodes = arena_new_n(run, struct node, cpulist_count(&numbers));
	n->count = board_channel(board, &rows[NODES], NULL);
	for (unsigned i = 0; i < NUMA_NODES_MAX; i++)
		if (cpulist_has(&numbers, i) && read_node(n, &n->nodes[n->n_nodes], i))
			n->n_nodes++;
	if (read_list(config, "has_memory", &with_memory))
		n->n_with_memory = cpulist_count(&with_memory);
	else
		channel_absent(n->count, SIGNAL_NOT_SUPPORTED, strerror(errno));
	open_processes(n);
	*ret_self = n;
	return true;
}

/* Lines "Node 0 MemFree:  123 kB". */
static void tell_memory(const struct node *node)
{
	char text[TEXT_BYTES];
	struct str rest;
	uint64_t kib;
	if (!procfile_read(&node->meminfo, text, sizeof(text), &rest))
		return;
	while (rest.len) {
		struct str line = procfile_line(&rest);
		procfile_word(&line);
		procfile_word(&line);
		struct str key = procfile_word(&line);
		bool total = str_eq(key, STR("MemTotal:"));
		if ((total || str_eq(key, STR("MemFree:"))) &&
		        procfile_u64(procfile_word(&line), &kib))
			channel_value(total ? node->bytes : node->free, (double)kib * 1024);
	}
}

static void tell_counts(const struct node *node)
{
	static const char *const keys[] = { "numa_hit", "numa_miss", "numa_foreign", "other_node" };
	char text[TEXT_BYTES];
	struct str stat;
	uint64_t count;
	if (!procfile_read(&node->numastat, text, sizeof(text), &stat))
		return;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (procfile_field_u64(stat, keys[i], &count))
			channel_total(node->counts[i], count);
}

/* What a scan gathers over all processes. */
struct scan {
	struct numa_maps maps;
	struct cpulist cpu_nodes;
	double bytes, remote;
	size_t n_read;
	int pid, code; /* of a process that could not be read */
};

static bool scan_maps(struct numa *n, int pid, struct numa_maps *maps)
{
	char path[PROCFILE_PATH_MAX];
	snprintf(path, sizeof(path), "%s/proc/%d/numa_maps", n->config->root, pid);
	AUTO(auto_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd >= 0 && numa_maps_read(maps, fd, n->buf);
}

/* Adds to the nodes of all processes, and weighs what is far from the CPUs of this one. */
static void scan_process(struct numa *n, int pid, struct scan *scan)
{
	struct numa_maps *maps = &scan->maps;
	struct cpulist cpus;
	uint64_t before[NUMA_NODES_MAX];
	memcpy(before, maps->bytes, sizeof(before));
	if (!affinity_of(&n->tasks, pid, &cpus) || !scan_maps(n, pid, maps)) {
		scan->pid = pid;
		scan->code = errno;
		/* Half of a process is none. */
		memcpy(maps->bytes, before, sizeof(before));
		return;
	}
	scan->n_read++;
	for (size_t i = 0; i < n->n_nodes; i++) {
		const struct node *node = &n->nodes[i];
		bool is_near = affinity_count_both(&cpus, &node->cpus) > 0;
		double bytes = (double)(maps->bytes[node->number] - before[node->number]);
		scan->bytes += bytes;
		scan->remote += is_near ? 0 : bytes;
		if (is_near)
			scan->cpu_nodes.words[node->number / 64] |= UINT64_C(1)
			                                            << node->number % 64;
	}
}

static void tell_no_scan(struct numa *n, const struct scan *scan)
{
	char reason[BOARD_REASON_BYTES];
	snprintf(reason, sizeof(reason), _("cannot read '/proc/%d/numa_maps': %s"), scan->pid,
	        strerror(scan->code));
	/* A kernel without nodes has no such file, nor has a process that is gone. */
	enum signal_state state = scan->code == EACCES || scan->code == EPERM ? SIGNAL_NOT_SUPPORTED
	                                                                      : SIGNAL_NOT_COUNTED;
	channel_absent(n->remote, state, reason);
	channel_absent(n->policy, state, reason);
	channel_absent(n->cpu_nodes, state, reason);
	channel_absent(n->scan, state, reason);
	for (size_t i = 0; i < n->n_nodes; i++)
		channel_absent(n->nodes[i].pages, state, reason);
}

static void tell_scan(struct numa *n, const struct scan *scan)
{
	char text[BOARD_TEXT_BYTES];
	for (size_t i = 0; i < n->n_nodes; i++)
		channel_value(n->nodes[i].pages, (double)scan->maps.bytes[n->nodes[i].number]);
	if (scan->bytes > 0)
		channel_value(n->remote, scan->remote / scan->bytes);
	else
		channel_absent(n->remote, SIGNAL_NOT_COUNTED, _("no page was told"));
	numa_maps_policies(&scan->maps, text, sizeof(text));
	channel_text(n->policy, str_of(text));
	cpulist_print(&scan->cpu_nodes, text, sizeof(text));
	channel_text(n->cpu_nodes, str_of(text));
}

static void scan_pages(struct numa *n, int64_t now_ns)
{
	struct scan scan = { 0 };
	int64_t begin_ns = clock_now_ns();
	tasks_scan(&n->tasks);
	for (size_t i = 0; i < n->tasks.n_processes; i++)
		scan_process(n, n->tasks.processes[i].pid, &scan);
	int64_t took_ns = clock_now_ns() - begin_ns, period_ns = SCAN_PERIOD_S * NS_PER_S;
	n->scan_next_ns =
	        now_ns + (took_ns > period_ns / SCAN_SHARE ? took_ns * SCAN_SHARE : period_ns);
	if (scan.n_read == 0) {
		tell_no_scan(n, &scan);
		return;
	}
	channel_value(n->scan, (double)took_ns / 1e6);
	tell_scan(n, &scan);
}

static void numa_sample(void *self, int64_t now_ns)
{
	struct numa *n = self;
	if (n->n_with_memory > 0)
		channel_value(n->count, n->n_with_memory);
	for (size_t i = 0; i < n->n_nodes; i++) {
		tell_memory(&n->nodes[i]);
		tell_counts(&n->nodes[i]);
	}
	if (n->config->n_pids > 0 && now_ns >= n->scan_next_ns)
		scan_pages(n, now_ns);
}

/* A window shall have a scan of its own, unless scans are dear. */
static void numa_thorough(void *self)
{
	struct numa *n = self;
	if (n->scan_next_ns - board_now_ns(n->board) <= SCAN_PERIOD_S * NS_PER_S)
		n->scan_next_ns = 0;
}

static void numa_close(void *self)
{
	struct numa *n = self;
	for (size_t i = 0; i < n->n_nodes; i++) {
		procfile_close(&n->nodes[i].meminfo);
		procfile_close(&n->nodes[i].numastat);
	}
}

const struct watch_source numa_source = {
	.name = "numa",
	.rows = rows,
	.n_rows = N_ROWS,
	.period_ns = NS_PER_S,
	.open = numa_open,
	.sample = numa_sample,
	.thorough = numa_thorough,
	.close = numa_close,
};
