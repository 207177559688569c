/*
 * encoder_config.h - the shape of an encoder: config.json of a Hugging Face folder and what
 * sentence-transformers puts beside it, or a known name.
 *
 * What cannot be computed as the files ask for (another architecture, relative positions, another
 * pooling) is refused by its name; what is not said has the default that Hugging Face gives it.
 *
 * Source: the config classes of Hugging Face transformers; modules.json of sentence-transformers.
 */
#ifndef VENTURI_ENGINE_ENCODER_CONFIG_H
#define VENTURI_ENGINE_ENCODER_CONFIG_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "engine/encoder.h"
#include "engine/kernels.h"

#include <stdbool.h>

enum { ENCODER_NAME_MAX = 128 };

/*
 * How the weights of one family are called: {} stands for the layer's number, and ".weight" or
 * ".bias" comes behind (encoder_weight_name).
 */
struct encoder_names {
	const char *model_type; /* of config.json */
	/* Before all names but those of the head, in files that hold more than the bare encoder. */
	const char *prefix;
	const char *words, *positions, *types; /* types NULL: the family has none */
	const char *embedding_norm;
	const char *query, *key, *value, *attention_out, *attention_norm;
	const char *up, *down, *ffn_norm;
	const char *pooler;            /* between the first token and the head; NULL: none */
	const char *head_dense, *head; /* of a classification; head_dense may be NULL */
};

struct encoder_config {
	const struct encoder_names *names;
	int n_vocab, n_types, n_layers, n_heads, dim, ffn_dim;
	int n_positions;     /* tokens of a sequence at most */
	int position_offset; /* rows of the position embeddings before the first token's: RoBERTa
	                        counts from pad_token_id + 1; the table has n_positions more */
	int max_tokens;      /* where longer texts are cut, [CLS] and [SEP] counted; at most
	                        n_positions */
	float norm_eps;
	enum activation activation;
	enum activation head_activation; /* after the pooler or head_dense */
	int n_labels;                    /* 0: no head */
	const char *const *labels;       /* [n_labels] */
	bool multi_label; /* scores are each a probability of its own (so is a single one) */
	enum encoder_pooling pooling;
	bool normalize; /* true unless modules.json leaves it out */
};

/* Strings are in run. errors: ERR_INPUT that names the file and the key */
bool encoder_config_load(const char *folder, struct arena *run, struct encoder_config *ret_config,
        struct err *err) NODISCARD;

/*
 * A shape by its name ("bert-base", "minilm" ...; encoder_shapes lists them), or by its numbers:
 * LAYERSxDIM[/HEADS[/FFN[/VOCAB[/POSITIONS]]]], as in "4x312/12/1200". Left out: heads of 64, 4
 * dim, 30522 and 512.
 *
 * errors   ERR_USAGE that lists the names there are
 */
bool encoder_config_named(
        const char *shape, struct encoder_config *ret_config, struct err *err) NODISCARD;

/* The name of shape i, NULL behind the last. */
const char *encoder_shape(int i);

/*
 * "bert.encoder.layer.3.attention.self.query.weight"
 *
 * prefix   names->prefix, or "" in a file that has the names without it
 * part     "weight" or "bias"
 */
void encoder_weight_name(char name[ENCODER_NAME_MAX], const char *prefix, const char *stem,
        int layer, const char *part);

/* The families there are; i as above. */
const struct encoder_names *encoder_names(int i);

#endif
