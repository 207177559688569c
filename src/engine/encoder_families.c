/*
 * The families of encoders: how their weights are called and where their numbers stand.
 *
 * Source: the modules and config classes of Hugging Face transformers. XLM-RoBERTa and CamemBERT
 * are RoBERTa with other vocabularies; ELECTRA's discriminator is BERT with another head.
 */
#include "engine/encoder_config_parts.h"

#include "base/attr.h"

#include <stdio.h>
#include <string.h>

#define BERT_LAYERS                                                                                \
	.words = "embeddings.word_embeddings", .positions = "embeddings.position_embeddings",      \
	.types = "embeddings.token_type_embeddings", .embedding_norm = "embeddings.LayerNorm",     \
	.query = "encoder.layer.{}.attention.self.query",                                          \
	.key = "encoder.layer.{}.attention.self.key",                                              \
	.value = "encoder.layer.{}.attention.self.value",                                          \
	.attention_out = "encoder.layer.{}.attention.output.dense",                                \
	.attention_norm = "encoder.layer.{}.attention.output.LayerNorm",                           \
	.up = "encoder.layer.{}.intermediate.dense", .down = "encoder.layer.{}.output.dense",      \
	.ffn_norm = "encoder.layer.{}.output.LayerNorm"

#define BERT_KEYS                                                                                  \
	.dim = "hidden_size", .n_layers = "num_hidden_layers", .n_heads = "num_attention_heads",   \
	.ffn_dim = "intermediate_size", .activation = "hidden_act", .n_types = 2

#define ROBERTA(type)                                                                              \
	{                                                                                          \
		.names = { .model_type = (type),                                                   \
			.prefix = "roberta.",                                                      \
			BERT_LAYERS,                                                               \
			.head_dense = "classifier.dense",                                          \
			.head = "classifier.out_proj" },                                           \
		BERT_KEYS, .pad_token = 1, .counts_from_pad = true, .norm_eps = 1e-12,             \
		.head_activation = ACTIVATION_TANH                                                 \
	}

static const struct encoder_family families[] = {
	{
	        .names = { .model_type = "bert",
	                .prefix = "bert.",
	                BERT_LAYERS,
	                .pooler = "pooler.dense",
	                .head = "classifier" },
	        BERT_KEYS,
	        .norm_eps = 1e-12,
	        .head_activation = ACTIVATION_TANH,
	},
	ROBERTA("roberta"),
	ROBERTA("xlm-roberta"),
	ROBERTA("camembert"),
	{
	        .names = { .model_type = "distilbert",
	                .prefix = "distilbert.",
	                .words = "embeddings.word_embeddings",
	                .positions = "embeddings.position_embeddings",
	                .embedding_norm = "embeddings.LayerNorm",
	                .query = "transformer.layer.{}.attention.q_lin",
	                .key = "transformer.layer.{}.attention.k_lin",
	                .value = "transformer.layer.{}.attention.v_lin",
	                .attention_out = "transformer.layer.{}.attention.out_lin",
	                .attention_norm = "transformer.layer.{}.sa_layer_norm",
	                .up = "transformer.layer.{}.ffn.lin1",
	                .down = "transformer.layer.{}.ffn.lin2",
	                .ffn_norm = "transformer.layer.{}.output_layer_norm",
	                .head_dense = "pre_classifier",
	                .head = "classifier" },
	        .dim = "dim",
	        .n_layers = "n_layers",
	        .n_heads = "n_heads",
	        .ffn_dim = "hidden_dim",
	        .activation = "activation",
	        .norm_eps = 1e-12,
	        .head_activation = ACTIVATION_RELU,
	},
	{
	        .names = { .model_type = "electra",
	                .prefix = "electra.",
	                BERT_LAYERS,
	                .head_dense = "classifier.dense",
	                .head = "classifier.out_proj" },
	        BERT_KEYS,
	        .norm_eps = 1e-12,
	        .head_activation = ACTIVATION_GELU,
	},
};

const struct encoder_family *encoder_family(const char *model_type)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (strcmp(families[i].names.model_type, model_type) == 0)
			return &families[i];
	return NULL;
}

const struct encoder_names *encoder_names(int i)
{
	return i >= 0 && (size_t)i < ARRAY_LEN(families) ? &families[i].names : NULL;
}

void encoder_weight_name(char name[ENCODER_NAME_MAX], const char *prefix, const char *stem,
        int layer, const char *part)
{
	const char *place = strstr(stem, "{}");
	if (place)
		snprintf(name, ENCODER_NAME_MAX, "%s%.*s%d%s.%s", prefix, (int)(place - stem), stem,
		        layer, place + 2, part);
	else
		snprintf(name, ENCODER_NAME_MAX, "%s%s.%s", prefix, stem, part);
}
