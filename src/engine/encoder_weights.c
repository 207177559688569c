#include "engine/encoder_parts.h"

#include "base/i18n.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

struct loader {
	struct encoder *e;
	const struct checkpoint *file;
	const char *prefix;
	int layer;
	enum dtype weights; /* of the layers */
	struct err *err;
};

int64_t encoder_config_n_params(const struct encoder_config *c)
{
	int64_t dim = c->dim, ffn = c->ffn_dim;
	int64_t layer = 4 * dim * (dim + 1) + dim * ffn * 2 + ffn + dim + 4 * dim;
	int64_t rows = (int64_t)c->n_vocab + c->n_positions + c->position_offset + c->n_types;
	return rows * dim + 2 * dim + c->n_layers * layer + dim * (dim + 1) +
	       c->n_labels * (dim + 1);
}

static bool read_tensor(const struct loader *l, const char *prefix, const char *part,
        const char *kind, int64_t rows, int64_t cols, float **ret)
{
	char name[ENCODER_NAME_MAX];
	const int64_t dims[] = { rows, cols };
	encoder_weight_name(name, prefix, part, l->layer, kind);
	if (!checkpoint_read(l->file, name, dims, cols ? 2 : 1, ret, l->err))
		return false;
	l->e->n_params += rows * (cols ? cols : 1);
	return true;
}

/* Kept as it is, in the region of the weights. */
static bool keep(const struct loader *l, const char *part, const char *kind, int64_t rows,
        int64_t cols, const float **ret)
{
	float *values;
	size_t bytes = (size_t)(rows * (cols ? cols : 1)) * sizeof(float);
	if (!read_tensor(l, l->prefix, part, kind, rows, cols, &values))
		return false;
	float *kept = region_alloc(l->e->weights, bytes);
	if (kept)
		memcpy(kept, values, bytes);
	free(values);
	if (!kept)
		return err_set(l->err, ERR_SYSTEM, _("there is no memory for the weights"));
	l->e->weight_bytes += (int64_t)bytes;
	*ret = kept;
	return true;
}

static bool keep_norm(const struct loader *l, const char *part, struct encoder_norm *norm)
{
	int dim = l->e->config.dim;
	return keep(l, part, "weight", dim, 0, &norm->gamma) &&
	       keep(l, part, "bias", dim, 0, &norm->beta);
}

/* One product from the weights of n_parts modules of the same shape, one below the other. */
struct product {
	const char *prefix;
	const char *parts[3];
	int n_parts;
	int n_in, n_out; /* n_out of each part */
	enum dtype weights;
	enum activation activation;
	bool with_bias;
};

static bool make_product(const struct loader *l, const struct product *p, const float *w,
        const float *bias, struct linear **ret)
{
	const struct linear_spec spec = {
		.n_in = p->n_in,
		.n_out = p->n_out * p->n_parts,
		.w = w,
		.bias = p->with_bias ? bias : NULL,
		.weights = p->weights,
		.activation = p->activation,
		.faults = &l->e->options.faults,
		.kernels = l->e->kernels,
		.region = l->e->weights,
	};
	if (!linear_new(&spec, ret, l->err))
		return false;
	l->e->weight_bytes += (int64_t)linear_weight_bytes(*ret);
	return true;
}

/* A fault: values that some processors compute a hundred times slower than others. */
static void spoil_values(float *w, size_t n)
{
	static const float denormal = 1e-39F;
	enum { EVERY = 4 };
	for (size_t i = 0; i < n; i += EVERY)
		w[i] = denormal;
}

