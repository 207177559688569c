/*
 * A tokenizer without a vocabulary (tokenizer.h says what it does).
 */
#include "token/internal.h"

#include "base/utf8.h"

#include <assert.h>

enum { WHOLE_CHARS = 8, MORE_CHARS = 4, CLS_ID = 101, SEP_ID = 102, SPECIAL_IDS = 1000 };

/* Bytes of the first n_max characters. */
static size_t take(struct str text, int n_max)
{
	size_t at = 0;
	for (int n = 0; n < n_max && at < text.len; n++) {
		int step = utf8_char(text.s + at, text.len - at);
		at += step > 0 ? (size_t)step : 1;
	}
	return at;
}

static void synthetic_encode(const struct tokenizer *t, struct str part, struct encoding *e)
{
	/* A real vocabulary has those that stand for no text in front. */
	uint64_t first = t->n > 2 * SPECIAL_IDS ? SPECIAL_IDS : TOKENIZER_SYNTHETIC_VOCAB_MIN / 2;
	for (int n_max = WHOLE_CHARS; part.len > 0 && !encoding_is_full(e); n_max = MORE_CHARS) {
		size_t n = take(part, n_max);
		uint64_t hash = vocab_hash_of_nothing();
		for (size_t i = 0; i < n; i++)
			hash = vocab_hash_byte(hash, part.s[i]);
		hash ^= hash >> 32;
		encoding_add(e, (int32_t)(first + hash % ((uint64_t)t->n - first)));
		part.s += n;
		part.len -= n;
	}
}

struct tokenizer *tokenizer_synthetic(int n_vocab)
{
	struct tokenizer *t = tokenizer_new();
	struct err err;
	if (n_vocab < TOKENIZER_SYNTHETIC_VOCAB_MIN)
		n_vocab = TOKENIZER_SYNTHETIC_VOCAB_MIN;
	bool ok = tokenizer_take_pieces(t, (uint64_t)n_vocab, &err);
	assert(ok);
	int32_t cls = n_vocab > SEP_ID ? CLS_ID : 1, sep = cls + 1;
	tokenizer_add_bert_steps(t);
	framing_bert(t, cls, sep);
	t->bos = cls;
	t->encode = synthetic_encode;
	tokenizer_finish(t);
	return t;
}
