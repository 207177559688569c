#include "engine/llama.h"

#include "base/attr.h"
#include "engine/ops.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/*
 * Goes through the arrays of a state: adds up their size, and hands them out when memory is given.
 */
static size_t lay_out(struct llama_state *s, const struct llama_shape *shape, float *memory)
{
	size_t block = LLAMA_BLOCK, dim = (size_t)shape->dim;
	size_t cache = (size_t)shape->n_layers * (size_t)shape->n_ctx * (size_t)shape->kv_dim;
	const struct {
		float **array;
		size_t n;
	} rows[] = {
		{ &s->x, block * dim },
		{ &s->norm, block * dim },
		{ &s->q, block * dim },
		{ &s->attended, block * dim },
		{ &s->out, block * dim },
		{ &s->gate, block * (size_t)shape->ffn_dim },
		{ &s->up, block * (size_t)shape->ffn_dim },
		{ &s->cos, block * (size_t)shape->n_rot / 2 },
		{ &s->sin, block * (size_t)shape->n_rot / 2 },
		{ &s->scores, (size_t)shape->n_ctx },
		{ &s->logits, (size_t)shape->n_vocab },
		{ &s->k, cache },
		{ &s->v, cache },
	};
	size_t used = 0;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (memory)
			*rows[i].array = memory + used;
		/* Each on a cache line of its own. */
		used += (rows[i].n + 15) & ~(size_t)15;
	}
	return used;
}

size_t llama_state_bytes(const struct llama_shape *shape)
{
	struct llama_state none;
	return lay_out(&none, shape, NULL) * sizeof(float);
}

void llama_state_init(struct llama_state *state, const struct llama_shape *shape, void *memory)
{
	*state = (struct llama_state){ .memory = memory };
	lay_out(state, shape, memory);
}

/* Where layer and position begin in the cache. */
static size_t cache_at(const struct llama_shape *c, int layer, int position)
{
	return ((size_t)layer * (size_t)c->n_ctx + (size_t)position) * (size_t)c->kv_dim;
}

/* The angles of n positions, the same for all layers and heads. */
static void set_angles(const struct llama *m, struct llama_state *s, int n)
{
	int half = m->shape.n_rot / 2;
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < half; j++) {
			double angle = (s->n_past + i) * m->rope_freq[j];
			s->cos[i * half + j] = (float)cos(angle);
			s->sin[i * half + j] = (float)sin(angle);
		}
	}
}

/*
 * Attention of one token over the n_seen first ones, itself the last of them.
 *
 * q, out   [n_heads, head_dim], must not overlap
 * k, v     [n_seen, n_kv_heads, head_dim]
 * scores   [n_seen], scratch
 * cost     4 * n_seen * n_heads * head_dim flop
 * source   Vaswani 2017, eq. 1
 */
static void attend(const struct llama_shape *c, float *out, const float *q, const float *k,
        const float *v, int n_seen, float *scores)
{
	float scale = 1.0f / sqrtf((float)c->head_dim);
	int per_kv_head = c->n_heads / c->n_kv_heads;
	memset(out, 0, (size_t)c->dim * sizeof(*out));
	for (int head = 0; head < c->n_heads; head++) {
		size_t at = (size_t)(head / per_kv_head) * (size_t)c->head_dim;
		const float *head_q = q + head * c->head_dim;
		float *head_out = out + head * c->head_dim;
		for (int i = 0; i < n_seen; i++)
			scores[i] = scale * ops_dot(head_q, k + (size_t)i * (size_t)c->kv_dim + at,
			                            c->head_dim);
		ops_softmax(scores, n_seen);
		for (int i = 0; i < n_seen; i++)
			ops_add_scaled(head_out, v + (size_t)i * (size_t)c->kv_dim + at, scores[i],
			        c->head_dim);
	}
}

/* The operators as a profile names them. */
static void linear(const struct llama_state *s, float *out, const float *x, const float *w, int n,
        int n_in, int n_out)
{
	int64_t start = profile_start(s->profile);
	ops_matmul(out, x, w, n, n_in, n_out);
	profile_operator(s->profile, "linear", start,
	        &(struct profile_inputs){ { { n, n_in }, { n_out, n_in } } });
}

static void rms_norm(const struct llama_state *s, float *out, const float *x, const float *weight,
        int n, const struct llama_shape *c)
{
	int64_t start = profile_start(s->profile);
	ops_rmsnorm(out, x, weight, n, c->dim, c->eps);
	profile_operator(s->profile, "rms_norm", start,
	        &(struct profile_inputs){ { { n, c->dim }, { c->dim } } });
}

