#include "token/normalize.h"

#include "base/utf8.h"

/* Takes the character at the start of text; false for a byte that is none, which is appended. */
static bool take_char(struct str *text, struct buf *out, uint32_t *ret_char)
{
	size_t step = utf8_decode(*text, ret_char);
	bool whole = step > 0;
	if (!whole)
		buf_add_char(out, text->s[0]);
	text->s += whole ? step : 1;
	text->len -= whole ? step : 1;
	return whole;
}

static void lower(struct str text, struct buf *out)
{
	uint32_t c;
	while (text.len > 0)
		if (take_char(&text, out, &c))
			char_add_lower(out, c);
}

static void drop(struct str text, char_kind *kind, struct buf *out)
{
	uint32_t c;
	while (text.len > 0)
		if (take_char(&text, out, &c) && !kind(c))
			utf8_encode(out, c);
}

static void clean(struct str text, struct buf *out)
{
	uint32_t c;
	while (text.len > 0)
		if (take_char(&text, out, &c) && c != 0 && c != 0xFFFD && !char_is_control(c))
			utf8_encode(out, char_is_space(c) ? ' ' : c);
}

static void set_chinese_apart(struct str text, struct buf *out)
{
	uint32_t c;
	while (text.len > 0) {
		if (!take_char(&text, out, &c))
			continue;
		bool apart = char_is_chinese(c);
		if (apart)
			buf_add_char(out, ' ');
		utf8_encode(out, c);
		if (apart)
			buf_add_char(out, ' ');
	}
}

static bool nmt_drops(uint32_t c)
{
	return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
	       c == 0x8F || c == 0x9F;
}

static bool nmt_blanks(uint32_t c)
{
	return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
	       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
	       c == 0xFEFF || c == 0xFFFD;
}

static void clean_nmt(struct str text, struct buf *out)
{
	uint32_t c;
	while (text.len > 0)
		if (take_char(&text, out, &c) && !nmt_drops(c))
			utf8_encode(out, nmt_blanks(c) ? ' ' : c);
}

static void strip(struct str text, bool left, bool right, struct buf *out)
{
	size_t from = 0, to = 0;
	bool begun = !left;
	for (size_t i = 0; i < text.len;) {
		uint32_t c;
		size_t step = utf8_decode((struct str){ text.s + i, text.len - i }, &c);
		bool blank = step > 0 && char_is_space(c);
		i += step ? step : 1;
		if (!begun && blank)
			from = i;
		else
			begun = true;
		if (!blank || !right)
			to = i;
	}
	if (to > from)
		buf_add(out, (struct str){ text.s + from, to - from });
}

static void replace(
        const struct normalize_step *s, struct str text, struct match_scan *scan, struct buf *out)
{
	size_t done = 0, start, end;
	match_begin(scan, s->pattern, text);
	while (match_next(scan, &start, &end)) {
		buf_add(out, (struct str){ text.s + done, start - done });
		buf_add(out, s->content);
		done = end;
	}
	buf_add(out, (struct str){ text.s + done, text.len - done });
}

static void apply(
        const struct normalize_step *s, struct str text, struct match_scan *scan, struct buf *out)
{
	switch (s->kind) {
	case NORMALIZE_FORM:
		char_normalize(out, text, s->form);
		break;
	case NORMALIZE_LOWER:
		lower(text, out);
		break;
	case NORMALIZE_DROP:
		drop(text, s->drop, out);
		break;
	case NORMALIZE_STRIP:
		strip(text, s->left, s->right, out);
		break;
	case NORMALIZE_PREPEND:
		if (text.len > 0)
			buf_add(out, s->content);
		buf_add(out, text);
		break;
	case NORMALIZE_REPLACE:
		replace(s, text, scan, out);
		break;
	case NORMALIZE_CLEAN:
		clean(text, out);
		break;
	case NORMALIZE_CHINESE:
		set_chinese_apart(text, out);
		break;
	case NORMALIZE_NMT:
		clean_nmt(text, out);
		break;
	case NORMALIZE_CHARSMAP:
		charsmap_apply(&s->charsmap, text, out);
		break;
	}
}

struct str normalize(
        const struct normalizer *n, struct str text, struct match_scan *scan, struct buf room[2])
{
	for (size_t i = 0; i < n->n && text.len > 0; i++) {
		struct buf *out = &room[i % 2];
		buf_clear(out);
		apply(&n->steps[i], text, scan, out);
		text = buf_str(out);
	}
	return text;
}
