#include "text/json_scan.h"

#include "base/utf8.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

struct json_scan json_scan_of(struct str text)
{
	const char *start = text.s ? text.s : "";
	return (struct json_scan){ .p = start, .end = start + text.len };
}

static bool fail(struct json_scan *s)
{
	s->failed = true;
	s->p = s->end;
	return false;
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The next byte that is no blank, or 0 at the end; the scanner then stands on it. */
static inline char peek(struct json_scan *s)
{
	for (; s->p < s->end; s->p++) {
		char c = *s->p;
		if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
			return c;
	}
	return '\0';
}

/* The high bit of every byte of word that is c; above the lowest such byte there may be false ones.
 */
static inline uint64_t bytes_equal(uint64_t word, unsigned char c)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t x = word ^ (ones * c);
	return (x - ones) & ~x & (ones << 7);
}

/* The next quote or backslash, or end. Strings are most of what is read, so many bytes a step. */
static inline const char *find_quote_or_escape(const char *p, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\');
	for (; end - p >= 16; p += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)p);
		unsigned hits = (unsigned)_mm_movemask_epi8(
		        _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, escape)));
		if (hits)
			return p + __builtin_ctz(hits);
	}
#endif
	for (; end - p >= 8; p += 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		word = le64toh(word);
		uint64_t hits = bytes_equal(word, '"') | bytes_equal(word, '\\');
		if (hits)
			return p + (__builtin_ctzll(hits) >> 3);
	}
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}

static inline const char *string_end(const char *p, const char *end)
{
	for (;;) {
		p = find_quote_or_escape(p, end);
		if (p < end && *p == '"')
			return p;
		if (end - p < 2)
			return NULL;
		p += 2;
	}
}

const char *json_string_end(const char *p, const char *end)
{
	return string_end(p, end);
}

static inline const char *digits_end(const char *p, const char *end)
{
	while (p < end && is_digit(*p))
		p++;
	return p;
}

/* Behind the number that starts at p; NULL when none does. */
static const char *number_end(const char *p, const char *end)
{
	if (p < end && *p == '-')
		p++;
	const char *start = p;
	p = digits_end(p, end);
	if (p == start || (*start == '0' && p - start > 1))
		return NULL;
	if (p < end && *p == '.') {
		start = ++p;
		p = digits_end(p, end);
		if (p == start)
			return NULL;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		start = p;
		p = digits_end(p, end);
		if (p == start)
			return NULL;
	}
	return p;
}

enum json_scan_type json_scan_type(struct json_scan *s)
{
	char c = peek(s);
	switch (c) {
	case '{':
		return JSON_SCAN_OBJECT;
	case '[':
		return JSON_SCAN_ARRAY;
	case '"':
		return JSON_SCAN_STRING;
	case 't':
		return JSON_SCAN_TRUE;
	case 'f':
		return JSON_SCAN_FALSE;
	case 'n':
		return JSON_SCAN_NULL;
	default:
		return c == '-' || is_digit(c) ? JSON_SCAN_NUMBER : JSON_SCAN_NONE;
	}
}

static bool enter(struct json_scan *s, char bracket)
{
	if (peek(s) != bracket)
		return false;
	s->p++;
	s->first = true;
	return true;
}

bool json_scan_object(struct json_scan *s)
{
	return enter(s, '{');
}

bool json_scan_array(struct json_scan *s)
{
	return enter(s, '[');
}

/* Over the comma to the next item; false behind the closing bracket, or on failure. */
static inline bool next_item(struct json_scan *s, char closing)
{
	char c = peek(s);
	bool first = s->first;
	s->first = false;
	if (c == closing) {
		s->p++;
		return false;
	}
	if (first)
		return c != '\0' || fail(s);
	if (c != ',')
		return fail(s);
	s->p++;
	return true;
}

static inline bool read_string(struct json_scan *s, struct str *ret_raw)
{
	if (peek(s) != '"')
		return false;
	const char *start = s->p + 1;
	const char *close = string_end(start, s->end);
	if (!close)
		return fail(s);
	*ret_raw = (struct str){ start, (size_t)(close - start) };
	s->p = close + 1;
	return true;
}

bool json_scan_string(struct json_scan *s, struct str *ret_raw)
{
	return read_string(s, ret_raw);
}

bool json_scan_key(struct json_scan *s, struct str *ret_key)
{
	if (!next_item(s, '}'))
		return false;
	return (read_string(s, ret_key) && peek(s) == ':' && s->p++) || fail(s);
}

bool json_scan_element(struct json_scan *s)
{
	return next_item(s, ']');
}

/* A number as an integer times a power of ten. */
struct decimal {
	bool negative;
	uint64_t digits;
	int exponent;
};

