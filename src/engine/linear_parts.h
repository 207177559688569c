/*
 * linear_parts.h - what a layer is made of, for linear.c and linear_faults.c alone.
 */
#ifndef VENTURI_ENGINE_LINEAR_PARTS_H
#define VENTURI_ENGINE_LINEAR_PARTS_H

#include "engine/gemm.h"
#include "engine/linear.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A tile's products stay in the second cache until the epilogue has read them; a block's weights
 * stay there while the rows pass by. 96 rows are a multiple both of the 12 that our own products
 * take at once and of the 16 of AMX.
 */
enum { TILE_ROWS = 96, TILE_ALIGN = 64 };

struct linear {
	struct linear_spec spec; /* without w and bias */
	enum dtype type;         /* in which it multiplies; of the weights, but for some faults */
	int block, n_blocks;     /* of so many columns; the last may have fewer */
	struct gemm *full, *last;
	struct gemm_weights *blocks; /* [n_blocks] */
	size_t weight_bytes;
	float *bias;      /* [n_out] or NULL */
	float *col_scale; /* [n_out], of S8 */
	int32_t *col_offset;
	struct spoiled *spoiled; /* NULL: no fault wants any of it */
};

static inline int linear_block_cols(const struct linear *l, int i_block)
{
	int left = l->spec.n_out - i_block * l->block;
	return left < l->block ? left : l->block;
}

static inline const struct gemm *linear_block_gemm(const struct linear *l, int i_block)
{
	return linear_block_cols(l, i_block) == l->block ? l->full : l->last;
}

/* In which type a layer multiplies that was given these weights. */
enum dtype spoiled_type(const struct linear_spec *spec);

/* spec->faults asks for something that a layer must remember. */
bool spoiled_new(struct linear *l, struct err *err) NODISCARD;
void spoiled_close(struct spoiled *s);
/* Keeps the rows of a block in the type of the weights, before they are packed. */
void spoiled_keep(struct linear *l, int i_block, const void *rows);
/* Packs a block in the type in which it is multiplied, which is not that of the weights. */
void spoiled_pack(const struct linear *l, int i_block);
/* What goes before and after a run; pool NULL: in the calling thread. */
void spoiled_before(const struct linear *l, struct pool *pool, const struct matrix *x);
void spoiled_after(const struct linear *l, struct pool *pool, struct matrix *out);
/* A buffer for a tile's products, and back. */
void *spoiled_buffer(size_t bytes);
void spoiled_free(void *buffer, size_t bytes);

#endif
