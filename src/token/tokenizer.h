/*
 * tokenizer.h - text to token ids and back, with the vocabulary of a GGUF file.
 *
 * A tokenizer is read-only after tokenizer_open and may be shared by threads.
 *
 * Source: Kudo and Richardson 2018, SentencePiece; BPE with scores and byte fallback, which GGUF
 * calls tokenizer.ggml.model "llama".
 */
#ifndef VENTURI_TOKEN_TOKENIZER_H
#define VENTURI_TOKEN_TOKENIZER_H

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "token/gguf.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TOKENIZER_VOCAB_MAX = 1 << 20,
	TOKENIZER_PIECE_BYTES_MAX = 4096,
	TOKENIZER_TEXT_BYTES_MAX = 16 << 20, /* of a text to encode; who takes text limits it */
};

struct tokenizer;

/*
 * Copies what it needs, so the file may be closed. A file with a vocabulary and no tensors will do.
 *
 * errors   ERR_INPUT that names the key that is missing or wrong, not the file
 */
bool tokenizer_open(
        const struct gguf *file, struct tokenizer **ret_tokenizer, struct err *err) NODISCARD;
void tokenizer_close(struct tokenizer *t);

/*
 * Encodes text. All of it is text: "</s>" in it is four characters, not the token. Bytes that are
 * not UTF-8 are encoded as bytes.
 *
 * text     at most TOKENIZER_TEXT_BYTES_MAX bytes
 * add_bos  put the token that begins a text in front, unless the file declines it
 * ids      malloc'd, [*ret_n]; the caller frees
 * cost     O(n log n) in the length of text
 * source   SentencePiece BPE: merge the best-scored pair first, of equal ones the leftmost;
 *          unknown characters as bytes. User-defined pieces are merged like any other.
 */
void tokenizer_encode(
        const struct tokenizer *t, struct str text, bool add_bos, int32_t **ret_ids, size_t *ret_n);

/* The bytes of one token as they appear in text; empty for control tokens and ids out of range. */
struct str tokenizer_piece(const struct tokenizer *t, int32_t id);

/* -1 when the vocabulary has none. */
int32_t tokenizer_bos(const struct tokenizer *t);
/* Whether the token ends a text or a turn of a talk. */
bool tokenizer_is_end(const struct tokenizer *t, int32_t id);
int tokenizer_size(const struct tokenizer *t);

/*
 * Turns tokens into text piece by piece, never splitting a character: bytes of an unfinished UTF-8
 * character wait inside; bytes that can never become one turn into U+FFFD, one for each longest
 * beginning of a character (as Unicode 15, section 3.9, recommends). What it writes is UTF-8.
 */
struct detokenizer {
	const struct tokenizer *tokenizer;
	char pending[UTF8_CHAR_MAX];
	int n_pending;
	bool at_start; /* of a text without prompt before it: the first space is dropped */
};

void detokenizer_init(struct detokenizer *d, const struct tokenizer *t, bool at_start);
/* Appends what has become complete. */
void detokenizer_add(struct detokenizer *d, int32_t id, struct buf *out);
/* Appends what is left, an unfinished character as U+FFFD. */
void detokenizer_end(struct detokenizer *d, struct buf *out);

#endif
