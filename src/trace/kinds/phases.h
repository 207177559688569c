/*
 * phases.h - whether a step of a serving engine reads prompts or writes tokens, by its name.
 *
 * Source: the names that vLLM ("execute_context_1(888)_generation_32(32)",
 * "execute_new_2_cached_30"), SGLang ("step[DECODE bs=32]", "step[EXTEND bs=15 toks=15360]"), its
 * variant with sums of lengths ("..._context_15(sq15360sk15360...)_generation_0(sq0sk0...)"), and
 * programs that say "prefill" or "decode" give to their ranges.
 */
#ifndef VENTURI_TRACE_PHASES_H
#define VENTURI_TRACE_PHASES_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum phase {
	PHASE_NONE,
	PHASE_PREFILL, /* prompts only */
	PHASE_DECODE,  /* tokens only */
	PHASE_MIXED,   /* both in one step: chunked prefill */
	N_PHASES,
};
extern const char *const phase_names[N_PHASES]; /* "none", "prefill", "decode", "mixed" */

/* Who writes such names. An engine whose ranges hang in one another is asked by one source only. */
enum phase_source {
	PHASE_FROM_NONE,
	PHASE_FROM_COUNTS, /* execute_..._context_..._generation_... */
	PHASE_FROM_STEP,   /* step[...] */
	PHASE_FROM_CACHED, /* execute_new_..._cached_... */
	PHASE_FROM_WORD,   /* "prefill", "decode" */
	N_PHASE_SOURCES,
};

struct phase_name {
	enum phase phase;
	enum phase_source source;
	int64_t prefill_tokens; /* -1: not told */
	int64_t decode_tokens;  /* one for each sequence; -1: not told */
};

struct phase_name phase_of_name(struct str name);

/* The phase in which a kernel of this name runs: attention kernels are made for one of them. */
enum phase phase_of_kernel(struct str name);

/*
 * The rows of the first matrix of a product: the tokens that a step puts through it.
 *
 * operator  aten::mm, aten::addmm, aten::linear, MatMul, Gemm
 * dims      JSON text of the inputs' dimensions: [[8,64],[64,512]]
 * returns   the product of all dimensions but the last; -1: another operator, or not told
 */
int64_t phase_rows(struct str operator, struct str dims);

#endif