/* False when the digits or the exponent are too many to be kept. */
static bool read_decimal(const char *p, const char *end, struct decimal *ret)
{
	struct decimal d = { .negative = *p == '-' };
	int exponent = 0, sign = 1;
	bool in_fraction = false;
	for (p += d.negative; p < end && *p != 'e' && *p != 'E'; p++) {
		if (*p == '.') {
			in_fraction = true;
			continue;
		}
		if (d.digits > (UINT64_MAX - 9) / 10)
			return false;
		d.digits = d.digits * 10 + (uint64_t)(*p - '0');
		d.exponent -= in_fraction;
	}
	if (p < end && (p[1] == '-' || p[1] == '+')) {
		sign = p[1] == '-' ? -1 : 1;
		p++;
	}
	while (++p < end) {
		if (exponent > 1000)
			return false;
		exponent = exponent * 10 + (*p - '0');
	}
	d.exponent += sign * exponent;
	*ret = d;
	return true;
}

static bool to_double_slowly(const char *p, const char *end, double *ret)
{
	char text[JSON_SCAN_NUMBER_MAX + 1], *rest;
	size_t n = (size_t)(end - p);
	if (n > JSON_SCAN_NUMBER_MAX)
		return false;
	memcpy(text, p, n);
	text[n] = '\0';
	*ret = strtod(text, &rest);
	return *rest == '\0' && isfinite(*ret);
}

/*
 * Exact where both the digits and the power of ten are exact doubles, since IEEE rounds one
 * operation correctly. Source: Clinger 1990, How to read floating point numbers accurately.
 */
static bool to_double(const char *p, const char *end, double *ret)
{
	static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
		1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	const int largest = (int)ARRAY_LEN(powers) - 1;
	struct decimal d;
	if (!read_decimal(p, end, &d) || d.digits > (UINT64_C(1) << 53) || d.exponent > largest ||
	        d.exponent < -largest)
		return to_double_slowly(p, end, ret);
	double value = (double)d.digits;
	value = d.exponent < 0 ? value / powers[-d.exponent] : value * powers[d.exponent];
	*ret = d.negative ? -value : value;
	return true;
}

static bool to_int(const char *p, const char *end, int64_t *ret)
{
	struct decimal d;
	if (!read_decimal(p, end, &d))
		return false;
	for (; d.exponent < 0 && d.digits; d.exponent++) {
		if (d.digits % 10)
			return false;
		d.digits /= 10;
	}
	for (; d.exponent > 0 && d.digits; d.exponent--)
		if (__builtin_mul_overflow(d.digits, UINT64_C(10), &d.digits))
			return false;
	if (d.digits > (uint64_t)INT64_MAX + d.negative)
		return false;
	*ret = d.negative ? (int64_t)(0 - d.digits) : (int64_t)d.digits;
	return true;
}

/* Behind the number that the scanner stands before; NULL when it is no number. */
static const char *find_number(struct json_scan *s)
{
	if (json_scan_type(s) != JSON_SCAN_NUMBER)
		return NULL;
	const char *end = number_end(s->p, s->end);
	if (!end)
		fail(s);
	return end;
}

bool json_scan_double(struct json_scan *s, double *ret_value)
{
	const char *end = find_number(s);
	if (!end || !to_double(s->p, end, ret_value))
		return false;
	s->p = end;
	return true;
}

bool json_scan_int(struct json_scan *s, int64_t *ret_value)
{
	const char *end = find_number(s);
	if (!end || !to_int(s->p, end, ret_value))
		return false;
	s->p = end;
	return true;
}

static bool skip_word(struct json_scan *s, struct str word)
{
	if (!str_starts((struct str){ s->p, (size_t)(s->end - s->p) }, word))
		return fail(s);
	s->p += word.len;
	return true;
}

bool json_scan_bool(struct json_scan *s, bool *ret_value)
{
	char c = peek(s);
	if (c != 't' && c != 'f')
		return false;
	if (!skip_word(s, c == 't' ? STR("true") : STR("false")))
		return false;
	*ret_value = c == 't';
	return true;
}

/* Any value but an object or array. */
static bool skip_scalar(struct json_scan *s)
{
	struct str text;
	const char *end;
	switch (json_scan_type(s)) {
	case JSON_SCAN_STRING:
		return json_scan_string(s, &text);
	case JSON_SCAN_NUMBER:
		end = number_end(s->p, s->end);
		if (!end)
			return fail(s);
		s->p = end;
		return true;
	case JSON_SCAN_TRUE:
		return skip_word(s, STR("true"));
	case JSON_SCAN_FALSE:
		return skip_word(s, STR("false"));
	case JSON_SCAN_NULL:
		return skip_word(s, STR("null"));
	default:
		return fail(s);
	}
}

