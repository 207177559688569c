/*
 * process_rows.h - the signals of processes and threads, and how each comes about.
 */
#ifndef VENTURI_WATCH_PROCESS_ROWS_H
#define VENTURI_WATCH_PROCESS_ROWS_H

#include "watch/board.h"
#include "watch/process/process_watched.h"

#include <stdbool.h>

enum process_row {
	PROCESS_ROW_CPU,
	PROCESS_ROW_USER,
	PROCESS_ROW_SYSTEM,
	PROCESS_ROW_WAIT,
	PROCESS_ROW_WAIT_SHARE,
	PROCESS_ROW_VOLUNTARY,
	PROCESS_ROW_INVOLUNTARY,
	PROCESS_ROW_COUNT,
	PROCESS_ROW_THREADS,
	PROCESS_ROW_RUNNING,
	PROCESS_ROW_SLEEPING,
	PROCESS_ROW_BLOCKED,
	PROCESS_ROW_CPUS,
	PROCESS_ROW_N_CPUS,
	PROCESS_ROW_CONFINED,
	PROCESS_ROW_MEMS,
	PROCESS_ROW_MINOR,
	PROCESS_ROW_MAJOR,
	PROCESS_ROW_RSS,
	PROCESS_ROW_ANONYMOUS,
	PROCESS_ROW_FILE,
	PROCESS_ROW_SHARED,
	PROCESS_ROW_SWAP,
	PROCESS_ROW_LOCKED,
	PROCESS_ROW_HUGETLB,
	PROCESS_ROW_PSS,
	PROCESS_ROW_DIRTY,
	PROCESS_ROW_HUGE,
	PROCESS_ROW_READ_BYTES,
	PROCESS_ROW_WRITE_BYTES,
	PROCESS_ROW_RCHAR,
	PROCESS_ROW_WCHAR,
	PROCESS_ROW_READS,
	PROCESS_ROW_WRITES,
	PROCESS_ROW_FILES,
	PROCESS_ROW_FILES_RATIO,
	PROCESS_ROW_SOCKETS,
	PROCESS_ROW_ENDED,
	PROCESS_ROW_BUSIEST_CPU,
	PROCESS_ROW_BUSIEST_WAIT,
	PROCESS_ROW_BUSIEST,
	PROCESS_ROW_BUSY,
	PROCESS_N_ROWS
};

enum process_how {
	PROCESS_HOW_COUNTER, /* the sum of a counter of the processes */
	PROCESS_HOW_GAUGE,   /* the sum of what they show */
	PROCESS_HOW_SPECIAL, /* by a function of process.c */
};

struct process_manner {
	enum process_group group; /* what must be readable */
	enum process_how how;
	int which;   /* process_counter or process_gauge */
	bool is_own; /* told of each process, too */
};

extern const struct watch_row process_rows[PROCESS_N_ROWS];
extern const struct process_manner process_manners[PROCESS_N_ROWS];

#endif
