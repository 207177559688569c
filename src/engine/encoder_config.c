#include "engine/encoder_config.h"

#include "base/i18n.h"
#include "base/str.h"
#include "base/utf8.h"
#include "engine/encoder_config_parts.h"
#include "engine/json_file.h"
#include "token/tokenizer.h"

#include <string.h>

static bool read_activation(
        const json_t *all, const char *key, enum activation *ret, struct err *err)
{
	/* Source: ACT2FN of Hugging Face transformers. */
	static const struct {
		const char *name;
		enum activation activation;
	} rows[] = {
		{ "gelu", ACTIVATION_GELU },
		{ "gelu_python", ACTIVATION_GELU },
		{ "gelu_new", ACTIVATION_GELU_TANH },
		{ "gelu_fast", ACTIVATION_GELU_TANH },
		{ "gelu_pytorch_tanh", ACTIVATION_GELU_TANH },
		{ "relu", ACTIVATION_RELU },
		{ "silu", ACTIVATION_SILU },
		{ "swish", ACTIVATION_SILU },
		{ "tanh", ACTIVATION_TANH },
	};
	const char *name;
	if (!json_file_text(all, key, &name, err))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(name ? name : "gelu", rows[i].name) == 0) {
			*ret = rows[i].activation;
			return true;
		}
	}
	return err_set(err, ERR_INPUT, _("the activation '%.*s' ('%s') is not supported"),
	        JSON_FILE_QUOTE, name, key);
}

/* ---- what would be another computation ---- */

static bool check_supported(const json_t *all, int dim, struct err *err)
{
	const char *positions;
	bool decoder = false;
	int embedding_dim = dim;
	if (!json_file_text(all, "position_embedding_type", &positions, err) ||
	        !json_file_bool(all, "is_decoder", &decoder, err) ||
	        !json_file_int(
	                all, "embedding_size", true, 1, ENCODER_DIM_MAX, &embedding_dim, err))
		return false;
	if (positions && strcmp(positions, "absolute") != 0)
		return err_set(err, ERR_INPUT,
		        _("positions of the kind '%.*s' ('position_embedding_type') are not "
		          "supported, only 'absolute' ones"),
		        JSON_FILE_QUOTE, positions);
	if (decoder)
		return err_set(err, ERR_INPUT, _("it is a decoder ('is_decoder'), not an encoder"));
	if (embedding_dim != dim)
		return err_set(err, ERR_INPUT,
		        _("embeddings of %d values for layers of %d ('embedding_size') are not "
		          "supported"),
		        embedding_dim, dim);
	return true;
}

/* ---- the shape ---- */

static bool read_positions(const json_t *all, const struct encoder_family *family,
        struct encoder_config *c, struct err *err)
{
	int rows, pad = family->pad_token;
	if (!json_file_int(
	            all, "max_position_embeddings", false, 1, ENCODER_POSITIONS_MAX, &rows, err) ||
	        !json_file_int(all, "pad_token_id", true, 0, TOKENIZER_VOCAB_MAX, &pad, err))
		return false;
	c->position_offset = family->counts_from_pad ? pad + 1 : 0;
	c->n_positions = c->max_tokens = rows - c->position_offset;
	if (c->n_positions < 1)
		return err_set(err, ERR_INPUT,
		        _("%d positions ('max_position_embeddings') of which the first %d are not "
		          "used leave none"),
		        rows, c->position_offset);
	return true;
}

static bool read_shape(const json_t *all, const struct encoder_family *family,
        struct encoder_config *c, struct err *err)
{
	const struct {
		const char *key;
		int max;
		bool optional;
		int *value;
	} rows[] = {
		{ "vocab_size", TOKENIZER_VOCAB_MAX, false, &c->n_vocab },
		{ family->dim, ENCODER_DIM_MAX, false, &c->dim },
		{ family->n_layers, ENCODER_LAYERS_MAX, false, &c->n_layers },
		{ family->n_heads, ENCODER_HEADS_MAX, false, &c->n_heads },
		{ family->ffn_dim, ENCODER_FFN_MAX, false, &c->ffn_dim },
	};
	double eps = family->norm_eps;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!json_file_int(
		            all, rows[i].key, rows[i].optional, 1, rows[i].max, rows[i].value, err))
			return false;
	c->n_types = family->n_types;
	if (c->names->types && !json_file_int(all, "type_vocab_size", true, 1, ENCODER_TYPES_MAX,
	                               &c->n_types, err))
		return false;
	if (c->dim % c->n_heads)
		return err_set(err, ERR_INPUT, _("%d values do not divide into %d heads"), c->dim,
		        c->n_heads);
	if (!read_positions(all, family, c, err) ||
	        !json_file_ratio(all, "layer_norm_eps", &eps, err) ||
	        !read_activation(all, family->activation, &c->activation, err) ||
	        !check_supported(all, c->dim, err))
		return false;
	c->norm_eps = (float)eps;
	return true;
}

