#include "base/wrap.h"

#include "base/attr.h"
#include "base/utf8.h"

/* What may not stand at the start of a line, and what may not at its end. */
static const uint32_t closing[] = { ',', '.', ';', ':', '?', '!', ')', '%', 0xff0c, 0x3002, 0xff1b,
	0xff1a, 0xff1f, 0xff01, 0xff09, 0x3001, 0x300b, 0x300d, 0x300f, 0x3011, 0x201d, 0x2019,
	0x2026 };
static const uint32_t opening[] = { 0xff08, 0x300a, 0x300c, 0x300e, 0x3010, 0x201c, 0x2018 };

static bool is_one_of(uint32_t c, const uint32_t *marks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (marks[i] == c)
			return true;
	return false;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct str without(struct str text, size_t n)
{
	return (struct str){ text.s + n, text.len - n };
}

/* The bytes of the first character; broken ones are met one at a time. */
static size_t first_char(struct str text, uint32_t *ret_char)
{
	size_t n = utf8_decode(text, ret_char);
	return n ? n : 1;
}

/* Neither is a blank between a number and its percent sign a place to break, nor one between "<"
 * and its number. */
static bool is_in_percentage(struct str text, size_t i)
{
	if (text.s[i] == ' ' && i > 0 && text.s[i - 1] == '<' && i + 1 < text.len &&
	        text.s[i + 1] >= '0' && text.s[i + 1] <= '9')
		return true;
	return text.s[i] == ' ' && i > 0 && text.s[i - 1] >= '0' && text.s[i - 1] <= '9' &&
	       i + 1 < text.len && text.s[i + 1] == '%';
}

/*
 * What may not be broken at the start of a text that starts with no blank: a word, or one wide
 * character with the marks that hang on it.
 */
static struct str first_piece(struct str text)
{
	struct str piece = { text.s, 0 };
	bool after_wide = false, after_opening = false;
	while (piece.len < text.len &&
	        (!is_blank(text.s[piece.len]) || is_in_percentage(text, piece.len))) {
		uint32_t c;
		size_t n = first_char(without(text, piece.len), &c);
		bool wide = utf8_char_width(c) > 1;
		bool hangs = after_opening || is_one_of(c, closing, ARRAY_LEN(closing)) ||
		             utf8_char_width(c) == 0;
		if (piece.len > 0 && !hangs && (wide || after_wide))
			break;
		after_wide = wide;
		after_opening = is_one_of(c, opening, ARRAY_LEN(opening));
		piece.len += n;
	}
	return piece;
}

/* As much of a piece as fits into some columns, at least one character. */
static struct str head_that_fits(struct str piece, int columns)
{
	struct str head = { piece.s, 0 };
	for (int width = 0; head.len < piece.len;) {
		uint32_t c;
		size_t n = first_char(without(piece, head.len), &c);
		width += utf8_char_width(c);
		if (head.len > 0 && width > columns)
			break;
		head.len += n;
	}
	return head;
}

void wrap_text(struct buf *out, struct str text, int column, int indent, int columns)
{
	bool at_start = true; /* of a line, so that no blank is due */
	for (;;) {
		size_t n_blanks = 0;
		while (n_blanks < text.len && is_blank(text.s[n_blanks]))
			n_blanks++;
		text = without(text, n_blanks);
		if (text.len == 0)
			break;
		struct str piece = first_piece(text);
		int gap = n_blanks > 0 && !at_start;
		if (!at_start && column + gap + utf8_width(piece) > columns) {
			buf_add_char(out, '\n');
			buf_add_blanks(out, indent);
			column = indent;
			gap = 0;
		}
		if (column + gap + utf8_width(piece) > columns)
			piece = head_that_fits(piece, columns - column - gap);
		buf_add_blanks(out, gap);
		buf_add(out, piece);
		column += gap + utf8_width(piece);
		at_start = false;
		text = without(text, piece.len);
	}
	buf_add_char(out, '\n');
}
