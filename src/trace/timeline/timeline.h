/*
 * timeline.h - what a trace says, whoever wrote it: spans of time on tracks, in whole nanoseconds.
 *
 * Events are kept in one list for each group, in the order of the file. What recurs is interned:
 * names, tracks, and the details of an event, whose struct depends on the group. Readers fill a
 * timeline, analyses read it; nothing in it is an estimate.
 *
 * Times are ns on the trace's own axis; its origin has no meaning unless base_unix_ns is set.
 * A timeline is filled by one thread; parts of one file are filled by several and then joined with
 * timeline_append.
 */
#ifndef VENTURI_TRACE_TIMELINE_H
#define VENTURI_TRACE_TIMELINE_H

#include "trace/timeline/intern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number that the trace does not tell. */
#define TRACE_NONE INT64_MIN

/* Spans longer than a week are damage: see LOST_TOO_LONG. */
#define TRACE_MAX_DUR_NS (INT64_C(7) * 24 * 3600 * 1000000000)
/* Times beyond 2^61 ns from 0 (73 years) are damage, so that sums of two never overflow. */
#define TRACE_MAX_TIME_NS (INT64_C(1) << 61)
/* Python frames shorter than this are counted, but not kept: a frame that covers a gap worth
 * naming lasts at least as long as the gap. */
#define TRACE_PYTHON_MIN_NS (50 * 1000)

enum event_group {
	GROUP_DEVICE,     /* work of a device: kernels, copies, memsets */
	GROUP_OPERATOR,   /* operators of a framework on the host: cpu_op, nodes of ONNX Runtime */
	GROUP_CALL,       /* calls of the runtime or driver, launches among them */
	GROUP_SYNC,       /* what the device's queues waited for: cuda_sync */
	GROUP_ANNOTATION, /* the program's own ranges on the host: steps, NVTX */
	GROUP_DEVICE_ANNOTATION, /* the same, as drawn on a device: no work */
	GROUP_PYTHON,            /* frames of Python of TRACE_PYTHON_MIN_NS or more */
	GROUP_MEMORY,            /* allocations and frees, dur 0 */
	GROUP_OVERHEAD,          /* what the profiler itself took */
	GROUP_RANGE,             /* ranges of hardware counters: cuda_profiler_range */
	GROUP_INSTANT,           /* a moment with a name, dur 0 */
	GROUP_OTHER,             /* spans of a kind that means nothing to us */
	N_GROUPS,
};

/* "device", "operator", ... */
extern const char *const event_group_names[N_GROUPS];

enum device_kind { DEVICE_KERNEL, DEVICE_MEMCPY, DEVICE_MEMSET };

/* Which struct the detail of an event is. */
enum detail_type {
	DETAIL_KERNEL,
	DETAIL_COPY, /* of memsets too */
	DETAIL_OPERATOR,
	DETAIL_MEMORY,
	DETAIL_SYNC,
	N_DETAIL_TYPES,
	DETAIL_NONE = N_DETAIL_TYPES, /* groups whose events have none */
};

struct event {
	int64_t start_ns;
	int64_t dur_ns;  /* 0 or more */
	uint64_t link;   /* the same number in a launch and its device work; 0: none */
	uint32_t name;   /* in names */
	uint32_t track;  /* in tracks */
	uint32_t detail; /* in details[detail_type_of(group, kind)]; 0: none */
	uint32_t kind;   /* GROUP_DEVICE: enum device_kind; else 0 */
};

struct event_list {
	struct event *v;
	size_t n, cap;
};

/*
 * The structs below are interned byte by byte, padding included: zero them first (memset), then
 * fill them. Strings are numbers in names.
 */

/* A thread of the host, or a queue of a device. */
struct track {
	int64_t device; /* TRACE_NONE: not a device's */
	uint32_t pid;   /* as in the file */
	uint32_t tid;
	uint32_t stream; /* of a device: args.stream, else tid */
	uint32_t label;  /* of a line that has its own name ("XLA Ops"); 0: none */
};

