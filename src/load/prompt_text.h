/*
 * prompt_text.h - text of any number of tokens, made while the load runs by copying: the same key
 * gives the same text, and another key another one from the first words on, so that equal
 * beginnings are equal only where somebody wants them to be.
 *
 * A text is words with one blank between them. Its first words spell the key, the others are taken
 * from a pool that all texts share. It holds nothing that JSON would have to escape. Read-only once
 * made; any number of threads may use it.
 */
#ifndef VENTURI_LOAD_PROMPT_TEXT_H
#define VENTURI_LOAD_PROMPT_TEXT_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PROMPT_TEXT_WORDS_MAX = 4096,
	PROMPT_TEXT_POOL = 16384,  /* words */
	PROMPT_TEXT_KEY_BITS = 48, /* of a key, that its words spell */
};

struct prompt_text {
	const struct str *words; /* letters only, a power of two of them */
	int word_bits;           /* n_words = 2 ^ word_bits */
	int key_words;
	char *pool;     /* every word with a blank before it */
	uint32_t *ends; /* [PROMPT_TEXT_POOL + 1], where the i-th word begins */
};

/*
 * words    one token each; NULL: those that are one token in most vocabularies, so that the number
 *          of tokens is near, not exact
 * n        at least 2; the largest power of two of them is used
 */
void prompt_text_init(struct prompt_text *t, const struct str *words, size_t n, struct arena *run);

/*
 * Appends the first n words of a key's text.
 *
 * first    no blank before the first word
 * key      its low PROMPT_TEXT_KEY_BITS bits count: mix them well
 */
void prompt_text_add(
        const struct prompt_text *t, uint64_t key, int64_t n, bool first, struct buf *out);

/* A key from three numbers, every bit of which changes every bit of it by chance. */
uint64_t prompt_text_key(uint64_t seed, uint64_t kind, uint64_t number);

#endif
