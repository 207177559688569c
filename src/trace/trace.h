/*
 * trace.h - traces of profilers, read and analysed: files in, a trace_run out.
 */
#ifndef VENTURI_TRACE_TRACE_H
#define VENTURI_TRACE_TRACE_H

#include "record/trace_run.h"
#include "trace/timeline/timeline.h"

struct trace_options {
	int64_t top;            /* rows of lists; at least 1 */
	int64_t from_ns, to_ns; /* only what starts here, since the start of the file; TRACE_NONE:
	                           no bound */
	int64_t step;           /* only this step, counted from 0; -1: all */
	const char *by;         /* "name", "class", "shape", "stream", "step" */
	const char *kind;       /* only operators of this kind; NULL: of all */
	/* Of the device, measured by the user; 0: those of its data sheet. */
	double peak_flop_per_s, peak_bytes_per_s;
};

/* A file that could not be read, and why. */
struct trace_unread {
	const char *path, *reason;
};

struct trace {
	struct timeline *timelines;
	size_t n, cap;
	struct trace_unread *unread;
	size_t n_unread, cap_unread;
	struct arena arena; /* of paths and reasons */
};

/* Called before each file is read; path is valid until trace_close. */
struct trace_hooks {
	void (*reading)(void *ctx, const char *path);
	void *ctx;
};

/*
 * Reads files, and those of folders (not deeper than 4 levels, by name) that are recognised. A
 * file that cannot be read is an error unless others can: then it is listed with its reason.
 *
 * hooks  may be NULL
 */
bool trace_open(struct trace *trace, const char *const *paths, size_t n_paths,
        const struct trace_hooks *hooks, struct err *err) NODISCARD;
void trace_close(struct trace *trace);

/*
 * All analyses of all files; memory from run. What is outside the bounds of the options takes no
 * part; ERR_USAGE when a step is asked for that no file has.
 */
bool trace_analyse(const struct trace *trace, const struct trace_options *options,
        struct arena *run, struct trace_run *ret, struct err *err) NODISCARD;

#endif