/* What a grid counts. */
enum grid_unit {
	GRID_BY_CALL,  /* blocks, or work-items, as the call that launched it has it (AMD) */
	GRID_IN_ITEMS, /* certainly work-items: rocprof */
	GRID_IN_BLOCKS /* certainly blocks, whatever the call: XPlane */
};

/* GROUP_DEVICE, a kernel. What the trace does not tell is -1 (numbers) or 0 (names). */
struct kernel_detail {
	int64_t grid[3]; /* as the trace says it: on AMD it may be work-items (see kernel_blocks) */
	int64_t block[3];          /* threads */
	int64_t registers;         /* per thread */
	int64_t shared_bytes;      /* per block, static and dynamic */
	int64_t occupancy_percent; /* the writer's own estimate */
	int64_t flops, bytes;      /* of the whole kernel, where the writer knows: XPlane */
	uint32_t op;               /* the framework's name of it: hlo_op, tf_op */
	uint32_t category;         /* the writer's own class of it: hlo_category */
	uint32_t graph;            /* id of the graph that it was launched by, as text */
	uint32_t grid_in_items;    /* enum grid_unit */
};

enum copy_kind { COPY_HTOD, COPY_DTOH, COPY_DTOD, COPY_PTOP, COPY_HTOH, COPY_OTHER, N_COPY_KINDS };
enum memory_kind { MEMORY_UNKNOWN, MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE, MEMORY_MANAGED };

/* GROUP_DEVICE, a copy or a memset. */
struct copy_detail {
	int64_t bytes;      /* -1: not told */
	uint32_t kind;      /* enum copy_kind */
	uint32_t kind_name; /* as the trace says it: "HtoD", "PtoP", "UVM ..." */
	uint32_t from, to;  /* enum memory_kind */
};

/* GROUP_OPERATOR. */
struct operator_detail {
	int64_t sequence;     /* -1: none */
	int64_t output_bytes; /* ONNX Runtime's output_size; -1: not told */
	uint32_t dims;        /* "Input Dims" as JSON text: [[8,64,512],[512],[]] */
	uint32_t types;       /* "Input type" as JSON text */
	uint32_t strides;     /* "Input Strides" as JSON text */
	uint32_t values;      /* "Concrete Inputs" as JSON text */
	uint32_t op_type;     /* where the name is a node's: "MatMul" */
	uint32_t provider;    /* where it ran: "CPUExecutionProvider" */
};

/* GROUP_MEMORY. */
struct memory_detail {
	int64_t bytes; /* below 0 is a free */
	int64_t address;
	int64_t total_allocated, total_reserved; /* -1: not told */
	int64_t device_type;                     /* 0 CPU, 1 CUDA, 6 HIP */
	int64_t device;
};

enum sync_kind { SYNC_OTHER, SYNC_STREAM, SYNC_CONTEXT, SYNC_EVENT, SYNC_STREAM_WAIT };

/* GROUP_SYNC. */
struct sync_detail {
	uint32_t kind;
	uint32_t waits_on_stream; /* text; 0: none */
	int64_t event;            /* -1: none */
};

/* GROUP_ANNOTATION with a payload, GROUP_INSTANT, GROUP_OTHER: nothing beyond the name. */

/* One reading of a hardware counter. */
struct counter_sample {
	int64_t time_ns;
	int64_t device; /* TRACE_NONE: not a device's */
	uint32_t name;
	double value;
};

struct device_info {
	int64_t id;
	uint32_t name;
	int64_t n_sm; /* -1 in all of these: not told */
	int64_t memory_bytes;
	int64_t compute_major, compute_minor;
	int64_t max_threads_per_sm, max_threads_per_block;
	int64_t registers_per_sm, shared_bytes_per_sm;
	int64_t warp_size;
};

/* One metric of one profiled launch: Nsight Compute, rocprof's counters. */
struct launch_metric {
	uint32_t section; /* 0: the page has none */
	uint32_t name, unit;
	uint32_t text; /* as printed, thousands separators removed */
	double value;  /* NAN: not a number */
};

