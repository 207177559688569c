#include "report/layout.h"

#include "base/utf8.h"
#include "text/json.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

const char *layout_number(double value, char out[LAYOUT_NUMBER])
{
	if (isnan(value)) {
		strcpy(out, "-");
		return out;
	}
	double size = fabs(value);
	if (!(size < 1e15) || (size > 0 && size < 1e-6)) {
		snprintf(out, LAYOUT_NUMBER, "%.3e", value);
		return out;
	}
	int decimals = 0;
	if (size > 0 && size < 1000)
		decimals = 3 - (int)floor(log10(size));
	snprintf(out, LAYOUT_NUMBER, "%.*f", decimals, value);
	if (decimals > 0) {
		char *end = out + strlen(out);
		while (end[-1] == '0')
			*--end = '\0';
		if (end[-1] == '.')
			end[-1] = '\0';
	}
	return out;
}

const char *layout_quantity(double value, const char *unit, char out[LAYOUT_NUMBER])
{
	layout_number(value, out);
	if (!unit || strcmp(unit, "1") == 0 || strcmp(unit, "ratio") == 0)
		return out;
	size_t len = strlen(out);
	snprintf(out + len, LAYOUT_NUMBER - len, " %s", unit);
	return out;
}

static bool is_blank(uint32_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Controls of the C0 and C1 sets: a terminal would obey them. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

/* The text on one line: blanks become a space, and what no terminal should see becomes '?'. */
static void add_clean(struct buf *out, const char *text)
{
	struct str rest = str_of(text);
	while (rest.len > 0) {
		uint32_t c;
		size_t n = utf8_decode(rest, &c);
		if (is_blank(c))
			buf_add_char(out, ' ');
		else if (n == 0 || is_control(c))
			buf_add_char(out, '?');
		else
			buf_add(out, (struct str){ rest.s, n });
		n = n > 0 ? n : 1;
		rest = (struct str){ rest.s + n, rest.len - n };
	}
}

/* May this character not stand at the start of a line? */
static bool closes(struct str c)
{
	static const char *const marks[] = { ",", ".", ";", ":", "?", "!", ")", "%", "，", "。",
		"；", "：", "？", "！", "）", "、", "》", "」", "』", "”", "’", "…" };
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (str_eq(c, str_of(marks[i])))
			return true;
	return false;
}

/* May this character not stand at the end of a line? */
static bool opens(struct str c)
{
	static const char *const marks[] = { "（", "《", "「", "『", "“", "‘" };
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (str_eq(c, str_of(marks[i])))
			return true;
	return false;
}

static struct str first_char(struct str text)
{
	uint32_t c;
	return (struct str){ text.s, text.len > 0 ? utf8_decode(text, &c) : 0 };
}

/*
 * What may not be broken at the start of a clean text that starts with no space: a word, or one
 * wide character with the marks that hang on it.
 */
static struct str first_piece(struct str text)
{
	struct str piece = { text.s, 0 };
	bool wide = false, opened = false;
	while (piece.len < text.len && text.s[piece.len] != ' ') {
		struct str c = first_char((struct str){ text.s + piece.len, text.len - piece.len });
		bool c_wide = utf8_width(c) > 1;
		if (piece.len > 0 && !opened && !closes(c) && (wide || c_wide))
			break;
		wide = c_wide;
		opened = opens(c);
		piece.len += c.len;
	}
	return piece;
}

/* As much of a piece as fits into some columns, at least one character. */
static struct str head_that_fits(struct str piece, int columns)
{
	struct str head = first_char(piece);
	while (head.len < piece.len) {
		struct str c = first_char((struct str){ piece.s + head.len, piece.len - head.len });
		if (utf8_width((struct str){ head.s, head.len + c.len }) > columns)
			break;
		head.len += c.len;
	}
	return head;
}

void layout_wrap(struct buf *out, const char *text, int column, int indent)
{
	AUTO(auto_buf) struct buf clean = { 0 };
	add_clean(&clean, text);
	struct str rest = buf_str(&clean);
	bool at_start = true; /* of a line, so that no space is due */
	while (rest.len > 0) {
		size_t n_spaces = 0;
		while (n_spaces < rest.len && rest.s[n_spaces] == ' ')
			n_spaces++;
		rest.s += n_spaces;
		rest.len -= n_spaces;
		struct str piece = first_piece(rest);
		if (piece.len == 0)
			break;
		int space = n_spaces > 0 && !at_start;
		if (!at_start && column + space + utf8_width(piece) > LAYOUT_COLUMNS) {
			buf_add_char(out, '\n');
			buf_add_blanks(out, indent);
			column = indent;
			space = 0;
			at_start = true;
		}
		if (column + utf8_width(piece) > LAYOUT_COLUMNS)
			piece = head_that_fits(piece, LAYOUT_COLUMNS - column);
		buf_add_blanks(out, space);
		buf_add(out, piece);
		column += space + utf8_width(piece);
		at_start = false;
		rest.s += piece.len;
		rest.len -= piece.len;
	}
	buf_add_char(out, '\n');
}

/* An underscore inside a word is no mark of Markdown, and metric names are full of them. */
static bool is_mark(const struct buf *text, size_t i)
{
	bool inside = i > 0 && i + 1 < text->len && isalnum((unsigned char)text->s[i - 1]) &&
	              isalnum((unsigned char)text->s[i + 1]);
	return text->s[i] == '_' ? !inside : strchr("\\`*[]<|~&", text->s[i]) != NULL;
}

void layout_markdown(struct buf *out, const char *text)
{
	AUTO(auto_buf) struct buf clean = { 0 };
	add_clean(&clean, text);
	for (size_t i = 0; i < clean.len; i++) {
		if (is_mark(&clean, i))
			buf_add_char(out, '\\');
		buf_add_char(out, clean.s[i]);
	}
}

void layout_code(struct buf *out, const char *text)
{
	AUTO(auto_buf) struct buf clean = { 0 };
	add_clean(&clean, text);
	buf_add_char(out, '`');
	for (size_t i = 0; i < clean.len; i++)
		buf_add_char(out, clean.s[i] == '`' ? '\'' : clean.s[i]);
	buf_add_char(out, '`');
}

void fields_add(struct fields *f, const char *label, const char *fmt, ...)
{
	assert(f->n < FIELDS_MAX);
	AUTO(auto_buf) struct buf text = { 0 };
	va_list args;
	va_start(args, fmt);
	buf_vprintf(&text, fmt, args);
	va_end(args);
	f->labels[f->n] = label;
	f->texts[f->n++] = str_c(buf_str(&text), f->tmp);
}

void fields_add_present(struct fields *f, const char *label, const char *text)
{
	if (text)
		fields_add(f, label, "%s", text);
}

void fields_print(const struct fields *f, int indent, struct buf *out)
{
	int width = 0;
	for (int i = 0; i < f->n; i++)
		if (utf8_width(str_of(f->labels[i])) > width)
			width = utf8_width(str_of(f->labels[i]));
	int column = indent + width + 2;
	for (int i = 0; i < f->n; i++) {
		buf_add_blanks(out, indent);
		buf_add_c(out, f->labels[i]);
		buf_add_blanks(out, column - indent - utf8_width(str_of(f->labels[i])));
		layout_wrap(out, f->texts[i], column, column);
	}
}

void fields_markdown(const struct fields *f, struct buf *out)
{
	for (int i = 0; i < f->n; i++) {
		buf_printf(out, "- **%s**: ", f->labels[i]);
		layout_markdown(out, f->texts[i]);
		buf_add_char(out, '\n');
	}
}

void layout_json_target(struct json *j, const char *url, const char *api, const char *model,
        const struct fingerprint *fp)
{
	json_key(j, "target");
	json_object_open(j);
	json_put_string(j, "url", url);
	json_put_string(j, "api", api);
	json_put_string(j, "model", model);
	json_object_close(j);
	json_key(j, "fingerprint");
	json_object_open(j);
	for (size_t i = 0; i < fp->n; i++)
		json_put_string(j, fp->entries[i].name, fp->entries[i].value);
	json_object_close(j);
}
