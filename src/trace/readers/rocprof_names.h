/*
 * rocprof_names.h - what stands beside the records of rocprofv3's JSON, for one process: its
 * agents, the symbols of its kernels, the names of operations, of markers and of counters.
 *
 * Texts are views into the document.
 */
#ifndef VENTURI_TRACE_READERS_ROCPROF_NAMES_H
#define VENTURI_TRACE_READERS_ROCPROF_NAMES_H

#include "trace/input/loose_json.h"
#include "trace/timeline/timeline.h"

struct rocprof_symbol {
	struct str name;   /* escapes unresolved */
	int64_t registers; /* TRACE_NONE: not told */
};

struct rocprof_agent {
	int64_t handle;
	int64_t gpu; /* its number; TRACE_NONE: a CPU */
};

struct rocprof_kind {
	struct str name;
	struct str *operations; /* [n] */
	size_t n;
};

/* Texts by number. */
struct rocprof_labels {
	struct rocprof_label *v;
	size_t n, cap;
	bool sorted;
};

enum { ROCPROF_KINDS_MAX = 256 };

struct rocprof_names {
	struct timeline *t;
	struct arena arena;
	struct str pid;
	struct rocprof_symbol *symbols; /* [n_symbols], by kernel id */
	size_t n_symbols;
	struct rocprof_agent *agents;
	size_t n_agents, cap_agents;
	struct rocprof_kind kinds[ROCPROF_KINDS_MAX];
	struct rocprof_labels messages, counters;
	bool complete; /* the symbols were read, which stand behind all else */
	struct buf tmp;
};

/* Reads a member of the process; false, and nothing is consumed, when it is none of these. */
bool rocprof_names_read(struct rocprof_names *names, struct str key, struct loose_json *j);
void rocprof_names_release(struct rocprof_names *names);

/* A text without its escapes; valid until the next call. */
struct str rocprof_names_text(struct rocprof_names *names, struct str raw);
/* The symbol of a kernel; NULL when it is not listed. */
const struct rocprof_symbol *rocprof_names_symbol(const struct rocprof_names *names, int64_t id);
/*
 * The number of a GPU; TRACE_NONE for a CPU and for none. An agent that is not listed is its
 * handle.
 */
int64_t rocprof_names_gpu(const struct rocprof_names *names, struct str handle);
/* Of a record's kind; NULL when it is not listed. */
const struct rocprof_kind *rocprof_names_kind(const struct rocprof_names *names, int64_t kind);
/* Empty when there is none. */
struct str rocprof_names_label(struct rocprof_labels *labels, int64_t number);

#endif
