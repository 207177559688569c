#include "trace/input/number_text.h"

#include <math.h>
#include <string.h>

enum { NUMBER_BYTES_MAX = 60, GROUP_DIGITS = 3 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_mark(char c)
{
	return c == '.' || c == ',';
}

/* What separates thousands besides the two marks: an apostrophe, a blank. */
static bool is_spacer(char c)
{
	return c == '\'' || c == ' ';
}

/* Whether the text has the form of a number: a sign, digits, marks, an exponent. */
static bool is_number(struct str text)
{
	size_t i = 0;
	if (text.len == 0 || text.len > NUMBER_BYTES_MAX)
		return false;
	if (text.s[0] == '-' || text.s[0] == '+')
		i = 1;
	if (i == text.len || !is_digit(text.s[i]))
		return false;
	for (; i < text.len; i++) {
		char c = text.s[i];
		bool inside = i + 1 < text.len;
		if ((c == 'e' || c == 'E') && inside)
			i += text.s[i + 1] == '+' || text.s[i + 1] == '-';
		else if (!is_digit(c) && !((is_mark(c) || is_spacer(c)) && inside))
			return false;
	}
	return true;
}

static char other_mark(char mark)
{
	return mark == '.' ? ',' : '.';
}

/* Digits from the text's end back to the mark at last. */
static size_t digits_behind(struct str text, size_t at)
{
	size_t n = 0;
	while (at + 1 + n < text.len && is_digit(text.s[at + 1 + n]))
		n++;
	return n;
}

int number_text_vote(struct str text)
{
	size_t n[2] = { 0, 0 }, last = 0;
	if (!is_number(text))
		return 0;
	for (size_t i = 0; i < text.len; i++) {
		if (!is_mark(text.s[i]))
			continue;
		n[text.s[i] == ',']++;
		last = i;
	}
	if (n[0] + n[1] == 0)
		return 0;
	bool fraction; /* whether the last mark stands before the fraction */
	if (n[0] && n[1])
		fraction = true;
	else if (n[0] + n[1] > 1)
		fraction = false;
	else if (digits_behind(text, last) != GROUP_DIGITS || text.s[0] == '0' ||
	         last > GROUP_DIGITS)
		fraction = true;
	else
		return 0;
	return (text.s[last] == '.') == fraction ? 1 : -1;
}

double number_text_read(struct str text, char mark, struct arena *tmp, struct str *ret_plain)
{
	*ret_plain = text;
	if (!is_number(text))
		return NAN;
	char *plain = arena_alloc(tmp, text.len + 1);
	size_t n = 0;
	for (size_t i = 0; i < text.len; i++)
		if (text.s[i] != other_mark(mark) && !is_spacer(text.s[i]))
			plain[n++] = text.s[i] == mark ? '.' : text.s[i];
	double value;
	if (!str_to_double((struct str){ plain, n }, &value) || !isfinite(value))
		return NAN;
	*ret_plain = (struct str){ plain, n };
	return value;
}
