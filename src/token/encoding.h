/*
 * encoding.h - what encoding one text needs: the ids so far, and room that is used again from part
 * to part. One thread.
 */
#ifndef VENTURI_TOKEN_ENCODING_H
#define VENTURI_TOKEN_ENCODING_H

#include "base/str.h"
#include "token/match.h"
#include "token/merge.h"
#include "token/pretokenize.h"

#include <stddef.h>
#include <stdint.h>

struct unigram_cell;

struct encoding {
	int32_t *ids;
	size_t n, cap;
	struct merge merge;
	struct match_scan scan;
	struct parts parts;
	struct buf normal[2];
	struct buf key; /* of a piece that is put together to be looked up */
	struct unigram_cell *cells;
	size_t n_cells;
};

void encoding_add(struct encoding *e, int32_t id);
/* All but the ids. */
void encoding_release(struct encoding *e);

#endif
