/*
 * charsmap.h - the table by which SentencePiece replaces characters, as a model carries it along.
 *
 * The table is not trusted: its trie is walked inside its bounds only.
 *
 * Source: SentencePiece, the precompiled charsmap: the bytes of a double array of Darts-clone, and
 * the replacements, each ended by a NUL; Yata 2012 for the units of the array.
 */
#ifndef VENTURI_TOKEN_CHARSMAP_H
#define VENTURI_TOKEN_CHARSMAP_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct charsmap {
	const uint32_t *units;
	size_t n_units;
	struct str replacements;
};

/* errors   ERR_INPUT for what is no base64 or no table */
bool charsmap_read(
        struct charsmap *map, struct str base64, struct arena *run, struct err *err) NODISCARD;

/*
 * Appends the text with its characters replaced: a user-perceived character as a whole where the
 * table has it, otherwise code point by code point, as Hugging Face's tokenizers do it.
 */
void charsmap_apply(const struct charsmap *map, struct str text, struct buf *out);

#endif
