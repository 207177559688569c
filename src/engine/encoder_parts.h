/*
 * encoder_parts.h - what an encoder and its session are made of; for encoder*.c alone.
 *
 * Activations are rows of a batch: sequence i has the rows first_row[i] to first_row[i + 1] - 1,
 * its padding among them. The residual stream and the norms are float32 in every precision.
 */
#ifndef VENTURI_ENGINE_ENCODER_PARTS_H
#define VENTURI_ENGINE_ENCODER_PARTS_H

#include "base/arena.h"
#include "engine/checkpoint.h"
#include "engine/encoder.h"
#include "engine/encoder_config.h"
#include "engine/kernels.h"
#include "engine/launch.h"
#include "engine/linear.h"
#include "engine/products.h"
#include "engine/region.h"

struct encoder_norm {
	const float *gamma, *beta; /* [dim] */
};

/* The products of a layer; fused: one of QKV, else three. */
enum encoder_product {
	PRODUCT_QKV,
	PRODUCT_QUERY,
	PRODUCT_KEY,
	PRODUCT_VALUE,
	PRODUCT_OUT,
	PRODUCT_UP,
	PRODUCT_DOWN,
	N_PRODUCTS
};

struct encoder_layer {
	struct linear *products[N_PRODUCTS];
	const float *biases[N_PRODUCTS]; /* where they are added by themselves */
	struct encoder_norm attention_norm, ffn_norm;
};

struct encoder {
	struct arena run;
	struct encoder_config config;
	struct encoder_options options;
	const char *name;
	const char *folder; /* NULL: synthetic */
	struct tokenizer *tokenizer;
	const struct kernels *kernels;
	const struct products *products; /* of attention that is not fused */
	void (*attention)(const struct attention *a, void *scratch);
	struct region *weights;
	const float *words, *positions, *types; /* [n, dim] each; types NULL: none */
	struct encoder_norm embedding_norm;
	struct encoder_layer *layers;
	struct linear *pooler; /* what stands before the head, NULL: nothing */
	struct linear *head;   /* NULL: no classification */
	int64_t n_params, weight_bytes;
	struct encoder_check check;
	enum dtype between; /* of activations between products: F32 or BF16 */
};

/* Everything from the checkpoint into e->weights, a region of its own. */
bool encoder_weights_open(
        struct encoder *e, const struct checkpoint *file, struct err *err) NODISCARD;
void encoder_weights_release(struct encoder *e);
/* The products of one layer again, in another type. */
bool encoder_weights_reload(struct encoder *e, const struct checkpoint *file, int i_layer,
        enum dtype weights, struct err *err) NODISCARD;
/* Of a copy: nothing is its own any more. */
void encoder_weights_forget(struct encoder *e);
/* Compares with float32 and widens the layers that need it; fills e->check. */
bool encoder_check_weights(
        struct encoder *e, const struct checkpoint *file, struct err *err) NODISCARD;
int64_t encoder_config_n_params(const struct encoder_config *c);

struct encoder_session {
	const struct encoder *e;
	struct pool *pool;
	struct profile *profile;
	int rows_max;
	struct region *region;

	/* The batch at hand. */
	const struct encoder_batch *batch;
	int n_rows;
	int *first_row;      /* [rows_max + 1] */
	size_t *first_score; /* [rows_max]: unfused */
	int32_t *ids, *row_types, *row_positions;
	int *blocks; /* sequence and first query of each block of queries: [n_blocks, 2] */
	int n_blocks;
	int *cuts; /* the first row of each block of rows that runs as a chain: [n_cuts + 1] */
	int n_cuts;

	/* [rows, columns] of activations; see session_buffers. */
	float *x;           /* [dim]: the residual stream */
	float *sum;         /* [dim]: what is added to it next */
	uint16_t *x_low;    /* [dim]: x again as BF16 */
	uint8_t *quantised; /* [max(dim, ffn_dim)] */
	float *row_scale;   /* [1] */
	void *qkv[2];       /* [3 * dim] of e->between; unfused: three of [dim] */
	void *context;      /* [dim] of e->between */
	void *hidden;       /* [ffn_dim] of e->between */
	float *scores;      /* unfused: [heads, queries, keys] of each sequence */
	float *wide;        /* [max(dim, ffn_dim)]: what a product wants as F32 */
	float *first;       /* [dim]: of the head */
	float *logits;      /* [n_labels] */
	unsigned char *scratch;
	size_t scratch_bytes; /* of each thread */
	char *copies[2];      /* [faults.copy_bytes] each */
	bool not_finite;      /* set by any thread */
};

enum {
	ENCODER_QUERIES = 128,    /* of a tile of attention at most */
	ENCODER_BLOCK_ROWS = 256, /* of a block of rows that runs as a chain, at most */
	ENCODER_PANEL_MAX = 64    /* columns that a product may write at once (products.h) */
};

/* Whether it is to do badly what only shows operator by operator. */
bool encoder_faults_need_operators(const struct engine_faults *f);
/* What each step of such an encoder begins with. */
void encoder_faults_step(struct encoder_session *s);

/* The rows of a batch that a tile of an operator works on. */
struct encoder_rows {
	int first, n;
};

/* Where the rows of a batch are, and how they are shared out. */
void encoder_lay_out(struct encoder_session *s, const struct encoder_batch *batch);
/* The sequence that a row belongs to. Cost: the logarithm of their number. */
int encoder_sequence_of(const struct encoder_session *s, int row);

/* All layers, the embeddings first, chained by blocks of rows. */
void encoder_chain(struct encoder_session *s);
size_t encoder_chain_scratch_bytes(const struct encoder *e);
size_t encoder_unfused_scratch_bytes(const struct encoder *e);

/* x from the ids of the batch. */
void encoder_embed(struct encoder_session *s);
/* One layer on x. */
void encoder_layer_fused(struct encoder_session *s, const struct encoder_layer *layer);
void encoder_layer_unfused(struct encoder_session *s, const struct encoder_layer *layer);
/* From x: [n, dim], or [n, n_labels] and [n, dim]. */
void encoder_pool(struct encoder_session *s, float *out);
void encoder_head(struct encoder_session *s, enum encoder_output output, float *out);

#endif