static void add(const struct llama_state *s, float *x, const float *y, int n, int dim)
{
	int64_t start = profile_start(s->profile);
	ops_add(x, y, n * dim);
	profile_operator(
	        s->profile, "add", start, &(struct profile_inputs){ { { n, dim }, { n, dim } } });
}

static void rotate(struct llama_state *s, const struct llama_shape *c, float *k, int n)
{
	int64_t start = profile_start(s->profile);
	for (int i = 0; i < n; i++) {
		const float *cos = s->cos + i * (c->n_rot / 2), *sin = s->sin + i * (c->n_rot / 2);
		ops_rope(s->q + i * c->dim, cos, sin, c->n_heads, c->head_dim, c->n_rot);
		ops_rope(k + i * c->kv_dim, cos, sin, c->n_kv_heads, c->head_dim, c->n_rot);
	}
	profile_operator(s->profile, "rope", start,
	        &(struct profile_inputs){
	                { { n, c->n_heads, c->head_dim }, { n, c->n_kv_heads, c->head_dim } } });
}

static void attend_all(struct llama_state *s, const struct llama_shape *c, int layer, int n)
{
	int64_t start = profile_start(s->profile);
	for (int i = 0; i < n; i++)
		attend(c, s->attended + i * c->dim, s->q + i * c->dim, s->k + cache_at(c, layer, 0),
		        s->v + cache_at(c, layer, 0), s->n_past + i + 1, s->scores);
	profile_operator(s->profile, "attention", start,
	        &(struct profile_inputs){ { { n, c->n_heads, c->head_dim },
	                { s->n_past + n, c->n_kv_heads, c->head_dim } } });
}

static void swiglu(const struct llama_state *s, int n, int ffn_dim)
{
	int64_t start = profile_start(s->profile);
	ops_swiglu(s->gate, s->up, n * ffn_dim);
	profile_operator(s->profile, "silu_and_mul", start,
	        &(struct profile_inputs){ { { n, ffn_dim }, { n, ffn_dim } } });
}

static void attention(const struct llama *m, int layer, struct llama_state *s, int n)
{
	const struct llama_shape *c = &m->shape;
	const struct llama_layer *w = &m->layers[layer];
	float *k = s->k + cache_at(c, layer, s->n_past), *v = s->v + cache_at(c, layer, s->n_past);
	rms_norm(s, s->norm, s->x, w->attn_norm, n, c);
	linear(s, s->q, s->norm, w->q, n, c->dim, c->dim);
	linear(s, k, s->norm, w->k, n, c->dim, c->kv_dim);
	linear(s, v, s->norm, w->v, n, c->dim, c->kv_dim);
	rotate(s, c, k, n);
	attend_all(s, c, layer, n);
	linear(s, s->out, s->attended, w->o, n, c->dim, c->dim);
	add(s, s->x, s->out, n, c->dim);
}

static void feed_forward(const struct llama *m, int layer, struct llama_state *s, int n)
{
	const struct llama_shape *c = &m->shape;
	const struct llama_layer *w = &m->layers[layer];
	rms_norm(s, s->norm, s->x, w->ffn_norm, n, c);
	linear(s, s->gate, s->norm, w->gate, n, c->dim, c->ffn_dim);
	linear(s, s->up, s->norm, w->up, n, c->dim, c->ffn_dim);
	swiglu(s, n, c->ffn_dim);
	linear(s, s->out, s->gate, w->down, n, c->ffn_dim, c->dim);
	add(s, s->x, s->out, n, c->dim);
}

/* Leaves the last layer's values in s->x. */
static void eval_block(const struct llama *m, struct llama_state *s, const int32_t *tokens, int n)
{
	size_t dim = (size_t)m->shape.dim;
	for (int i = 0; i < n; i++)
		memcpy(s->x + (size_t)i * dim, m->embedding + (size_t)tokens[i] * dim,
		        dim * sizeof(*s->x));
	set_angles(m, s, n);
	for (int layer = 0; layer < m->shape.n_layers; layer++) {
		attention(m, layer, s, n);
		feed_forward(m, layer, s, n);
	}
	s->n_past += n;
}

void llama_eval(const struct llama *m, struct llama_state *state, const int32_t *tokens, int n)
{
	const struct llama_shape *c = &m->shape;
	assert(n >= 1 && n <= c->n_ctx - state->n_past);
	int n_block = 0;
	for (int i = 0; i < n; i += n_block) {
		n_block = n - i < LLAMA_BLOCK ? n - i : LLAMA_BLOCK;
		eval_block(m, state, tokens + i, n_block);
	}
	const float *last = state->x + (size_t)(n_block - 1) * (size_t)c->dim;
	rms_norm(state, state->norm, last, m->norm, 1, c);
	linear(state, state->logits, state->norm, m->output, 1, c->dim, c->n_vocab);
}
