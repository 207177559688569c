/*
 * How far a precision is from float32, found on seeded texts with the same weights in float32
 * beside it; and layers kept wide where it is too far.
 */
#include "base/rng.h"
#include "base/str.h"
#include "engine/encoder_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 12, LENGTH_MIN = 6, LENGTH_MAX = 64, CHECK_SEED = 7 };

/* Source: what the project asks of its precisions; see encoder_check in encoder.h. */
static const double cosine_limits[] = {
	[DTYPE_BF16] = 0.9995,
	[DTYPE_S8] = 0.995,
};

/* What a layer that fails in one type is kept in. */
static enum dtype wider(enum dtype type)
{
	return type == DTYPE_S8 ? DTYPE_BF16 : DTYPE_F32;
}

struct texts {
	int32_t *values;
	const int32_t *ids[TEXTS];
	int lengths[TEXTS];
};

static void make_texts(struct texts *t, const struct encoder_config *c)
{
	struct rng rng;
	int max = c->n_positions < LENGTH_MAX ? c->n_positions : LENGTH_MAX;
	int min = max < LENGTH_MIN ? max : LENGTH_MIN;
	rng_init(&rng, CHECK_SEED);
	t->values = mem_zeroed((size_t)TEXTS * (size_t)max, sizeof(*t->values));
	for (int i = 0; i < TEXTS; i++) {
		int32_t *ids = t->values + i * max;
		t->ids[i] = ids;
		t->lengths[i] = min + (int)rng_below(&rng, (uint64_t)(max - min + 1));
		for (int j = 0; j < t->lengths[i]; j++)
			ids[j] = (int32_t)rng_below(&rng, (uint64_t)c->n_vocab);
	}
}

/* Both precisions, each with a session, and the texts as a batch. */
struct comparison {
	const struct encoder *e, *reference;
	struct encoder_session *s, *reference_s;
	struct texts texts;
	struct encoder_batch batch;
	float *got, *want; /* [TEXTS, the wider of dim and n_labels] */
};

static bool begin(struct comparison *c, struct pool *pool, struct err *err)
{
	const struct encoder_config *config = &c->e->config;
	int width = config->dim > config->n_labels ? config->dim : config->n_labels;
	make_texts(&c->texts, config);
	c->batch = (struct encoder_batch){
		.n = TEXTS, .ids = c->texts.ids, .lengths = c->texts.lengths
	};
	c->got = mem_zeroed((size_t)(TEXTS * width), sizeof(*c->got));
	c->want = mem_zeroed((size_t)(TEXTS * width), sizeof(*c->want));
	int rows_max = TEXTS * LENGTH_MAX;
	return encoder_session_open(c->e, pool, rows_max, NULL, &c->s, err) &&
	       encoder_session_open(c->reference, pool, rows_max, NULL, &c->reference_s, err);
}

static void end(struct comparison *c)
{
	encoder_session_close(c->s);
	encoder_session_close(c->reference_s);
	free(c->texts.values);
	free(c->got);
	free(c->want);
}

