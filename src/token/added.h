/*
 * added.h - tokens that stand for a text wherever it occurs, before anything is cut: "<|im_end|>".
 *
 * Read-only once filled.
 *
 * Source: the added tokens of tokenizer.json (Hugging Face tokenizers): the leftmost, and of those
 * that begin there the longest.
 */
#ifndef VENTURI_TOKEN_ADDED_H
#define VENTURI_TOKEN_ADDED_H

#include "base/arena.h"
#include "base/str.h"
#include "token/vocab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ADDED_BYTES_MAX = 512 };

struct added_token {
	struct str text; /* not empty, at most ADDED_BYTES_MAX bytes */
	int32_t id;
	bool special;                   /* only looked for where special tokens are */
	bool single_word;               /* no word reaches over its ends */
	bool left_blanks, right_blanks; /* belong to it */
};

struct added {
	const struct added_token *tokens;
	struct piece *keys;
	struct vocab vocab;
	bool begins[256];                      /* bytes that one begins with */
	uint16_t lengths[ADDED_BYTES_MAX + 1]; /* that there are, the longest first */
	size_t n_lengths;
	bool any_plain; /* one that is not special */
};

/* The tokens are kept, not copied. */
void added_init(struct added *a, const struct added_token *tokens, int n, struct arena *run);

/*
 * The first token in text from a place on.
 *
 * ret_start, ret_end   with the blanks that belong to it; not before `from`
 */
bool added_next(const struct added *a, struct str text, size_t from, bool special,
        const struct added_token **ret, size_t *ret_start, size_t *ret_end);

#endif
