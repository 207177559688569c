#include "engine/encoder_ops.h"

#include <math.h>

static const char *at(const void *data, size_t i, enum dtype type)
{
	return (const char *)data + i * dtype_bytes(type);
}

/* One head of one block of queries. */
static void attend_tile(void *ctx, int i_tile, int i_thread)
{
	struct encoder_session *s = *(struct encoder_session **)ctx;
	const struct encoder *e = s->e;
	int n_heads = e->config.n_heads, dim = e->config.dim, head_dim = dim / n_heads;
	const int *block = s->blocks + 2 * (i_tile / n_heads);
	int sequence = block[0], head = i_tile % n_heads;
	int first = s->first_row[sequence], query = first + block[1];
	int left = s->first_row[sequence + 1] - query;
	size_t ld = 3 * (size_t)dim, column = (size_t)(head * head_dim);
	const struct attention a = {
		.type = e->between,
		.q = at(s->qkv[0], (size_t)query * ld + column, e->between),
		.k = at(s->qkv[0], (size_t)first * ld + column + (size_t)dim, e->between),
		.v = at(s->qkv[0], (size_t)first * ld + column + 2 * (size_t)dim, e->between),
		.ld = (int)ld,
		.n_q = left < ENCODER_QUERIES ? left : ENCODER_QUERIES,
		.n_keys = s->batch->lengths[sequence],
		.dim = head_dim,
		.scale = 1 / sqrtf((float)head_dim),
		.out = (char *)at(s->context, (size_t)query * (size_t)dim + column, e->between),
		.ld_out = dim,
	};
	e->attention(&a, s->scratch + (size_t)i_thread * s->scratch_bytes);
}

static void attend(struct encoder_session *s)
{
	const struct encoder_config *c = &s->e->config;
	int64_t start = profile_start(s->profile);
	launch(s->pool, &s->e->options.faults, s->n_blocks * c->n_heads, attend_tile, &s);
	int head_dim = c->dim / c->n_heads;
	enum dtype type = s->e->between;
	profile_operator(s->profile, "attention", start,
	        &(struct profile_inputs){ { { s->n_rows, c->n_heads, head_dim },
	                                          { s->n_rows, c->n_heads, head_dim } },
	                { type, type } });
}

void encoder_layer_fused(struct encoder_session *s, const struct encoder_layer *layer)
{
	const struct encoder *e = s->e;
	int dim = e->config.dim, ffn = e->config.ffn_dim, n = s->n_rows;
	struct linear *const *p = layer->products;
	bool last = layer == &e->layers[e->config.n_layers - 1];
	struct matrix qkv = { e->between, s->qkv[0], NULL, n, 3 * dim, 3 * dim };
	struct matrix context = { e->between, s->context, NULL, n, dim, dim };
	struct matrix hidden = { e->between, s->hidden, NULL, n, ffn, ffn };
	struct matrix sum = { DTYPE_F32, s->sum, NULL, n, dim, dim };
	struct matrix in = encoder_stream_for(s, p[PRODUCT_QKV]);

	encoder_linear(s, p[PRODUCT_QKV], "linear", &in, &qkv);
	attend(s);
	in = encoder_as_input(s, p[PRODUCT_OUT], &context);
	encoder_linear(s, p[PRODUCT_OUT], "linear", &in, &sum);
	encoder_add_norm(s, &layer->attention_norm, p[PRODUCT_UP]);
	in = encoder_stream_for(s, p[PRODUCT_UP]);
	encoder_linear(s, p[PRODUCT_UP], "linear_gelu", &in, &hidden);
	in = encoder_as_input(s, p[PRODUCT_DOWN], &hidden);
	encoder_linear(s, p[PRODUCT_DOWN], "linear", &in, &sum);
	encoder_add_norm(s, &layer->ffn_norm, last ? NULL : layer[1].products[PRODUCT_QKV]);
}