static double cosine(const float *a, const float *b, int n)
{
	double ab = 0, aa = 0, bb = 0;
	for (int i = 0; i < n; i++) {
		ab += (double)a[i] * (double)b[i];
		aa += (double)a[i] * (double)a[i];
		bb += (double)b[i] * (double)b[i];
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : aa == bb;
}

static bool run_both(struct comparison *c, enum encoder_output output, struct err *err)
{
	return encoder_run(c->s, &c->batch, output, c->got, err) &&
	       encoder_run(c->reference_s, &c->batch, output, c->want, err);
}

static bool compare(struct comparison *c, struct encoder_check *ret_check, struct err *err)
{
	int dim = c->e->config.dim, n_labels = c->e->config.n_labels;
	struct encoder_check check = { .cosine_min = 1, .n = TEXTS };
	if (!run_both(c, ENCODER_EMBEDDING, err))
		return false;
	for (int i = 0; i < TEXTS; i++)
		check.cosine_min =
		        fmin(check.cosine_min, cosine(c->got + i * dim, c->want + i * dim, dim));
	if (c->e->head && !run_both(c, ENCODER_LOGITS, err))
		return false;
	for (int i = 0; c->e->head && i < TEXTS * n_labels; i++)
		check.logit_error_max =
		        fmax(check.logit_error_max, fabs((double)c->got[i] - (double)c->want[i]));
	*ret_check = check;
	return true;
}

bool encoder_compare(const struct encoder *e, const struct encoder *reference, struct pool *pool,
        struct encoder_check *ret_check, struct err *err)
{
	struct comparison c = { .e = e, .reference = reference };
	bool ok = begin(&c, pool, err) && compare(&c, ret_check, err);
	end(&c);
	return ok;
}

/* What each layer alone adds: fed with what the reference's is fed with, against its output. */
static void layer_errors(struct comparison *c, double *errors)
{
	struct encoder_session *s = c->s, *reference = c->reference_s;
	const struct encoder *e = c->e;
	bool fuse = e->options.fuse;
	encoder_lay_out(s, &c->batch);
	encoder_lay_out(reference, &c->batch);
	encoder_embed(reference);
	size_t n = (size_t)s->n_rows * (size_t)e->config.dim;
	struct matrix x = { DTYPE_F32, s->x, NULL, s->n_rows, e->config.dim, e->config.dim };
	for (int i = 0; i < e->config.n_layers; i++) {
		double error = 0, size = 0;
		memcpy(s->x, reference->x, n * sizeof(float));
		if (fuse)
			encoder_as_input(s, e->layers[i].products[PRODUCT_QKV], &x);
		(fuse ? encoder_layer_fused : encoder_layer_unfused)(s, &e->layers[i]);
		(fuse ? encoder_layer_fused : encoder_layer_unfused)(
		        reference, &c->reference->layers[i]);
		for (size_t j = 0; j < n; j++) {
			double d = (double)s->x[j] - (double)reference->x[j];
			error += d * d;
			size += (double)reference->x[j] * (double)reference->x[j];
		}
		errors[i] = error / size;
	}
}

static int worst(const double *errors, const bool *wide, int n)
{
	int found = -1;
	for (int i = 0; i < n; i++)
		if (!wide[i] && (found < 0 || errors[i] > errors[found]))
			found = i;
	return found;
}

/* One layer after the other, the worst first, until the whole is near enough. */
static bool widen(struct comparison *c, struct encoder *e, const struct checkpoint *file,
        struct encoder_check *check, struct err *err)
{
	int n = e->config.n_layers;
	enum dtype type = e->options.weights;
	AUTO(auto_free) double *errors = mem_zeroed((size_t)n, sizeof(*errors));
	AUTO(auto_free) bool *wide = mem_zeroed((size_t)n, sizeof(*wide));
	if (!(check->cosine_min < cosine_limits[type]))
		return true;
	layer_errors(c, errors);
	for (int n_wide = 1; n_wide <= n && check->cosine_min < cosine_limits[type]; n_wide++) {
		int i = worst(errors, wide, n);
		wide[i] = true;
		if (!encoder_weights_reload(e, file, i, wider(type), err) ||
		        !compare(c, check, err))
			return false;
		check->n_wide = n_wide;
	}
	return true;
}

static bool check_beside(struct encoder *e, const struct encoder *reference,
        const struct checkpoint *file, struct err *err)
{
	struct pool *pool;
	struct comparison c = { .e = e, .reference = reference };
	if (!pool_open(&(struct pool_options){ 0 }, &pool, err))
		return false;
	bool ok = begin(&c, pool, err) && compare(&c, &e->check, err) &&
	          widen(&c, e, file, &e->check, err);
	end(&c);
	pool_close(pool);
	return ok;
}

bool encoder_check_weights(struct encoder *e, const struct checkpoint *file, struct err *err)
{
	struct encoder reference = *e;
	if (e->options.weights == DTYPE_F32)
		return true;
	reference.options.weights = reference.between = DTYPE_F32;
	reference.options.faults = (struct engine_faults){ 0 };
	reference.run = (struct arena){ 0 };
	encoder_weights_forget(&reference);
	bool ok = encoder_weights_open(&reference, file, err) &&
	          check_beside(e, &reference, file, err);
	encoder_weights_release(&reference);
	arena_release(&reference.run);
	return ok;
}
