#include "engine/encoder.h"

#include "base/i18n.h"
#include "base/str.h"
#include "engine/encoder_parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the weights that a synthetic model is made of; BERT's own. */
static const float SYNTHETIC_SPREAD = 0.02F;
enum { SYNTHETIC_SEED = 1 };

static const char *last_part(struct arena *run, const char *path)
{
	size_t n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		n--;
	size_t start = n;
	while (start && path[start - 1] != '/')
		start--;
	char *name = arena_strdup(run, path + start);
	name[n - start] = '\0';
	return name;
}

static bool open_tokenizer(const char *folder, struct encoder *e, struct err *err)
{
	if (!tokenizer_open_folder(folder, &e->tokenizer, err))
		return false;
	if (tokenizer_size(e->tokenizer) > e->config.n_vocab)
		return err_set(err, ERR_INPUT,
		        _("'%s': the tokenizer has %d tokens, but the model only %d"), folder,
		        tokenizer_size(e->tokenizer), e->config.n_vocab);
	return true;
}

static struct encoder *begin(const struct encoder_options *options)
{
	struct encoder *e = mem_zeroed(1, sizeof(*e));
	e->options = *options;
	const char *isa = options->faults.isa;
	e->kernels = isa ? kernels_named(isa) : NULL;
	if (!e->kernels)
		e->kernels = kernels_best();
	e->products = isa ? products_named(isa) : NULL;
	if (!e->products)
		e->products = products_best();
	e->attention = options->faults.naive_attention  ? attention_naive
	               : options->faults.wide_attention ? attention_wide
	                                                : e->kernels->attention;
	bool wide = options->weights == DTYPE_F32 || options->faults.wide;
	e->between = wide ? DTYPE_F32 : DTYPE_BF16;
	return e;
}

/* The weights of an encoder whose config is there. */
static bool finish(struct encoder *e, const struct checkpoint *file, struct err *err)
{
	if (e->options.pooling)
		e->config.pooling = *e->options.pooling;
	return encoder_weights_open(e, file, err) &&
	       (!e->options.check || encoder_check_weights(e, file, err));
}

static bool open_folder(struct encoder *e, const char *path, struct err *err)
{
	struct checkpoint *file;
	e->name = last_part(&e->run, path);
	e->folder = arena_strdup(&e->run, path);
	if (!encoder_config_load(path, &e->run, &e->config, err) || !open_tokenizer(path, e, err) ||
	        !checkpoint_open(path, &file, err))
		return false;
	bool ok = finish(e, file, err);
	checkpoint_close(file);
	return ok;
}

static bool open_shape(struct encoder *e, const char *shape, struct err *err)
{
	e->name = arena_strdup(&e->run, shape);
	if (!encoder_config_named(shape, &e->config, err))
		return false;
	e->tokenizer = tokenizer_synthetic(e->config.n_vocab);
	struct checkpoint *file = checkpoint_random(SYNTHETIC_SEED, SYNTHETIC_SPREAD);
	bool ok = finish(e, file, err);
	checkpoint_close(file);
	return ok;
}

bool encoder_open(const char *path, const struct encoder_options *options,
        struct encoder **ret_encoder, struct err *err)
{
	struct encoder *e = begin(options);
	if (!open_folder(e, path, err)) {
		encoder_close(e);
		return false;
	}
	*ret_encoder = e;
	return true;
}

bool encoder_open_synthetic(const char *shape, const struct encoder_options *options,
        struct encoder **ret_encoder, struct err *err)
{
	struct encoder *e = begin(options);
	if (!open_shape(e, shape, err)) {
		encoder_close(e);
		return false;
	}
	*ret_encoder = e;
	return true;
}

void encoder_close(struct encoder *e)
{
	if (!e)
		return;
	encoder_weights_release(e);
	tokenizer_close(e->tokenizer);
	arena_release(&e->run);
	free(e);
}

void encoder_drop_weights(struct encoder *e)
{
	encoder_weights_release(e);
	encoder_weights_forget(e);
	e->n_params = e->weight_bytes = 0;
}

bool encoder_load_weights(struct encoder *e, struct err *err)
{
	struct checkpoint *file;
	if (!e->folder)
		file = checkpoint_random(SYNTHETIC_SEED, SYNTHETIC_SPREAD);
	else if (!checkpoint_open(e->folder, &file, err))
		return false;
	bool ok = finish(e, file, err);
	checkpoint_close(file);
	if (!ok)
		encoder_drop_weights(e);
	return ok;
}

struct encoder_info encoder_info(const struct encoder *e)
{
	const struct encoder_config *c = &e->config;
	return (struct encoder_info){
		.name = e->name,
		.architecture = c->names->model_type,
		.n_vocab = c->n_vocab,
		.n_positions = c->n_positions,
		.n_types = c->n_types,
		.max_tokens = c->max_tokens,
		.n_layers = c->n_layers,
		.n_heads = c->n_heads,
		.dim = c->dim,
		.ffn_dim = c->ffn_dim,
		.n_labels = e->head ? c->n_labels : 0,
		.labels = c->labels,
		.multi_label = c->multi_label,
		.n_params = e->n_params,
		.weight_bytes = e->weight_bytes,
		.weights = e->options.weights,
		.fuse = e->options.fuse,
		.pooling = c->pooling,
		.normalize = c->normalize,
		.check = e->check,
	};
}

const struct tokenizer *encoder_tokenizer(const struct encoder *e)
{
	return e->tokenizer;
}
