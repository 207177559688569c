/*
 * nsys.h - what the parts of the reader of Nsight Systems databases share: the columns they know,
 * the strings of the database, and how an event's process, thread and launch are told.
 *
 * Source: the schemas 3.13 to 3.25 of real exports, and NVIDIA's "SQLite Export Schema Reference".
 */
#ifndef VENTURI_TRACE_READERS_NSYS_H
#define VENTURI_TRACE_READERS_NSYS_H

#include "trace/readers/nsys_db.h"

/* All columns that mean something in some table; which of them a table has differs by version. */
enum nsys_column {
	NSYS_START,
	NSYS_END,
	NSYS_TIMESTAMP,
	NSYS_DEVICE,
	NSYS_STREAM,
	NSYS_CORRELATION,
	NSYS_GLOBAL_PID,
	NSYS_GLOBAL_TID,
	NSYS_NAME_ID,
	NSYS_DEMANGLED,
	NSYS_SHORT,
	NSYS_MANGLED,
	NSYS_REGISTERS,
	NSYS_GRID_X,
	NSYS_GRID_Y,
	NSYS_GRID_Z,
	NSYS_BLOCK_X,
	NSYS_BLOCK_Y,
	NSYS_BLOCK_Z,
	NSYS_STATIC_SHARED,
	NSYS_DYNAMIC_SHARED,
	NSYS_GRAPH,
	NSYS_GRAPH_NODE,
	NSYS_BYTES,
	NSYS_COPY_KIND,
	NSYS_SRC_KIND,
	NSYS_DST_KIND,
	NSYS_MEM_KIND,
	NSYS_SYNC_TYPE,
	NSYS_EVENT,
	NSYS_EVENT_TYPE,
	NSYS_TEXT,
	NSYS_TEXT_ID,
	NSYS_ADDRESS,
	NSYS_MEMORY_OPERATION,
	N_NSYS_COLUMNS,
};

/* One string of StringIds, put among the names of the timeline when it is first used. */
struct nsys_string {
	int64_t id;
	struct str text;
	uint32_t name; /* in names; UINT32_MAX: not yet */
};

struct nsys {
	struct nsys_db db;
	struct timeline *t;
	struct nsys_string *strings; /* [n_strings], by id */
	size_t n_strings;
	struct intern processes; /* globalPid, to its number */
	struct buf scratch;
};

/* A table whose rows are events. */
struct nsys_table {
	const char *name;
	void (*row)(struct nsys *n, const struct nsys_scan *s);
};

extern const struct nsys_table nsys_device_tables[]; /* nsys_device.c; name NULL at the end */
extern const struct nsys_table nsys_host_tables[];   /* nsys_host.c; the same */
/* Versions, times and devices: what is not an event. nsys_info.c */
void nsys_read_info(struct nsys *n);
void nsys_read_gpu_metrics(struct nsys *n);

/* The name with this number in StringIds; 0 where there is none. */
uint32_t nsys_string(struct nsys *n, int64_t id);
/* The name whose number stands in this column. */
uint32_t nsys_name_at(struct nsys *n, const struct nsys_scan *s, enum nsys_column column);
/* A whole number as a name. */
uint32_t nsys_number_name(struct nsys *n, int64_t number);
/* Start and duration; false, and counted, where they cannot be. */
bool nsys_times(struct nsys *n, const struct nsys_scan *s, struct event *e);
/* What joins a launch and its work: correlationId, which is unique in its process only. */
uint64_t nsys_link(struct nsys *n, const struct nsys_scan *s, int64_t global_pid);
/* A queue of a device, and a thread of the host. */
uint32_t nsys_device_track(struct nsys *n, const struct nsys_scan *s);
uint32_t nsys_thread_track(struct nsys *n, int64_t global_tid);
/* globalTid without its thread: the globalPid. */
int64_t nsys_process_of(int64_t global_tid);

#endif
