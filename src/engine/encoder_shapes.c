/*
 * Shapes of well-known encoders, for models of random weights.
 *
 * Source: the config.json of each on Hugging Face.
 */
#include "engine/encoder_config_parts.h"

#include "base/i18n.h"
#include "base/str.h"
#include "token/tokenizer.h"

#include <string.h>

enum { HEAD_DIM = 64, LISTED_BYTES = 600 };

static const struct shape {
	const char *name, *model_type;
	int n_layers, dim, n_heads, ffn_dim, n_vocab, n_positions, n_labels;
	enum encoder_pooling pooling;
} shapes[] = {
	{ "bert-tiny", "bert", 2, 128, 2, 512, 30522, 512, 0, ENCODER_POOL_MEAN },
	{ "bert-mini", "bert", 4, 256, 4, 1024, 30522, 512, 0, ENCODER_POOL_MEAN },
	{ "bert-small", "bert", 4, 512, 8, 2048, 30522, 512, 0, ENCODER_POOL_MEAN },
	{ "bert-medium", "bert", 8, 512, 8, 2048, 30522, 512, 0, ENCODER_POOL_MEAN },
	{ "bert-base", "bert", 12, 768, 12, 3072, 30522, 512, 0, ENCODER_POOL_MEAN },
	{ "bert-large", "bert", 24, 1024, 16, 4096, 30522, 512, 0, ENCODER_POOL_MEAN },
	{ "minilm", "bert", 6, 384, 12, 1536, 30522, 512, 0, ENCODER_POOL_MEAN },
	{ "minilm-l12", "bert", 12, 384, 12, 1536, 30522, 512, 0, ENCODER_POOL_MEAN },
	{ "minilm-rerank", "bert", 6, 384, 12, 1536, 30522, 512, 1, ENCODER_POOL_CLS },
	{ "bge-small", "bert", 12, 384, 12, 1536, 30522, 512, 0, ENCODER_POOL_CLS },
	{ "bge-base", "bert", 12, 768, 12, 3072, 30522, 512, 0, ENCODER_POOL_CLS },
	{ "bge-large", "bert", 24, 1024, 16, 4096, 30522, 512, 0, ENCODER_POOL_CLS },
	{ "bge-m3", "xlm-roberta", 24, 1024, 16, 4096, 250002, 8192, 0, ENCODER_POOL_CLS },
	{ "bge-rerank", "xlm-roberta", 12, 768, 12, 3072, 250002, 512, 1, ENCODER_POOL_CLS },
	{ "e5-small", "bert", 12, 384, 12, 1536, 30522, 512, 0, ENCODER_POOL_MEAN },
	{ "e5-base", "bert", 12, 768, 12, 3072, 30522, 512, 0, ENCODER_POOL_MEAN },
	{ "roberta-base", "roberta", 12, 768, 12, 3072, 50265, 512, 0, ENCODER_POOL_MEAN },
	{ "roberta-large", "roberta", 24, 1024, 16, 4096, 50265, 512, 0, ENCODER_POOL_MEAN },
	{ "xlm-roberta-base", "xlm-roberta", 12, 768, 12, 3072, 250002, 512, 0, ENCODER_POOL_MEAN },
	{ "distilbert", "distilbert", 6, 768, 12, 3072, 30522, 512, 0, ENCODER_POOL_MEAN },
	{ "distilbert-sst2", "distilbert", 6, 768, 12, 3072, 30522, 512, 2, ENCODER_POOL_CLS },
};

const char *encoder_shape(int i)
{
	return i >= 0 && (size_t)i < ARRAY_LEN(shapes) ? shapes[i].name : NULL;
}

static struct encoder_config config_of(const struct shape *s)
{
	static const char *const labels[] = { "LABEL_0", "LABEL_1" };
	const struct encoder_family *family = encoder_family(s->model_type);
	return (struct encoder_config){
		.names = &family->names,
		.n_vocab = s->n_vocab,
		/* RoBERTa's have one, whatever its config class says. */
		.n_types = family->counts_from_pad ? 1 : family->n_types,
		.n_layers = s->n_layers,
		.n_heads = s->n_heads,
		.dim = s->dim,
		.ffn_dim = s->ffn_dim,
		.n_positions = s->n_positions,
		.position_offset = family->counts_from_pad ? family->pad_token + 1 : 0,
		.max_tokens = s->n_positions,
		.norm_eps = (float)family->norm_eps,
		.activation = ACTIVATION_GELU,
		.head_activation = family->head_activation,
		.n_labels = s->n_labels,
		.labels = labels,
		.multi_label = s->n_labels == 1,
		.pooling = s->pooling,
		.normalize = true,
	};
}

/* A whole number from 1 to max at the start of text, which is taken. */
static bool take_number(struct str *text, int max, int *ret)
{
	size_t n = 0;
	int64_t value;
	while (n < text->len && text->s[n] >= '0' && text->s[n] <= '9')
		n++;
	if (!str_to_i64((struct str){ text->s, n }, &value) || value < 1 || value > max)
		return false;
	*ret = (int)value;
	text->s += n;
	text->len -= n;
	return true;
}

static bool take_char(struct str *text, char c)
{
	if (text->len == 0 || text->s[0] != c)
		return false;
	text->s++;
	text->len--;
	return true;
}

/* "6x384/12/1536/30522/512" */
static bool read_numbers(struct str text, struct shape *s)
{
	const struct {
		int max;
		int *value;
	} rows[] = {
		{ ENCODER_HEADS_MAX, &s->n_heads },
		{ ENCODER_FFN_MAX, &s->ffn_dim },
		{ TOKENIZER_VOCAB_MAX, &s->n_vocab },
		{ ENCODER_POSITIONS_MAX, &s->n_positions },
	};
	if (!take_number(&text, ENCODER_LAYERS_MAX, &s->n_layers) || !take_char(&text, 'x') ||
	        !take_number(&text, ENCODER_DIM_MAX, &s->dim))
		return false;
	s->n_heads = s->dim < HEAD_DIM ? 1 : s->dim / HEAD_DIM;
	s->ffn_dim = 4 * s->dim;
	for (size_t i = 0; i < ARRAY_LEN(rows) && text.len > 0; i++)
		if (!take_char(&text, '/') || !take_number(&text, rows[i].max, rows[i].value))
			return false;
	return text.len == 0 && s->dim % s->n_heads == 0 &&
	       s->n_vocab >= TOKENIZER_SYNTHETIC_VOCAB_MIN;
}

bool encoder_config_named(const char *shape, struct encoder_config *ret_config, struct err *err)
{
	char names[LISTED_BYTES] = "";
	struct shape s = { .model_type = "bert", .n_vocab = 30522, .n_positions = 512 };
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		if (strcmp(shapes[i].name, shape) == 0) {
			*ret_config = config_of(&shapes[i]);
			return true;
		}
		size_t n = strlen(names);
		snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", shapes[i].name);
	}
	if (read_numbers(str_of(shape), &s)) {
		*ret_config = config_of(&s);
		return true;
	}
	return err_set(err, ERR_USAGE,
	        _("there is no shape '%.100s'; there are: %s, or numbers as in '6x384/12/1536' "
	          "(layers x width / heads / width between)"),
	        shape, names);
}
