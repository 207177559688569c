/*
 * checkpoint.h - named weights, from safetensors files or from a seed.
 *
 * The files are not trusted: every name, shape and offset is checked against the bytes that are
 * there. Weights are read when they are asked for, not before. Read-only once opened; may be shared
 * by threads.
 *
 * Source: the safetensors format's documentation: 8 bytes with the length of a header in JSON, the
 * header, then the bytes of all tensors, which neither overlap nor leave gaps.
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
	CHECKPOINT_DIMS_MAX = 8,
	CHECKPOINT_FILES_MAX = 1024
};

/*
 * path     a .safetensors file, or a folder with model.safetensors or
 *          model.safetensors.index.json, which names the files that the tensors are spread over
 * errors   ERR_INPUT that names the file and what in it is wrong
 */
bool checkpoint_open(
        const char *path, struct checkpoint **ret_checkpoint, struct err *err) NODISCARD;

/*
 * Every tensor exists: values that only depend on the seed and the name.
 *
 * spread   the standard deviation; nearly normal (the sum of four uniform ones). Weights of a norm
 *          ("...norm.weight") are so much around 1, biases are 0, as in a model that is trained.
 * cost     about 1 ns a value
 */
struct checkpoint *checkpoint_random(uint64_t seed, float spread);
void checkpoint_close(struct checkpoint *c);

/* "...LayerNorm.weight" and ".bias" are also found as ".gamma" and ".beta", as older files have
 * it. Of a random one every name is there. */
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
