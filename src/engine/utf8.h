/*
 * utf8.h - where one character of UTF-8 ends, for text that may be cut or broken.
 */
#ifndef VENTURI_ENGINE_UTF8_H
#define VENTURI_ENGINE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

enum {
	UTF8_CHAR_MAX = 4, /* bytes of a character */
	UTF8_BROKEN = 0,   /* no character begins like this */
	UTF8_CUT = -1,     /* the beginning of a character, whose rest is missing */
};

/* U+FFFD, what stands for bytes that are no character. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/*
 * The character at the start of s.
 *
 * n        bytes there are, at least 1
 * returns  its bytes, 1 to 4; UTF8_BROKEN; UTF8_CUT
 * source   Unicode 15, table 3-7: no surrogates, no overlong forms, nothing above U+10FFFF
 */
int utf8_char(const char *s, size_t n);

/* Whether it is UTF-8 from the first byte to the last. */
bool utf8_valid(const char *s, size_t n);

#endif
