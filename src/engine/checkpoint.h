/*
 * checkpoint.h - named weights, from a safetensors file or from a seed.
 *
 * The file is not trusted: every name, shape and offset is checked against the bytes that are
 * there. Source: the safetensors format's documentation.
 */
#ifndef VENTURI_ENGINE_CHECKPOINT_H
#define VENTURI_ENGINE_CHECKPOINT_H

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct checkpoint;

enum {
	CHECKPOINT_HEADER_MAX = 100 << 20,
	CHECKPOINT_TENSORS_MAX = 1 << 16,
	CHECKPOINT_DIMS_MAX = 8
};

/* path: a .safetensors file, or a folder with model.safetensors or model.safetensors.index.json */
bool checkpoint_open(
        const char *path, struct checkpoint **ret_checkpoint, struct err *err) NODISCARD;
/* Every tensor exists: normal values of so much spread from the seed and the name. */
struct checkpoint *checkpoint_random(uint64_t seed, float spread);
void checkpoint_close(struct checkpoint *c);

bool checkpoint_has(const struct checkpoint *c, const char *name);

/*
 * A tensor as float32 (from F64, F32, F16 or BF16).
 *
 * dims, n_dims  the shape that it must have
 * ret_values    malloc'd; the caller frees
 * errors        ERR_INPUT that names the file, the tensor and both shapes
 */
bool checkpoint_read(const struct checkpoint *c, const char *name, const int64_t *dims, int n_dims,
        float **ret_values, struct err *err) NODISCARD;

#endif
