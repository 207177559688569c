/*
 * internal.h - what the parts of a tokenizer know of each other and its users need not.
 *
 * A text goes through: added tokens (added.h) | normalizer | added tokens | pre-tokenizer | method,
 * which turns each part into ids. Who reads a file (tokenizer_gguf.c, tokenizer_json.c) fills in
 * what it says of each; what it does not say is left out.
 */
#ifndef VENTURI_TOKEN_INTERNAL_H
#define VENTURI_TOKEN_INTERNAL_H

#include "base/arena.h"
#include "token/added.h"
#include "token/bert_cut.h"
#include "token/bpe.h"
#include "token/encoding.h"
#include "token/framing.h"
#include "token/merge.h"
#include "token/normalize.h"
#include "token/pretokenize.h"
#include "token/tokenizer.h"
#include "token/vocab.h"

/* How SentencePiece writes a space inside a piece: U+2581. */
#define SPACE_MARK STR("\xE2\x96\x81")

enum { N_BYTES = 256, N_ENDS = 3 };

/* Appends the ids of one part, which is not empty. */
typedef void method_encode(const struct tokenizer *t, struct str part, struct encoding *e);

struct tokenizer {
	struct arena run;
	struct piece *pieces;
	int n;
	struct vocab vocab; /* of the pieces that the method can make */
	int32_t byte_ids[N_BYTES];
	int32_t bos, unknown;
	int32_t ends[N_ENDS];
	struct framing one, two; /* what a text, and a pair of them, is framed with */
	bool adds_space;         /* in front of a text, which decoding takes away again */

	struct added added[2]; /* looked for before and after normalizing */
	struct normalizer normalizer;
	struct pretokenizer pretokenizer;
	bert_table bert; /* instead of both, where they do what BERT's do; else NULL */
	struct pattern *patterns;
	method_encode *encode;
	struct bpe bpe;
	struct wordpiece {
		struct str first, later; /* put before the first piece of a part and the others */
		uint64_t first_hash, later_hash;
		int chars_max; /* a longer part is unknown */
	} wordpiece;
	struct unigram {
		double unknown_score;
		bool byte_fallback;
	} unigram;
};

method_encode spm_encode;
method_encode bpe_encode;
method_encode wordpiece_encode;
method_encode unigram_encode;

void wordpiece_finish(struct tokenizer *t);

/* A tokenizer without anything; tokenizer_close frees it. */
struct tokenizer *tokenizer_new(void);

/* Appends the tokens of a text, at least up to e->n_max of them. */
void tokenizer_encode_into(
        const struct tokenizer *t, struct str text, bool special, struct encoding *e);

/* The same for text without added tokens, by normalizer and pre-tokenizer step by step. */
void tokenizer_encode_steps(
        const struct tokenizer *t, struct str text, bool at_start, struct encoding *e);

/* Makes what encoding needs besides, once everything else is there. */
void tokenizer_finish(struct tokenizer *t);

/* Room for n pieces, which is within the limits; ERR_INPUT when not. */
bool tokenizer_take_pieces(struct tokenizer *t, uint64_t n, struct err *err) NODISCARD;

/* "<0x0A>" is byte 10; -1 for anything else. */
int tokenizer_byte_of_key(struct str key);

/* A copy of a key with every space mark as a space. */
struct str tokenizer_unmark(struct str key, struct arena *run);

/* Puts the pattern of a regular expression into a new step that cuts at its matches. */
bool tokenizer_split_by(struct tokenizer *t, struct str expression, enum split_behavior behavior,
        bool invert, struct err *err) NODISCARD;

/* The normalizer and the pre-tokenizer of uncased BERT models, as empty lists' first steps. */
void tokenizer_add_bert_steps(struct tokenizer *t);

/* The next step of a list; NULL when it is full. */
struct normalize_step *normalizer_add(struct normalizer *n, enum normalize_kind kind);
struct pretokenize_step *pretokenizer_add(struct pretokenizer *p, enum pretokenize_kind kind);

/* The expression of GPT-2, which is also that of byte-level pre-tokenizers. */
#define GPT2_EXPRESSION                                                                            \
	"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

#endif
