/*
 * trace_run.h - what traces of profilers say: filled by trace/, shown by report/, cited by
 * diagnose/.
 *
 * Times are whole nanoseconds. A number that is absent is NAN, or -1 where it counts. All memory
 * is the run's arena.
 */
#ifndef VENTURI_RECORD_TRACE_RUN_H
#define VENTURI_RECORD_TRACE_RUN_H

#include "record/fact.h"

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A count under a name: events by phase, rows by table. */
struct trace_count {
	struct str name;
	int64_t n;
};

struct trace_loss {
	const char *id;   /* "negative_duration" */
	const char *text; /* a clause for a person */
	int64_t n;
};

struct trace_file {
	const char *path, *format;
	const char *software;  /* NULL: not told */
	const char *error;     /* not read: why; NULL: read */
	int64_t bytes;         /* unpacked */
	int64_t events;        /* all that it holds */
	int64_t kept;          /* of these, what the analyses rest on */
	int64_t zero_duration; /* device work that took no time: it is kept */
	int64_t skipped;       /* could not be used: the sum of losses that lost an event */
	bool truncated, capped;
	int64_t start_ns, span_ns; /* of the file's own axis; span -1: no spans */
	int64_t rank, world_size;  /* -1: not told */
	struct trace_loss *losses;
	size_t n_losses;
	struct trace_count *phases, *categories, *rows;
	size_t n_phases, n_categories, n_rows;
};

/* Device time between busy intervals, by what it waited for. */
struct trace_gap_sum {
	const char *cause; /* "host", "queued", "sync", "allocation", "unknown" */
	int64_t n, total_ns;
};

/*
 * A piece of a device's time: which share of it kernels ran, and which share only copies and
 * memsets did. The rest was idle.
 */
struct trace_bucket {
	double compute_ratio, copy_ratio;
};

/* A device from its first work to its last, in pieces of equal length; of the first devices only.
 */
struct trace_strip {
	int64_t bucket_ns;
	struct trace_bucket *buckets;
	size_t n;
};

struct trace_device {
	size_t file; /* which file it is of */
	int64_t id;
	const char *name;   /* NULL: not told */
	int64_t operations; /* kernels, copies, memsets */
	int64_t streams;
	int64_t busy_ns, kernel_busy_ns, span_ns;
	double idle_ratio; /* 1 - busy / span; NAN: no span */
	int64_t kernels, kernel_ns;
	double mean_kernel_ns; /* NAN: none */
	int64_t gaps, longest_gap_ns;
	struct trace_gap_sum *gap_sums;
	size_t n_gap_sums;
	int64_t direction_changes; /* between copies to and from the device, in order of start */
	struct trace_strip strip;
};

/* "kernel", "memcpy", "memset", "cpu_op", "runtime", "annotation", "other" */
struct trace_operator {
	struct str name;
	const char *kind;
	const char *class_name; /* of kernels and operators: "gemm", "attention", ...; NULL: none */
	struct str key;         /* with --by shape, stream, step: which; empty otherwise */
	int64_t calls, total_ns;
	int64_t self_ns; /* -1: has no children by its nature */
	double ratio; /* of the time of its kind: total for device work and calls, self for cpu_op
	               */
	double mean_ns;
	int64_t max_ns;
	int64_t shapes; /* different input dims seen; -1: not recorded */
};

struct trace_copy {
	struct str kind; /* "HtoD", ... */
	int64_t calls, total_ns;
	int64_t bytes; /* known ones only */
	int64_t small; /* calls below 64 KiB, an unknown size among them; -1: cannot be told */
	int64_t unknown_bytes_calls;
	int64_t pageable; /* calls with pageable host memory; -1: the trace cannot tell */
};

struct trace_steps {
	const char *source; /* "profiler_step", ...; "none" */
	int64_t n;
	double mean_ns, median_ns; /* NAN: none */
	double gap_mean_ns;    /* first device idle between two steps; NAN: fewer than two steps, no
	                          device */
	double gap_ratio;      /* the sum, of the time from its first work in a step to its last */
	int64_t *durations_ns; /* [n] */
};

/* How device work and launches hang together. */
struct trace_links {
	int64_t linked, unlinked; /* device work with and without a launch in the trace */
	int64_t linked_kernels;   /* of these, kernels */
	int64_t negative_launch_to_start;
	double median_launch_to_start_ns, median_queue_delay_ns; /* NAN: none linked */
	int64_t max_per_launch;
};

