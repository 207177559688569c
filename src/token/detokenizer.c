#include "token/internal.h"

void detokenizer_init(struct detokenizer *d, const struct tokenizer *t, bool at_start)
{
	*d = (struct detokenizer){
		.tokenizer = t,
		.at_start = at_start && t->adds_space,
	};
}

/* Takes one byte; afterwards what is pending is the beginning of a character, or nothing. */
static void add_byte(struct detokenizer *d, char byte, struct buf *out)
{
	d->pending[d->n_pending++] = byte;
	int step = utf8_char(d->pending, (size_t)d->n_pending);
	if (step == UTF8_CUT)
		return;
	if (step != UTF8_BROKEN) {
		buf_add(out, (struct str){ d->pending, (size_t)step });
		d->n_pending = 0;
		return;
	}
	/* Without its last byte it could still have become one; that byte may begin another. */
	bool again = d->n_pending > 1;
	buf_add_c(out, UTF8_REPLACEMENT);
	d->n_pending = 0;
	if (again)
		add_byte(d, byte, out);
}

void detokenizer_add(struct detokenizer *d, int32_t id, struct buf *out)
{
	struct str piece = tokenizer_piece(d->tokenizer, id);
	if (piece.len == 0)
		return;
	if (d->at_start && piece.s[0] == ' ') {
		piece.s++;
		piece.len--;
	}
	d->at_start = false;
	for (size_t i = 0; i < piece.len; i++)
		add_byte(d, piece.s[i], out);
}

void detokenizer_end(struct detokenizer *d, struct buf *out)
{
	if (d->n_pending > 0)
		buf_add_c(out, UTF8_REPLACEMENT);
	d->n_pending = 0;
}
