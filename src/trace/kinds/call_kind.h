/*
 * call_kind.h - what a call of the runtime or driver does, by its name: CUDA, HIP, HSA.
 *
 * Source: the names of the CUDA runtime and driver API and of HIP; versions (_v2, _v3020) and
 * variants (_ptsz) are suffixes, so that prefixes tell.
 */
#ifndef VENTURI_TRACE_CALL_KIND_H
#define VENTURI_TRACE_CALL_KIND_H

#include "base/str.h"

#include <stdbool.h>

enum call_kind {
	CALL_OTHER,
	CALL_LAUNCH,        /* of one kernel */
	CALL_GRAPH_LAUNCH,  /* of a graph */
	CALL_COPY_ASYNC,    /* returns before the copy is done, unless memory is pageable */
	CALL_COPY_BLOCKING, /* cudaMemcpy: the thread waits */
	CALL_MEMSET,
	CALL_SYNC,     /* waits for a stream, an event, a device */
	CALL_ALLOCATE, /* memory of the device, or pinned, taken or given back: slow, may wait */
	CALL_POOL,     /* the same from a pool, in the order of a stream: cheap */
	CALL_LOAD,     /* of code: modules, libraries */
	CALL_CAPTURE,  /* a graph is recorded or made ready */
	N_CALL_KINDS,
};

/* A walk over a short table; ask once for each name. */
enum call_kind call_kind_of(struct str name);
/*
 * Whether it is a call of CUDA's or HIP's runtime or driver at all, where a trace does not tell:
 * cudaMalloc, cuLaunchKernel, hipMemcpyAsync.
 */
bool call_is_runtime(struct str name);

#endif
