/*
 * encoder_config.h - the shape of an encoder: config.json of a Hugging Face folder, or a known
 * name.
 */
#ifndef VENTURI_ENGINE_ENCODER_CONFIG_H
#define VENTURI_ENGINE_ENCODER_CONFIG_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "engine/encoder.h"
#include "engine/kernels.h"

#include <stdbool.h>

/* How the weights of one family are called; {} stands for the layer's number. */
struct encoder_names {
	const char *model_type; /* of config.json */
	const char *prefix;     /* before all names, where a head stands beside the encoder */
	const char *words, *positions, *types; /* types NULL: the family has none */
	const char *embedding_norm;
	const char *query, *key, *value, *attention_out, *attention_norm;
	const char *up, *down, *ffn_norm;
	const char *pooler;            /* NULL: none */
	const char *head_dense, *head; /* of a classification; head_dense may be NULL */
};

struct encoder_config {
	const struct encoder_names *names;
	int n_vocab, n_positions, n_types, n_layers, n_heads, dim, ffn_dim;
	int position_offset; /* RoBERTa counts positions from pad_token_id + 1 */
	float norm_eps;
	enum activation activation,
	        head_activation; /* head_activation: after head_dense or the pooler */
	int n_labels;
	const char *const *labels;
	bool multi_label;
	bool lower_case; /* of vocab.txt */
	enum encoder_pooling pooling;
	bool normalize;
};

/* errors   ERR_INPUT that names the file and the key */
bool encoder_config_load(const char *folder, struct arena *run, struct encoder_config *ret_config,
        struct err *err) NODISCARD;

/* errors   ERR_USAGE that lists the names there are */
bool encoder_config_named(
        const char *shape, struct encoder_config *ret_config, struct err *err) NODISCARD;

#endif