static bool load_product(const struct loader *l, const struct product *p, struct linear **ret)
{
	size_t part_values = (size_t)p->n_in * (size_t)p->n_out;
	float *w = mem_zeroed(part_values * (size_t)p->n_parts, sizeof(*w));
	float *bias = mem_zeroed((size_t)(p->n_out * p->n_parts), sizeof(*bias));
	bool ok = true;
	for (int i = 0; ok && i < p->n_parts; i++) {
		float *values = NULL, *biases = NULL;
		ok = read_tensor(l, p->prefix, p->parts[i], "weight", p->n_out, p->n_in, &values) &&
		     read_tensor(l, p->prefix, p->parts[i], "bias", p->n_out, 0, &biases);
		if (ok) {
			memcpy(w + part_values * (size_t)i, values, part_values * sizeof(*w));
			memcpy(bias + p->n_out * i, biases, (size_t)p->n_out * sizeof(*bias));
		}
		free(values);
		free(biases);
	}
	if (l->e->options.faults.denormal)
		spoil_values(w, part_values * (size_t)p->n_parts);
	ok = ok && make_product(l, p, w, bias, ret);
	free(w);
	free(bias);
	return ok;
}

/* Fused: bias and activation belong to the product, and QKV are one. */
static bool load_fused(const struct loader *l, struct encoder_layer *layer)
{
	const struct encoder_config *c = &l->e->config;
	const struct encoder_names *n = c->names;
	enum dtype weights = l->weights;
	const struct product products[N_PRODUCTS] = {
		[PRODUCT_QKV] = { l->prefix, { n->query, n->key, n->value }, 3, c->dim, c->dim,
		        weights, ACTIVATION_NONE, true },
		[PRODUCT_OUT] = { l->prefix, { n->attention_out }, 1, c->dim, c->dim, weights,
		        ACTIVATION_NONE, true },
		[PRODUCT_UP] = { l->prefix, { n->up }, 1, c->dim, c->ffn_dim, weights,
		        c->activation, true },
		[PRODUCT_DOWN] = { l->prefix, { n->down }, 1, c->ffn_dim, c->dim, weights,
		        ACTIVATION_NONE, true },
	};
	for (int i = 0; i < N_PRODUCTS; i++)
		if (products[i].n_parts && !load_product(l, &products[i], &layer->products[i]))
			return false;
	return true;
}

static bool load_unfused(const struct loader *l, struct encoder_layer *layer)
{
	const struct encoder_config *c = &l->e->config;
	const struct encoder_names *n = c->names;
	const struct {
		const char *part;
		int n_in, n_out;
	} parts[N_PRODUCTS] = {
		[PRODUCT_QUERY] = { n->query, c->dim, c->dim },
		[PRODUCT_KEY] = { n->key, c->dim, c->dim },
		[PRODUCT_VALUE] = { n->value, c->dim, c->dim },
		[PRODUCT_OUT] = { n->attention_out, c->dim, c->dim },
		[PRODUCT_UP] = { n->up, c->dim, c->ffn_dim },
		[PRODUCT_DOWN] = { n->down, c->ffn_dim, c->dim },
	};
	for (int i = 0; i < N_PRODUCTS; i++) {
		if (!parts[i].part)
			continue;
		const struct product p = { l->prefix, { parts[i].part }, 1, parts[i].n_in,
			parts[i].n_out, l->weights, ACTIVATION_NONE, false };
		if (!load_product(l, &p, &layer->products[i]) ||
		        !keep(l, parts[i].part, "bias", parts[i].n_out, 0, &layer->biases[i]))
			return false;
		l->e->n_params -= parts[i].n_out; /* read twice */
	}
	return true;
}

static bool load_products(const struct loader *l, struct encoder_layer *layer)
{
	return (l->e->options.fuse ? load_fused : load_unfused)(l, layer);
}

static bool load_layers(struct loader *l)
{
	const struct encoder_config *c = &l->e->config;
	l->e->layers = arena_new_n(&l->e->run, struct encoder_layer, (size_t)c->n_layers);
	for (l->layer = 0; l->layer < c->n_layers; l->layer++) {
		struct encoder_layer *layer = &l->e->layers[l->layer];
		if (!load_products(l, layer) ||
		        !keep_norm(l, c->names->attention_norm, &layer->attention_norm) ||
		        !keep_norm(l, c->names->ffn_norm, &layer->ffn_norm))
			return false;
	}
	return true;
}

