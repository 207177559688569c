/*
 * perf_ring.h - the ring in which the kernel writes what a sampler of perf_event_open sees.
 *
 * Source: perf_event_open(2), "MMAP layout"; include/uapi/linux/perf_event.h.
 */
#ifndef VENTURI_WATCH_PERF_RING_H
#define VENTURI_WATCH_PERF_RING_H

#include "base/attr.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A record, with as much of its body as is of use here. */
struct perf_record {
	uint32_t type; /* PERF_RECORD_* */
	uint16_t misc;
	size_t n; /* bytes of body */
	uint8_t body[56];
};

/* A zeroed one is closed. */
struct perf_ring {
	int fd_plus_1;
	struct perf_event_mmap_page *page;
	size_t data_bytes;
};

/*
 * Opens the sampler on a thread, with room for at least data_bytes of records.
 *
 * returns  false: errno says why
 */
bool perf_ring_open(
        struct perf_ring *r, struct perf_event_attr *attr, int tid, size_t data_bytes) NODISCARD;
void perf_ring_close(struct perf_ring *r);

typedef void perf_on_record(void *ctx, const struct perf_record *record);

/* All records that are new; no system call. */
void perf_ring_drain(struct perf_ring *r, perf_on_record *on_record, void *ctx);

/*
 * The records between two positions of a ring, which only ever grow.
 *
 * size     of data, a power of two
 * returns  false: a record that cannot be: what follows it is left out
 */
bool perf_records_each(const uint8_t *data, size_t size, uint64_t from, uint64_t to,
        perf_on_record *on_record, void *ctx);

#endif
