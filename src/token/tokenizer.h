/*
 * tokenizer.h - text to token ids and back, with the vocabulary of a GGUF file or of a
 * Hugging Face folder.
 *
 * A tokenizer is read-only after it was opened and may be shared by threads. It copies what it
 * needs, so the file may be closed.
 *
 * Source: bpe.h, tokenizer_spm.c, wordpiece.c, unigram.c for the methods; what happens to a text
 * before is Hugging Face's tokenizers' (normalize.h, pretokenize.h, added.h), against which the ids
 * are tested.
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
	TOKENIZER_SYNTHETIC_VOCAB_MIN = 8,
	TOKENIZER_PIECE_BYTES_MAX = 4096,
	TOKENIZER_FILE_BYTES_MAX = 128 << 20, /* of a tokenizer.json */
	TOKENIZER_TEXT_BYTES_MAX = 16 << 20,  /* of a text to encode; who takes text limits it */
};

struct tokenizer;

/*
 * From a GGUF file: SentencePiece ("llama"), byte-level BPE ("gpt2") and WordPiece ("bert"). One
 * with a vocabulary and no tensors will do.
 *
 * errors   ERR_INPUT that names the key that is missing or wrong, not the file
 */
bool tokenizer_open(
        const struct gguf *file, struct tokenizer **ret_tokenizer, struct err *err) NODISCARD;

/*
 * From the text of a tokenizer.json as Hugging Face's tokenizers write it: BPE, WordPiece and
 * Unigram. Which tokens end a text is not in there.
 *
 * errors   ERR_INPUT that names the part that is wrong or not supported, not the file
 */
bool tokenizer_open_json(
        struct str json, struct tokenizer **ret_tokenizer, struct err *err) NODISCARD;

/*
 * From either, recognised by its first bytes.
 *
 * errors   ERR_INPUT that also names the file
 */
bool tokenizer_open_file(
        const char *path, struct tokenizer **ret_tokenizer, struct err *err) NODISCARD;

/*
 * From a Hugging Face folder: tokenizer.json, else vocab.txt (WordPiece), else vocab.json with
 * merges.txt (byte-level BPE), with what tokenizer_config.json and sentence_bert_config.json say:
 * do_lower_case, tokenize_chinese_chars, strip_accents and the special tokens.
 *
 * errors   ERR_INPUT that names the file and the part that is wrong or not supported
 */
bool tokenizer_open_folder(
        const char *folder, struct tokenizer **ret_tokenizer, struct err *err) NODISCARD;

/*
 * A tokenizer without a vocabulary, for models of random weights: texts are cut into words as BERT
 * cuts them, a word of up to 8 letters is one token, a longer one has one more for every 4 (about
 * 1.3 tokens a word of English with its punctuation, as with a real vocabulary), and ids are hashes
 * of the letters. Tokens have no text. The frame is BERT's, with ids 101 and 102.
 *
 * n_vocab  ids are below; TOKENIZER_SYNTHETIC_VOCAB_MIN to TOKENIZER_VOCAB_MAX
 */
struct tokenizer *tokenizer_synthetic(int n_vocab);
void tokenizer_close(struct tokenizer *t);

enum tokenizer_flags {
	TOKENIZER_FRAME = 1,   /* with what begins and ends a text, where the file says so: "<s>" */
	TOKENIZER_SPECIAL = 2, /* "</s>" in the text is that token, not four characters */
};

/*
 * Encodes text. Bytes that are not UTF-8 are encoded as bytes where there are tokens for bytes.
 *
 * text     at most TOKENIZER_TEXT_BYTES_MAX bytes
 * flags    of enum tokenizer_flags, 0 for none
 * ids      malloc'd, [*ret_n]; the caller frees
 * cost     O(n log n) in the length of text
 */
void tokenizer_encode(const struct tokenizer *t, struct str text, unsigned flags, int32_t **ret_ids,
        size_t *ret_n);

/* Room that is used again from text to text; of one thread at a time. */
struct encoding;
struct encoding *encoding_new(void);
void encoding_free(struct encoding *e);

struct tokenizer_framed {
	int n;    /* tokens, at most max */
	bool cut; /* there were more */
};

/*
 * One text, or a pair of them, as an encoder wants it: "[CLS] a [SEP]" and "[CLS] a [SEP] b [SEP]"
 * of BERT, "<s> a </s>" and "<s> a </s></s> b </s>" of RoBERTa, as the file says. Where there is
 * not room enough the ends of the texts are left out, of the longer one first.
 *
 * e        once it has grown nothing is allocated
 * b        NULL: one text
 * flags    TOKENIZER_SPECIAL or 0
 * max      tokens there is room for, those of the frame among them
 * ids      [max]
 * types    [max]: which of the texts a token belongs to; NULL: not wanted
 * cost     in the length of the texts, whatever max is; of WordPiece only of what is kept
 * source   "longest_first" of Hugging Face's tokenizers; more tokens of a text than there is room
 *          for are not counted, so of two such texts each has half
 */
struct tokenizer_framed tokenizer_frame(const struct tokenizer *t, struct encoding *e, struct str a,
        const struct str *b, unsigned flags, int max, int32_t *ids, int32_t *types);

/*
 * The bytes of one token as they appear in text; empty for special tokens and ids out of range. Of
 * WordPiece's the blanks between words are not in them.
 */
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