static bool load_embeddings(const struct loader *l)
{
	struct encoder *e = l->e;
	const struct encoder_config *c = &e->config;
	const struct encoder_names *n = c->names;
	int n_positions = c->n_positions + c->position_offset;
	return keep(l, n->words, "weight", c->n_vocab, c->dim, &e->words) &&
	       keep(l, n->positions, "weight", n_positions, c->dim, &e->positions) &&
	       (!n->types || !c->n_types ||
	               keep(l, n->types, "weight", c->n_types, c->dim, &e->types)) &&
	       keep_norm(l, n->embedding_norm, &e->embedding_norm);
}

static bool has(const struct loader *l, const char *prefix, const char *part)
{
	char name[ENCODER_NAME_MAX];
	if (!part)
		return false;
	encoder_weight_name(name, prefix, part, l->layer, "weight");
	return checkpoint_has(l->file, name);
}

/* Pooler and head are few and see the whole answer: they stay float32 in every precision. */
static bool load_head(const struct loader *l)
{
	const struct encoder_config *c = &l->e->config;
	const struct encoder_names *n = c->names;
	bool classifies = c->n_labels > 0;
	bool own_dense = classifies && n->head_dense;
	const struct product dense = { own_dense ? "" : l->prefix,
		{ own_dense ? n->head_dense : n->pooler }, 1, c->dim, c->dim, DTYPE_F32,
		c->head_activation, true };
	const struct product head = { "", { n->head }, 1, c->dim, c->n_labels, DTYPE_F32,
		ACTIVATION_NONE, true };
	if ((classifies || has(l, dense.prefix, dense.parts[0])) &&
	        !load_product(l, &dense, &l->e->pooler))
		return false;
	return !classifies || load_product(l, &head, &l->e->head);
}

static struct loader loader_of(struct encoder *e, const struct checkpoint *file, struct err *err)
{
	struct loader l = { e, file, e->config.names->prefix, 0, e->options.weights, err };
	if (!has(&l, l.prefix, e->config.names->words))
		l.prefix = "";
	return l;
}

/* Float32 twice over and what packing adds; a reservation only, what is not used takes no memory.
 */
static size_t region_bytes(const struct encoder_config *c)
{
	return (size_t)encoder_config_n_params(c) * 12 + ((size_t)256 << 20);
}

bool encoder_weights_open(struct encoder *e, const struct checkpoint *file, struct err *err)
{
	const struct region_options region = {
		.bytes = region_bytes(&e->config),
		.huge_pages = e->options.huge_pages,
		.node = e->options.node,
	};
	struct loader l = loader_of(e, file, err);
	return region_open(&region, &e->weights, err) && load_embeddings(&l) && load_layers(&l) &&
	       load_head(&l);
}

static void close_products(struct encoder_layer *layer)
{
	for (int i = 0; i < N_PRODUCTS; i++) {
		linear_close(layer->products[i]);
		layer->products[i] = NULL;
	}
}

bool encoder_weights_reload(struct encoder *e, const struct checkpoint *file, int i_layer,
        enum dtype weights, struct err *err)
{
	struct loader l = loader_of(e, file, err);
	int64_t n_params = e->n_params;
	l.layer = i_layer;
	l.weights = weights;
	for (int i = 0; i < N_PRODUCTS; i++)
		if (e->layers[i_layer].products[i])
			e->weight_bytes -=
			        (int64_t)linear_weight_bytes(e->layers[i_layer].products[i]);
	close_products(&e->layers[i_layer]);
	bool ok = load_products(&l, &e->layers[i_layer]);
	e->n_params = n_params;
	return ok;
}

void encoder_weights_forget(struct encoder *e)
{
	e->weights = NULL;
	e->words = e->positions = e->types = NULL;
	e->layers = NULL;
	e->pooler = e->head = NULL;
}

void encoder_weights_release(struct encoder *e)
{
	for (int i = 0; e->layers && i < e->config.n_layers; i++)
		close_products(&e->layers[i]);
	linear_close(e->pooler);
	linear_close(e->head);
	region_close(e->weights);
}
