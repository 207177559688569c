/*
 * bpe.h - byte-pair encoding by a list of merges: of the pairs of neighbours the one that stands
 * first in the list is merged first.
 *
 * Source: Sennrich 2016; Radford 2019 for bytes as the alphabet; byte fallback and the fusing of
 * unknown characters as in Hugging Face's tokenizers.
 */
#ifndef VENTURI_TOKEN_BPE_H
#define VENTURI_TOKEN_BPE_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BPE_MERGES_MAX = 1 << 22 };

struct bpe_merge {
	int32_t left, right; /* left is NO_ID where a slot is empty */
	int32_t rank;
	int32_t id; /* what the two become */
};

struct bpe {
	struct bpe_merge *slots;
	size_t n_slots;     /* a power of two, at least twice the merges */
	bool bytes;         /* the alphabet: bytes or characters */
	bool whole_first;   /* a part that is in the vocabulary is one token, merges or not */
	bool byte_fallback; /* unknown characters as tokens of bytes */
	bool fuse_unknown;  /* unknown ones that follow each other are one token */
	struct str prefix;  /* of every symbol of a part but the first */
	struct str suffix;  /* of the last one */
};

/* An empty table with room for n merges. */
void bpe_init(struct bpe *b, size_t n, struct arena *run);
/* Of merges of the same pair the last one counts. */
void bpe_add(struct bpe *b, struct bpe_merge merge);

#endif
