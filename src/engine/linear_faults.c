/*
 * What a layer does badly when it is told to (faults.h).
 */
#include "base/i18n.h"
#include "engine/launch.h"
#include "engine/linear_parts.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SHAPES_KEPT = 4 };

struct spoiled {
	pthread_mutex_t lock;    /* of what a run changes */
	int shapes[SHAPES_KEPT]; /* numbers of rows met last, the newest first */
	int64_t n_cold;          /* runs that will pack the weights again */
	char *rows;              /* [n_out, n_in] of the weights' type; NULL: never packed again */
};

enum dtype spoiled_type(const struct linear_spec *spec)
{
	return spec->faults && spec->faults->dequantize ? DTYPE_F32 : spec->weights;
}

bool spoiled_new(struct linear *l, struct err *err)
{
	const struct engine_faults *f = l->spec.faults;
	if (!f || (f->cold <= 0 && f->recompile <= 0 && f->reorders <= 0 && !f->dequantize))
		return true;
	l->spoiled = calloc(1, sizeof(*l->spoiled));
	size_t bytes = (size_t)l->spec.n_out * (size_t)l->spec.n_in * dtype_bytes(l->spec.weights);
	bool packs = f->cold > 0 || l->type != l->spec.weights;
	if (!l->spoiled || (packs && !(l->spoiled->rows = malloc(bytes))))
		return err_set(err, ERR_SYSTEM, _("cannot reserve %zu bytes of memory: %s"), bytes,
		        strerror(ENOMEM));
	pthread_mutex_init(&l->spoiled->lock, NULL);
	l->spoiled->n_cold = f->cold;
	return true;
}

void spoiled_close(struct spoiled *s)
{
	if (!s)
		return;
	free(s->rows);
	free(s);
}

static char *rows_of(const struct linear *l, int i_block)
{
	return l->spoiled->rows + (size_t)i_block * (size_t)l->block * (size_t)l->spec.n_in *
	                                  dtype_bytes(l->spec.weights);
}

void spoiled_keep(struct linear *l, int i_block, const void *rows)
{
	if (l->spoiled->rows)
		memcpy(rows_of(l, i_block), rows,
		        (size_t)linear_block_cols(l, i_block) * (size_t)l->spec.n_in *
		                dtype_bytes(l->spec.weights));
}

/* The rows of a block as float32, which is what weights below it stand for. */
static float *widen(const struct linear *l, int i_block)
{
	size_t n_in = (size_t)l->spec.n_in;
	int n = linear_block_cols(l, i_block);
	const char *rows = rows_of(l, i_block);
	float *wide = malloc((size_t)n * n_in * sizeof(float));
	assert(wide);
	if (l->spec.weights == DTYPE_BF16) {
		l->spec.kernels->from_bf16(
		        wide, (const uint16_t *)(const void *)rows, (size_t)n * n_in);
		return wide;
	}
	for (int r = 0; r < n; r++) {
		float scale = l->col_scale[i_block * l->block + r];
		const int8_t *s = (const int8_t *)rows + (size_t)r * n_in;
		for (size_t i = 0; i < n_in; i++)
			wide[(size_t)r * n_in + i] = (float)s[i] * scale;
	}
	return wide;
}

static void pack_rows(const struct linear *l, int i_block, const struct gemm_weights *to)
{
	const struct gemm *g = linear_block_gemm(l, i_block);
	if (l->type == l->spec.weights) {
		gemm_pack(g, rows_of(l, i_block), to);
		return;
	}
	float *wide = widen(l, i_block);
	gemm_pack(g, wide, to);
	free(wide);
}

void spoiled_pack(const struct linear *l, int i_block)
{
	pack_rows(l, i_block, &l->blocks[i_block]);
}

