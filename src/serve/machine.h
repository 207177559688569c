/*
 * machine.h - on which CPUs and which memory the computing threads are placed.
 *
 * Compact order is one thread per core before a second one on any of them, cores that share a cache
 * beside one another. Needs hwloc; without it CPUs can still be listed.
 *
 * Source: hwloc's documentation; numactl(8), taskset(1) for how lists are written.
 */
#ifndef VENTURI_SERVE_MACHINE_H
#define VENTURI_SERVE_MACHINE_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

#include <stdint.h>

struct machine_options {
	int64_t threads;  /* 0: as many as there are CPUs to use */
	const char *pin;  /* "off", "compact" or CPUs: "0-3,8", "0-14:2" */
	const char *numa; /* "off" or the number of a node */
};

struct machine_plan {
	int n_threads;
	const int *cpus; /* [n_cpus], in the order of threads; NULL: anywhere */
	int n_cpus;
	int node; /* -1: any */
};

/*
 * Usable are the CPUs of the affinity mask; how many of them to keep busy says also the quota.
 *
 * errors   ERR_USAGE: no list, or CPUs or a node that cannot be used here; ERR_SYSTEM: hwloc
 */
bool machine_plan(const struct machine_options *options, struct arena *run,
        struct machine_plan *ret_plan, struct err *err) NODISCARD;

/* ---- open to tests ---- */

enum { MACHINE_CPUS_MAX = 8192 };

/* The list as numbers in the order written. False: it is none, or has more than the limit. */
bool machine_parse_cpus(
        const char *text, struct arena *run, const int **ret_cpus, int *ret_n) NODISCARD;

#endif
