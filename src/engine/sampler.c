#include "engine/sampler.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct candidate {
	double weight; /* in proportion to its probability */
	int32_t id;
};

void sampler_init(struct sampler *s, double temperature, double top_p, uint64_t seed)
{
	*s = (struct sampler){ .temperature = temperature, .top_p = top_p };
	rng_init(&s->rng, seed);
}

void sampler_release(struct sampler *s)
{
	free(s->scratch);
	s->scratch = NULL;
	s->scratch_n = 0;
}

static int32_t greedy(const float *logits, size_t n)
{
	size_t best = 0;
	for (size_t i = 1; i < n; i++)
		if (logits[i] > logits[best])
			best = i;
	return (int32_t)best;
}

/* The weights of all tokens, 1 for the best; returns their sum. */
static double weigh(const struct sampler *s, const float *logits, size_t n, struct candidate *all)
{
	double max = (double)logits[greedy(logits, n)], sum = 0;
	for (size_t i = 0; i < n; i++) {
		double weight = exp(((double)logits[i] - max) / s->temperature);
		all[i] = (struct candidate){ weight, (int32_t)i };
		sum += weight;
	}
	return sum;
}

static bool better(const struct candidate *a, const struct candidate *b)
{
	return a->weight != b->weight ? a->weight > b->weight : a->id < b->id;
}

static void sift_down(struct candidate *heap, size_t n, size_t i)
{
	struct candidate moved = heap[i];
	for (;;) {
		size_t child = 2 * i + 1;
		if (child >= n)
			break;
		if (child + 1 < n && better(&heap[child + 1], &heap[child]))
			child++;
		if (!better(&heap[child], &moved))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
}

/*
 * Moves the best candidates, whose weight reaches the wanted one, to the end of the array, the
 * best last; a heap, because they are mostly few among many.
 *
 * returns  how many; *ret_weight is what they weigh
 */
static size_t select_best(struct candidate *all, size_t n, double wanted, double *ret_weight)
{
	size_t left = n;
	double weight = 0;
	for (size_t i = n / 2; i-- > 0;)
		sift_down(all, n, i);
	do {
		struct candidate best = all[0];
		all[0] = all[--left];
		sift_down(all, left, 0);
		all[left] = best;
		weight += best.weight;
	} while (left > 0 && weight < wanted);
	*ret_weight = weight;
	return n - left;
}

/* One of n candidates by their weights; the last when rounding leaves a little over. */
static int32_t draw(struct sampler *s, const struct candidate *among, size_t n, double weight)
{
	double at = rng_uniform(&s->rng) * weight;
	for (size_t i = 0; i + 1 < n; i++) {
		at -= among[i].weight;
		if (at < 0)
			return among[i].id;
	}
	return among[n - 1].id;
}

int32_t sampler_pick(struct sampler *s, const float *logits, size_t n_vocab)
{
	assert(n_vocab > 0 && n_vocab <= INT32_MAX);
	if (!(s->temperature > 0))
		return greedy(logits, n_vocab);
	if (s->scratch_n < n_vocab) {
		s->scratch = mem_realloc(s->scratch, n_vocab * sizeof(struct candidate));
		s->scratch_n = n_vocab;
	}
	struct candidate *among = s->scratch;
	double weight = weigh(s, logits, n_vocab, among);
	size_t n = n_vocab;
	if (s->top_p < 1)
		n = select_best(among, n_vocab, s->top_p * weight, &weight);
	return draw(s, among + (n_vocab - n), n, weight);
}
