#include "engine/encoder_parts.h"

#include "base/i18n.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>

static int max_int(int a, int b)
{
	return a > b ? a : b;
}

/* One of the session's buffers: rows_max rows and what a tile is rounded up by. */
struct buffer {
	void **place;
	size_t row_bytes;
};

static bool take_buffers(struct encoder_session *s, const struct buffer *buffers, size_t n)
{
	size_t rows = (size_t)s->rows_max + LINEAR_ROWS_PADDING;
	for (size_t i = 0; i < n; i++) {
		*buffers[i].place = region_alloc(s->region, rows * buffers[i].row_bytes);
		if (!*buffers[i].place)
			return false;
	}
	return true;
}

/* Heads times queries times keys of any batch. */
static size_t scores_per_row(const struct encoder *e)
{
	size_t columns = (size_t)e->config.n_positions + ENCODER_PANEL_MAX;
	return e->options.fuse ? 0 : (size_t)e->config.n_heads * columns;
}

/* Of a tile of attention, or of a chain. */
static size_t scratch_bytes(const struct encoder *e)
{
	size_t attention = attention_scratch_bytes(
	        ENCODER_QUERIES, e->config.n_positions, e->config.dim / e->config.n_heads);
	size_t whole =
	        e->options.fuse ? encoder_chain_scratch_bytes(e) : encoder_unfused_scratch_bytes(e);
	return ((attention > whole ? attention : whole) + 63) / 64 * 64;
}

static bool session_buffers(struct encoder_session *s)
{
	const struct encoder *e = s->e;
	size_t dim = (size_t)e->config.dim, ffn = (size_t)e->config.ffn_dim;
	size_t between = e->options.fuse ? dtype_bytes(e->between) : sizeof(float);
	size_t n_labels = (size_t)max_int(e->config.n_labels, 1);
	const struct buffer buffers[] = {
		{ (void **)&s->first_row, sizeof(int) },
		{ (void **)&s->first_score, sizeof(size_t) },
		{ (void **)&s->ids, sizeof(int32_t) },
		{ (void **)&s->row_types, sizeof(int32_t) },
		{ (void **)&s->row_positions, sizeof(int32_t) },
		{ (void **)&s->blocks, 2 * sizeof(int) },
		{ (void **)&s->cuts, sizeof(int) },
		{ (void **)&s->x, dim * sizeof(float) },
		{ (void **)&s->sum, dim * sizeof(float) },
		{ (void **)&s->x_low, dim * sizeof(uint16_t) },
		{ (void **)&s->quantised, dim > ffn ? dim : ffn },
		{ (void **)&s->row_scale, sizeof(float) },
		{ &s->qkv[0], 3 * dim * between },
		{ &s->qkv[1], 3 * dim * between },
		{ &s->context, dim * between },
		{ &s->hidden, ffn * between },
		{ (void **)&s->scores, scores_per_row(e) * sizeof(float) },
		{ (void **)&s->wide, (dim > ffn ? dim : ffn) * sizeof(float) },
		{ (void **)&s->first, dim * sizeof(float) },
		{ (void **)&s->logits, n_labels * sizeof(float) },
	};
	size_t bytes = ARRAY_LEN(buffers) * 64, n_threads = (size_t)pool_n_threads(s->pool);
	for (size_t i = 0; i < ARRAY_LEN(buffers); i++)
		bytes += buffers[i].row_bytes * ((size_t)s->rows_max + LINEAR_ROWS_PADDING);
	s->scratch_bytes = scratch_bytes(e);
	const struct region_options region = {
		.bytes = bytes + s->scratch_bytes * n_threads + ((size_t)2 << 20),
		.huge_pages = e->options.huge_pages,
		.node = -1,
	};
	struct err err;
	if (!region_open(&region, &s->region, &err))
		return false;
	s->scratch = region_alloc(s->region, s->scratch_bytes * n_threads);
	return s->scratch && take_buffers(s, buffers, ARRAY_LEN(buffers));
}

