/*
 * chunks.h - streams as services send them, written from a table of words: what the benchmarks read
 * and send in place of recorded traffic, which nobody could check into a repository.
 */
#ifndef VENTURI_BENCH_CHUNKS_H
#define VENTURI_BENCH_CHUNKS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum chunks_kind {
	CHUNKS_VLLM,   /* vLLM's: about 210 bytes */
	CHUNKS_VLLM_USAGE, /* the same with its continuous usage: about 290 bytes */
	CHUNKS_OPENAI, /* api.openai.com's, whose padding differs in each event: about 330 bytes */
};

/* The text of token i as it stands inside a JSON string: words, commas, escapes, some beyond ASCII.
 */
struct str chunks_word(int64_t i);

/* The event of token i of stream number id, its empty line included. */
void chunks_token(struct buf *out, enum chunks_kind kind, int64_t id, int64_t i);

/* The events behind the last token: finish reason, usage, [DONE]. */
void chunks_end(struct buf *out, enum chunks_kind kind, int64_t id, int64_t n_tokens);

#endif
