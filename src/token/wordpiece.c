/*
 * WordPiece: from the left, the longest piece of the vocabulary that the rest begins with.
 *
 * Source: Wu 2016; Devlin 2018, the code of BERT.
 */
#include "token/internal.h"

#include "base/utf8.h"

/* The longest piece at the start of rest; *ret_n its bytes of the text. */
static int32_t longest(const struct tokenizer *t, struct str rest, struct str before,
        struct encoding *e, size_t *ret_n)
{
	size_t n = rest.len;
	if (n > t->vocab.key_bytes_max)
		n = t->vocab.key_bytes_max;
	buf_clear(&e->key);
	buf_add(&e->key, before);
	buf_add(&e->key, (struct str){ rest.s, n });
	for (; n > 0; n--) {
		/* A character is not cut. */
		if (n < rest.len && (rest.s[n] & 0xC0) == 0x80)
			continue;
		int32_t id = vocab_find(&t->vocab, (struct str){ e->key.s, before.len + n });
		if (id != NO_ID) {
			*ret_n = n;
			return id;
		}
	}
	return NO_ID;
}

static bool is_too_long(const struct tokenizer *t, struct str part)
{
	int n = 0;
	for (size_t i = 0; i < part.len && n <= t->wordpiece.chars_max; n++) {
		int step = utf8_char(part.s + i, part.len - i);
		i += step > 0 ? (size_t)step : 1;
	}
	return n > t->wordpiece.chars_max;
}

void wordpiece_encode(const struct tokenizer *t, struct str part, struct encoding *e)
{
	size_t n_before = e->n;
	bool known = !is_too_long(t, part);
	for (struct str rest = part; known && rest.len > 0;) {
		bool first = rest.s == part.s;
		size_t n;
		int32_t id =
		        longest(t, rest, first ? t->wordpiece.first : t->wordpiece.later, e, &n);
		known = id != NO_ID;
		if (!known)
			break;
		encoding_add(e, id);
		rest.s += n;
		rest.len -= n;
	}
	if (known)
		return;
	/* A part of which any piece is unknown is unknown as a whole. */
	e->n = n_before;
	if (t->unknown != NO_ID)
		encoding_add(e, t->unknown);
}
