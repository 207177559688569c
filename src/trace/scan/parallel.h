/*
 * parallel.h - the ways to read a file. Inside of trace/scan, and its tests.
 */
#ifndef VENTURI_TRACE_SCAN_PARALLEL_H
#define VENTURI_TRACE_SCAN_PARALLEL_H

#include "trace/scan/scan.h"

struct scan_way {
	const struct scan_ops *ops;
	size_t n_threads;   /* 1 or more */
	size_t block_bytes; /* that are read at once */
};

/* That of chrome_read on this machine. */
struct scan_way scan_way_best(void);
/* chrome_read in a given way. */
bool scan_read(struct source *source, const struct chrome_dialect *dialect,
        const struct scan_way *way, struct timeline *t, struct err *err) NODISCARD;

/* By several threads. False when blocks did not fit each other; t is then as it was. */
bool scan_parallel(struct source *source, const struct chrome_dialect *dialect,
        const struct scan_way *way, struct timeline *t) NODISCARD;

void chrome_part_init(
        struct chrome_part *part, const struct chrome_dialect *dialect, const struct timeline *t);
/* The last words of the dialect; the timeline stays. */
void chrome_part_finish(struct chrome_part *part);

#endif
