/*
 * byte_level.h - the alphabet in which byte-level vocabularies are written: each byte is one
 * printable character, itself where it is printable and one from U+0100 on where it is not.
 *
 * Source: Radford 2019, the code of GPT-2, bytes_to_unicode.
 */
#ifndef VENTURI_TOKEN_BYTE_LEVEL_H
#define VENTURI_TOKEN_BYTE_LEVEL_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>

/*
 * The bytes that a key stands for.
 *
 * returns  false when it has a character that is not of the alphabet: no text can make it
 */
bool byte_level_read(struct str key, struct arena *run, struct str *ret_bytes) NODISCARD;

#endif
