/* A layer operator by operator, as frameworks without fusion run it: everything between is float32
 * and goes through memory. */
#include "engine/encoder_ops.h"

#include <math.h>
#include <string.h>

/* Of a key that nobody may see: far below any score, and no infinity whose differences are none. */
static const float MASKED = -1e30F;

/* What one head of one sequence works on. */
struct head {
	const float *q, *k, *v; /* [n, dim]: the head's columns begin here */
	float *scores;          /* [n, ld_scores] */
	float *out;             /* [n, dim] */
	int n, n_real;          /* rows, and those that are no padding */
	int dim, ld, ld_scores;
	const struct products *products;
	float *scratch; /* twice scratch_values / 2, and what is behind for [n, panels of dim] */
	size_t scratch_values;
};

static int round_up(int n, int to)
{
	return (n + to - 1) / to * to;
}

/* A matrix of keys or values, and the same packed. */
static size_t scratch_values(const struct encoder *e)
{
	int dim = e->config.dim / e->config.n_heads;
	return 2 * (size_t)round_up(e->config.n_positions, ENCODER_PANEL_MAX) *
	       (size_t)round_up(dim, ENCODER_PANEL_MAX);
}

size_t encoder_unfused_scratch_bytes(const struct encoder *e)
{
	return scratch_values(e) * sizeof(float) * 3 / 2;
}

typedef void head_fn(const struct encoder_session *s, const struct head *h);

struct heads_stage {
	struct encoder_session *s;
	head_fn *fn;
};

static size_t part_values(const struct encoder_session *s)
{
	return ((size_t)s->rows_max + LINEAR_ROWS_PADDING) * (size_t)s->e->config.dim;
}

static float *part_of(const struct encoder_session *s, enum encoder_product product)
{
	return (float *)s->qkv[0] + (size_t)(product - PRODUCT_QUERY) * part_values(s);
}

static void run_head(void *ctx, int i_tile, int i_thread)
{
	const struct heads_stage *stage = ctx;
	const struct encoder_session *s = stage->s;
	int n_heads = s->e->config.n_heads, dim = s->e->config.dim;
	int i = i_tile / n_heads, head = i_tile % n_heads;
	int n = s->first_row[i + 1] - s->first_row[i];
	size_t corner = (size_t)s->first_row[i] * (size_t)dim + (size_t)(head * (dim / n_heads));
	const struct head h = {
		.q = part_of(s, PRODUCT_QUERY) + corner,
		.k = part_of(s, PRODUCT_KEY) + corner,
		.v = part_of(s, PRODUCT_VALUE) + corner,
		.scores = s->scores + s->first_score[i] +
		          (size_t)head * (size_t)n * (size_t)round_up(n, ENCODER_PANEL_MAX),
		.out = (float *)s->context + corner,
		.n = n,
		.n_real = s->batch->lengths[i],
		.dim = dim / n_heads,
		.ld = dim,
		.ld_scores = round_up(n, ENCODER_PANEL_MAX),
		.products = s->e->products,
		.scratch = (float *)(s->scratch + (size_t)i_thread * s->scratch_bytes),
		.scratch_values = scratch_values(s->e),
	};
	stage->fn(s, &h);
}

static void for_heads(struct encoder_session *s, head_fn *fn, const char *name, bool reads_scores)
{
	const struct encoder_config *c = &s->e->config;
	struct heads_stage stage = { s, fn };
	int64_t start = profile_start(s->profile);
	int n = s->batch->n;
	launch(s->pool, &s->e->options.faults, n * c->n_heads, run_head, &stage);
	int64_t longest = s->first_row[1];
	struct profile_inputs inputs = { { { s->n_rows, c->n_heads, c->dim / c->n_heads },
		{ s->n_rows, c->n_heads, c->dim / c->n_heads } } };
	if (reads_scores)
		inputs = (struct profile_inputs){
			{ { (int64_t)n * c->n_heads, longest, longest } }
		};
	profile_operator(s->profile, name, start, &inputs);
}

/* acc = x times the transposed w, where row i of w is every value w_step of the row w + i * w_ld.
 */
static void multiply(const struct head *h, const float *x, int ldx, const float *w, int w_ld,
        int w_step, int n_in, int n_out, float *acc, int ld_acc)
{
	float *dense = h->scratch, *packed = dense + h->scratch_values / 2;
	for (int i = 0; i < n_out; i++)
		for (int j = 0; j < n_in; j++)
			dense[i * n_in + j] =
			        w[(size_t)i * (size_t)w_ld + (size_t)j * (size_t)w_step];
	products_pack(h->products, DTYPE_F32, n_in, n_out, dense, packed);
	h->products->run(DTYPE_F32, packed, n_in, n_out, x, ldx, h->n, acc, ld_acc);
}

static void query_key(const struct encoder_session *s, const struct head *h)
{
	(void)s;
	multiply(h, h->q, h->ld, h->k, h->ld, 1, h->dim, h->n, h->scores, h->ld_scores);
}

