/*
 * Numbers as the writers of traces print them.
 */
#include "trace/scan/chrome.h"

enum {
	MAX_DIGITS = 19,     /* that fit into 64 bits, once leading zeros are gone */
	MAX_EXPONENT = 1000, /* beyond it no digit counts */
	NS_DIGITS = 3,       /* digits behind the point of a microsecond */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A decimal: digits * 10^exponent, of which the first MAX_DIGITS digits are kept. */
struct decimal {
	uint64_t digits;
	int n_digits;
	int exponent;
	bool half_up; /* the first digit that was dropped is 5 or more */
	bool negative;
};

/* Takes a digit; false for one that there is no room for. */
static bool take_digit(struct decimal *d, char c)
{
	if (d->n_digits == 0 && c == '0')
		return true;
	if (d->n_digits == MAX_DIGITS) {
		d->half_up = c >= '5';
		d->n_digits++;
	}
	if (d->n_digits > MAX_DIGITS)
		return false;
	d->digits = d->digits * 10 + (uint64_t)(c - '0');
	d->n_digits++;
	return true;
}

/* "e-3"; the place behind it, NULL when it is none. */
static const char *read_exponent(const char *p, const char *end, struct decimal *d)
{
	if (p == end || (*p != 'e' && *p != 'E'))
		return p;
	p++;
	bool negative = p < end && *p == '-';
	if (p < end && (*p == '-' || *p == '+'))
		p++;
	if (p == end || !is_digit(*p))
		return NULL;
	int value = 0;
	for (; p < end && is_digit(*p); p++)
		if (value < MAX_EXPONENT)
			value = value * 10 + (*p - '0');
	d->exponent += negative ? -value : value;
	return p;
}

/* The whole of text as a decimal. */
static bool read_decimal(struct str text, struct decimal *d)
{
	const char *p = text.s, *end = p + text.len;
	*d = (struct decimal){ 0 };
	if (p < end && (*p == '-' || *p == '+'))
		d->negative = *p++ == '-';
	const char *digits = p;
	for (; p < end && is_digit(*p); p++)
		d->exponent += !take_digit(d, *p);
	int64_t n = p - digits;
	if (p < end && *p == '.') {
		for (p++; p < end && is_digit(*p); p++, n++)
			d->exponent -= take_digit(d, *p);
	}
	if (n == 0)
		return false;
	p = read_exponent(p, end, d);
	return p == end;
}

/* The decimal times 10^shift as a whole number, rounded half away from zero. */
static bool to_whole(const struct decimal *d, int shift, int64_t *ret_value)
{
	int exponent = d->exponent + shift;
	uint64_t v = d->digits;
	if (exponent == 0)
		v += d->half_up;
	for (; exponent < 0 && v; exponent++) {
		bool up = exponent == -1 && v % 10 >= 5;
		v = v / 10 + up;
	}
	for (; exponent > 0 && v; exponent--)
		if (__builtin_mul_overflow(v, 10u, &v))
			return false;
	if (v > INT64_MAX)
		return false;
	*ret_value = d->negative ? -(int64_t)v : (int64_t)v;
	return true;
}

/* The usual case: at most 16 digits, a point, at most three digits. */
static bool us_plain(struct str text, int64_t *ret_ns)
{
	enum { WHOLE_DIGITS = 16 };
	const char *p = text.s, *end = p + text.len;
	uint64_t v = 0;
	const char *from = p;
	while (p < end && is_digit(*p))
		v = v * 10 + (uint64_t)(*p++ - '0');
	if (p == from || p - from > WHOLE_DIGITS)
		return false;
	int missing = NS_DIGITS;
	if (p < end && *p == '.') {
		for (p++; p < end && is_digit(*p) && missing; missing--)
			v = v * 10 + (uint64_t)(*p++ - '0');
	}
	if (p != end)
		return false;
	static const uint64_t scale[NS_DIGITS + 1] = { 1, 10, 100, 1000 };
	v *= scale[missing];
	if (v > TRACE_MAX_TIME_NS)
		return false;
	*ret_ns = (int64_t)v;
	return true;
}

static bool starts_like(struct str text, const char *lower)
{
	for (size_t i = 0; lower[i]; i++)
		if (i >= text.len || (text.s[i] | 0x20) != lower[i])
			return false;
	return true;
}

static bool is_not_finite(struct str text)
{
	if (text.len && (text.s[0] == '-' || text.s[0] == '+'))
		text = (struct str){ text.s + 1, text.len - 1 };
	return starts_like(text, "nan") || starts_like(text, "inf");
}

enum loss chrome_us_to_ns(struct str text, int64_t *ret_ns)
{
	struct decimal d;
	if (text.s && us_plain(text, ret_ns))
		return N_LOSSES;
	text = text.s ? str_trim(text) : text;
	if (text.len == 0)
		return LOST_NO_TIME;
	if (!read_decimal(text, &d))
		return is_not_finite(text) ? LOST_NOT_FINITE : LOST_NO_TIME;
	int64_t ns;
	if (!to_whole(&d, NS_DIGITS, &ns) || ns > TRACE_MAX_TIME_NS || ns < -TRACE_MAX_TIME_NS)
		return LOST_TOO_LONG;
	*ret_ns = ns;
	return N_LOSSES;
}

bool chrome_whole(struct str text, int64_t *ret_value)
{
	enum { PLAIN_DIGITS = 18 };
	struct decimal d;
	if (text.len && text.len <= PLAIN_DIGITS) {
		int64_t v = 0;
		size_t i = 0;
		while (i < text.len && is_digit(text.s[i]))
			v = v * 10 + (text.s[i++] - '0');
		if (i == text.len) {
			*ret_value = v;
			return true;
		}
	}
	return text.s && read_decimal(text, &d) && to_whole(&d, 0, ret_value);
}
