/*
 * run_parts.h - the parts of trace_analyse: each takes the views of the files one after the other
 * and fills its fields of the trace_run.
 */
#ifndef VENTURI_TRACE_RUN_PARTS_H
#define VENTURI_TRACE_RUN_PARTS_H

#include "trace/run/aggregate.h"
#include "trace/trace.h"
#include "trace/view/view.h"

/* What a file says of itself, and what of it was lost. */
void run_file(const struct timeline *t, struct arena *run, struct trace_file *ret);
void run_unread(const struct trace_unread *unread, struct arena *run, struct trace_file *ret);

/* The devices of a file, appended. */
void run_devices(const struct trace_view *v, size_t file, struct arena *run, struct trace_run *ret);

/* The profiled launches of a file, appended. */
void run_launches(const struct timeline *t, size_t file, struct arena *run, struct trace_run *ret);

/* A device's time in pieces, for a picture: see struct trace_strip. */
struct trace_strip run_strip(const struct device_view *d, struct arena *run);

/* The steps of a file; nothing when there are some already. */
void run_steps(const struct trace_view *v, struct arena *run, struct trace_run *ret);

/* Launches, fill, copies and allocations: sums over all files. */
struct run_sums {
	int64_t *launch_to_start_ns, *queue_delay_ns; /* [n_linked] */
	size_t n_linked, cap_linked;
	struct intern copy_kinds;
	struct trace_copy *copies; /* by number in copy_kinds */
	size_t n_copies, cap_copies;
	struct trace_memory *memory;
	size_t n_memory, cap_memory;
};
void run_sums_add(struct run_sums *s, const struct trace_view *v, struct trace_run *ret);
/* Writes what is known only at the end, and gives the memory back. */
void run_sums_finish(struct run_sums *s, struct arena *run, struct trace_run *ret);

/* Operators of all kinds, by name and as the options want them. */
struct run_operators;
struct run_operators *run_operators_new(const struct trace_options *options);
void run_operators_add(struct run_operators *s, const struct trace_view *v);
/* Writes the lists, and gives s back. */
void run_operators_finish(struct run_operators *s, struct arena *run, struct trace_run *ret);

/* The threads and streams of a file, appended. */
void run_tracks(const struct trace_view *v, size_t file, int64_t top, struct arena *run,
        struct trace_run *ret);

/* The same from the lines of a file that has such: exact where events are finer than ns. */
void run_lines(const struct timeline *t, size_t file, int64_t top, struct arena *run,
        struct trace_run *ret);

/*
 * Which kernels of the other files the profiled launches of this one are: a finding, appended,
 * where there are both.
 */
void run_join_launches(const struct trace *trace, size_t file, int64_t top, struct arena *run,
        struct trace_run *ret);

/* A part of a timeline, with all of it behind it. */
struct window {
	struct timeline cut;
	struct trace_view whole;
	bool is_cut, has_whole;
};
/* What of t is to be looked at; NULL: it has no such step. Closed in any case. */
const struct timeline *window_open(
        struct window *w, const struct timeline *t, const struct trace_options *o);
void window_close(struct window *w);

#endif
