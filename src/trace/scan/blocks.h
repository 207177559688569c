/*
 * blocks.h - the text of a source in blocks, each of which seems to begin at an event.
 *
 * Whoever is ready takes the next block. Reading and unpacking happen inside of the call, one
 * caller at a time, while the others work on blocks that they have: so a packed file is unpacked by
 * one thread while the text before is read by another.
 */
#ifndef VENTURI_TRACE_SCAN_BLOCKS_H
#define VENTURI_TRACE_SCAN_BLOCKS_H

#include "base/str.h"
#include "trace/input/source.h"

#include <pthread.h>

enum {
	/* Small enough to stay in a core's own cache from the copy to the end of the scan. */
	SCAN_BLOCK_BYTES = 512 * 1024,
};

struct scan_blocks {
	struct source *source;
	size_t block_bytes;
	pthread_mutex_t lock;
	struct buf rest; /* behind the last cut */
	size_t n_taken;
	int64_t n_bytes; /* read so far */
	bool ended;
	bool given_up; /* no more blocks for anybody */
};

struct scan_block {
	struct buf text; /* reused from block to block */
	size_t number;   /* from 0, in the order of the file */
	bool last;
};

/* block_bytes is SCAN_BLOCK_BYTES, but in tests. */
void scan_blocks_init(struct scan_blocks *b, struct source *source, size_t block_bytes);
void scan_blocks_release(struct scan_blocks *b);
/* The next block; false behind the last, and once somebody gave up. */
bool scan_blocks_take(struct scan_blocks *b, struct scan_block *block);
/* Ends it for all: the blocks do not fit each other. */
void scan_blocks_give_up(struct scan_blocks *b);

#endif
