/*
 * SentencePiece's BPE: the pair whose piece has the best score is merged first; unknown characters
 * are bytes. User-defined pieces are merged like any other.
 *
 * Source: Kudo and Richardson 2018; byte fallback as in SentencePiece 0.1.9.
 */
#include "token/internal.h"

#include "base/utf8.h"

struct spm_context {
	const struct tokenizer *t;
	const char *text;
};

static bool rank_of(const void *context, const struct symbol *left, const struct symbol *right,
        float *ret_rank, int32_t *ret_id)
{
	const struct spm_context *c = context;
	int32_t id = vocab_find(
	        &c->t->vocab, (struct str){ c->text + left->start, left->len + right->len });
	if (id == NO_ID)
		return false;
	*ret_rank = -(float)c->t->pieces[id].score;
	*ret_id = id;
	return true;
}

static void emit(const struct tokenizer *t, struct str key, struct encoding *e)
{
	int32_t id = vocab_find(&t->vocab, key);
	if (id != NO_ID) {
		encoding_add(e, id);
		return;
	}
	for (size_t i = 0; i < key.len; i++) {
		int32_t byte = t->byte_ids[(unsigned char)key.s[i]];
		if (byte != NO_ID || t->unknown != NO_ID)
			encoding_add(e, byte != NO_ID ? byte : t->unknown);
	}
}

void spm_encode(const struct tokenizer *t, struct str part, struct encoding *e)
{
	const struct spm_context context = { t, part.s };
	merge_clear(&e->merge);
	/* One symbol for each character, and for each byte that belongs to none. */
	for (size_t i = 0; i < part.len;) {
		int step = utf8_char(part.s + i, part.len - i);
		uint32_t len = step > 0 ? (uint32_t)step : 1;
		merge_add(&e->merge, (uint32_t)i, len, NO_ID);
		i += len;
	}
	merge_all(&e->merge, rank_of, &context);
	for (size_t i = 0; i < e->merge.n; i++) {
		const struct symbol *s = &e->merge.symbols[i];
		if (s->len > 0)
			emit(t, (struct str){ part.s + s->start, s->len }, e);
	}
}
