/*
 * llama.h - the Llama decoder: its shape, its weights, and one pass over new tokens.
 *
 * Source: Touvron 2023, "LLaMA"; shared key and value heads: Ainslie 2023, "GQA".
 */
#ifndef VENTURI_ENGINE_LLAMA_H
#define VENTURI_ENGINE_LLAMA_H

#include "engine/profile.h"

#include <stddef.h>
#include <stdint.h>

enum {
	/* Tokens that a pass takes at once: each weight is then read once for all of them. */
	LLAMA_BLOCK = 32,
};

struct llama_shape {
	int n_vocab, n_ctx, n_layers;
	int n_heads, n_kv_heads; /* n_heads is a multiple of n_kv_heads */
	int dim, head_dim, kv_dim, ffn_dim;
	int n_rot; /* values of a head that turn with the position */
	float eps; /* of the norms */
};

/* Matrices are [n_out, n_in], vectors [dim]. */
struct llama_layer {
	const float *attn_norm;
	const float *q, *k, *v, *o;
	const float *ffn_norm;
	const float *gate, *up, *down;
};

struct llama {
	struct llama_shape shape;
	const float *embedding; /* [n_vocab, dim] */
	struct llama_layer *layers;
	const float *norm;
	const float *output;     /* [n_vocab, dim]; the embedding itself when tied */
	const double *rope_freq; /* [n_rot / 2], angle per position */
};

/* What one sequence holds: the cache, and room for the values of a pass. */
struct llama_state {
	float *k, *v; /* [n_layers, n_ctx, kv_dim] */
	int n_past;
	float *x, *norm;         /* [LLAMA_BLOCK, dim] */
	float *q, *attended;     /* [LLAMA_BLOCK, dim] */
	float *out;              /* [LLAMA_BLOCK, dim] */
	float *gate, *up;        /* [LLAMA_BLOCK, ffn_dim] */
	float *cos, *sin;        /* [LLAMA_BLOCK, n_rot / 2] */
	float *scores;           /* [n_ctx] */
	float *logits;           /* [n_vocab] */
	void *memory;            /* all of the above */
	struct profile *profile; /* NULL: nobody looks */
};

/* Bytes that a state takes. */
size_t llama_state_bytes(const struct llama_shape *shape);

/* Lays the state out in memory of that size, which becomes its own (free). */
void llama_state_init(struct llama_state *state, const struct llama_shape *shape, void *memory);

/*
 * Appends n tokens and leaves the logits after the last of them in state->logits.
 *
 * tokens   [n], all within the vocabulary; n at least 1 and n_past + n at most n_ctx
 */
void llama_eval(const struct llama *m, struct llama_state *state, const int32_t *tokens, int n);

#endif
