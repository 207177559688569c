/*
 * xplane.h - what the parts of the reader of XPlane files share.
 *
 * An XSpace is planes (a device, the host), a plane is lines (a stream, a thread) and, behind
 * them, the names that its events and their stats refer to by number. So each plane is read twice:
 * first its names, then its lines.
 *
 *	XSpace   1 planes
 *	XPlane   2 name, 3 lines, 4 event metadata (a map), 5 stat metadata (a map), 6 stats
 *	XLine    1 id, 2 name, 3 timestamp_ns, 4 events, 11 display_name
 *	XEvent   1 metadata_id, 2 offset_ps or 5 num_occurrences, 3 duration_ps, 4 stats
 *	XStat    1 metadata_id, 2 double, 3 uint64, 4 int64, 5 str, 6 bytes, 7 ref (a stat's name)
 *	metadata 1 id, 2 name, 4 display_name (of events), 5 stats (of events)
 *
 * Source: tsl/profiler/protobuf/xplane.proto of OpenXLA.
 */
#ifndef VENTURI_TRACE_READERS_XPLANE_H
#define VENTURI_TRACE_READERS_XPLANE_H

#include "trace/input/protobuf.h"
#include "trace/timeline/timeline.h"

#include <string.h>

/* Nearest ns; halves go up in size. */
static inline int64_t xplane_ns(int64_t ps)
{
	int64_t rest = ps % 1000;
	return ps / 1000 + (rest >= 500) - (rest <= -500);
}

/* The stats that mean something to us, by their names: xplane_meta.c. */
enum xstat {
	XSTAT_OTHER,
	XSTAT_ADDRESS,
	XSTAT_ALLOCATOR,
	XSTAT_ALLOCATION_BYTES,
	XSTAT_BYTES_ACCESSED,
	XSTAT_BYTES_ALLOCATED,
	XSTAT_CORE_COUNT,
	XSTAT_CORRELATION,
	XSTAT_DEVICE_ON_HOST,
	XSTAT_DEVICE_TYPE,
	XSTAT_DEVICE_VENDOR,
	XSTAT_FLOPS,
	XSTAT_GRAPH,
	XSTAT_HLO_CATEGORY,
	XSTAT_HLO_OP,
	XSTAT_IS_ROOT,
	XSTAT_KERNEL_DETAILS,
	XSTAT_MAJOR,
	XSTAT_MEMCPY_DETAILS,
	XSTAT_MEMORY_BYTES,
	XSTAT_MINOR,
	XSTAT_PROFILE_START,
	XSTAT_STEP,
	XSTAT_TF_OP,
	N_XSTATS,
};

/* The stats of one event or plane; only what present names is filled. */
struct xstats {
	uint64_t present;         /* bit of each xstat */
	int64_t number[N_XSTATS]; /* INT64_MIN: it is a text */
	struct str text[N_XSTATS];
};

struct xevent_meta {
	struct str name, display, message; /* message: all of it, for its stats */
	uint32_t name_number;              /* in the timeline's names */
	uint32_t detail, kind;             /* as an operation of a TPU */
	bool is_named, has_detail;         /* whether these were worked out yet */
};

struct xstat_meta {
	struct str name;
	enum xstat which;
};

enum xplane_use { XPLANE_DEVICE, XPLANE_HOST, XPLANE_OTHER };

struct xplane {
	struct timeline *t;
	uint32_t name;
	enum xplane_use use;
	int64_t device;   /* TRACE_NONE: not a device's */
	bool has_streams; /* its lines are the queues of a GPU; else those of a TPU */
	struct intern event_ids, stat_ids; /* by the 8 bytes of an id */
	struct xevent_meta *events;        /* [event_ids.n] */
	struct xstat_meta *stats;          /* [stat_ids.n] */
	size_t cap_events, cap_stats;
	struct xstats own;
};

/* Fills everything but t; the plane's lines are not read, but for their names. */
void xplane_read_meta(struct xplane *p, struct str message);
void xplane_release(struct xplane *p);
/* The event's metadata, NULL when the file has none of this id (it is cut). */
struct xevent_meta *xplane_event_meta(struct xplane *p, uint64_t id);
/* The event's name in the timeline's names. */
uint32_t xplane_event_name(struct xplane *p, uint64_t id);
/* Adds the stats that stand in field number field of the message to s. */
void xstats_add(struct xstats *s, const struct xplane *p, struct str message, uint64_t field);
bool xstats_has(const struct xstats *s, enum xstat which);
/* The number, or absent when it is not there. */
int64_t xstats_number(const struct xstats *s, enum xstat which, int64_t absent);
/* The text in the timeline's names; 0 when it is not there. */
uint32_t xstats_name(const struct xstats *s, enum xstat which, struct timeline *t);

/* Which events a line holds. */
enum xline_use {
	XLINE_KERNELS, /* a queue of a GPU: each event is work */
	XLINE_OPS,     /* operations of a TPU, those that enclose others among them */
	XLINE_RANGES,  /* modules, steps: drawn on the device, no work of their own */
	XLINE_OTHER,
	XLINE_HOST,
};

struct xevent {
	int64_t offset_ps, dur_ps;
	uint64_t id;      /* of its metadata */
	struct str stats; /* the event's message */
	bool is_instant;  /* without a duration */
};

struct xline {
	struct str name, display;
	uint64_t id;
	int64_t timestamp_ns;
	enum xline_use use;
	uint32_t track;
	struct xevent *events; /* by start; of equal ones the longest first */
	size_t n, cap;
};

/* Reads a line into the timeline; buffers of scratch are used again and again. */
struct xline_scratch {
	struct xevent *events;
	size_t cap;
	struct line_name *totals; /* by number of name, all zero between lines */
	uint32_t n_totals;
	struct line_name *list;
	size_t cap_list;
};
void xline_read(struct xplane *p, struct str message, struct xline_scratch *scratch);
void xline_scratch_release(struct xline_scratch *scratch);

/*
 * Gives frees whose size the file does not tell the size of the allocation at their address; those
 * of which there is none become instants. Once, after all planes.
 */
void xplane_resolve_frees(struct timeline *t);

/* Puts event i of the line into the timeline, as what its line makes it: xplane_event.c. */
void xevent_add(struct xplane *p, const struct xline *line, size_t i);

#endif
