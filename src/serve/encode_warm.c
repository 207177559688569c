#include "serve/encode_parts.h"

#include "base/arena.h"

#include <stdlib.h>

/* What one pass of the warm-up shares. */
struct warming {
	struct encode *x;
	struct encode_slot *slot; /* borrowed: nothing else runs yet */
	const int32_t *ids;       /* [longest] of the first token */
};

/* A batch of n sequences, each of length tokens. That it fails will be told to who asks for it. */
static void compute(const struct warming *w, int n, int length, int pad_to)
{
	struct err err;
	for (int i = 0; i < n; i++) {
		w->slot->ids[i] = w->ids;
		w->slot->types[i] = NULL;
		w->slot->lengths[i] = length;
	}
	const struct encoder_batch batch = {
		.n = n,
		.ids = w->slot->ids,
		.types = w->slot->types,
		.lengths = w->slot->lengths,
		.pad_to = pad_to,
	};
	(void)!encoder_run(w->x->session, &batch, ENCODER_EMBEDDING, w->slot->out, &err);
}

/* Row counts double: the engine rounds each up to one of a few. */
static void warm_packed(const struct warming *w)
{
	int longest = w->x->longest, max_batch = w->x->batching.max_batch;
	for (int rows = 1; rows / 2 < w->x->rows_max; rows *= 2) {
		int total = rows < w->x->rows_max ? rows : w->x->rows_max;
		int n = (total + longest - 1) / longest;
		if (n <= max_batch)
			compute(w, n, total / n, 0);
	}
}

static void warm_padded_to(const struct warming *w, int length)
{
	int max_batch = w->x->batching.max_batch;
	for (int n = 1; n / 2 < max_batch; n *= 2) {
		int n_here = n < max_batch ? n : max_batch;
		if ((int64_t)n_here * length <= w->x->rows_max)
			compute(w, n_here, length, length);
	}
}

static void warm_padded(const struct warming *w)
{
	const struct batcher_edges *buckets = &w->x->batching.buckets;
	int longest = w->x->longest;
	for (int i = 0; i < buckets->n; i++)
		warm_padded_to(w, buckets->at[i]);
	for (int length = 8; buckets->n == 0 && length < longest; length *= 2)
		warm_padded_to(w, length);
	warm_padded_to(w, longest);
}

void encode_warm_up(struct encode *x)
{
	int32_t *ids = mem_zeroed((size_t)x->longest, sizeof(*ids));
	const struct warming w = { .x = x, .slot = &x->slots[0], .ids = ids };
	int64_t n = x->faults->engine.cold ? 0 : x->options.warmup;
	for (int64_t i = 0; i < n; i++) {
		if (x->batching.padded)
			warm_padded(&w);
		else
			warm_packed(&w);
	}
	free(ids);
}