/* What the profiler's own rules said of a launch. */
struct launch_rule {
	uint32_t section, name, type, text;
	double speedup_percent; /* its own estimate; NAN: not told */
	uint32_t speedup_of;    /* "local", "global" */
};

struct profiled_launch {
	uint32_t kernel;
	int64_t grid[3], block[3]; /* -1: not told */
	uint32_t device;           /* as text; 0: not told */
	struct launch_metric *metrics;
	size_t n_metrics;
	struct launch_rule *rules;
	size_t n_rules;
};

/* The time that one name takes on a line. */
struct line_name {
	uint32_t name;
	int64_t n, total_ns;
};

/*
 * A line of a file that is made of named lines with times finer than ns (XPlane): its sums, exact
 * and only then rounded, since those of its events, each rounded, would differ.
 */
struct trace_line {
	uint32_t plane, name;
	int64_t device; /* TRACE_NONE: not a device's */
	int64_t n_events;
	int64_t busy_ns; /* length of the union of its events */
	int64_t span_ns; /* last end minus first start */
	int64_t total_ns;
	struct line_name *names; /* the largest LINE_NAMES_MAX, by total, then name */
	size_t n_names;
};
enum { LINE_NAMES_MAX = 32 };

/*
 * What a table of sums tells of one name, where the writer kept no events: the summaries of nsys
 * stats. It has no place in time, so that what looks at times does not see it.
 */
struct summary_row {
	enum event_group group;
	struct event as; /* name, kind and detail, as an event would have them */
	int64_t calls;   /* -1 in all of these: not told */
	int64_t total_ns, max_ns;
	int64_t bytes; /* of all calls */
};

/* Why something of the file is not in the lists. */
enum loss {
	LOST_BROKEN, /* not an event: syntax that could not be read; the reader went on behind it */
	LOST_NO_TIME,   /* a span without a start or a duration that is a number */
	LOST_ZERO_TIME, /* device work at time 0: its record was never completed */
	LOST_NEGATIVE,  /* a negative duration */
	LOST_TOO_LONG,  /* a duration beyond TRACE_MAX_DUR_NS, or a time beyond TRACE_MAX_TIME_NS */
	LOST_NOT_FINITE, /* NaN or infinity where a time should be */
	LOST_DUPLICATE,  /* the same event twice */
	LOST_UNMATCHED,  /* a begin without its end, or an end without its begin */
	LOST_BAD_NUMBER, /* another number that does not fit; the event itself is kept */
	LOST_BAD_ESCAPE, /* an escape that JSON does not know, read as it stands */
	N_LOSSES,
};

struct tally {
	uint32_t name;
	int64_t n;
};

struct tallies {
	struct tally *v;
	size_t n, cap;
	uint32_t *slots; /* [n_slots], place in v + 1; 0 is empty; only for many names */
	size_t n_slots;
};

struct timeline {
	const char *path;   /* as the user named it */
	const char *format; /* "kineto", "nsys-sqlite", ...: the reader's name */
	struct intern names, tracks;
	struct intern details[N_DETAIL_TYPES];
	struct event_list lists[N_GROUPS];

	struct counter_sample *counters;
	size_t n_counters, cap_counters;
	struct device_info *devices;
	size_t n_devices, cap_devices;
	struct profiled_launch *launches;
	size_t n_launches, cap_launches;
	struct trace_line *lines;
	size_t n_lines, cap_lines;
	struct summary_row *summaries;
	size_t n_summaries, cap_summaries;
	struct arena arena; /* of the launches' metrics, and the like */

	int64_t base_unix_ns; /* TRACE_NONE: not told */
	/* What was being recorded: -1 not told, 0 no, 1 yes. */
	int has_shapes, has_stack, has_memory;
	bool is_amd;    /* the work of an AMD device */
	bool truncated; /* the file ended inside something */
	bool capped;    /* the writer stopped at its own limit: what follows was never written */
	int64_t rank, world_size; /* -1: not told */
	uint32_t software;        /* "Nsight Systems 2025.3", "CUPTI 26"; 0: not told */

