/*
 * encoder_ops.h - the operators of a layer on all rows of the batch at hand, shared out among the
 * pool's threads; each is recorded. For encoder*.c alone.
 */
#ifndef VENTURI_ENGINE_ENCODER_OPS_H
#define VENTURI_ENGINE_ENCODER_OPS_H

#include "engine/encoder_parts.h"

typedef void encoder_rows_fn(struct encoder_session *s, struct encoder_rows rows, const void *args);

struct encoder_convert {
	struct matrix from, to;
};

struct encoder_norm_step {
	const struct encoder_norm *norm;
	bool residual;      /* x is added */
	struct matrix then; /* x again as the next product wants it */
};

/* Some of the rows, in the calling thread; of U8 also their scales. Both are dense. */
void encoder_convert_rows(
        const struct kernels *k, const struct encoder_convert *c, struct encoder_rows r);

/* fn on all rows of the batch, in tiles. */
void encoder_for_rows(struct encoder_session *s, encoder_rows_fn *fn, const void *args);

/* from as the product wants its input: itself, or converted into a buffer of the session. */
struct matrix encoder_as_input(
        struct encoder_session *s, const struct linear *l, const struct matrix *from);
/* Where the residual stream stands in the type that the product wants; l NULL: float32. */
struct matrix encoder_stream_for(struct encoder_session *s, const struct linear *l);

void encoder_linear(struct encoder_session *s, const struct linear *l, const char *name,
        const struct matrix *x, struct matrix *out);

/* x = norm(x + sum), also in the type that the next product wants. */
void encoder_add_norm(
        struct encoder_session *s, const struct encoder_norm *norm, const struct linear *next);
/* out [r.n, dim]: word, position and type together, before their norm. */
void encoder_embed_rows(const struct encoder_session *s, struct encoder_rows r, float *out);
/* x = norm(sum). */
void encoder_norm_sum(struct encoder_session *s, const struct encoder_norm *norm);

#endif
