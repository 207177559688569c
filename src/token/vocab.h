/*
 * vocab.h - the pieces of a vocabulary and a table that finds them by their bytes.
 *
 * Read-only once filled, and then shared by threads. Keys are in memory of the caller.
 *
 * Source: the hash is FNV-1a of 64 bits (Fowler, Noll, Vo); open addressing, at most half full.
 */
#ifndef VENTURI_TOKEN_VOCAB_H
#define VENTURI_TOKEN_VOCAB_H

#include "base/arena.h"
#include "base/str.h"

#include <stdint.h>

enum { NO_ID = -1 };

/* tokenizer.ggml.token_type */
enum piece_type {
	PIECE_NORMAL = 1,
	PIECE_UNKNOWN = 2,
	PIECE_CONTROL = 3,
	PIECE_USER = 4,
	PIECE_UNUSED = 5,
	PIECE_BYTE = 6,
};

struct piece {
	struct str key;  /* as the method compares it: spaces marked, "##" in front, plain bytes */
	struct str text; /* as in a text */
	double score;
	enum piece_type type;
};

/* The tag is of the key's hash: most keys that are not there are told without looking at a piece.
 */
struct vocab_slot {
	int32_t id; /* or NO_ID */
	uint32_t tag;
};

struct vocab {
	const struct piece *pieces;
	struct vocab_slot *slots;
	size_t n_slots; /* a power of two */
	size_t key_bytes_max;
};

/* An empty table with room for n of the pieces. */
void vocab_init(struct vocab *v, const struct piece *pieces, int n, struct arena *run);
/* Of pieces with the same key the first counts; one without a key is not found. */
void vocab_add(struct vocab *v, int32_t id);
/* NO_ID when there is none. */
int32_t vocab_find(const struct vocab *v, struct str key);

/* The same for who looks up all beginnings of a text: the hash of each from that of the one before.
 */
static inline uint64_t vocab_hash_of_nothing(void)
{
	return UINT64_C(0xcbf29ce484222325);
}

static inline uint64_t vocab_hash_byte(uint64_t hash, char byte)
{
	return (hash ^ (unsigned char)byte) * UINT64_C(0x100000001b3);
}

int32_t vocab_find_hashed(const struct vocab *v, uint64_t hash, struct str key);

#endif
