/*
 * sampler.h - the next token from logits: greedy at temperature 0, else temperature and top-p.
 *
 * The same seed and logits give the same tokens. One sampler belongs to one thread at a time.
 *
 * Source: top-p: Holtzman 2020, "The Curious Case of Neural Text Degeneration", section 3.1.
 */
#ifndef VENTURI_ENGINE_SAMPLER_H
#define VENTURI_ENGINE_SAMPLER_H

#include "base/rng.h"

#include <stddef.h>
#include <stdint.h>

struct sampler {
	double temperature; /* 0: greedy; the first of equal logits wins */
	double top_p;       /* 1: all tokens */
	struct rng rng;
	/* inside: scratch of n_vocab entries, grown by the first pick */
	void *scratch;
	size_t scratch_n;
};

/*
 * temperature  0 or more
 * top_p        0 to 1: sample from the fewest tokens whose share is at least this; 0 leaves one
 */
void sampler_init(struct sampler *s, double temperature, double top_p, uint64_t seed);
void sampler_release(struct sampler *s);

/*
 * The id of the next token.
 *
 * logits   [n_vocab], n_vocab at least 1
 * cost     O(n_vocab), and with top_p below 1 O(log n_vocab) for each token that it leaves
 */
int32_t sampler_pick(struct sampler *s, const float *logits, size_t n_vocab);

#endif
