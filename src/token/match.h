/*
 * match.h - where in a text a pattern is: a regular expression, a literal text, or any character of
 * a kind. A compiled pattern is read-only and may be shared by threads; a scan belongs to one.
 *
 * Regular expressions are those of tokenizer.json, which are written for Oniguruma. PCRE2 matches
 * them; what it would understand otherwise is rewritten or refused. Letters and digits are those of
 * Unicode 14. Bytes that are no UTF-8 are matched by nothing and separate the text.
 *
 * Source: the manual of Oniguruma (doc/RE, its Ruby syntax), pcre2pattern(3).
 */
#ifndef VENTURI_TOKEN_MATCH_H
#define VENTURI_TOKEN_MATCH_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "token/chars.h"

#include <stdbool.h>
#include <stddef.h>

enum { MATCH_PATTERN_BYTES_MAX = 16384 };

struct pattern {
	char_kind *kind;    /* or */
	struct str literal; /* not empty; or */
	void *code;         /* of PCRE2 */
	struct pattern *next;
};

/*
 * errors   ERR_INPUT that says which expression is not understood
 * ret      in the arena, put in front of *list; pattern_release gives back what is not in there
 */
bool pattern_compile(struct str expression, struct arena *run, struct pattern **list,
        struct pattern **ret_pattern, struct err *err) NODISCARD;
struct pattern *pattern_of_literal(struct str literal, struct arena *run);
struct pattern *pattern_of_kind(char_kind *kind, struct arena *run);
void pattern_release(struct pattern *list);

/* One walk over one text. */
struct match_scan {
	const struct pattern *pattern;
	struct str text;
	void *data, *limits; /* of PCRE2, from text to text */
	size_t at;           /* where to look next */
	size_t from, until;  /* the whole characters around at */
	size_t last_end;     /* of the match before; text.len + 1: none */
};

void match_begin(struct match_scan *scan, const struct pattern *pattern, struct str text);
/* The next match, which may be empty; false when there are no more. */
bool match_next(struct match_scan *scan, size_t *ret_start, size_t *ret_end);
void match_release(struct match_scan *scan);

#endif
