/*
 * gemm.h - products of one shape, [any rows, n_in] by [n_in, n_out], by whatever is fastest here.
 *
 * A gemm knows the shape and how to pack weights for it; the packed weights are the caller's, so
 * that layers of one shape share one. Read-only after gemm_open, for any number of threads; each
 * call runs in the calling thread alone.
 */
#ifndef VENTURI_ENGINE_GEMM_H
#define VENTURI_ENGINE_GEMM_H

#include "base/attr.h"
#include "base/err.h"
#include "engine/dtype.h"

#include <stdbool.h>
#include <stddef.h>

struct gemm;

struct gemm_spec {
	enum dtype type; /* of the weights: F32, BF16 or S8; x is F32, BF16 or U8 */
	int n_in, n_out;
	const char *isa; /* "plain", "avx2": C code for no more than that; NULL: the fastest */
};

bool gemm_open(const struct gemm_spec *spec, struct gemm **ret_gemm, struct err *err) NODISCARD;
void gemm_close(struct gemm *g);

size_t gemm_packed_bytes(const struct gemm *g);
/* w [n_out, n_in] of the type; packed is aligned to 64 */
void gemm_pack(const struct gemm *g, const void *w, void *packed);

/* The columns of acc: n_out, rounded up. */
int gemm_ld_acc(const struct gemm *g);

/*
 * x     [m, n_in]; dense. With so many rows to spare as linear.h says
 * acc   [m rounded up by as many, ld_acc] of F32; of S32 when the weights are S8. Aligned to 64
 */
void gemm_run(const struct gemm *g, const void *packed, const void *x, int m, void *acc);

#endif
