/*
 * trace_diff.h - two traces side by side: filled by trace/, shown by report/.
 *
 * Pairs are of the first trace and the second. Times are whole nanoseconds; a number that is
 * absent is NAN. All memory is the run's arena.
 */
#ifndef VENTURI_RECORD_TRACE_DIFF_H
#define VENTURI_RECORD_TRACE_DIFF_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_diff_side {
	const char *path, *format;
	const char *step_source; /* "profiler_step", ...; "none" */
	int64_t steps;           /* all that it has */
	int64_t warm_steps;      /* of these, left out as warm-up; 0 when not compared by step */
};

/* A figure of the whole. */
struct trace_diff_measure {
	const char *name;    /* "device_busy", "kernel_time", "host_self_time", "step_time" */
	double ns[2];        /* per step, or of the whole; NAN: not to be had */
	double change_ratio; /* (second - first) / first; NAN: cannot be told */
	bool gated;          /* --fail-over looks at it */
	bool failed;         /* and it grew by more */
};

/* One kernel, operator with its shapes, or call. */
struct trace_diff_row {
	const char *kind; /* "kernel", "memcpy", "memset", "cpu_op", "runtime" */
	struct str name;
	struct str shape;              /* of a cpu_op; empty: not recorded */
	int64_t calls[2], total_ns[2]; /* of a cpu_op: its own time, without its children */
	double ns[2];                  /* per step, or of the whole */
	double delta_ns;               /* of these; what the row makes the second slower by */
	double mean_ns[2];             /* of a call; NAN: none */
};

struct trace_diff {
	struct trace_diff_side sides[2];
	bool per_step; /* both have steps of the same kind: what is outside them takes no part */
	struct trace_diff_measure measures[4];
	size_t n_measures;
	struct trace_diff_row *rows; /* by kind, then by the size of the delta, largest first */
	size_t n_rows;               /* at most top of each kind */
	int64_t n_rows_all, n_new, n_gone; /* before top */
	double fail_over_ratio;            /* NAN: no gate */
	bool failed;
};

#endif
