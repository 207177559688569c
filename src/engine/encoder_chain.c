/*
 * The layers block of rows by block of rows: one thread takes a block from its attention through to
 * the keys and values that the next layer reads of it, so that what is between stays in the core's
 * caches and threads meet once a layer. Keys and values alternate between two places: a block
 * writes the next layer's while others still read this one's.
 */
#include "engine/encoder_ops.h"

#include <math.h>

/* What a block works on, of the thread that has it. */
struct chain {
	struct encoder_session *s;
	struct encoder_rows rows;
	float *x, *sum, *row_scale, *wide;
	uint16_t *low;
	uint8_t *quantised;
	void *context, *hidden, *attention;
};

struct chain_stage {
	struct encoder_session *s;
	int i_layer; /* -1: the embeddings */
};

static size_t rounded(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

/* Lays the parts out from base on; the bytes that they take. */
static size_t lay_out(struct chain *c, const struct encoder *e, unsigned char *base)
{
	size_t rows = ENCODER_BLOCK_ROWS + LINEAR_ROWS_PADDING;
	size_t dim = (size_t)e->config.dim, ffn = (size_t)e->config.ffn_dim;
	size_t widest = dim > ffn ? dim : ffn, between = dtype_bytes(e->between), at = 0;
	const struct {
		void **place;
		size_t bytes;
	} parts[] = {
		{ &c->context, rows * dim * between },
		{ (void **)&c->sum, rows * dim * sizeof(float) },
		{ (void **)&c->low, rows * widest * sizeof(uint16_t) },
		{ (void **)&c->quantised, rows * widest },
		{ (void **)&c->row_scale, rows * sizeof(float) },
		{ &c->hidden, rows * ffn * between },
		{ (void **)&c->wide, rows * widest * sizeof(float) },
		{ &c->attention, attention_scratch_bytes(ENCODER_BLOCK_ROWS, e->config.n_positions,
		                         e->config.dim / e->config.n_heads) },
	};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		*parts[i].place = base ? base + at : NULL;
		at += rounded(parts[i].bytes);
	}
	return at;
}

size_t encoder_chain_scratch_bytes(const struct encoder *e)
{
	struct chain c;
	return lay_out(&c, e, NULL);
}

static struct matrix dense(const struct chain *c, enum dtype type, void *data, int cols)
{
	return (struct matrix){ type, data, c->row_scale, c->rows.n, cols, cols };
}

static void *at(const struct encoder *e, void *data, size_t i)
{
	return (char *)data + i * dtype_bytes(e->between);
}

/* from as the product wants its input. */
static struct matrix as_input(
        const struct chain *c, const struct linear *l, const struct matrix *from)
{
	enum dtype type = linear_input_type(l);
	if (type == from->type)
		return *from;
	void *places[] = {
		[DTYPE_F32] = c->wide, [DTYPE_BF16] = c->low, [DTYPE_U8] = c->quantised
	};
	const struct encoder_convert convert = { *from, dense(c, type, places[type], from->cols) };
	encoder_convert_rows(c->s->e->kernels, &convert, (struct encoder_rows){ 0, from->rows });
	return convert.to;
}

/* x = norm(sum + residual), and as the next product wants it. */
static struct matrix norm(const struct chain *c, const struct encoder_norm *norm,
        const float *residual, const struct linear *next)
{
	const struct encoder *e = c->s->e;
	int dim = e->config.dim;
	struct matrix x = dense(c, DTYPE_F32, c->x, dim);
	bool low = next && linear_input_type(next) == DTYPE_BF16;
	e->kernels->add_norm(c->x, low ? c->low : NULL, c->sum, residual, norm->gamma, norm->beta,
	        c->rows.n, dim, e->config.norm_eps);
	if (low)
		return dense(c, DTYPE_BF16, c->low, dim);
	return next ? as_input(c, next, &x) : x;
}

