/*
 * dtype.h - the types in which weights and activations are kept.
 */
#ifndef VENTURI_ENGINE_DTYPE_H
#define VENTURI_ENGINE_DTYPE_H

#include <stddef.h>
#include <stdint.h>

/*
 * DTYPE_U8 is an activation quantised row by row: value = (u - 128) * row_scale. DTYPE_S8 is a
 * weight quantised by output channel: value = s * channel_scale.
 */
enum dtype { DTYPE_F32, DTYPE_BF16, DTYPE_U8, DTYPE_S8, DTYPE_S32 };

/* Rows of activations, row-major: element (i, j) at data + (i * ld + j) * dtype_bytes(type). */
struct matrix {
	enum dtype type;
	void *data;
	float *row_scale; /* [rows], of DTYPE_U8 */
	int rows, cols;
	int ld; /* elements from one row to the next */
};

static inline size_t dtype_bytes(enum dtype type)
{
	static const unsigned char bytes[] = {
		[DTYPE_F32] = 4,
		[DTYPE_BF16] = 2,
		[DTYPE_U8] = 1,
		[DTYPE_S8] = 1,
		[DTYPE_S32] = 4,
	};
	return bytes[type];
}

/* "f32", "bf16", "int8" ... as options, metrics and traces call it. */
const char *dtype_name(enum dtype type);

#endif
