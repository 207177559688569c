/*
 * framing.h - what stands around one text, or around and between two: "[CLS] a [SEP] b [SEP]".
 *
 * Source: the post-processors of tokenizer.json (Hugging Face tokenizers).
 */
#ifndef VENTURI_TOKEN_FRAMING_H
#define VENTURI_TOKEN_FRAMING_H

#include <stdbool.h>
#include <stdint.h>

enum { N_FRAME_MAX = 16 };

struct frame {
	int32_t ids[N_FRAME_MAX], types[N_FRAME_MAX];
	int n;
};

/* False: it is full. */
bool frame_add(struct frame *f, int32_t id, int32_t type);

struct framing {
	struct frame before, between, after; /* between: of two texts */
	int32_t type_a, type_b;              /* of the texts' own tokens */
};

struct tokenizer;

/* As BERT has it: "[CLS] a [SEP]", and of a pair "[CLS] a [SEP] b [SEP]" with the type 1 for b. */
void framing_bert(struct tokenizer *t, int32_t cls, int32_t sep);

#endif
