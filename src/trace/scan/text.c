/*
 * The members of an object, and the text of a string: for dialects.
 */
#include "trace/scan/scan.h"

#include "text/json_scan.h"
#include "trace/scan/bytes_inline.h"

#include <string.h>

const char *scan_string_end(
        const struct scan_ops *ops, const char *p, const char *end, bool *ret_escaped)
{
	for (;;) {
		p = ops->quote(p, end);
		if (p == end)
			return NULL;
		if (*p == '"')
			return p;
		*ret_escaped = true;
		if (end - p < 2)
			return NULL;
		p += 2;
	}
}

/* Inside of the brackets of one kind; nothing when it is of another. */
static struct chrome_members inside_of(struct str text, char open)
{
	if (text.len == 0)
		return (struct chrome_members){ 0 };
	struct chrome_members m = { text.s, text.s + text.len };
	m.p = scan_blanks(m.p, m.end);
	if (m.p < m.end)
		m.p = *m.p == open ? m.p + 1 : m.end;
	return m;
}

struct chrome_members chrome_members_of(struct str object)
{
	return inside_of(object, '{');
}

struct chrome_elements chrome_elements_of(struct str array)
{
	struct chrome_members m = inside_of(array, '[');
	return (struct chrome_elements){ m.p, m.end };
}

static bool ends(struct chrome_members *m)
{
	m->p = m->end;
	return false;
}

/* The string whose opening quote is at p. */
static bool read_string(struct chrome_members *m, struct str *ret_text)
{
	const char *from = m->p + 1, *quote = quote_here(from, m->end);
	/* An escaped byte may be a quote. */
	while (quote < m->end && *quote == '\\')
		quote = m->end - quote > 2 ? quote_here(quote + 2, m->end) : m->end;
	if (quote == m->end)
		return ends(m);
	*ret_text = (struct str){ from, (size_t)(quote - from) };
	m->p = quote + 1;
	return true;
}

static bool read_brackets(struct chrome_members *m, struct str *ret_text)
{
	struct scan_skip skip = { 0 };
	const char *from = m->p, *after = scan_ops_best()->skip(&skip, from, m->end);
	if (!after)
		return ends(m);
	*ret_text = (struct str){ from, (size_t)(after - from) };
	m->p = after;
	return true;
}

static bool read_value(struct chrome_members *m, struct str *ret_value)
{
	if (m->p == m->end)
		return false;
	if (*m->p == '"')
		return read_string(m, ret_value);
	if (*m->p == '{' || *m->p == '[')
		return read_brackets(m, ret_value);
	const char *from = m->p;
	m->p = word_here(from, m->end);
	*ret_value = (struct str){ from, (size_t)(m->p - from) };
	return true;
}

static void skip_commas(struct chrome_members *m)
{
	while (m->p < m->end && ((unsigned char)*m->p <= ' ' || *m->p == ','))
		m->p++;
}

bool chrome_members_next(struct chrome_members *m, struct str *ret_key, struct str *ret_value)
{
	skip_commas(m);
	if (m->p == m->end || *m->p != '"' || !read_string(m, ret_key))
		return ends(m);
	m->p = scan_blanks(m->p, m->end);
	if (m->p == m->end || *m->p != ':')
		return ends(m);
	m->p = scan_blanks(m->p + 1, m->end);
	return read_value(m, ret_value);
}

bool chrome_elements_next(struct chrome_elements *elements, struct str *ret_value)
{
	struct chrome_members m = { elements->p, elements->end };
	skip_commas(&m);
	const char *from = m.p;
	bool ok = read_value(&m, ret_value) && ret_value->s + ret_value->len < m.end;
	/* At a closing bracket, or another byte that begins no value, nothing was read. */
	ok = ok && m.p > from;
	elements->p = ok ? m.p : m.end;
	return ok;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The unit behind "\u", -1 when it is none. */
static int32_t unit_at(struct str raw, size_t at)
{
	int32_t unit = 0;
	if (at + 6 > raw.len || raw.s[at] != '\\' || raw.s[at + 1] != 'u')
		return -1;
	for (size_t i = at + 2; i < at + 6; i++) {
		int digit = hex_digit(raw.s[i]);
		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

/* The escape at raw[at]: how long it is, 0 when JSON does not know it. */
static size_t escape_length(struct str raw, size_t at)
{
	if (at + 1 >= raw.len)
		return 0;
	if (memchr("\"\\/bfnrt", raw.s[at + 1], 8))
		return 2;
	int32_t unit = unit_at(raw, at);
	if (unit < 0)
		return 0;
	bool high = unit >= 0xD800 && unit < 0xDC00;
	int32_t low = high ? unit_at(raw, at + 6) : -1;
	return low >= 0xDC00 && low < 0xE000 ? 12 : 6;
}

struct str chrome_unescape(struct str raw, struct buf *tmp, struct timeline *t)
{
	if (!raw.len || !memchr(raw.s, '\\', raw.len))
		return raw;
	buf_clear(tmp);
	for (size_t i = 0; i < raw.len;) {
		const char *next = memchr(raw.s + i, '\\', raw.len - i);
		size_t plain = next ? (size_t)(next - raw.s) - i : raw.len - i;
		buf_add(tmp, (struct str){ raw.s + i, plain });
		i += plain;
		if (i == raw.len)
			break;
		size_t n = escape_length(raw, i);
		if (n == 0 || !json_unescape((struct str){ raw.s + i, n }, tmp)) {
			if (t)
				t->lost[LOST_BAD_ESCAPE]++;
			n = 1;
			buf_add_char(tmp, '\\');
		}
		i += n;
	}
	return buf_str(tmp);
}
