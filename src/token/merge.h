/*
 * merge.h - merges neighbours, the best pair first and of equal ones the leftmost, until no pair is
 * left that may be merged: what BPE and SentencePiece have in common.
 *
 * A zeroed struct is empty; it keeps its memory from text to text. One thread at a time.
 *
 * cost     O(n log n) in the number of symbols
 */
#ifndef VENTURI_TOKEN_MERGE_H
#define VENTURI_TOKEN_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NO_SYMBOL = -1 };

/* A run of bytes that is one token so far; runs form a list in the order of the text. */
struct symbol {
	uint32_t start;
	uint32_t len; /* 0: merged into the one before */
	int32_t prev, next;
	int32_t id; /* the caller's */
};

/* A pair of neighbours that may be merged. It is stale when either has changed since. */
struct merge_pair {
	float rank;
	int32_t left, right;
	uint32_t len; /* of both when the pair was found */
	int32_t id;
};

struct merge {
	struct symbol *symbols;
	size_t n, cap;
	struct merge_pair *pairs; /* a binary heap, the next to merge at the root */
	size_t n_pairs, cap_pairs;
};

/*
 * Whether two neighbours may become one.
 *
 * ret_rank  the lowest goes first; not NaN
 * ret_id    of the symbol that they become
 */
typedef bool merge_rank(const void *context, const struct symbol *left, const struct symbol *right,
        float *ret_rank, int32_t *ret_id);

void merge_clear(struct merge *m);
void merge_add(struct merge *m, uint32_t start, uint32_t len, int32_t id);
/* Afterwards symbols[0 .. n) with len > 0 are the tokens. */
void merge_all(struct merge *m, merge_rank *rank, const void *context);
void merge_release(struct merge *m);

#endif
