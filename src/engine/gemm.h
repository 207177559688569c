/*
 * gemm.h - products of one shape, [any rows, n_in] by [n_in, n_out], by whatever is fastest here:
 * oneDNN where the machine has matrix registers (AMX), which we have no code for, or no instruction
 * set that we know; else our own (products.h), which are as fast as the vector units. Measured by
 * bench/products.
 *
 * A gemm knows the shape and how to pack weights for it; layers of one shape share one, and so do
 * all blocks of a layer. Read-only after gemm_open, for any number of threads; each call runs in
 * the calling thread alone, which never uses OpenMP with more than one thread afterwards.
 */
#ifndef VENTURI_ENGINE_GEMM_H
#define VENTURI_ENGINE_GEMM_H

#include "base/attr.h"
#include "base/err.h"
#include "engine/dtype.h"

#include <stdbool.h>
#include <stddef.h>

struct gemm;

enum {
	GEMM_ROWS_MAX = 128,
	GEMM_ROWS_PADDING = 64 /* rows of x and acc that must be there beyond the last */
};

struct gemm_spec {
	enum dtype type; /* of the weights: F32, BF16 or S8; x is F32, BF16 or U8 */
	int n_in, n_out;
	const char *isa; /* "onednn", "plain", "avx2" ...: what to use if it is there; NULL: the
	                    fastest */
};

/* How many columns make a good block: few enough to share them out, as many as cost little. */
enum { GEMM_BLOCK_MAX = 128 };
int gemm_block(enum dtype type, const char *isa);

/* errors   ERR_SYSTEM: no memory */
bool gemm_open(const struct gemm_spec *spec, struct gemm **ret_gemm, struct err *err) NODISCARD;
void gemm_close(struct gemm *g);

size_t gemm_packed_bytes(const struct gemm *g);
/* Elements from one row of acc to the next: n_out, or more. */
int gemm_ld_acc(const struct gemm *g);

/* Weights as gemm_run wants them. packed is the caller's: gemm_packed_bytes, aligned to 64. */
struct gemm_weights {
	void *packed;
	void *handle; /* the library's; NULL: it has none */
};

bool gemm_bind(const struct gemm *g, void *packed, struct gemm_weights *ret_weights,
        struct err *err) NODISCARD;
void gemm_unbind(struct gemm_weights *weights);
/* w [n_out, n_in] of the type */
void gemm_pack(const struct gemm *g, const void *w, const struct gemm_weights *weights);

/*
 * acc = x times the transposed w
 *
 * m     1 to GEMM_ROWS_MAX
 * x     [m, n_in] of F32, BF16 or U8, dense
 * acc   [m, ld_acc] of F32; of S32, exact, when the weights are S8. Aligned to 64
 */
void gemm_run(
        const struct gemm *g, const struct gemm_weights *weights, const void *x, int m, void *acc);

/* Makes, and throws away, what a library makes for a shape that it meets for the first time. */
void gemm_compile(const struct gemm *g, const struct gemm_weights *weights, int m);

#endif
