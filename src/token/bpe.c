#include "token/internal.h"

#include "base/utf8.h"

#include <string.h>

void bpe_init(struct bpe *b, size_t n, struct arena *run)
{
	b->n_slots = 2;
	while (b->n_slots < 2 * n)
		b->n_slots *= 2;
	b->slots = arena_new_n(run, struct bpe_merge, b->n_slots);
	memset(b->slots, 0xFF, b->n_slots * sizeof(*b->slots));
}

/* The slot of a pair, or the empty one where it belongs. */
static struct bpe_merge *find_slot(const struct bpe *b, int32_t left, int32_t right)
{
	uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
	/* Source: Knuth, multiplicative hashing by the golden ratio. */
	size_t i = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (b->n_slots - 1);
	while (b->slots[i].left != NO_ID &&
	        (b->slots[i].left != left || b->slots[i].right != right))
		i = (i + 1) & (b->n_slots - 1);
	return &b->slots[i];
}

void bpe_add(struct bpe *b, struct bpe_merge merge)
{
	*find_slot(b, merge.left, merge.right) = merge;
}

static bool rank_of(const void *context, const struct symbol *left, const struct symbol *right,
        float *ret_rank, int32_t *ret_id)
{
	const struct bpe_merge *m = find_slot(context, left->id, right->id);
	if (m->left == NO_ID)
		return false;
	_Static_assert(BPE_MERGES_MAX <= 1 << 24, "a float holds every rank exactly");
	*ret_rank = (float)m->rank;
	*ret_id = m->id;
	return true;
}

/* A symbol as the vocabulary spells it at its place in a part. */
static struct str spell(
        const struct bpe *b, struct str symbol, bool first, bool last, struct encoding *e)
{
	struct str prefix = first ? (struct str){ 0 } : b->prefix;
	struct str suffix = last ? b->suffix : (struct str){ 0 };
	if (prefix.len == 0 && suffix.len == 0)
		return symbol;
	buf_clear(&e->key);
	buf_add(&e->key, prefix);
	buf_add(&e->key, symbol);
	buf_add(&e->key, suffix);
	return buf_str(&e->key);
}

/* Whether each byte of a symbol has a token. */
static bool has_bytes(const struct tokenizer *t, struct str symbol)
{
	for (size_t i = 0; i < symbol.len; i++)
		if (t->byte_ids[(unsigned char)symbol.s[i]] == NO_ID)
			return false;
	return true;
}

static void add_unknown(const struct tokenizer *t, uint32_t start, uint32_t len, struct merge *m)
{
	struct symbol *last = m->n > 0 ? &m->symbols[m->n - 1] : NULL;
	if (t->unknown == NO_ID)
		return;
	if (t->bpe.fuse_unknown && last && last->id == t->unknown)
		last->len += len;
	else
		merge_add(m, start, len, t->unknown);
}

static void add_symbol(const struct tokenizer *t, struct str part, uint32_t start, uint32_t len,
        struct encoding *e)
{
	struct str symbol = spell(&t->bpe, (struct str){ part.s + start, len }, start == 0,
	        start + len == part.len, e);
	int32_t id = vocab_find(&t->vocab, symbol);
	if (id != NO_ID) {
		merge_add(&e->merge, start, len, id);
	} else if (t->bpe.byte_fallback && has_bytes(t, symbol)) {
		for (size_t i = 0; i < symbol.len; i++)
			merge_add(&e->merge, start, 1, t->byte_ids[(unsigned char)symbol.s[i]]);
	} else {
		add_unknown(t, start, len, &e->merge);
	}
}

void bpe_encode(const struct tokenizer *t, struct str part, struct encoding *e)
{
	int32_t whole = t->bpe.whole_first ? vocab_find(&t->vocab, part) : NO_ID;
	if (whole != NO_ID) {
		encoding_add(e, whole);
		return;
	}
	merge_clear(&e->merge);
	for (size_t i = 0; i < part.len;) {
		int step = t->bpe.bytes ? 1 : utf8_char(part.s + i, part.len - i);
		uint32_t len = step > 0 ? (uint32_t)step : 1;
		add_symbol(t, part, (uint32_t)i, len, e);
		i += len;
	}
	merge_all(&e->merge, rank_of, &t->bpe);
	for (size_t i = 0; i < e->merge.n; i++)
		if (e->merge.symbols[i].len > 0)
			encoding_add(e, e->merge.symbols[i].id);
}
