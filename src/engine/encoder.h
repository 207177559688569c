/*
 * encoder.h - encoders of the BERT family: texts as token ids in, embeddings or class scores out.
 *
 * An encoder is read-only after it was opened and may be shared by threads; a session belongs to
 * one thread at a time. Sequences of a batch do not see each other: packed behind one another
 * (no padding at all) or padded to one length the answers are the same but for rounding.
 *
 * Source: Devlin 2019 (BERT), Liu 2019 (RoBERTa), Sanh 2019 (DistilBERT); weight names are those of
 * Hugging Face transformers.
 */
#ifndef VENTURI_ENGINE_ENCODER_H
#define VENTURI_ENGINE_ENCODER_H

#include "base/attr.h"
#include "base/err.h"
#include "engine/dtype.h"
#include "engine/faults.h"
#include "engine/pool.h"
#include "engine/profile.h"
#include "token/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct encoder;
struct encoder_session;

enum encoder_pooling { ENCODER_POOL_MEAN, ENCODER_POOL_CLS };

/*
 * How far a precision is from float32: the least cosine of two embeddings, and the largest
 * difference of a logit (0 without a head), of n seeded texts.
 */
struct encoder_check {
	double cosine_min, logit_error_max;
	int n;      /* 0: not checked */
	int n_wide; /* layers kept in the next wider type because of it */
};

struct encoder_options {
	enum dtype weights; /* F32, BF16 or S8 */
	/*
	 * Compare with float32 when the model is opened, and keep the layers wide, the worst first,
	 * without which the least cosine is below 0.9995 (BF16) or 0.995 (S8). Takes the memory of
	 * the weights in float32 for so long.
	 */
	bool check;
	bool fuse;
	bool huge_pages;
	const enum encoder_pooling *pooling; /* NULL: what the folder says, else the mean */
	int node;                            /* NUMA node for the weights, -1: any */
	struct engine_faults faults;
};

struct encoder_info {
	const char *name;         /* the folder's, or the shape's */
	const char *architecture; /* "bert", "roberta", "distilbert" ... */
	int n_vocab, n_positions; /* tokens of a sequence at most */
	int n_types;              /* token types; 0 is one always */
	int max_tokens;           /* where longer texts are to be cut; at most n_positions */
	int n_layers, n_heads, dim, ffn_dim;
	int n_labels;              /* 0: no classification head */
	const char *const *labels; /* [n_labels] */
	bool multi_label;          /* scores are each a probability of its own */
	int64_t n_params, weight_bytes;
	enum dtype weights; /* as it was asked for */
	bool fuse;
	enum encoder_pooling pooling;
	bool normalize; /* embeddings have length 1 */
	struct encoder_check check;
};

/* A folder as Hugging Face lays it out. errors: ERR_INPUT that names the file and the part. */
bool encoder_open(const char *path, const struct encoder_options *options,
        struct encoder **ret_encoder, struct err *err) NODISCARD;

/* Seeded random weights of a shape, by its name or its numbers (encoder_config_named). */
bool encoder_open_synthetic(const char *shape, const struct encoder_options *options,
        struct encoder **ret_encoder, struct err *err) NODISCARD;
void encoder_close(struct encoder *e);

/*
 * The weights go, and come again from where they came from: a service that unloads a model that
 * nobody uses. No session computes meanwhile; the rest of the encoder may be used.
 */
void encoder_drop_weights(struct encoder *e);
bool encoder_load_weights(struct encoder *e, struct err *err) NODISCARD;

struct encoder_info encoder_info(const struct encoder *e);
const struct tokenizer *encoder_tokenizer(const struct encoder *e);

struct encoder_batch {
	int n;
	const int32_t *const *ids;   /* [n] of [lengths[i]] */
	const int32_t *const *types; /* token types; NULL, or NULL for one: all 0 */
	const int *lengths;          /* 1 to n_positions each */
	int pad_to;                  /* 0: packed; else every sequence takes so many rows */
};

/* ENCODER_POOLED: what the classification head reads, as "pooler_output" elsewhere. */
enum encoder_output { ENCODER_EMBEDDING, ENCODER_LOGITS, ENCODER_POOLED };

/* rows_max: of a batch, padding among them. pool and profile (NULL: none) outlive the session. */
bool encoder_session_open(const struct encoder *e, struct pool *pool, int rows_max,
        struct profile *profile, struct encoder_session **ret_session, struct err *err) NODISCARD;
void encoder_session_close(struct encoder_session *s);

/*
 * out      [n, dim], or [n, n_labels] of ENCODER_LOGITS
 * errors   ERR_INPUT: an id outside the vocabulary, too long, too many rows; ERR_SYSTEM: the
 *          computation gave values that are no numbers
 */
bool encoder_run(struct encoder_session *s, const struct encoder_batch *batch,
        enum encoder_output output, float *out, struct err *err) NODISCARD;

/*
 * The same seeded texts through both, of which the second is the same model in float32. Neither is
 * changed; a session of each is opened for it.
 */
bool encoder_compare(const struct encoder *e, const struct encoder *reference, struct pool *pool,
        struct encoder_check *ret_check, struct err *err) NODISCARD;

#endif
