/*
 * process_watched.h - one process that is watched: its files held open, what they counted, what
 * they show.
 *
 * Counters are the growth that was seen since the process was taken in, so that sums over processes
 * that come and go only grow. A process is its descriptors and its start time: another one that
 * gets the same PID is not taken for it.
 */
#ifndef VENTURI_WATCH_PROCESS_WATCHED_H
#define VENTURI_WATCH_PROCESS_WATCHED_H

#include "watch/process/process_threads.h"
#include "watch/procfile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is read together, and is there or not together. */
enum process_group {
	GROUP_CPU,     /* the CPU clock, or stat */
	GROUP_STAT,    /* stat */
	GROUP_STATUS,  /* status */
	GROUP_IO,      /* io */
	GROUP_ROLLUP,  /* smaps_rollup */
	GROUP_FILES,   /* the folder fd, and limits */
	GROUP_SOCKETS, /* the links in fd */
	GROUP_WAITS,   /* schedstat of all threads */
	GROUP_STATES,  /* status of all threads */
	GROUP_BUSIEST, /* the threads among themselves */
	GROUP_TREE,    /* the processes among themselves */
	PROCESS_N_GROUPS
};

enum process_counter {
	COUNT_CPU_NS,
	COUNT_USER_NS,
	COUNT_SYSTEM_NS,
	COUNT_MINOR,
	COUNT_MAJOR,
	COUNT_READ_BYTES,
	COUNT_WRITE_BYTES,
	COUNT_RCHAR,
	COUNT_WCHAR,
	COUNT_READS,
	COUNT_WRITES,
	COUNT_WAIT_NS,
	COUNT_RUN_NS, /* of the threads, as long as COUNT_WAIT_NS */
	COUNT_VOLUNTARY,
	COUNT_INVOLUNTARY,
	PROCESS_N_COUNTERS
};

enum process_gauge {
	SHOW_THREADS,
	SHOW_RSS,
	SHOW_ANONYMOUS,
	SHOW_FILE,
	SHOW_SHARED,
	SHOW_SWAP,
	SHOW_LOCKED,
	SHOW_HUGETLB,
	SHOW_PSS,
	SHOW_PRIVATE_DIRTY,
	SHOW_ANONYMOUS_HUGE,
	SHOW_FILES,
	SHOW_FILES_RATIO,
	SHOW_SOCKETS,
	SHOW_RUNNING,
	SHOW_SLEEPING,
	SHOW_BLOCKED,
	PROCESS_N_GAUGES
};

enum { PROCESS_NAME_BYTES = 72, PROCESS_LABEL_BYTES = 96, PROCESS_MEMS_BYTES = 64 };

/* Where a process is looked for, and what all share. */
struct process_place {
	const char *root;
	bool is_here; /* PIDs are those of this process's own namespace */
	int64_t tick_ns;
	int64_t interval_ns;
	struct threads_shared threads;
};

struct process {
	struct process_place *place;
	int pid;
	bool is_asked_for; /* not a child of one that is */
	bool has_ended;
	int64_t since_ns; /* when it was taken in */
	int dir_fd_plus_1;
	uint64_t start_ticks;
	char name[PROCESS_NAME_BYTES];
	char label[PROCESS_LABEL_BYTES]; /* "1234 name" */
	struct procfile stat, status, io, children;
	struct thread_set threads;

	uint64_t grown[PROCESS_N_COUNTERS];
	double shown[PROCESS_N_GAUGES]; /* NAN: unknown */
	int error[PROCESS_N_GROUPS];    /* errno; 0: it can be read */
	char mems[PROCESS_MEMS_BYTES];

	uint64_t stands[PROCESS_N_COUNTERS]; /* where the kernel's counters stood */
	bool has_stand[PROCESS_N_COUNTERS];
	int64_t rollup_next_ns; /* when it may be read again */
	double rollup_ns_per_byte;
	int files_fd_plus_1; /* the folder of open files */
	int64_t files_next_ns;
	bool is_counting_files;
	double files_limit; /* NAN: unknown, or none */
	int64_t n_files, n_sockets; /* so far */
	double children_share;      /* of the next thread that is asked for its children */
	size_t children_at;
};

/*
 * Takes a process in: opens its files, reads what its counters stand at.
 *
 * returns  false: there is none, or it may not be looked at; errno says which
 */
bool process_open(struct process *p, struct process_place *place, int pid, bool is_asked_for,
        int64_t now_ns) NODISCARD;
void process_close(struct process *p);

/* CPU time and threads: at every sample. */
void process_look(struct process *p, int64_t now_ns, bool all);
/* stat, status, io: some times a second. */
void process_look_at_files(struct process *p);
/*
 * How pages are used. The kernel walks through all of them and holds the lock of the process's
 * memory meanwhile, so this is done only when it is due by what it costs.
 *
 * returns  whether it was
 */
bool process_look_at_pages(struct process *p, int64_t now_ns);
/*
 * A piece of the list of open files; all: to the end, if it is not too long.
 *
 * returns  whether the list was finished
 */
bool process_look_at_open_files(struct process *p, int64_t now_ns, bool all);

#endif
