/*
 * rocprof.h - what the outputs of AMD's rocprof and rocprofv3 have in common, in JSON and in CSV:
 * records of a kind, from a start to an end in ns, of an agent or a thread.
 *
 * Source: rocprofiler-sdk, lib/output/generateJSON.cpp and generateCSV.cpp (the columns), and
 * cxx/serialization/save.hpp (the members).
 */
#ifndef VENTURI_TRACE_READERS_ROCPROF_H
#define VENTURI_TRACE_READERS_ROCPROF_H

#include "trace/timeline/timeline.h"

/* A record as both forms give it. Numbers are TRACE_NONE, texts empty where nothing is told. */
struct rocprof_record {
	int64_t start_ns, end_ns;
	int64_t correlation;
	int64_t device; /* of a GPU: its number; TRACE_NONE: of the host */
	int64_t bytes, address;
	int64_t grid[3], block[3]; /* the grid in work-items */
	int64_t lds_bytes, registers;
	struct str pid, thread, queue, stream;
	struct str name; /* kernel, function, message or operation */
	struct str kind; /* "KERNEL_DISPATCH", "HIP_RUNTIME_API", ... */
};

/* What is remembered from record to record. */
struct rocprof_state {
	struct live_block *live; /* what is allocated, by address */
	size_t n_live, n_slots;
};

struct rocprof_record rocprof_record_none(void);
/* A number, quoted or not, also in hexadecimal ("0x00007ffb26354000"); TRACE_NONE when it is none.
 */
int64_t rocprof_int(struct str text);

/*
 * Puts a record into the list that its kind belongs to; one whose times cannot be true is counted
 * in t->lost. Kinds that are unknown go to GROUP_OTHER.
 */
void rocprof_add(struct timeline *t, struct rocprof_state *state, const struct rocprof_record *r);
void rocprof_state_release(struct rocprof_state *state);

/* The hardware counters of one launch, which come one by one. */
struct rocprof_counters {
	struct launch_metric *v;
	size_t n, cap;
};

/* Adds to the value of the counter. */
void rocprof_counters_add(struct rocprof_counters *c, uint32_t name, double value);
/* Makes a profiled launch of the record with these counters, which are none then. */
void rocprof_counters_launch(
        struct rocprof_counters *c, struct timeline *t, const struct rocprof_record *r);
void rocprof_counters_release(struct rocprof_counters *c);

#endif
