/*
 * fingerprint.h - what has to be equal for two runs to be compared: an ordered list of names and
 * values, both text. Both live in the arena of the run.
 *
 * A name is a group, a dot and a word: host.* and tool.* from fingerprint_host; target.url,
 * target.api, target.model; load.concurrency or load.rate_per_s, load.arrival, load.seed,
 * load.input, load.output, load.salt, load.stream; tag.KEY for what the user declares.
 */
#ifndef VENTURI_RECORD_FINGERPRINT_H
#define VENTURI_RECORD_FINGERPRINT_H

#include "base/arena.h"
#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>

enum { FINGERPRINT_MAX = 96 };

struct fingerprint_entry {
	const char *name;
	const char *value;
};

struct fingerprint {
	struct fingerprint_entry entries[FINGERPRINT_MAX];
	size_t n;
};

/* Sets or replaces one entry; false when the list is full. Values may be any text, also empty. */
bool fingerprint_set(struct fingerprint *fp, struct arena *run, const char *name, const char *fmt,
        ...) PRINTF(4, 5);

/* The value of a name, or NULL. */
const char *fingerprint_get(const struct fingerprint *fp, const char *name);

/*
 * What can be read of this machine and this tool. An entry that cannot be read, or that makes no
 * sense, is left out.
 *
 *	host.cpu            model name; on Arm the numbers of maker and part
 *	host.cores          online CPUs
 *	host.cores_allowed  of these, those that the affinity of this process allows
 *	host.numa_nodes
 *	host.memory_bytes
 *	host.kernel         release
 *	host.governor       of the clocks; "mixed" when CPUs differ; absent in most virtual machines
 *	host.cpu_quota      cores that the control groups grant (1.5), or "none"; the tightest of
 *the process's group and its parents, versions 1 and 2 tool.version
 *
 * root     "" for the machine itself; tests give a tree that holds proc/ and sys/
 * source   Linux, Documentation/admin-guide/cgroup-v2.rst (cpu.max) and scheduler/sched-bwc.rst
 */
void fingerprint_host(struct fingerprint *fp, struct arena *run, const char *root);

#endif