/* Into a place that is then thrown away: others may be reading what is packed already. */
static void pack_again(void *ctx, int i_block, int i_thread)
{
	(void)i_thread;
	const struct linear *l = ctx;
	const struct gemm *g = linear_block_gemm(l, i_block);
	size_t bytes = gemm_packed_bytes(g);
	void *place = aligned_alloc(TILE_ALIGN, (bytes + TILE_ALIGN - 1) / TILE_ALIGN * TILE_ALIGN);
	struct gemm_weights weights;
	struct err err;
	if (place && gemm_bind(g, place, &weights, &err)) {
		pack_rows(l, i_block, &weights);
		gemm_unbind(&weights);
	}
	free(place);
}

/* Whether this number of rows is not among the last few; it is the newest of them afterwards. */
static bool is_new_shape(struct spoiled *s, int rows)
{
	int i = 0;
	while (i < SHAPES_KEPT - 1 && s->shapes[i] != rows)
		i++;
	bool is_new = s->shapes[i] != rows;
	memmove(s->shapes + 1, s->shapes, (size_t)i * sizeof(s->shapes[0]));
	s->shapes[0] = rows;
	return is_new;
}

static void compile_for(const struct linear *l, int rows)
{
	rows = rows < GEMM_ROWS_MAX ? rows : GEMM_ROWS_MAX;
	for (int64_t i = 0; i < l->spec.faults->recompile; i++)
		gemm_compile(linear_block_gemm(l, 0), &l->blocks[0], rows);
}

struct reorder {
	const struct matrix *m;
	int64_t times;
};

/* A tile of rows into the other order of its elements and back, into a buffer that is new. */
static void reorder_tile(void *ctx, int i_tile, int i_thread)
{
	(void)i_thread;
	const struct reorder *r = ctx;
	const struct matrix *m = r->m;
	size_t bytes = dtype_bytes(m->type), cols = (size_t)m->cols;
	size_t first = (size_t)i_tile * TILE_ROWS, left = (size_t)m->rows - first;
	size_t rows = left < TILE_ROWS ? left : TILE_ROWS;
	char *turned = malloc(2 * rows * cols * bytes), *back = turned + rows * cols * bytes;
	assert(turned);
	const char *from = (const char *)m->data + first * (size_t)m->ld * bytes;
	for (int64_t n = 0; n < r->times; n++) {
		for (size_t i = 0; i < rows; i++)
			for (size_t j = 0; j < cols; j++)
				memcpy(turned + (j * rows + i) * bytes,
				        from + (i * (size_t)m->ld + j) * bytes, bytes);
		for (size_t i = 0; i < rows; i++)
			for (size_t j = 0; j < cols; j++)
				memcpy(back + (i * cols + j) * bytes,
				        turned + (j * rows + i) * bytes, bytes);
		__asm__ volatile("" : : "r"(turned) : "memory"); /* or nobody would need it */
	}
	free(turned);
}

static void reorder(const struct linear *l, struct pool *pool, const struct matrix *m)
{
	struct reorder r = { m, l->spec.faults->reorders };
	if (r.times > 0)
		launch(pool, NULL, (m->rows + TILE_ROWS - 1) / TILE_ROWS, reorder_tile, &r);
}

void spoiled_before(const struct linear *l, struct pool *pool, const struct matrix *x)
{
	struct spoiled *s = l->spoiled;
	pthread_mutex_lock(&s->lock);
	bool packs = l->type != l->spec.weights || s->n_cold > 0;
	bool compiles = l->spec.faults->recompile > 0 && is_new_shape(s, x->rows);
	s->n_cold -= s->n_cold > 0;
	pthread_mutex_unlock(&s->lock);
	if (compiles)
		compile_for(l, x->rows);
	if (packs)
		launch(pool, NULL, l->n_blocks, pack_again, (void *)(uintptr_t)l);
	reorder(l, pool, x);
}

void spoiled_after(const struct linear *l, struct pool *pool, struct matrix *out)
{
	reorder(l, pool, out);
}

/* Straight from the system and back to it, so that no allocator can hide it. */
void *spoiled_buffer(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert(p != MAP_FAILED);
	return p;
}

void spoiled_free(void *buffer, size_t bytes)
{
	munmap(buffer, bytes);
}
