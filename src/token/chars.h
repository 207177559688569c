/*
 * chars.h - what kind of character a code point is, as the tokenizers of others see it.
 *
 * Source: Unicode 14 by utf8proc; the kinds that BERT has of its own are from the code of BERT
 * (Devlin 2018).
 */
#ifndef VENTURI_TOKEN_CHARS_H
#define VENTURI_TOKEN_CHARS_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

typedef bool char_kind(uint32_t c);

bool char_is_space(uint32_t c);       /* White_Space */
bool char_is_number(uint32_t c);      /* Nd, Nl, No */
bool char_is_punctuation(uint32_t c); /* P, and all of ASCII that is neither letter nor digit */
bool char_is_word(uint32_t c);        /* a letter, a mark, a digit, a connector */
bool char_is_mark(uint32_t c);        /* Mn, Mc, Me */
bool char_is_nonspacing(uint32_t c);  /* Mn */
bool char_is_control(uint32_t c);     /* C but tab, line feed, carriage return */
bool char_is_chinese(uint32_t c);     /* the ideographs that BERT sets apart */

/* Appends the character in lower case, which is two characters for one of them. */
void char_add_lower(struct buf *out, uint32_t c);

enum char_form { CHAR_NFC, CHAR_NFD, CHAR_NFKC, CHAR_NFKD };

/*
 * Appends the text in a normal form; bytes that are no UTF-8 stay as they are, and separate.
 *
 * source   Unicode Standard Annex 15
 */
void char_normalize(struct buf *out, struct str text, enum char_form form);

#endif