/* Kernels against the number of multiprocessors, where both are known. */
struct trace_fill {
	int64_t kernels_with_grid;
	int64_t underfilled, underfilled_ns; /* fewer blocks than multiprocessors */
	/* The same with the grid as it is written, which on AMD may count work-items. */
	int64_t small_grid, small_grid_ns;
};

/* All operators of a kind, before --top. */
struct trace_kind_total {
	const char *kind;
	int64_t calls, names;
	int64_t total_ns;
	int64_t self_ns; /* -1: as in trace_operator */
	int64_t tracks;  /* threads or streams that they ran on */
};

/* Calls under a name other than their own: short names, types of nodes, providers. */
struct trace_group {
	struct str name;
	int64_t calls, total_ns;
	double ratio; /* of all rows of the grouping */
};

struct trace_grouping {
	const char *by; /* "class", "short_name", "op_type", "provider" */
	struct trace_group *rows;
	size_t n_rows;
};

/* Allocations by where the memory is: 0 CPU, 1 CUDA, 6 HIP. */
struct trace_memory {
	int64_t device_type;
	int64_t allocations, allocated_bytes;
	int64_t frees, freed_bytes;
	int64_t peak_allocated_bytes; /* -1: not told */
};

/* A thread or a stream. */
struct trace_track {
	size_t file;
	struct str process, thread;
	struct str label; /* "XLA Ops"; empty: none */
	int64_t device;   /* INT64_MIN: of the host */
	int64_t events;
	int64_t busy_ns, span_ns; /* busy: length of the union */
	int64_t total_ns;         /* sum */
	struct trace_group *top;  /* ratio: of total_ns */
	size_t n_top;
};

/* A kernel that was run alone under a profiler, with what was measured of it. */
struct trace_launch_metric {
	struct str section, name, unit, text;
	double value; /* NAN: not a number */
};
struct trace_launch_rule {
	struct str name, type, text;
};
struct trace_launch {
	size_t file;
	struct str kernel, device; /* empty: not told */
	int64_t grid[3], block[3]; /* -1: not told */
	struct trace_launch_metric *metrics;
	size_t n_metrics;
	struct trace_launch_rule *rules;
	size_t n_rules;
};

enum trace_finding_state {
	TRACE_FOUND,     /* something to act on */
	TRACE_CLEAR,     /* looked at, nothing there */
	TRACE_ABSTAINED, /* the trace cannot tell */
};
/* "found", "clear", "abstained" */
extern const char *const trace_finding_state_names[];

struct trace_column {
	const char *name, *unit; /* unit "" of text and plain counts */
};

struct trace_cell {
	bool is_text;
	double number; /* NAN: absent */
	struct str text;
};

struct trace_table {
	const char *name;
	struct trace_column *columns;
	size_t n_columns, cap_columns;
	struct trace_cell *cells; /* row by row */
	size_t n_cells, cap_cells;
};

struct trace_finding {
	const char *id;
	size_t file;
	enum trace_finding_state state;
	double share_ratio; /* of wall time that is at stake; NAN: cannot be told */
	const char *text;   /* a sentence: what was seen */
	const char *advice; /* what to do; NULL: nothing */
	const char *reason; /* of an abstention */
	struct fact *facts;
	size_t n_facts, cap_facts;
	struct trace_table **tables;
	size_t n_tables, cap_tables;
};

struct trace_run {
	struct trace_file *files;
	size_t n_files;
	struct trace_device *devices;
	size_t n_devices;
	struct trace_operator
	        *operators; /* by total (self of cpu_op), largest first, within their kind */
	size_t n_operators;
	size_t n_operators_all; /* before --top */
	double top5_ratio;      /* of kernel time; NAN: no kernels */
	struct trace_kind_total *kinds;
	size_t n_kinds;
	struct trace_grouping *groupings;
	size_t n_groupings;
	struct trace_track *tracks; /* busiest first; with --by stream, and of XPlane */
	size_t n_tracks;
	struct trace_memory *memory;
	size_t n_memory;
	struct trace_copy *copies;
	size_t n_copies;
	int64_t memsets, memset_ns, memset_bytes;
	struct trace_steps steps; /* of the first file that has some */
	struct trace_links links;
	struct trace_fill fill;
	struct trace_launch *launches;
	size_t n_launches;
	struct trace_finding *findings;
	size_t n_findings;
};

#endif
