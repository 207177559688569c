/*
 * model.h - a decoder of the Llama family from a GGUF file: weights, tokenizer, and sequences that
 * are evaluated token by token.
 *
 * A model is read-only after model_open and may be shared by threads; a sequence belongs to one
 * thread at a time and must be closed before its model. The file is not needed after model_open.
 */
#ifndef VENTURI_ENGINE_MODEL_H
#define VENTURI_ENGINE_MODEL_H

#include "base/attr.h"
#include "base/err.h"
#include "token/gguf.h"
#include "token/tokenizer.h"
#include "engine/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct sequence;

struct model_info {
	const char *name; /* general.name, else the file's name without .gguf */
	const char *architecture;
	int n_vocab, n_ctx, n_layers, n_heads, n_kv_heads, dim, ffn_dim;
	int64_t n_params;
	int64_t weight_bytes; /* in memory */
	int64_t kv_bytes_per_token;
};

/* errors   ERR_INPUT that names the file and what is wrong with it */
bool model_open(const char *path, struct model **ret_model, struct err *err) NODISCARD;

/*
 * The same from a file that is open already, which may be closed afterwards.
 *
 * name     what the model is called when the file does not say
 */
bool model_open_gguf(const struct gguf *file, const char *name, struct model **ret_model,
        struct err *err) NODISCARD;
void model_close(struct model *model);
struct model_info model_info(const struct model *model);
const struct tokenizer *model_tokenizer(const struct model *model);

/*
 * A sequence with room for n_ctx tokens of KV cache.
 *
 * errors   ERR_SYSTEM that names the size when there is no memory for it
 */
bool sequence_open(
        const struct model *model, struct sequence **ret_sequence, struct err *err) NODISCARD;
void sequence_close(struct sequence *sequence);
/* From now on its operators are recorded; NULL: no longer. The profile stays the caller's. */
void sequence_profile(struct sequence *sequence, struct profile *profile);
void sequence_reset(struct sequence *sequence);
int sequence_length(const struct sequence *sequence);

/*
 * Appends tokens and computes the logits after the last of them.
 *
 * n           at least 1; together with what is there at most n_ctx, else ERR_INPUT
 * ret_logits  [n_vocab], valid until the next call
 * errors      ERR_INPUT for a token outside the vocabulary; the sequence is then as it was
 */
bool sequence_eval(struct sequence *sequence, const int32_t *tokens, int n,
        const float **ret_logits, struct err *err) NODISCARD;

#endif
