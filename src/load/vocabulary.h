/*
 * vocabulary.h - words of which each is one token, by the tokenizer of the model under test, so
 * that synthetic prompts have exactly as many tokens as they should.
 *
 * What a service adds itself, a token that begins the text or the frame of a chat, is not counted.
 */
#ifndef VENTURI_LOAD_VOCABULARY_H
#define VENTURI_LOAD_VOCABULARY_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

enum { VOCABULARY_WORDS_MIN = 16 };

struct tokenizer;

struct vocabulary {
	struct tokenizer *tokenizer; /* NULL: none was given */
	const struct str *words;     /* of lower-case letters, in the arena */
	size_t n;                    /* at most PROMPT_TEXT_WORDS_MAX */
};

/*
 * path     a GGUF file, with tensors or without, or a tokenizer.json
 * errors   ERR_INPUT also when too few of its tokens are words
 */
bool vocabulary_open(
        struct vocabulary *v, const char *path, struct arena *run, struct err *err) NODISCARD;
void vocabulary_close(struct vocabulary *v);

/* Tokens of a text, without one that begins it. */
int64_t vocabulary_count(const struct vocabulary *v, struct str text);

#endif
