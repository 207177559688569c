/*
 * tasks.h - the threads of the watched processes and of all that descend from them.
 *
 * No memory is taken once it is open. Read from /proc/PID/task, and from .../TID/children, whose
 * kernel option (PROC_CHILDREN) distributions have; without it there are no children.
 */
#ifndef VENTURI_WATCH_TASKS_H
#define VENTURI_WATCH_TASKS_H

#include "watch/source.h"

enum { TASKS_MAX = 8192, TASK_PROCESSES_MAX = 512 };

struct task {
	int pid, tid;
	int watched; /* which of config->pids it is or descends from */
};

struct tasks {
	const struct watch_config *config;
	struct task *tasks; /* processes one after the other */
	size_t n;
	struct task *processes; /* tid is the pid */
	size_t n_processes;
	bool cut; /* there were more than the limits */
	int64_t next_children_ns;
	char *buf;
};

void tasks_init(struct tasks *t, const struct watch_config *config, struct arena *run);

/* Looks again for threads and children, for which each thread has to be asked. */
void tasks_scan(struct tasks *t);
/* The same, but for children only when that was done 5 s ago or never. */
void tasks_scan_threads(struct tasks *t, int64_t now_ns);

enum { TASK_LABEL_BYTES = 48 };

/* The instance under which a process is shown: "1234 name". */
void task_label(const struct watch_config *config, int pid, char buf[TASK_LABEL_BYTES]);

#endif
