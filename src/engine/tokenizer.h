/*
 * tokenizer.h - text to token ids and back.
 */
#ifndef VENTURI_ENGINE_TOKENIZER_H
#define VENTURI_ENGINE_TOKENIZER_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tokenizer;

/*
 * Encodes text.
 *
 * ids      malloc'd, [*ret_n]; the caller frees
 * source   SentencePiece BPE: merge the best-scored pair first; unknown characters as bytes
 */
void tokenizer_encode(const struct tokenizer *t, struct str text, bool add_bos, int32_t **ret_ids,
	size_t *ret_n);

/* The bytes of one token as they appear in text; empty for control tokens. */
struct str tokenizer_piece(const struct tokenizer *t, int32_t id);

int32_t tokenizer_bos(const struct tokenizer *t);
bool tokenizer_is_end(const struct tokenizer *t, int32_t id);
int tokenizer_size(const struct tokenizer *t);

/*
 * Turns tokens into text piece by piece, never splitting a character: bytes of an unfinished UTF-8
 * character wait inside; bytes that can never become one turn into U+FFFD.
 */
struct detokenizer {
	const struct tokenizer *tokenizer;
	char pending[4];
	int n_pending;
	bool at_start; /* of a text without prompt before it: the first space is dropped */
};

void detokenizer_init(struct detokenizer *d, const struct tokenizer *t, bool at_start);
/* Appends what has become complete. */
void detokenizer_add(struct detokenizer *d, int32_t id, struct buf *out);
/* Appends what is left, an unfinished character as U+FFFD. */
void detokenizer_end(struct detokenizer *d, struct buf *out);

#endif
