#include "engine/linear.h"

#include "base/i18n.h"
#include "engine/gemm.h"
#include "engine/region.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/*
 * A tile's products stay in the second cache until the epilogue has read them; a block's weights
 * stay there while the rows pass by.
 */
enum { TILE_ROWS = 64, TILE_COLS = 128, ALIGN = 64 };

struct linear {
	struct linear_spec spec; /* without w */
	int n_blocks;            /* of TILE_COLS columns; the last may have fewer */
	struct gemm *full, *last;
	char *packed;       /* [n_blocks], block_bytes from one to the next */
	size_t block_bytes; /* a multiple of ALIGN */
	float *bias;        /* [n_out] or NULL */
	float *col_scale;   /* [n_out], of S8 */
	int32_t *col_offset;
};

static bool no_memory(size_t bytes, struct err *err)
{
	return err_set(err, ERR_SYSTEM, _("cannot reserve %zu bytes of memory: %s"), bytes,
	        strerror(ENOMEM));
}

static int block_cols(const struct linear *l, int i_block)
{
	int left = l->spec.n_out - i_block * TILE_COLS;
	return left < TILE_COLS ? left : TILE_COLS;
}

static const struct gemm *block_gemm(const struct linear *l, int i_block)
{
	return i_block < l->n_blocks - 1 || !l->last ? l->full : l->last;
}

static bool open_gemms(struct linear *l, struct err *err)
{
	struct gemm_spec spec = {
		.type = l->spec.weights,
		.n_in = l->spec.n_in,
		.n_out = TILE_COLS,
		.isa = l->spec.faults ? l->spec.faults->isa : NULL,
	};
	if (l->spec.n_out >= TILE_COLS && !gemm_open(&spec, &l->full, err))
		return false;
	spec.n_out = l->spec.n_out % TILE_COLS;
	return spec.n_out == 0 || gemm_open(&spec, &l->last, err);
}

/* NaN becomes the least: the scale, which is no number either, shows it in the output. */
static int8_t to_s8(float x)
{
	if (!(x > -127))
		return -127;
	return (int8_t)(x < 127 ? lrintf(x) : 127);
}

/* One channel: value = s * scale, scale = max |w| / 127. */
static void quantize_channel(
        const float *w, int n, int8_t *ret_s, float *ret_scale, int32_t *ret_offset)
{
	float max = 0;
	int32_t sum = 0;
	for (int i = 0; i < n; i++)
		max = !(fabsf(w[i]) <= max) ? fabsf(w[i]) : max;
	float inverse = max > 0 ? 127 / max : 0;
	for (int i = 0; i < n; i++) {
		ret_s[i] = to_s8(w[i] * inverse);
		sum += ret_s[i];
	}
	*ret_scale = max / 127;
	*ret_offset = 128 * sum;
}

/* The rows of one block in the type of the weights; scratch [TILE_COLS, n_in]. */
static const void *convert_block(struct linear *l, const float *w, int i_block, void *scratch)
{
	size_t n_in = (size_t)l->spec.n_in;
	int first = i_block * TILE_COLS, n = block_cols(l, i_block);
	w += (size_t)first * n_in;
	switch (l->spec.weights) {
	case DTYPE_BF16:
		l->spec.kernels->to_bf16(scratch, w, (size_t)n * n_in);
		return scratch;
	case DTYPE_S8:
		for (int i = 0; i < n; i++)
			quantize_channel(w + (size_t)i * n_in, l->spec.n_in,
			        (int8_t *)scratch + (size_t)i * n_in, &l->col_scale[first + i],
			        &l->col_offset[first + i]);
		return scratch;
	default:
		return w;
	}
}

static bool pack(struct linear *l, const float *w, struct err *err)
{
	size_t bytes = l->full ? gemm_packed_bytes(l->full) : 0;
	size_t last = l->last ? gemm_packed_bytes(l->last) : 0;
	bytes = bytes > last ? bytes : last;
	l->block_bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
	size_t scratch_bytes = (size_t)TILE_COLS * (size_t)l->spec.n_in * sizeof(float);
	void *scratch = malloc(scratch_bytes);
	l->packed = region_alloc(l->spec.region, l->block_bytes * (size_t)l->n_blocks);
	if (!scratch || !l->packed) {
		free(scratch);
		return no_memory(l->block_bytes * (size_t)l->n_blocks, err);
	}
	for (int i = 0; i < l->n_blocks; i++)
		gemm_pack(block_gemm(l, i), convert_block(l, w, i, scratch),
		        l->packed + (size_t)i * l->block_bytes);
	free(scratch);
	return true;
}

