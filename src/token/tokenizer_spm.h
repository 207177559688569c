/*
 * tokenizer_spm.h - what the detokenizer knows of the tokenizer and its users need not.
 */
#ifndef VENTURI_TOKEN_TOKENIZER_SPM_H
#define VENTURI_TOKEN_TOKENIZER_SPM_H

#include "token/tokenizer.h"

#include <stdbool.h>

/* Whether encoding puts a space before the text, which decoding takes away again. */
bool tokenizer_adds_space(const struct tokenizer *t);

#endif
