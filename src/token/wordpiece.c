/*
 * WordPiece: from the left, the longest piece of the vocabulary that the rest begins with.
 *
 * Source: Wu 2016; Devlin 2018, the code of BERT.
 */
#include "token/internal.h"

#include "base/utf8.h"

#include <string.h>

static bool is_too_long(const struct tokenizer *t, struct str part)
{
	int n = 0;
	if (part.len <= (size_t)t->wordpiece.chars_max)
		return false;
	for (size_t i = 0; i < part.len && n <= t->wordpiece.chars_max; n++) {
		int step = utf8_char(part.s + i, part.len - i);
		i += step > 0 ? (size_t)step : 1;
	}
	return n > t->wordpiece.chars_max;
}

static uint64_t hash_of(struct str text)
{
	uint64_t hash = vocab_hash_of_nothing();
	for (size_t i = 0; i < text.len; i++)
		hash = vocab_hash_byte(hash, text.s[i]);
	return hash;
}

void wordpiece_finish(struct tokenizer *t)
{
	t->wordpiece.first_hash = hash_of(t->wordpiece.first);
	t->wordpiece.later_hash = hash_of(t->wordpiece.later);
}

/*
 * The longest piece at the start of rest, before which there is room for what is put before it.
 *
 * hash     of that
 * ret_n    bytes of rest
 */
static int32_t longest(const struct tokenizer *t, struct str before, uint64_t hash, char *rest,
        size_t n, uint64_t *hashes, size_t *ret_n)
{
	char *key = rest - before.len;
	size_t n_max = t->vocab.key_bytes_max;
	n_max = n_max > before.len ? n_max - before.len : 0;
	if (n < n_max)
		n_max = n;
	if (before.len > 0)
		memcpy(key, before.s, before.len);
	for (size_t i = 0; i < n_max; i++)
		hashes[i] = hash = vocab_hash_byte(hash, rest[i]);
	for (; n_max > 0; n_max--) {
		/* A character is not cut. */
		if (n_max < n && (rest[n_max] & 0xC0) == 0x80)
			continue;
		int32_t id = vocab_find_hashed(
		        &t->vocab, hashes[n_max - 1], (struct str){ key, before.len + n_max });
		if (id != NO_ID) {
			*ret_n = n_max;
			return id;
		}
	}
	return NO_ID;
}

/* A copy of the part with room in front, into which what is put before a piece is written over the
 * piece before. */
static char *copy_part(const struct wordpiece *w, struct str part, struct encoding *e)
{
	size_t room = w->first.len > w->later.len ? w->first.len : w->later.len;
	buf_clear(&e->key);
	buf_reserve(&e->key, room + part.len + 1);
	memcpy(e->key.s + room, part.s, part.len);
	if (e->n_hashes < part.len) {
		e->n_hashes = 2 * part.len;
		e->hashes = mem_realloc(e->hashes, e->n_hashes * sizeof(*e->hashes));
	}
	return e->key.s + room;
}

void wordpiece_encode(const struct tokenizer *t, struct str part, struct encoding *e)
{
	const struct wordpiece *w = &t->wordpiece;
	size_t n_before = e->n, at = 0;
	bool known = !is_too_long(t, part);
	char *text = known ? copy_part(w, part, e) : NULL;
	while (known && at < part.len) {
		size_t n;
		int32_t id =
		        longest(t, at ? w->later : w->first, at ? w->later_hash : w->first_hash,
		                text + at, part.len - at, e->hashes, &n);
		known = id != NO_ID;
		if (!known)
			break;
		encoding_add(e, id);
		at += n;
	}
	if (known)
		return;
	/* A part of which any piece is unknown is unknown as a whole. */
	e->n = n_before;
	if (t->unknown != NO_ID)
		encoding_add(e, t->unknown);
}
