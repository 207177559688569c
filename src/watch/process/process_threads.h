/*
 * process_threads.h - the threads of one process: what each used, waited for, and how it stood.
 *
 * A look costs little however many threads there are, because most of them sleep. Those that work
 * are read at every look, the others in turn, each once in 2 THREADS_TURN_NS. That nothing is
 * missed is known from the CPU clock of the process, which counts all of its threads and costs one
 * call: when it grew by more than the threads that were read and the habits of the others explain,
 * all of them are read at once. So a thread that has not been read used less than a tenth of a
 * core, and the busiest one is the right one whenever it used more. Where there is no such clock,
 * every look reads every thread.
 *
 * Always: sums only grow, by what was seen to grow; a thread that ends takes nothing away. A thread
 * is known by its descriptor, not by its number, which may be used again.
 */
#ifndef VENTURI_WATCH_PROCESS_THREADS_H
#define VENTURI_WATCH_PROCESS_THREADS_H

#include "watch/cpulist.h"
#include "watch/procfile.h"

#include "base/arena.h"
#include "base/clock.h"
#include "record/signal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum {
	THREADS_MAX = 8192,     /* of one process; the others are only counted */
	THREADS_RECENT = 32,    /* CPU ratios that are kept of each */
	THREADS_ENDED_MAX = 32, /* that are remembered, the busiest */
	THREADS_SHOWN_MAX = 32, /* in a report */
	THREADS_ALWAYS = 24,    /* so few are all read at every look */
	THREAD_NAME_BYTES = 72, /* 15 bytes of the kernel's, each written with up to 4 */
	THREAD_CPUS_BYTES = 64, /* of a list of CPUs */
	THREADS_TEXT_BYTES = 16384,
};
#define THREADS_TURN_NS NS_PER_S

struct thread {
	int pid, tid;
	struct procfile
	        file; /* schedstat, or stat where there is none; closed: by name at each look */
	char name[THREAD_NAME_BYTES];
	char cpus[THREAD_CPUS_BYTES];
	char state; /* 'R', 'S', 'D', ...; 0: not yet seen, or gone */

	uint64_t cpu_ns, wait_ns, n_runs; /* as the kernel counts them */
	uint64_t voluntary, involuntary;
	int64_t read_ns;              /* when */
	double cpu_ratio, wait_ratio; /* between its last two reads */
	uint64_t n_runs_of_status;    /* when its status was read */
	int64_t status_ns;
	int n_calm;        /* reads in a row in which it did little */
	unsigned n_unread; /* looks since it was read */
	bool is_gone;

	/* of the window */
	uint64_t begin_cpu_ns, begin_wait_ns, begin_voluntary, begin_involuntary;
	double cpu_ratio_max;
	int64_t n_reads;
	float recent[THREADS_RECENT]; /* a ring */
	unsigned recent_at, n_recent;
};

/* CPU time since the window began. */
static inline uint64_t thread_window_cpu_ns(const struct thread *th)
{
	return th->cpu_ns - th->begin_cpu_ns;
}

/* What all watched processes share. Zeroed, but for what is set. */
struct threads_shared {
	char *text; /* [THREADS_TEXT_BYTES] of scratch */
	int64_t tick_ns;
	size_t n_kept, n_kept_max;              /* descriptors */
	struct thread ended[THREADS_ENDED_MAX]; /* of the window */
	size_t n_ended;
	int64_t window_ns; /* its begin */
};

struct thread_set {
	struct threads_shared *shared;
	int pid, dir_fd;    /* the process, and its folder in /proc; borrowed */
	int task_fd_plus_1; /* its folder of threads */
	bool has_clock, has_schedstat;
	clockid_t clock;
	struct thread **threads; /* by their numbers */
	size_t n, cap, n_left_out;
	int error; /* errno: the folder cannot be read, or the process is gone */

	/* sums since the set was opened */
	uint64_t wait_ns, run_ns, voluntary, involuntary;

	/* what the newest look saw */
	int64_t look_ns;
	int64_t interval_ns;          /* from the one before; of the newest whole one */
	bool is_rest;                 /* too soon after the one before to make ratios of it */
	uint64_t clock_ns;            /* of the process, where it has a clock */
	const struct thread *busiest; /* NULL: there is none */
	int64_t n_busy;               /* at 90 % of a core and above */

	bool wants_scan;   /* somebody came or went */
	size_t turn_at;    /* whose turn it is */
	double turn_share; /* of the next thread's turn */
	uint64_t seen_ns;  /* CPU time of all that was read */
	int64_t unseen_ns; /* CPU time that cannot be read any more: of threads that ended */
	double credit;     /* full looks that may come out of turn */
};

/*
 * The threads of the process whose folder is dir_fd, all read once.
 *
 * has_clock  the PID is one of this process's own namespace, so that its CPU clock can be read
 */
void threads_open(struct thread_set *t, struct threads_shared *shared, int pid, int dir_fd,
        bool has_clock, int64_t now_ns);
void threads_close(struct thread_set *t);

/* all: read every thread, and look who came and went. */
void threads_look(struct thread_set *t, int64_t now_ns, bool all);

/* The window of the threads' statistics begins. */
void threads_begin(struct thread_set *t);
void threads_shared_begin(struct threads_shared *shared, int64_t now_ns);

/* How many are on a CPU or waiting for one, asleep, and in a wait that cannot be interrupted. */
struct threads_states {
	int64_t n_running, n_sleeping, n_blocked;
};
struct threads_states threads_count_states(const struct thread_set *t);
/* Adds the CPUs that the threads may run on. */
void threads_add_cpus(const struct thread_set *t, struct cpulist *cpus);
/* How many may run on fewer than n_cpus. */
int64_t threads_count_confined(const struct thread_set *t, unsigned n_cpus);

/* The busiest threads of n sets and of the ended ones, in the window until now. */
void threads_report(const struct threads_shared *shared, const struct thread_set *const *sets,
        size_t n, int64_t now_ns, struct arena *run, struct signal_system *to);

#endif