/* ---- the head ---- */

/* A classification by what the file calls its architecture, or, without that, by its labels. */
static bool has_head(const json_t *all)
{
	const char *name =
	        json_string_value(json_array_get(json_object_get(all, "architectures"), 0));
	if (name)
		return str_ends(str_of(name), STR("ForSequenceClassification"));
	return json_object_get(all, "id2label") || json_object_get(all, "num_labels");
}

/* "0" to "n - 1", each with a text. */
static bool read_labels(
        const json_t *map, int n, struct arena *run, const char **labels, struct err *err)
{
	for (int i = 0; i < n; i++) {
		char key[16];
		snprintf(key, sizeof(key), "%d", i);
		const json_t *label = json_object_get(map, key);
		if (!map)
			labels[i] = arena_printf(run, "LABEL_%d", i);
		else if (json_is_string(label))
			labels[i] = arena_strdup(run, json_string_value(label));
		else
			return err_set(err, ERR_INPUT,
			        _("'id2label' has no text for label %d of %d"), i, n);
	}
	return true;
}

static bool read_head(
        const json_t *all, struct arena *run, struct encoder_config *c, struct err *err)
{
	const json_t *map = json_object_get(all, "id2label");
	const char *problem;
	int n = 2; /* the default where nothing is said */
	if (!has_head(all))
		return true;
	if (json_is_object(map)) {
		if (json_object_size(map) < 1 || json_object_size(map) > ENCODER_LABELS_MAX)
			return err_set(err, ERR_INPUT,
			        _("'id2label' has %zu labels, which is not within 1 to %d"),
			        json_object_size(map), ENCODER_LABELS_MAX);
		n = (int)json_object_size(map);
	} else if (!json_file_int(all, "num_labels", true, 1, ENCODER_LABELS_MAX, &n, err)) {
		return false;
	}
	const char **labels = arena_new_n(run, const char *, (size_t)n);
	if (!read_labels(json_is_object(map) ? map : NULL, n, run, labels, err) ||
	        !json_file_text(all, "problem_type", &problem, err))
		return false;
	c->n_labels = n;
	c->labels = labels;
	c->multi_label = n == 1 || (problem && strcmp(problem, "multi_label_classification") == 0);
	return true;
}

/* ---- the folder ---- */

static bool read_config(
        const json_t *all, struct arena *run, struct encoder_config *c, struct err *err)
{
	const char *type;
	if (!json_is_object(all))
		return err_set(err, ERR_INPUT, _("it is no JSON object"));
	if (!json_file_text(all, "model_type", &type, err))
		return false;
	if (!type)
		return err_set(err, ERR_INPUT, _("key '%s' is missing"), "model_type");
	const struct encoder_family *family = encoder_family(type);
	if (!family)
		return err_set(err, ERR_INPUT,
		        _("the architecture '%.*s' ('model_type') is not supported; these are: "
		          "bert, roberta, xlm-roberta, camembert, distilbert, electra"),
		        JSON_FILE_QUOTE, type);
	c->names = &family->names;
	c->head_activation = family->head_activation;
	return read_shape(all, family, c, err) && read_head(all, run, c, err);
}

bool encoder_config_load(
        const char *folder, struct arena *run, struct encoder_config *ret_config, struct err *err)
{
	AUTO(arena_release) struct arena tmp = { 0 };
	const char *path = arena_printf(&tmp, "%s/config.json", folder);
	struct encoder_config c = { .pooling = ENCODER_POOL_MEAN, .normalize = true };
	json_t *all;
	if (!json_file_load(path, ENCODER_FILE_BYTES_MAX, &all, err))
		return false;
	bool ok = read_config(all, run, &c, err) || err_wrap(err, "'%s'", path);
	json_decref(all);
	if (!ok || !encoder_modules_load(folder, &c, err))
		return false;
	*ret_config = c;
	return true;
}
