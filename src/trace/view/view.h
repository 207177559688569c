/*
 * view.h - what all analyses need of a timeline, worked out once: device work in order of time,
 * which call launched it, which operator made that call, the tree of operators, the gaps, the
 * steps.
 *
 * Indexes are into the lists of the timeline; NONE32 is none. All memory is the view's arena.
 */
#ifndef VENTURI_TRACE_VIEW_H
#define VENTURI_TRACE_VIEW_H

#include "trace/kinds/kernel_class.h"
#include "trace/timeline/timeline.h"

#define NONE32 UINT32_MAX

struct interval {
	int64_t start_ns, end_ns;
};

struct intervals {
	struct interval *v; /* in order, disjoint, none empty, none touching */
	size_t n;
};

enum gap_cause {
	GAP_HOST, /* the call that launched the next work began after the gap had: the host was late
	           */
	GAP_QUEUED, /* it was launched before: the device took its time to start it */
	GAP_SYNC,   /* a GAP_HOST in which the host first waited for the device, or copied back */
	GAP_ALLOCATION, /* a GAP_HOST with a call that allocates or frees device memory in it */
	GAP_UNKNOWN,    /* the next work has no launch in the trace */
	N_GAP_CAUSES,
};
extern const char *const gap_cause_names[N_GAP_CAUSES]; /* "host", "queued", "sync", ... */

struct gap {
	int64_t start_ns, end_ns;
	uint32_t before, after; /* device work that ends and follows it (GROUP_DEVICE) */
	enum gap_cause cause;
	/* How long the launch of the next work had not begun; 0 where it had before, or is not
	 * known. The rest of the gap is the launch itself and what delayed the work after it. */
	int64_t host_ns;
	/*
	 * What the host was at, from the start of the gap until it launched the work that ends it
	 * (until the end of the gap, where it had launched it before or no launch is known):
	 */
	uint32_t operator;   /* innermost operator on the launching thread around the middle */
	uint32_t annotation; /* innermost annotation, of any thread, around all of it */
	uint32_t python;     /* innermost frame kept on the launching thread around all of it */
	bool between_steps;  /* the work before and after it is not of the same step */
};

struct device_view {
	int64_t id;
	const struct device_info *info; /* NULL: not told */
	uint32_t *order; /* GROUP_DEVICE of this device by start, end, order in the file */
	size_t n;
	size_t n_kernels, n_streams;
	int64_t kernel_ns;               /* sum over kernels */
	int64_t busy_ns, kernel_busy_ns; /* lengths of the unions */
	int64_t start_ns, end_ns;        /* first start, last end */
	struct intervals busy, kernel_busy;
	/* Between the busy intervals; work that took no time ends a gap and begins the next. */
	struct gap *gaps;
	size_t n_gaps;
};

enum step_source {
	STEPS_NONE,
	STEPS_PROFILER,   /* ProfilerStep#N */
	STEPS_ANNOTATION, /* an annotation that repeats: a serving engine's step, an NVTX range */
	STEPS_GRAPH,      /* launches of a graph */
	STEPS_RUN,        /* model_run of ONNX Runtime, XLA modules */
	STEPS_PERIOD,     /* the sequence of kernels repeats */
};
extern const char *const step_source_names[]; /* "none", "profiler_step", ... */

/*
 * Ranges of the host last as long as they do. Launches of a graph and kernels that repeat mark
 * where a step begins: it lasts until the next one begins.
 */
struct step {
	int64_t start_ns, end_ns;
	uint32_t name;
};

struct trace_view {
	const struct timeline *t;
	struct arena arena;
	struct device_view *devices; /* by id */
	size_t n_devices;
	/* For each GROUP_DEVICE event: the earliest call of its link (GROUP_CALL). */
	uint32_t *launch;
	/* For each GROUP_CALL event: the innermost operator around it on its thread
	 * (GROUP_OPERATOR). */
	uint32_t *call_operator;
	/* For each GROUP_OPERATOR event: its parent, and its own time without its direct children.
	 */
	uint32_t *parent;
	int64_t *self_ns;
	/* GROUP_CALL and GROUP_OPERATOR by track, start, -dur, order in the file; those of a track
	 * begin at its number in calls_first, [n tracks + 1]. */
	uint32_t *calls_by_thread, *operators_by_thread;
	uint32_t *calls_first, *operators_first;
	struct kernel_classes *classes; /* shared: each name is classified once */
	uint8_t *call_kinds; /* [n names]: enum call_kind of names of calls; else CALL_OTHER */
	struct step *steps;  /* in order of time */
	size_t n_steps;
	enum step_source steps_from;
	bool steps_on_device;  /* their times are the device's, not the host's */
	int64_t clock_skew_ns; /* device minus host, estimated from work that starts before its
	                          launch; 0: none seen */
};

/* Nothing of t may change while the view lives. Lists of up to 2^32 - 2 events. Analyses of one
 * view run one after the other: they share its classes. */
void trace_view_init(struct trace_view *v, const struct timeline *t);
void trace_view_release(struct trace_view *v);

/* When device work was asked for, on the clock of the steps: the start of its launch, or its own
 * where that is not known or the steps are the device's. */
int64_t trace_asked_ns(const struct trace_view *v, uint32_t device_event);
/* The step at a time of the steps' own clock; NONE32. */
uint32_t trace_step_at(const struct trace_view *v, int64_t time_ns);
/* The step that device work belongs to: that in which it was asked for; NONE32. */
uint32_t trace_step_of(const struct trace_view *v, uint32_t device_event);

/* What a device did while the steps ran: from its first work of any step to its last. */
struct step_reach {
	int64_t start_ns, end_ns;
	size_t n_steps;     /* those that have work on it */
	int64_t between_ns; /* gaps between steps in it */
	size_t n_between;
};
struct step_reach trace_step_reach(const struct trace_view *v, const struct device_view *d);

/* Union of intervals given in any order: sorts them in place. */
struct intervals intervals_union(struct interval *v, size_t n, struct arena *arena);
int64_t intervals_length_ns(struct intervals a);
/* Length of what two unions share. */
int64_t intervals_overlap_ns(struct intervals a, struct intervals b);

/* The blocks of a kernel: its grid, in work-items divided by the block (AMD,
 * hipExtModuleLaunchKernel); -1: not told. */
int64_t trace_kernel_blocks(const struct trace_view *v, uint32_t device_event);

#endif
