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

/* The best way to get to a place of the text (unigram.c). */
struct unigram_cell {
	double score;
	int32_t id;     /* of the last piece */
	uint32_t start; /* of the last piece; the text's end + 1: no way yet */
};

struct encoding {
	int32_t *ids;
	size_t n, cap;
	size_t n_max; /* more tokens than these need not be found; 0: all of them */
	struct merge merge;
	struct match_scan scan;
	struct parts parts;
	struct buf normal[2];
	struct buf key;   /* of a piece that is put together to be looked up */
	struct buf word;  /* that is put together from the characters of a text */
	uint64_t *hashes; /* of all beginnings of a word; [n_hashes] */
	size_t n_hashes;
	struct unigram_cell *cells;
	size_t n_cells;
};

void encoding_add(struct encoding *e, int32_t id);
static inline bool encoding_is_full(const struct encoding *e)
{
	return e->n_max && e->n >= e->n_max;
}

/* All but the ids. */
void encoding_release(struct encoding *e);
/* Gives back what a text far longer than usual has taken. */
void encoding_trim(struct encoding *e);

#endif
