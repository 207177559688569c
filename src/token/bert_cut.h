/*
 * bert_cut.h - the words of a text as BERT's normalizer and pre-tokenizer cut them, in one walk.
 *
 * The same words as by the steps one after the other (normalize.h, pretokenize.h), which are still
 * what is asked where a character becomes several or may change places with its neighbours: from
 * the last border of words to the next space. What a character becomes is in a table for each
 * combination of steps, made when it is first wanted and then shared by all threads.
 */
#ifndef VENTURI_TOKEN_BERT_CUT_H
#define VENTURI_TOKEN_BERT_CUT_H

#include "base/str.h"
#include "token/normalize.h"
#include "token/pretokenize.h"

#include <stdbool.h>
#include <stdint.h>

struct encoding;
struct tokenizer;

/* By code point: what it is in the low bits (bert_cut.c), and above them what it becomes. */
typedef const uint32_t *bert_table;

/* NULL: the steps are not BERT's. */
bert_table bert_cut_table(const struct normalizer *n, const struct pretokenizer *p);

/* Encodes each word of a text by t->encode, until e is full. */
void bert_cut(const struct tokenizer *t, bert_table table, struct str text, struct encoding *e);

#endif