bool encoder_session_open(const struct encoder *e, struct pool *pool, int rows_max,
        struct profile *profile, struct encoder_session **ret_session, struct err *err)
{
	struct encoder_session *s = mem_zeroed(1, sizeof(*s));
	s->e = e;
	s->pool = pool;
	s->profile = profile;
	s->rows_max = rows_max;
	size_t copy_bytes = (size_t)e->options.faults.copy_bytes;
	for (int i = 0; copy_bytes && i < 2; i++)
		s->copies[i] = mem_zeroed(copy_bytes, 1);
	if (!session_buffers(s)) {
		encoder_session_close(s);
		return err_set(err, ERR_SYSTEM, _("there is no memory for batches of %d tokens"),
		        rows_max);
	}
	*ret_session = s;
	return true;
}

void encoder_session_close(struct encoder_session *s)
{
	if (!s)
		return;
	free(s->copies[0]);
	free(s->copies[1]);
	region_close(s->region);
	free(s);
}

static bool check_sequence(
        const struct encoder *e, const struct encoder_batch *b, int i, struct err *err)
{
	const struct encoder_config *c = &e->config;
	const int32_t *types = b->types ? b->types[i] : NULL;
	if (b->lengths[i] < 1 || b->lengths[i] > c->n_positions)
		return err_set(err, ERR_INPUT, _("a text of %d tokens; this model takes 1 to %d"),
		        b->lengths[i], c->n_positions);
	for (int j = 0; j < b->lengths[i]; j++) {
		if (b->ids[i][j] < 0 || b->ids[i][j] >= c->n_vocab)
			return err_set(err, ERR_INPUT,
			        _("there is no token %d in a vocabulary of %d"), b->ids[i][j],
			        c->n_vocab);
		if (types && (types[j] < 0 || (types[j] && types[j] >= c->n_types)))
			return err_set(err, ERR_INPUT,
			        _("there is no token type %d; this model has %d"), types[j],
			        c->n_types);
	}
	return true;
}

static bool check_batch(const struct encoder_session *s, const struct encoder_batch *b,
        enum encoder_output output, struct err *err)
{
	int64_t rows = 0;
	if (output == ENCODER_LOGITS && !s->e->head)
		return err_set(err, ERR_INPUT, _("this model has no classification head"));
	if (b->pad_to > s->e->config.n_positions)
		return err_set(err, ERR_INPUT, _("a text of %d tokens; this model takes 1 to %d"),
		        b->pad_to, s->e->config.n_positions);
	for (int i = 0; i < b->n; i++) {
		if (!check_sequence(s->e, b, i, err))
			return false;
		if (b->pad_to && b->lengths[i] > b->pad_to)
			return err_set(err, ERR_INPUT,
			        _("a text of %d tokens in a batch padded to %d"), b->lengths[i],
			        b->pad_to);
		rows += b->pad_to ? b->pad_to : b->lengths[i];
	}
	if (b->n < 1 || rows > s->rows_max)
		return err_set(err, ERR_INPUT,
		        _("a batch of %lld tokens; there is room for 1 to %d"), (long long)rows,
		        s->rows_max);
	return true;
}

static bool all_finite(const float *x, size_t n)
{
	float sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i] * 0;
	return sum == 0;
}

/* Blocks of rows one behind another are fastest, where there are enough for all threads; operator
 * by operator is what a profile shows. */
static void run_layers(struct encoder_session *s)
{
	const struct encoder *e = s->e;
	if (e->options.fuse && !s->profile && s->n_cuts &&
	        !encoder_faults_need_operators(&e->options.faults)) {
		encoder_chain(s);
		return;
	}
	encoder_embed(s);
	for (int i = 0; i < e->config.n_layers; i++)
		(e->options.fuse ? encoder_layer_fused : encoder_layer_unfused)(s, &e->layers[i]);
}

bool encoder_run(struct encoder_session *s, const struct encoder_batch *batch,
        enum encoder_output output, float *out, struct err *err)
{
	const struct encoder *e = s->e;
	if (!check_batch(s, batch, output, err))
		return false;
	int64_t start = profile_start(s->profile);
	encoder_lay_out(s, batch);
	encoder_faults_step(s);
	run_layers(s);
	size_t width = (size_t)e->config.dim;
	if (output == ENCODER_EMBEDDING)
		encoder_pool(s, out);
	else
		encoder_head(s, output, out);
	if (output == ENCODER_LOGITS)
		width = (size_t)e->config.n_labels;
	profile_step(s->profile, "encode", s->n_rows, start);
	if (s->not_finite || !all_finite(out, width * (size_t)batch->n))
		return err_set(err, ERR_SYSTEM, _("the model's answer is not a number"));
	return true;
}
