/*
 * utf8.h - characters of UTF-8 text, and how many columns of a terminal they take.
 *
 * Works on any bytes: what is not UTF-8 (overlong forms, surrogates, cut sequences) is met one
 * byte at a time.
 */
#ifndef VENTURI_BASE_UTF8_H
#define VENTURI_BASE_UTF8_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/*
 * The code point at the start of text, which is not empty.
 *
 * ret_char  U+FFFD for a byte that begins no whole character
 * returns   its length in bytes; 0 for such a byte
 */
size_t utf8_decode(struct str text, uint32_t *ret_char);

/* Appends a code point up to U+10FFFF that is no surrogate. */
void utf8_encode(struct buf *out, uint32_t c);

/*
 * Terminal columns of one character: 0 for control, combining and format characters, 2 for the
 * wide ones of East Asia and emoji, else 1. Ambiguous ones and the soft hyphen count as narrow.
 *
 * source  Unicode 14, EastAsianWidth.txt (W, F) and general categories Mn, Me, Cf
 */
int utf8_char_width(uint32_t c);

/*
 * Makes a text that came from outside safe to show: each byte of a control character other than
 * line feed and tab becomes '?', so that it can neither move the cursor nor rename the window.
 */
void utf8_defuse(char *text, size_t len);

/*
 * Appends the text on one line, safe to show: blanks of any kind become a space, control characters
 * and bytes that are no UTF-8 a '?'.
 */
void utf8_add_line(struct buf *out, struct str text);

/* Terminal columns of a text; a byte that is no UTF-8 takes one. */
int utf8_width(struct str text);

#endif
