/*
 * affinity.h - the CPUs on which watched processes may run.
 */
#ifndef VENTURI_WATCH_AFFINITY_H
#define VENTURI_WATCH_AFFINITY_H

#include "watch/cpulist.h"
#include "watch/tasks.h"

#include "base/attr.h"

#include <stdbool.h>

enum { AFFINITY_THREADS_MAX = 1024 }; /* that are asked in one call */

/*
 * All CPUs on which one of its threads may run: a library that binds its threads one by one binds
 * the main thread as well.
 *
 * tasks    after tasks_scan
 * pid      0: of all processes together
 * returns  false: errno says why; the set is empty then
 */
bool affinity_of(const struct tasks *tasks, int pid, struct cpulist *ret_cpus) NODISCARD;

/* How many CPUs are in both. */
unsigned affinity_count_both(const struct cpulist *a, const struct cpulist *b);

#endif
