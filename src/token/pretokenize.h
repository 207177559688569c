/*
 * pretokenize.h - cuts a text into the parts over whose borders no token reaches.
 *
 * A list of steps, each of which cuts the parts of the one before further, or puts a mark in front.
 * Read-only once made; a struct parts belongs to one thread and keeps its memory.
 *
 * Source: the pre-tokenizers of tokenizer.json (Hugging Face tokenizers).
 */
#ifndef VENTURI_TOKEN_PRETOKENIZE_H
#define VENTURI_TOKEN_PRETOKENIZE_H

#include "base/str.h"
#include "token/match.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PRETOKENIZE_STEPS_MAX = 32 };

enum pretokenize_kind {
	PRETOKENIZE_SPLIT,
	PRETOKENIZE_SPACE, /* a blank in front where there is none */
	PRETOKENIZE_MARK, /* blanks become content, which is also put in front as the scheme says */
};

/* What becomes of the places that a pattern matches. */
enum split_behavior {
	SPLIT_ISOLATED,
	SPLIT_REMOVED,
	SPLIT_CONTIGUOUS, /* one part of all that follow each other */
	SPLIT_WITH_PREVIOUS,
	SPLIT_WITH_NEXT,
};

enum mark_scheme { MARK_ALWAYS, MARK_FIRST, MARK_NEVER };

struct pretokenize_step {
	enum pretokenize_kind kind;
	const struct pattern *pattern;
	enum split_behavior behavior;
	bool invert; /* the places between the matches are meant */
	enum mark_scheme scheme;
	struct str content;
};

struct pretokenizer {
	struct pretokenize_step steps[PRETOKENIZE_STEPS_MAX];
	size_t n;
};

struct part {
	uint32_t start, len;
	bool first; /* at the very start of the text */
	bool is_match;
};

struct part_list {
	struct part *v;
	size_t n, cap;
};

struct parts {
	struct buf text, other_text;
	struct part_list list; /* the result: places in text */
	struct part_list other, segments;
};

/*
 * at_start  the text stands at the start of all of it
 */
void pretokenize(const struct pretokenizer *p, struct str text, bool at_start,
        struct match_scan *scan, struct parts *parts);
void parts_release(struct parts *parts);

#endif
