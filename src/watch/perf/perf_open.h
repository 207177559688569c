/*
 * perf_open.h - counters and samplers of the kernel's perf_event_open, and why there are none.
 *
 * Source: perf_event_open(2); Documentation/admin-guide/sysctl/kernel.rst, perf_event_paranoid.
 */
#ifndef VENTURI_WATCH_PERF_OPEN_H
#define VENTURI_WATCH_PERF_OPEN_H

#include "watch/source.h"

#include <linux/perf_event.h>

/*
 * A counter of one thread, on whatever CPU it runs.
 *
 * group_fd  of the leader whose group it joins; -1: none
 * returns   the descriptor; -1: errno says why
 */
int perf_open(struct perf_event_attr *attr, int tid, int group_fd) NODISCARD;

/* Why it was refused, as one clause for a person. code is its errno. */
void perf_why_not(int code, const struct perf_event_attr *attr, const char *root,
        char buf[BOARD_REASON_BYTES]);

/*
 * How many descriptors a source may hold: a quarter of those that this process may have, so that
 * many threads do not take them from connections and files.
 */
size_t perf_descriptors_max(void);

/* err for a recorded tree, which has nothing that could be counted; false when root is one. */
bool perf_is_live(const struct watch_config *config, struct err *err) NODISCARD;

#endif