/* The queries of a block that are of one sequence, all heads. */
static void attend_sequence(const struct chain *c, void *qkv, int sequence, struct encoder_rows r)
{
	const struct encoder *e = c->s->e;
	int dim = e->config.dim, head_dim = dim / e->config.n_heads;
	size_t ld = 3 * (size_t)dim, first = (size_t)c->s->first_row[sequence];
	struct attention a = {
		.type = e->between,
		.ld = (int)ld,
		.n_q = r.n,
		.n_keys = c->s->batch->lengths[sequence],
		.dim = head_dim,
		.scale = 1 / sqrtf((float)head_dim),
		.ld_out = dim,
	};
	for (int column = 0; column < dim; column += head_dim) {
		a.q = at(e, qkv, (size_t)r.first * ld + (size_t)column);
		a.k = at(e, qkv, first * ld + (size_t)(dim + column));
		a.v = at(e, qkv, first * ld + (size_t)(2 * dim + column));
		a.out = at(e, c->context,
		        (size_t)(r.first - c->rows.first) * (size_t)dim + (size_t)column);
		e->attention(&a, c->attention);
	}
}

static void attend(const struct chain *c, void *qkv)
{
	const struct encoder_session *s = c->s;
	int row = c->rows.first, end = row + c->rows.n;
	for (int i = encoder_sequence_of(s, row); row < end; i++) {
		int stop = s->first_row[i + 1] < end ? s->first_row[i + 1] : end;
		attend_sequence(c, qkv, i, (struct encoder_rows){ row, stop - row });
		row = stop;
	}
}

/* Attention and all after it; what the next layer reads. */
static struct matrix run_layer(
        const struct chain *c, const struct encoder_layer *layer, void *qkv, bool last)
{
	const struct encoder *e = c->s->e;
	int dim = e->config.dim, ffn = e->config.ffn_dim;
	struct matrix context = dense(c, e->between, c->context, dim);
	struct matrix hidden = dense(c, e->between, c->hidden, ffn);
	struct matrix sum = dense(c, DTYPE_F32, c->sum, dim);
	struct linear *const *p = layer->products;
	attend(c, qkv);
	struct matrix in = as_input(c, p[PRODUCT_OUT], &context);
	linear_rows(p[PRODUCT_OUT], &in, &sum);
	in = norm(c, &layer->attention_norm, c->x, p[PRODUCT_UP]);
	linear_rows(p[PRODUCT_UP], &in, &hidden);
	in = as_input(c, p[PRODUCT_DOWN], &hidden);
	linear_rows(p[PRODUCT_DOWN], &in, &sum);
	return norm(c, &layer->ffn_norm, c->x, last ? NULL : layer[1].products[PRODUCT_QKV]);
}

static struct matrix embed(const struct chain *c)
{
	const struct encoder *e = c->s->e;
	encoder_embed_rows(c->s, c->rows, c->sum);
	return norm(c, &e->embedding_norm, NULL, e->layers[0].products[PRODUCT_QKV]);
}

static void run_tile(void *ctx, int i_block, int i_thread)
{
	const struct chain_stage *stage = ctx;
	struct encoder_session *s = stage->s;
	const struct encoder *e = s->e;
	int next = stage->i_layer + 1, dim = e->config.dim;
	struct chain c = { .s = s };
	lay_out(&c, e, s->scratch + (size_t)i_thread * s->scratch_bytes);
	c.rows = (struct encoder_rows){ s->cuts[i_block], s->cuts[i_block + 1] - s->cuts[i_block] };
	c.x = s->x + (size_t)c.rows.first * (size_t)dim;
	bool last = next == e->config.n_layers;
	struct matrix in = next == 0 ? embed(&c)
	                             : run_layer(&c, &e->layers[stage->i_layer],
	                                       s->qkv[stage->i_layer % 2], last);
	if (last)
		return;
	size_t first = (size_t)c.rows.first * 3 * (size_t)dim;
	struct matrix qkv = { e->between, at(e, s->qkv[next % 2], first), NULL, c.rows.n, 3 * dim,
		3 * dim };
	linear_rows(e->layers[next].products[PRODUCT_QKV], &in, &qkv);
}

void encoder_chain(struct encoder_session *s)
{
	struct chain_stage stage = { s, -1 };
	for (; stage.i_layer < s->e->config.n_layers; stage.i_layer++)
		launch(s->pool, &s->e->options.faults, s->n_cuts, run_tile, &stage);
}
