/*
 * utf8.h - characters of UTF-8 text, and how many columns of a terminal they take.
 *
 * Works on any bytes: what is not UTF-8 (overlong forms, surrogates, cut sequences) is met one
 * byte at a time.
 */
#ifndef VENTURI_BASE_UTF8_H
#define VENTURI_BASE_UTF8_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* U+FFFD, which stands for bytes that are no character. */
#define UTF8_UNKNOWN "\xef\xbf\xbd"

/*
 * The character at the start of text, which is not empty.
 *
 * ret_char  its code point; U+FFFD for a byte that begins no whole character
 * returns   its length in bytes; 0 for such a byte
 * source    Unicode, table 3-7
 */
size_t utf8_decode(struct str text, uint32_t *ret_char);

/* Appends a code point up to U+10FFFF that is no surrogate. */
void utf8_encode(struct buf *out, uint32_t c);

/*
 * Terminal columns of one character: 0 for control, combining and format characters, 2 for the
 * wide ones of East Asia and emoji, else 1. Ambiguous ones count as narrow.
 *
 * source  Unicode 14, EastAsianWidth.txt (W, F) and general categories Mn, Me, Cf
 */
int utf8_char_width(uint32_t c);

/*
 * Makes a text that came from outside safe to show: each byte of a control character other than
 * line feed and tab becomes '?', so that it can neither move the cursor nor rename the window.
 */
void utf8_defuse(char *text, size_t len);

/* Terminal columns of a text; a byte that is no UTF-8 takes one. */
int utf8_width(struct str text);

#endif
