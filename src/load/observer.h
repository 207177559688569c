/*
 * observer.h - what the controller sees of the workers and of the machine at its ticks, which know
 * nothing of what the workers are doing: so a backlog is met as often as it is there.
 */
#ifndef VENTURI_LOAD_OBSERVER_H
#define VENTURI_LOAD_OBSERVER_H

#include "base/str.h"
#include "load/worker.h"

struct cpu_times {
	double all, stolen; /* ticks of all CPUs since the machine started */
};

struct observer {
	bool begun;
	struct cpu_times start;
	int64_t n, n_bytes,
	        max_bytes; /* samples of unread bytes, one for each connection looked at */
	int next;          /* connection of each worker */
};

/* The first line of /proc/stat; false when it is none. */
bool observer_parse_cpu(struct str text, struct cpu_times *ret);

void observer_tick(struct observer *o, const struct load_shared *shared, struct worker *workers,
        int64_t now_ns);

/* What observer and gauges say, into the run; the workers have ended. */
void observer_fill(const struct observer *o, const struct load_shared *shared,
        struct worker *workers, struct arena *run, struct load_run *r);

#endif
