/*
 * reads.h - cuts a fuzzer's input into reads whose sizes the input itself decides, so that a file
 * of the corpus stays a plain stream and still gives the same reads every time.
 */
#ifndef VENTURI_FUZZ_READS_H
#define VENTURI_FUZZ_READS_H

#include "base/rng.h"

#include <stddef.h>
#include <stdint.h>

/* How an input is cut: in one piece, byte by byte, or by chance into pieces of 1 to 16 bytes. */
enum reads_way { READS_ONE, READS_BYTES, READS_CHANCE, READS_N_WAYS };

struct reads {
	enum reads_way way;
	struct rng rng;
};

/* Seeded by all of the input. Source: Fowler, Noll and Vo, FNV-1a. */
static inline struct reads reads_of(enum reads_way way, const uint8_t *data, size_t size)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
	struct reads reads = { .way = way };
	rng_init(&reads.rng, hash);
	return reads;
}

/* Bytes of the next read, of n > 0 that are left. */
static inline size_t reads_next(struct reads *reads, size_t n)
{
	if (reads->way == READS_ONE)
		return n;
	size_t size = reads->way == READS_BYTES ? 1 : 1 + rng_below(&reads->rng, 16);
	return size < n ? size : n;
}

#endif