static void scale(const struct encoder_session *s, const struct head *h)
{
	s->e->kernels->scale(
	        h->scores, 1 / sqrtf((float)h->dim), (size_t)h->n * (size_t)h->ld_scores);
}

static void mask(const struct encoder_session *s, const struct head *h)
{
	(void)s;
	for (int i = 0; i < h->n; i++)
		for (int j = h->n_real; j < h->n; j++)
			h->scores[(size_t)i * (size_t)h->ld_scores + (size_t)j] = MASKED;
}

static void softmax(const struct encoder_session *s, const struct head *h)
{
	for (int i = 0; i < h->n; i++)
		s->e->kernels->softmax(h->scores + (size_t)i * (size_t)h->ld_scores, 1, h->n);
}

/* What a panel is too wide for the head's own columns goes beside them first. */
static void score_value(const struct encoder_session *s, const struct head *h)
{
	float *wide = h->scratch + h->scratch_values;
	int ld = round_up(h->dim, h->products->panel);
	(void)s;
	multiply(h, h->scores, h->ld_scores, h->v, 1, h->ld, h->n, h->dim, wide, ld);
	for (int i = 0; i < h->n; i++)
		memcpy(h->out + (size_t)i * (size_t)h->ld, wide + (size_t)i * (size_t)ld,
		        (size_t)h->dim * sizeof(float));
}

static void attend(struct encoder_session *s)
{
	for_heads(s, query_key, "bmm", false);
	for_heads(s, scale, "mul", true);
	if (s->batch->pad_to)
		for_heads(s, mask, "masked_fill", true);
	for_heads(s, softmax, "softmax", true);
	for_heads(s, score_value, "bmm", true);
}

struct piece {
	const struct matrix *x;
	const float *y; /* the bias, or what is added */
};

static float *rows_of(const struct matrix *m, struct encoder_rows r)
{
	return (float *)m->data + (size_t)r.first * (size_t)m->cols;
}

static void bias_tile(struct encoder_session *s, struct encoder_rows r, const void *args)
{
	const struct piece *p = args;
	s->e->kernels->add_bias(rows_of(p->x, r), p->y, r.n, p->x->cols);
}

static void activate_tile(struct encoder_session *s, struct encoder_rows r, const void *args)
{
	const struct piece *p = args;
	s->e->kernels->activate(
	        rows_of(p->x, r), (size_t)r.n * (size_t)p->x->cols, s->e->config.activation);
}

static void add_tile(struct encoder_session *s, struct encoder_rows r, const void *args)
{
	const struct piece *p = args;
	size_t offset = (size_t)r.first * (size_t)p->x->cols;
	s->e->kernels->add(rows_of(p->x, r), p->y + offset, (size_t)r.n * (size_t)p->x->cols);
}

static void elementwise(
        struct encoder_session *s, encoder_rows_fn *fn, const char *name, const struct piece *p)
{
	int64_t start = profile_start(s->profile);
	encoder_for_rows(s, fn, p);
	profile_operator(
	        s->profile, name, start, &(struct profile_inputs){ { { s->n_rows, p->x->cols } } });
}

/* out = a product and its bias, one after the other. */
static struct matrix product(struct encoder_session *s, const struct encoder_layer *layer,
        enum encoder_product which, const struct matrix *x, float *place, int n_out)
{
	const struct linear *l = layer->products[which];
	struct matrix in = encoder_as_input(s, l, x);
	struct matrix out = { DTYPE_F32, place, NULL, s->n_rows, n_out, n_out };
	encoder_linear(s, l, "linear", &in, &out);
	elementwise(s, bias_tile, "add", &(struct piece){ &out, layer->biases[which] });
	return out;
}

static void add_and_norm(
        struct encoder_session *s, const struct matrix *sum, const struct encoder_norm *norm)
{
	elementwise(s, add_tile, "add", &(struct piece){ sum, s->x });
	encoder_norm_sum(s, norm);
}

void encoder_layer_unfused(struct encoder_session *s, const struct encoder_layer *layer)
{
	int dim = s->e->config.dim, ffn = s->e->config.ffn_dim;
	const struct matrix x = { DTYPE_F32, s->x, NULL, s->n_rows, dim, dim };
	const struct matrix context = { DTYPE_F32, s->context, NULL, s->n_rows, dim, dim };
	for (enum encoder_product i = PRODUCT_QUERY; i <= PRODUCT_VALUE; i++)
		product(s, layer, i, &x, part_of(s, i), dim);
	attend(s);
	struct matrix sum = product(s, layer, PRODUCT_OUT, &context, s->sum, dim);
	add_and_norm(s, &sum, &layer->attention_norm);
	struct matrix hidden = product(s, layer, PRODUCT_UP, &x, s->hidden, ffn);
	elementwise(s, activate_tile, "gelu", &(struct piece){ &hidden, NULL });
	sum = product(s, layer, PRODUCT_DOWN, &hidden, s->sum, dim);
	add_and_norm(s, &sum, &layer->ffn_norm);
}
