/*
 * encoder_config_parts.h - what the readers of an encoder's folder know of each other.
 */
#ifndef VENTURI_ENGINE_ENCODER_CONFIG_PARTS_H
#define VENTURI_ENGINE_ENCODER_CONFIG_PARTS_H

#include "engine/encoder_config.h"

enum {
	ENCODER_FILE_BYTES_MAX = 8 << 20, /* of config.json and those beside it */
	ENCODER_LAYERS_MAX = 512,
	ENCODER_HEADS_MAX = 1024,
	ENCODER_DIM_MAX = 1 << 15,
	ENCODER_FFN_MAX = 1 << 18,
	ENCODER_POSITIONS_MAX = 1 << 20,
	ENCODER_TYPES_MAX = 1 << 10,
	ENCODER_LABELS_MAX = 1 << 16,
};

/* Which keys of config.json a family has its numbers in, and what it does where they say nothing.
 */
struct encoder_family {
	struct encoder_names names;
	const char *dim, *n_layers, *n_heads, *ffn_dim, *activation;
	int pad_token, n_types; /* the defaults; n_types 0: none at all */
	bool counts_from_pad;   /* positions begin behind the padding token's number */
	double norm_eps;
	enum activation head_activation;
};

/* NULL: none of those that are supported. */
const struct encoder_family *encoder_family(const char *model_type);

/*
 * modules.json, 1_Pooling/config.json and sentence_bert_config.json: pooling, normalize and
 * max_tokens of config, which are left as they are where the files are not there.
 */
bool encoder_modules_load(
        const char *folder, struct encoder_config *config, struct err *err) NODISCARD;

#endif
