#include "engine/utf8.h"

/* What may begin a character, how long it is, and the narrower range of its second byte. */
struct lead {
	unsigned char first, last;
	unsigned char n;
	unsigned char second_min, second_max;
};

static const struct lead leads[] = {
	{ 0x00, 0x7F, 1, 0x80, 0xBF },
	{ 0xC2, 0xDF, 2, 0x80, 0xBF },
	{ 0xE0, 0xE0, 3, 0xA0, 0xBF },
	{ 0xE1, 0xEC, 3, 0x80, 0xBF },
	{ 0xED, 0xED, 3, 0x80, 0x9F },
	{ 0xEE, 0xEF, 3, 0x80, 0xBF },
	{ 0xF0, 0xF0, 4, 0x90, 0xBF },
	{ 0xF1, 0xF3, 4, 0x80, 0xBF },
	{ 0xF4, 0xF4, 4, 0x80, 0x8F },
};

static const struct lead *lead_of(unsigned char c)
{
	for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++)
		if (c >= leads[i].first && c <= leads[i].last)
			return &leads[i];
	return NULL;
}

int utf8_char(const char *s, size_t n)
{
	const struct lead *lead = lead_of((unsigned char)s[0]);
	if (!lead)
		return UTF8_BROKEN;
	for (size_t i = 1; i < lead->n; i++) {
		if (i == n)
			return UTF8_CUT;
		unsigned char c = (unsigned char)s[i];
		if (c < (i == 1 ? lead->second_min : 0x80) ||
		        c > (i == 1 ? lead->second_max : 0xBF))
			return UTF8_BROKEN;
	}
	return lead->n;
}

bool utf8_valid(const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		int step = utf8_char(s + i, n - i);
		if (step <= 0)
			return false;
		i += (size_t)step;
	}
	return true;
}
