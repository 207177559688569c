#include "engine/encoder_ops.h"

#include <math.h>
#include <string.h>

/* Rows of a tile at most: what stays in a core's nearest cache. */
enum { ROWS_TILE = 32 };

struct rows_stage {
	struct encoder_session *s;
	encoder_rows_fn *fn;
	const void *args;
	int rows_tile;
};

static void run_rows(void *ctx, int i_tile, int i_thread)
{
	const struct rows_stage *stage = ctx;
	int first = i_tile * stage->rows_tile;
	int left = stage->s->n_rows - first;
	(void)i_thread;
	stage->fn(stage->s,
	        (struct encoder_rows){ first, left < stage->rows_tile ? left : stage->rows_tile },
	        stage->args);
}

void encoder_for_rows(struct encoder_session *s, encoder_rows_fn *fn, const void *args)
{
	int n_threads = pool_n_threads(s->pool);
	int even = (s->n_rows + 2 * n_threads - 1) / (2 * n_threads);
	struct rows_stage stage = { s, fn, args, even < ROWS_TILE ? even : ROWS_TILE };
	launch(s->pool, &s->e->options.faults, (s->n_rows + stage.rows_tile - 1) / stage.rows_tile,
	        run_rows, &stage);
}

static void *row_of(const struct matrix *m, int row)
{
	return (char *)m->data + (size_t)row * (size_t)m->ld * dtype_bytes(m->type);
}

static struct matrix dense(const struct encoder_session *s, enum dtype type, void *data, int cols)
{
	return (struct matrix){ type, data, s->row_scale, s->n_rows, cols, cols };
}

void encoder_convert_rows(
        const struct kernels *k, const struct encoder_convert *c, struct encoder_rows r)
{
	const void *from = row_of(&c->from, r.first);
	void *to = row_of(&c->to, r.first);
	size_t n = (size_t)r.n * (size_t)c->from.cols;
	if (c->to.type == DTYPE_U8)
		k->quantize(to, c->to.row_scale + r.first, from, c->from.type, r.n, c->from.cols);
	else if (c->to.type == DTYPE_BF16)
		k->to_bf16(to, from, n);
	else
		k->from_bf16(to, from, n);
}

static void convert_tile(struct encoder_session *s, struct encoder_rows rows, const void *args)
{
	encoder_convert_rows(s->e->kernels, args, rows);
}

struct matrix encoder_as_input(
        struct encoder_session *s, const struct linear *l, const struct matrix *from)
{
	enum dtype type = linear_input_type(l);
	if (type == from->type)
		return *from;
	void *places[] = {
		[DTYPE_F32] = s->wide, [DTYPE_BF16] = s->x_low, [DTYPE_U8] = s->quantised
	};
	const struct encoder_convert c = { *from, dense(s, type, places[type], from->cols) };
	int64_t start = profile_start(s->profile);
	encoder_for_rows(s, convert_tile, &c);
	profile_operator(s->profile, type == DTYPE_U8 ? "quantize" : "cast", start,
	        &(struct profile_inputs){ { { s->n_rows, from->cols } }, { from->type } });
	return c.to;
}

struct matrix encoder_stream_for(struct encoder_session *s, const struct linear *l)
{
	switch (l ? linear_input_type(l) : DTYPE_F32) {
	case DTYPE_U8:
		return dense(s, DTYPE_U8, s->quantised, s->e->config.dim);
	case DTYPE_BF16:
		return dense(s, DTYPE_BF16, s->x_low, s->e->config.dim);
	default:
		return dense(s, DTYPE_F32, s->x, s->e->config.dim);
	}
}

void encoder_linear(struct encoder_session *s, const struct linear *l, const char *name,
        const struct matrix *x, struct matrix *out)
{
	int64_t start = profile_start(s->profile);
	linear_run(l, s->pool, x, out);
	profile_operator(s->profile, name, start,
	        &(struct profile_inputs){ { { x->rows, x->cols }, { out->cols, x->cols } },
	                { x->type, x->type == DTYPE_U8 ? DTYPE_S8 : x->type } });
}

static void norm_tile(struct encoder_session *s, struct encoder_rows r, const void *args)
{
	const struct encoder_norm_step *step = args;
	const struct kernels *k = s->e->kernels;
	int dim = s->e->config.dim;
	float *x = s->x + (size_t)r.first * (size_t)dim;
	const float *sum = s->sum + (size_t)r.first * (size_t)dim;
	bool low = step->then.type == DTYPE_BF16;
	k->add_norm(x, low ? row_of(&step->then, r.first) : NULL, sum, step->residual ? x : NULL,
	        step->norm->gamma, step->norm->beta, r.n, dim, s->e->config.norm_eps);
	if (step->then.type == DTYPE_U8)
		k->quantize(row_of(&step->then, r.first), s->row_scale + r.first, x, DTYPE_F32, r.n,
		        dim);
}

void encoder_add_norm(
        struct encoder_session *s, const struct encoder_norm *norm, const struct linear *next)
{
	const struct encoder_norm_step step = { norm, true, encoder_stream_for(s, next) };
	int dim = s->e->config.dim;
	int64_t start = profile_start(s->profile);
	encoder_for_rows(s, norm_tile, &step);
	profile_operator(s->profile, "add_layer_norm", start,
	        &(struct profile_inputs){ { { s->n_rows, dim }, { s->n_rows, dim } } });
}

void encoder_norm_sum(struct encoder_session *s, const struct encoder_norm *norm)
{
	const struct encoder_norm_step step = { norm, false, encoder_stream_for(s, NULL) };
	int64_t start = profile_start(s->profile);
	encoder_for_rows(s, norm_tile, &step);
	profile_operator(s->profile, "layer_norm", start,
	        &(struct profile_inputs){ { { s->n_rows, s->e->config.dim } } });
}

void encoder_embed_rows(const struct encoder_session *s, struct encoder_rows r, float *out)
{
	const struct encoder *e = s->e;
	size_t dim = (size_t)e->config.dim;
	for (int row = r.first; row < r.first + r.n; row++, out += dim) {
		const float *word = e->words + (size_t)s->ids[row] * dim;
		const float *place = e->positions + (size_t)s->row_positions[row] * dim;
		const float *type = e->types ? e->types + (size_t)s->row_types[row] * dim : NULL;
		for (size_t i = 0; i < dim; i++)
			out[i] = word[i] + place[i];
		for (size_t i = 0; type && i < dim; i++)
			out[i] += type[i];
	}
}

static void embed_tile(struct encoder_session *s, struct encoder_rows r, const void *args)
{
	encoder_embed_rows(s, r, s->sum + (size_t)r.first * (size_t)s->e->config.dim);
	norm_tile(s, r, args);
}

void encoder_embed(struct encoder_session *s)
{
	const struct encoder *e = s->e;
	const struct linear *next = e->options.fuse ? e->layers[0].products[PRODUCT_QKV] : NULL;
	const struct encoder_norm_step step = { &e->embedding_norm, false,
		encoder_stream_for(s, next) };
	int64_t start = profile_start(s->profile);
	encoder_for_rows(s, embed_tile, &step);
	profile_operator(s->profile, "embedding", start,
	        &(struct profile_inputs){
	                { { s->n_rows }, { e->config.n_vocab, e->config.dim } } });
}
