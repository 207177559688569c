/*
 * products.h - matrix products in C: one source, compiled for several instruction sets.
 *
 * What runs where there is no library, or for shapes at which a library is no faster. Nothing here
 * allocates or starts threads.
 */
#ifndef VENTURI_ENGINE_PRODUCTS_H
#define VENTURI_ENGINE_PRODUCTS_H

#include "engine/dtype.h"

#include <stddef.h>

struct products {
	const char *name;         /* "avx512_bf16", "avx512_vnni", "avx512", "avx2", "plain" */
	int panel;                /* columns that are packed side by side */
	int group_bf16, group_s8; /* inputs that are multiplied by one instruction */

	/*
	 * acc = x times the transposed weights.
	 *
	 * type    of the weights: F32, BF16 or S8
	 * x       [m, ldx] of F32, BF16 or U8
	 * packed  by products_pack
	 * acc     [m, ld_acc] of F32; of S32, exact, when type is S8. n_out rounded up to a panel
	 *         is written
	 */
	void (*run)(enum dtype type, const void *packed, int n_in, int n_out, const void *x,
	        int ldx, int m, void *acc, int ld_acc);
};

/* The best that this machine can run; or the named one, NULL when it cannot or there is none. */
const struct products *products_best(void);
const struct products *products_named(const char *name);

size_t products_packed_bytes(const struct products *p, enum dtype type, int n_in, int n_out);
/*
 * w        [n_out, n_in] of type
 * packed   [panels][groups of inputs][panel][group], filled up with zeros
 */
void products_pack(const struct products *p, enum dtype type, int n_in, int n_out, const void *w,
        void *packed);

#endif
