/*
 * process_parse.h - the files of a process and of a thread in /proc, as text in, numbers out.
 *
 * Always: a line counts only when it is whole, so a file that was cut gives less and nothing wrong.
 * What a file does not have is PROCESS_ABSENT. Words are views into the text.
 *
 * Source: proc(5); Linux, fs/proc/array.c, fs/proc/base.c, fs/proc/task_mmu.c.
 */
#ifndef VENTURI_WATCH_PROCESS_PARSE_H
#define VENTURI_WATCH_PROCESS_PARSE_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_ABSENT UINT64_MAX

/* stat; a name may hold anything, also blanks, parentheses and line ends. */
struct process_stat {
	struct str name;
	char state;
	uint64_t parent, minor_faults, major_faults, user_ticks, system_ticks, n_threads,
	        start_ticks;
};
bool process_parse_stat(struct str text, struct process_stat *ret_stat) NODISCARD;

/* schedstat: time on a CPU, time on a run queue, and how often it came onto a CPU. */
struct process_schedstat {
	uint64_t cpu_ns, wait_ns, n_runs;
};
bool process_parse_schedstat(struct str text, struct process_schedstat *ret_schedstat) NODISCARD;

/* status; sizes in bytes. In its names a backslash and a line end are written as in C. */
struct process_status {
	struct str name, cpus, mems; /* empty: absent */
	char state;                  /* 0: absent */
	uint64_t voluntary, involuntary;
	uint64_t rss, anonymous, file, shared, swap, locked, hugetlb;
};
void process_parse_status(struct str text, struct process_status *ret_status);

struct process_io {
	uint64_t rchar, wchar, n_reads, n_writes, read_bytes, write_bytes;
};
void process_parse_io(struct str text, struct process_io *ret_io);

/* smaps_rollup; bytes. */
struct process_rollup {
	uint64_t pss, private_dirty, anonymous_huge;
};
void process_parse_rollup(struct str text, struct process_rollup *ret_rollup);

/* limits: how many files may be open at once; PROCESS_ABSENT also when there is no limit. */
uint64_t process_parse_files_limit(struct str text);

/* A name from outside in size bytes, safe to show on one line, NUL after it. */
void process_name(char *buf, size_t size, struct str name);

#endif
