#include "engine/linear.h"

#include "base/i18n.h"
#include "engine/launch.h"
#include "engine/linear_parts.h"
#include "engine/region.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

static_assert((int)LINEAR_ROWS_PADDING >= (int)GEMM_ROWS_PADDING, "a tile is rounded up");

static bool no_memory(size_t bytes, struct err *err)
{
	return err_set(err, ERR_SYSTEM, _("cannot reserve %zu bytes of memory: %s"), bytes,
	        strerror(ENOMEM));
}

static const char *isa_of(const struct linear_spec *spec)
{
	return spec->faults ? spec->faults->isa : NULL;
}

static bool open_gemms(struct linear *l, struct err *err)
{
	struct gemm_spec spec = {
		.type = l->type,
		.n_in = l->spec.n_in,
		.n_out = l->block,
		.isa = isa_of(&l->spec),
	};
	if (l->spec.n_out >= l->block && !gemm_open(&spec, &l->full, err))
		return false;
	spec.n_out = l->spec.n_out % l->block;
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

/* The rows of one block in the type of the weights; scratch [block, n_in]. */
static const void *convert_block(struct linear *l, const float *w, int i_block, void *scratch)
{
	size_t n_in = (size_t)l->spec.n_in;
	int first = i_block * l->block, n = linear_block_cols(l, i_block);
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

static size_t aligned(size_t bytes)
{
	return (bytes + TILE_ALIGN - 1) / TILE_ALIGN * TILE_ALIGN;
}

/* A place for each block, one behind the other in the order in which they are used. */
static bool place_blocks(struct linear *l, struct err *err)
{
	l->blocks = calloc((size_t)l->n_blocks, sizeof(*l->blocks));
	if (!l->blocks)
		return no_memory((size_t)l->n_blocks * sizeof(*l->blocks), err);
	for (int i = 0; i < l->n_blocks; i++) {
		const struct gemm *g = linear_block_gemm(l, i);
		size_t bytes = aligned(gemm_packed_bytes(g));
		void *packed = region_alloc(l->spec.region, bytes);
		if (!packed)
			return no_memory(bytes, err);
		if (!gemm_bind(g, packed, &l->blocks[i], err))
			return false;
		l->weight_bytes += bytes;
	}
	return true;
}

static bool pack(struct linear *l, struct err *err)
{
	size_t bytes = (size_t)l->block * (size_t)l->spec.n_in * sizeof(float);
	void *scratch = malloc(bytes);
	if (!scratch)
		return no_memory(bytes, err);
	for (int i = 0; i < l->n_blocks; i++) {
		const void *rows = convert_block(l, l->spec.w, i, scratch);
		if (l->spoiled)
			spoiled_keep(l, i, rows);
		if (l->type == l->spec.weights)
			gemm_pack(linear_block_gemm(l, i), rows, &l->blocks[i]);
		else
			spoiled_pack(l, i);
	}
	free(scratch);
	return true;
}

static bool copy_bias(struct linear *l, struct err *err)
{
	size_t bytes = (size_t)l->spec.n_out * sizeof(float);
	if (!l->spec.bias)
		return true;
	l->bias = malloc(bytes);
	if (!l->bias)
		return no_memory(bytes, err);
	memcpy(l->bias, l->spec.bias, bytes);
	return true;
}

static bool reserve_scales(struct linear *l, struct err *err)
{
	size_t n = (size_t)l->spec.n_out;
	if (l->spec.weights != DTYPE_S8)
		return true;
	l->col_scale = malloc(n * sizeof(float));
	l->col_offset = malloc(n * sizeof(int32_t));
	return (l->col_scale && l->col_offset) || no_memory(n * sizeof(float), err);
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
	if (spec->faults && spec->faults->wide)
		l->spec.weights = DTYPE_F32;
	l->type = spoiled_type(&l->spec);
	l->block = gemm_block(l->type, isa_of(spec));
	l->n_blocks = (spec->n_out + l->block - 1) / l->block;
	if (!copy_bias(l, err) || !reserve_scales(l, err) || !spoiled_new(l, err) ||
	        !open_gemms(l, err) || !place_blocks(l, err) || !pack(l, err)) {
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
	for (int i = 0; l->blocks && i < l->n_blocks; i++)
		gemm_unbind(&l->blocks[i]);
	free(l->blocks);
	gemm_close(l->full);
	gemm_close(l->last);
	spoiled_close(l->spoiled);
	free(l->bias);
	free(l->col_scale);
	free(l->col_offset);
	free(l);
}

size_t linear_weight_bytes(const struct linear *l)
{
	return l->weight_bytes;
}

enum dtype linear_input_type(const struct linear *l)
{
	return l->type == DTYPE_S8 ? DTYPE_U8 : l->type;
}

struct run {
	const struct linear *l;
	const struct matrix *x;
	struct matrix *out;
	int tile_rows, tile_blocks; /* of one tile */
	int n_row_tiles, n_tiles;
};

static void *at(const struct matrix *m, int row, int col)
{
	return (char *)m->data + ((size_t)row * (size_t)m->ld + (size_t)col) * dtype_bytes(m->type);
}

/* Bias, activation and conversion of a tile's products while they are in the cache. */
static void finish_tile(
        const struct run *r, const void *acc, int ld_acc, int row, int rows, int i_block)
{
	const struct linear *l = r->l;
	int col = i_block * l->block;
	bool quantised = l->type == DTYPE_S8;
	struct epilogue e = {
		.row_scale = quantised ? r->x->row_scale + row : NULL,
		.col_scale = quantised ? l->col_scale + col : NULL,
		.col_offset = quantised ? l->col_offset + col : NULL,
		.bias = l->bias ? l->bias + col : NULL,
		.activation = l->spec.activation,
		.out_type = r->out->type,
	};
	l->spec.kernels->epilogue(&e, acc, ld_acc, at(r->out, row, col), r->out->ld, rows,
	        linear_block_cols(l, i_block));
}

static void run_block(const struct run *r, int i_block, int row, int rows, void *acc)
{
	const struct gemm *g = linear_block_gemm(r->l, i_block);
	gemm_run(g, &r->l->blocks[i_block], at(r->x, row, 0), rows, acc);
	finish_tile(r, acc, gemm_ld_acc(g), row, rows, i_block);
}

/* All rows by some blocks, then by the next: their weights stay in the cache. */
static void run_tile(void *ctx, int i_tile, int i_thread)
{
	(void)i_thread;
	const struct run *r = ctx;
	const struct linear *l = r->l;
	alignas(TILE_ALIGN) float buffer[TILE_ROWS * GEMM_BLOCK_MAX];
	bool churn = l->spec.faults && l->spec.faults->alloc_churn;
	void *acc = churn ? spoiled_buffer(sizeof(buffer)) : buffer;
	int row = i_tile % r->n_row_tiles * r->tile_rows;
	int rows = r->x->rows - row < r->tile_rows ? r->x->rows - row : r->tile_rows;
	int first = i_tile / r->n_row_tiles * r->tile_blocks;
	for (int i = first; i < first + r->tile_blocks && i < l->n_blocks; i++)
		run_block(r, i, row, rows, acc);
	if (churn)
		spoiled_free(acc, sizeof(buffer));
}

static void count_tiles(struct run *r)
{
	r->n_row_tiles = (r->x->rows + r->tile_rows - 1) / r->tile_rows;
	r->n_tiles = r->n_row_tiles * ((r->l->n_blocks + r->tile_blocks - 1) / r->tile_blocks);
}

/*
 * A few tiles for each thread, so that one that was put aside for a while has others take its
 * share; not many more, since each costs its thread the line on which they are counted.
 */
static void choose_tiles(struct run *r, int n_threads)
{
	enum { FEW = 2, MANY = 16, ROWS_MIN = 24, BLOCKS_MAX = 4 };
	r->tile_rows = TILE_ROWS;
	r->tile_blocks = 1;
	count_tiles(r);
	while (r->n_tiles < FEW * n_threads && r->tile_rows > ROWS_MIN) {
		r->tile_rows /= 2;
		count_tiles(r);
	}
	while (r->n_tiles > 2 * MANY * n_threads && r->tile_blocks < BLOCKS_MAX) {
		r->tile_blocks *= 2;
		count_tiles(r);
	}
}

void linear_run(
        const struct linear *l, struct pool *pool, const struct matrix *x, struct matrix *out)
{
	assert(x->type == linear_input_type(l) && x->cols == l->spec.n_in && x->ld == x->cols);
	assert(out->type == DTYPE_F32 || out->type == DTYPE_BF16);
	assert(out->rows == x->rows && out->cols == l->spec.n_out && out->ld >= out->cols);
	struct run r = { .l = l, .x = x, .out = out };
	choose_tiles(&r, pool ? pool_n_threads(pool) : 1);
	if (l->spoiled)
		spoiled_before(l, pool, x);
	launch(pool, l->spec.faults, r.n_tiles, run_tile, &r);
	if (l->spoiled)
		spoiled_after(l, pool, out);
}

void linear_rows(const struct linear *l, const struct matrix *x, struct matrix *out)
{
	linear_run(l, NULL, x, out);
}
