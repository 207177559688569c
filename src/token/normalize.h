/*
 * normalize.h - what a tokenizer changes in a text before it cuts it: normal forms, case, spaces.
 *
 * A list of steps, each of which turns one text into another. Read-only once made.
 *
 * Source: the normalizers of tokenizer.json (Hugging Face tokenizers); charsmap.h for those of
 * SentencePiece.
 */
#ifndef VENTURI_TOKEN_NORMALIZE_H
#define VENTURI_TOKEN_NORMALIZE_H

#include "base/str.h"
#include "token/chars.h"
#include "token/charsmap.h"
#include "token/match.h"

#include <stdbool.h>
#include <stddef.h>

enum { NORMALIZE_STEPS_MAX = 32 };

enum normalize_kind {
	NORMALIZE_FORM,
	NORMALIZE_LOWER,
	NORMALIZE_DROP,    /* characters of a kind */
	NORMALIZE_STRIP,   /* spaces at the ends */
	NORMALIZE_PREPEND, /* content, unless the text is empty */
	NORMALIZE_REPLACE, /* what the pattern matches by content */
	NORMALIZE_CLEAN,   /* BERT: no control characters, every space a blank */
	NORMALIZE_CHINESE, /* BERT: a blank on both sides of an ideograph */
	NORMALIZE_NMT,     /* likewise, as SentencePiece has it */
	NORMALIZE_CHARSMAP,
};

struct normalize_step {
	enum normalize_kind kind;
	enum char_form form;
	char_kind *drop;
	bool left, right;
	struct str content;
	const struct pattern *pattern;
	struct charsmap charsmap;
};

struct normalizer {
	struct normalize_step steps[NORMALIZE_STEPS_MAX];
	size_t n;
};

/*
 * The text after all steps.
 *
 * room     two buffers, one of which then holds the result unless the text itself is it
 */
struct str normalize(
        const struct normalizer *n, struct str text, struct match_scan *scan, struct buf room[2]);

#endif
