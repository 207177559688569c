#include "token/internal.h"

#include <assert.h>

bool frame_add(struct frame *f, int32_t id, int32_t type)
{
	if (f->n == N_FRAME_MAX)
		return false;
	f->types[f->n] = type;
	f->ids[f->n++] = id;
	return true;
}

void framing_bert(struct tokenizer *t, int32_t cls, int32_t sep)
{
	const struct frame cls_0 = { { cls }, { 0 }, 1 }, sep_0 = { { sep }, { 0 }, 1 };
	const struct frame sep_1 = { { sep }, { 1 }, 1 };
	t->one = (struct framing){ .before = cls_0, .after = sep_0 };
	t->two = (struct framing){ cls_0, sep_0, sep_1, .type_b = 1 };
}

/* How many tokens of each text are kept. */
struct kept {
	int a, b;
};

/*
 * Of the longer text first, and when both are too long about as much of each.
 *
 * source   "longest_first" of Hugging Face's tokenizers
 */
static struct kept keep(int a, int b, int room)
{
	int less = a < b ? a : b, more = a < b ? b : a;
	if (less + more > room) {
		int left = room - less > less ? room - less : less;
		more = less > room ? less : left;
		if (less + more > room) {
			less = room / 2;
			more = less + room % 2;
		}
	}
	return a <= b ? (struct kept){ less, more } : (struct kept){ more, less };
}

/* Where the tokens go that a caller has room for. */
struct out {
	int32_t *ids, *types;
	int n, max;
};

static void put(struct out *out, const int32_t *ids, int n, const int32_t *types, int32_t type)
{
	for (int i = 0; i < n && out->n < out->max; i++, out->n++) {
		out->ids[out->n] = ids[i];
		if (out->types)
			out->types[out->n] = types ? types[i] : type;
	}
}

static void put_frame(struct out *out, const struct frame *f)
{
	put(out, f->ids, f->n, f->types, 0);
}

/* Encodes what is counted of a text; returns how many tokens came. */
static int count(
        const struct tokenizer *t, struct str text, unsigned flags, int room, struct encoding *e)
{
	size_t before = e->n;
	e->n_max = before + (size_t)room + 1;
	tokenizer_encode_into(t, text, flags & TOKENIZER_SPECIAL, e);
	size_t n = e->n - before;
	/* What was counted beyond is not needed, but that there was something is. */
	if (n > (size_t)room + 1)
		n = (size_t)room + 1;
	e->n = before + n;
	return (int)n;
}

struct tokenizer_framed tokenizer_frame(const struct tokenizer *t, struct encoding *e, struct str a,
        const struct str *b, unsigned flags, int max, int32_t *ids, int32_t *types)
{
	const struct framing *f = b ? &t->two : &t->one;
	struct out out = { ids, types, 0, max };
	int room = max - f->before.n - f->between.n - f->after.n;
	assert(a.len <= TOKENIZER_TEXT_BYTES_MAX && (!b || b->len <= TOKENIZER_TEXT_BYTES_MAX));
	if (room < 0)
		room = 0;
	e->n = 0;
	int n_a = count(t, a, flags, room, e);
	int n_b = b ? count(t, *b, flags, room, e) : 0;
	struct kept kept = keep(n_a, n_b, room);
	put_frame(&out, &f->before);
	put(&out, e->ids, kept.a, NULL, f->type_a);
	put_frame(&out, &f->between);
	if (kept.b > 0)
		put(&out, e->ids + n_a, kept.b, NULL, f->type_b);
	put_frame(&out, &f->after);
	e->n_max = 0;
	encoding_trim(e);
	return (struct tokenizer_framed){ out.n, kept.a < n_a || kept.b < n_b };
}