	int64_t n_bytes;  /* of unpacked text */
	int64_t n_events; /* all that the file holds, whatever their kind */
	int64_t n_python; /* frames of Python, kept or not */
	int64_t lost[N_LOSSES];
	int64_t phases[128]; /* Chrome formats: events by their ph; phases[0]: none or not ASCII */
	struct tallies categories; /* Chrome formats: spans (ph X) by cat; name 0: without one */
	struct tallies rows;       /* formats of tables: rows by table */
	int64_t span_start_ns, span_end_ns; /* over every span, kept or not; start > end: none */
};

void timeline_init(struct timeline *t, const char *path, const char *format);
void timeline_release(struct timeline *t);

/*
 * Appends an event whose times were checked. The caller keeps the bounds TRACE_MAX_*; the span of
 * the file is widened.
 */
void timeline_add(struct timeline *t, enum event_group group, const struct event *e);
/* The same from times as they are in the file: what cannot be true is counted and left out. */
bool timeline_add_checked(struct timeline *t, enum event_group group, const struct event *e);
/* Widens the span of the file by an event that is not kept. */
void timeline_span(struct timeline *t, int64_t start_ns, int64_t dur_ns);
/* From the first start to the last end of all spans; 0: there are none. */
int64_t timeline_length_ns(const struct timeline *t);

uint32_t timeline_name(struct timeline *t, struct str name);
uint32_t timeline_track(struct timeline *t, const struct track *track);
/* Interns a detail struct of this type. */
uint32_t timeline_detail(struct timeline *t, enum detail_type type, const void *detail);
enum detail_type detail_type_of(enum event_group group, uint32_t kind);

/* The detail of an event, NULL for none: of a kernel, of a copy or memset, of an operator ... */
const struct kernel_detail *timeline_kernel(const struct timeline *t, const struct event *e);
const struct copy_detail *timeline_copy(const struct timeline *t, const struct event *e);
const struct operator_detail *timeline_operator(const struct timeline *t, const struct event *e);
const struct memory_detail *timeline_memory(const struct timeline *t, const struct event *e);
const struct sync_detail *timeline_sync(const struct timeline *t, const struct event *e);
const struct track *timeline_track_of(const struct timeline *t, uint32_t track);
struct str timeline_name_of(const struct timeline *t, uint32_t name);
void timeline_counter(struct timeline *t, const struct counter_sample *sample);
/* All numbers TRACE_NONE or -1, to be filled; valid until the next call. */
struct device_info *timeline_device(struct timeline *t, int64_t id);
struct profiled_launch *timeline_launch(struct timeline *t);
/* All numbers -1, the rest 0, to be filled; valid until the next call. */
struct summary_row *timeline_summary(struct timeline *t);
/* Zeroed, to be filled; valid until the next call. */
struct trace_line *timeline_line(struct timeline *t);
void tallies_add(struct tallies *list, uint32_t name, int64_t n);
void tallies_release(struct tallies *list);

/*
 * Appends part, the later piece of the same file, to t and empties it: its numbers become those of
 * t, its counts are added.
 */
void timeline_append(struct timeline *t, struct timeline *part);

/* A piece of a file: how much of a part comes from it, behind what came before. */
struct timeline_run {
	size_t number; /* in the order of the file */
	size_t part;
	size_t n[N_GROUPS], n_counters;
};

/*
 * Puts together what several threads read of one file, each in a part of its own, into t, which is
 * empty but for path and format. The parts are emptied.
 *
 * runs  [n_runs] in the order of the file; those of a part in the order that it was filled
 */
void timeline_join(struct timeline *t, struct timeline *const *parts, size_t n_parts,
        const struct timeline_run *runs, size_t n_runs);

/*
 * Drops device work and calls that are there twice: the same start, duration, name, track and link.
 * Costs a pass where each track is in order, as nearly always.
 */
void timeline_drop_duplicates(struct timeline *t);

/* A kernel_detail that tells nothing: numbers -1. */
struct kernel_detail kernel_detail_none(void);
struct operator_detail operator_detail_none(void);

#endif
