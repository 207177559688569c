/*
 * profile.h - the operators of a model as they ran, in the trace format of PyTorch's profiler
 * (Kineto), which `venturi trace`, Perfetto and others read.
 *
 * One thread computes and records. What was written so far is a trace too, only without its end, so
 * a killed service loses what its buffer held. A NULL profile records nothing and costs nothing.
 */
#ifndef VENTURI_ENGINE_PROFILE_H
#define VENTURI_ENGINE_PROFILE_H

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"
#include "engine/dtype.h"

#include <stdbool.h>
#include <stdint.h>

struct profile;

enum { PROFILE_INPUTS = 2, PROFILE_DIMS = 3 };

/* What an operator reads: shapes, slowest index first; a shape ends at its first 0. */
struct profile_inputs {
	int64_t dims[PROFILE_INPUTS][PROFILE_DIMS];
	enum dtype types[PROFILE_INPUTS]; /* nothing said: float32 */
};

/* An existing file is replaced. */
bool profile_open(const char *path, struct profile **ret_profile, struct err *err) NODISCARD;
/* False: the file is incomplete, err says why. NULL is closed already. */
bool profile_close(struct profile *p, struct err *err) NODISCARD;

static inline int64_t profile_start(const struct profile *p)
{
	return p ? clock_now_ns() : 0;
}

/* An operator that began at profile_start and ends now. */
void profile_operator(
        struct profile *p, const char *name, int64_t start_ns, const struct profile_inputs *inputs);
/* A copy to the device and its memory, or back. */
void profile_copy(struct profile *p, bool to_device, int64_t bytes, int64_t start_ns);
/* A step of the model over so many tokens: "prefill", "decode" or "encode". */
void profile_step(struct profile *p, const char *name, int n_tokens, int64_t start_ns);

#endif
