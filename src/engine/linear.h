/*
 * linear.h - out = activation(x times the transposed w, plus bias), with weights packed once.
 *
 * Products are those of gemm.h. Each tile is the work of one thread, bias, activation and
 * conversion included; the tiles are shared out by the pool. What a library wants to make for a
 * shape is made when the layer is, for a few row counts that others are rounded up to, so no
 * request ever waits for that.
 *
 * A layer is read-only after linear_new and may be shared by threads.
 */
#ifndef VENTURI_ENGINE_LINEAR_H
#define VENTURI_ENGINE_LINEAR_H

#include "base/attr.h"
#include "base/err.h"
#include "engine/dtype.h"
#include "engine/faults.h"
#include "engine/kernels.h"
#include "engine/pool.h"

#include <stdbool.h>

struct linear;
struct region;

/* Rows that buffers must have room for beyond the last: a tile is rounded up. */
enum { LINEAR_ROWS_PADDING = 64 };

struct linear_spec {
	int n_in, n_out;
	const float *w;     /* [n_out, n_in]; need not outlive linear_new */
	const float *bias;  /* [n_out]; NULL: none; copied */
	enum dtype weights; /* F32, BF16, or S8: by output channel, activations quantised by row */
	enum activation activation;
	const struct engine_faults *faults; /* outlives the layer; NULL: none */
	const struct kernels *kernels;
	struct region *region; /* where the packed weights live */
};

/* errors   ERR_SYSTEM: the library refuses the shape */
bool linear_new(
        const struct linear_spec *spec, struct linear **ret_linear, struct err *err) NODISCARD;
void linear_close(struct linear *l);
size_t linear_weight_bytes(const struct linear *l);

/* The type in which it wants its input: F32, BF16 or U8. */
enum dtype linear_input_type(const struct linear *l);

/*
 * x     [m, n_in] of linear_input_type, dense; with LINEAR_ROWS_PADDING rows to spare, which may be
 *       read and may hold anything
 * out   [m, n_out] of F32 or BF16; must not overlap x
 */
void linear_run(
        const struct linear *l, struct pool *pool, const struct matrix *x, struct matrix *out);

/* The same from the calling thread alone, for a block of rows that it works on. */
void linear_rows(const struct linear *l, const struct matrix *x, struct matrix *out);

#endif