/* What is open around the value that is being skipped: one bit a level, 1 for an object. */
struct levels {
	uint64_t objects[JSON_SCAN_DEPTH / 64];
	int depth;
};

static bool push(struct levels *l, bool object)
{
	if (l->depth == JSON_SCAN_DEPTH)
		return false;
	uint64_t bit = UINT64_C(1) << (l->depth % 64);
	uint64_t *word = &l->objects[l->depth / 64];
	*word = object ? *word | bit : *word & ~bit;
	l->depth++;
	return true;
}

static bool in_object(const struct levels *l)
{
	int top = l->depth - 1;
	return l->objects[top / 64] >> (top % 64) & 1;
}

static bool next_value(struct json_scan *s, const struct levels *l)
{
	struct str key;
	return in_object(l) ? json_scan_key(s, &key) : json_scan_element(s);
}

static void skip_nested(struct json_scan *s)
{
	struct levels l = { 0 };
	do {
		bool object = json_scan_object(s);
		if (object || json_scan_array(s)) {
			if (!push(&l, object)) {
				fail(s);
				return;
			}
		} else if (!skip_scalar(s)) {
			return;
		}
		while (l.depth > 0 && !next_value(s, &l)) {
			if (s->failed)
				return;
			l.depth--;
		}
	} while (l.depth > 0);
}

void json_scan_skip(struct json_scan *s)
{
	char c = peek(s);
	struct str text;
	if (c == '"')
		read_string(s, &text);
	else if (c == '{' || c == '[')
		skip_nested(s);
	else
		skip_scalar(s);
}

struct str json_scan_raw(struct json_scan *s)
{
	peek(s);
	const char *start = s->p;
	json_scan_skip(s);
	return (struct str){ start, s->failed ? 0 : (size_t)(s->p - start) };
}

bool json_scan_ended(struct json_scan *s)
{
	peek(s);
	return !s->failed && s->p == s->end;
}

/* The value of the four hex digits that text starts with, or -1. */
static int32_t hex4(struct str text)
{
	int32_t value = 0;
	if (text.len < 4)
		return -1;
	for (size_t i = 0; i < 4; i++) {
		char c = text.s[i], lower = c | 0x20;
		if (is_digit(c))
			value = value * 16 + (c - '0');
		else if (lower >= 'a' && lower <= 'f')
			value = value * 16 + (lower - 'a' + 10);
		else
			return -1;
	}
	return value;
}

/* What stands behind "\u"; *ret_len becomes the bytes read, 4 or for a surrogate pair 10. */
static bool read_unicode(struct str text, uint32_t *ret_char, size_t *ret_len)
{
	int32_t high = hex4(text);
	*ret_len = 4;
	if (high < 0 || (high >= 0xdc00 && high <= 0xdfff))
		return false;
	*ret_char = (uint32_t)high;
	if (high < 0xd800 || high > 0xdbff)
		return true;
	if (text.len < 10 || text.s[4] != '\\' || text.s[5] != 'u')
		return false;
	int32_t low = hex4((struct str){ text.s + 6, text.len - 6 });
	*ret_len = 10;
	*ret_char = 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
	return low >= 0xdc00 && low <= 0xdfff;
}

/* The escape that text starts with, behind its backslash; returns its bytes, 0 when it is wrong. */
static size_t add_unescaped(struct str text, struct buf *out)
{
	static const char plain[] = { ['"'] = '"',
		['\\'] = '\\',
		['/'] = '/',
		['b'] = '\b',
		['f'] = '\f',
		['n'] = '\n',
		['r'] = '\r',
		['t'] = '\t' };
	unsigned char c = text.len ? (unsigned char)text.s[0] : 0;
	uint32_t unicode;
	size_t len;
	if (c < sizeof(plain) && plain[c]) {
		buf_add_char(out, plain[c]);
		return 1;
	}
	if (c != 'u' || !read_unicode((struct str){ text.s + 1, text.len - 1 }, &unicode, &len))
		return 0;
	utf8_encode(out, unicode);
	return 1 + len;
}

bool json_unescape(struct str raw, struct buf *out)
{
	size_t before = out->len;
	buf_reserve(out, raw.len);
	while (raw.len) {
		struct str rest;
		struct str plain = str_cut(raw, '\\', &rest);
		buf_add(out, plain);
		if (plain.len == raw.len)
			break;
		size_t used = add_unescaped(rest, out);
		if (used == 0) {
			out->len = before;
			out->s[before] = '\0';
			return false;
		}
		raw = (struct str){ rest.s + used, rest.len - used };
	}
	return true;
}
