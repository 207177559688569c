/*
 * sampler.h - the next token from logits: greedy at temperature 0, else temperature and top-p.
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
	/* inside: scratch of n_vocab entries */
	void *scratch;
	size_t scratch_n;
};

void sampler_init(struct sampler *s, double temperature, double top_p, uint64_t seed);
void sampler_release(struct sampler *s);
int32_t sampler_pick(struct sampler *s, const float *logits, size_t n_vocab);

#endif