static bool fill(struct linear *l, struct err *err)
{
	size_t n_out = (size_t)l->spec.n_out;
	if (l->spec.bias) {
		l->bias = malloc(n_out * sizeof(float));
		if (!l->bias)
			return no_memory(n_out * sizeof(float), err);
		memcpy(l->bias, l->spec.bias, n_out * sizeof(float));
	}
	if (l->spec.weights == DTYPE_S8) {
		l->col_scale = malloc(n_out * sizeof(float));
		l->col_offset = malloc(n_out * sizeof(int32_t));
		if (!l->col_scale || !l->col_offset)
			return no_memory(n_out * sizeof(float), err);
	}
	return open_gemms(l, err) && pack(l, l->spec.w, err);
}

bool linear_new(const struct linear_spec *spec, struct linear **ret_linear, struct err *err)
{
	assert(spec->n_in > 0 && spec->n_out > 0);
	assert(spec->weights == DTYPE_F32 || spec->weights == DTYPE_BF16 ||
	        spec->weights == DTYPE_S8);
	struct linear *l = calloc(1, sizeof(*l));
	if (!l)
		return no_memory(sizeof(*l), err);
	l->spec = *spec;
	if (l->spec.faults && l->spec.faults->wide)
		l->spec.weights = DTYPE_F32;
	l->n_blocks = (spec->n_out + TILE_COLS - 1) / TILE_COLS;
	if (!fill(l, err)) {
		linear_close(l);
		return false;
	}
	l->spec.w = l->spec.bias = NULL;
	*ret_linear = l;
	return true;
}

void linear_close(struct linear *l)
{
	if (!l)
		return;
	gemm_close(l->full);
	gemm_close(l->last);
	free(l->bias);
	free(l->col_scale);
	free(l->col_offset);
	free(l);
}

size_t linear_weight_bytes(const struct linear *l)
{
	return l->block_bytes * (size_t)l->n_blocks;
}

enum dtype linear_input_type(const struct linear *l)
{
	return l->spec.weights == DTYPE_S8 ? DTYPE_U8 : l->spec.weights;
}

struct run {
	const struct linear *l;
	const struct matrix *x;
	struct matrix *out;
	int tile_rows, n_row_tiles;
};

static void run_tile(void *ctx, int i_tile, int i_thread)
{
	(void)i_thread;
	const struct run *r = ctx;
	const struct linear *l = r->l;
	alignas(ALIGN) float acc[(TILE_ROWS + LINEAR_ROWS_PADDING) * TILE_COLS];
	/* All rows by one block, then the next: its weights stay in the cache. */
	int i_block = i_tile / r->n_row_tiles, row = i_tile % r->n_row_tiles * r->tile_rows;
	int rows = r->x->rows - row < r->tile_rows ? r->x->rows - row : r->tile_rows;
	size_t col = (size_t)i_block * TILE_COLS;
	const struct gemm *g = block_gemm(l, i_block);
	gemm_run(g, l->packed + (size_t)i_block * l->block_bytes,
	        (const char *)r->x->data + (size_t)row * (size_t)r->x->ld * dtype_bytes(r->x->type),
	        rows, acc);

	bool quantised = l->spec.weights == DTYPE_S8;
	struct epilogue e = {
		.row_scale = quantised ? r->x->row_scale + row : NULL,
		.col_scale = quantised ? l->col_scale + col : NULL,
		.col_offset = quantised ? l->col_offset + col : NULL,
		.bias = l->bias ? l->bias + col : NULL,
		.activation = l->spec.activation,
		.out_type = r->out->type,
	};
	char *out = r->out->data;
	out += ((size_t)row * (size_t)r->out->ld + col) * dtype_bytes(r->out->type);
	l->spec.kernels->epilogue(
	        &e, acc, gemm_ld_acc(g), out, r->out->ld, rows, block_cols(l, i_block));
}

void linear_run(
        const struct linear *l, struct pool *pool, const struct matrix *x, struct matrix *out)
{
	assert(x->type == linear_input_type(l) && x->cols == l->spec.n_in && x->ld == x->cols);
	assert(out->type == DTYPE_F32 || out->type == DTYPE_BF16);
	assert(out->rows == x->rows && out->cols == l->spec.n_out && out->ld >= out->cols);
	struct run r = { .l = l, .x = x, .out = out, .tile_rows = TILE_ROWS };
	r.n_row_tiles = (x->rows + TILE_ROWS - 1) / TILE_ROWS;
	pool_run(pool, r.n_row_tiles * l->n_blocks, run_tile, &r);
}

void linear_rows(const struct linear *l, const struct matrix *x, struct matrix *out)
{
	struct run r = { .l = l, .x = x, .out = out, .tile_rows = TILE_ROWS };
	r.n_row_tiles = (x->rows + TILE_ROWS - 1) / TILE_ROWS;
	for (int i = 0; i < r.n_row_tiles * l->n_blocks; i++)
		run_tile(&r, i, 0);
}
