/*
 * launch.h - the way by which an operator reaches its pool: where it can be told to be cut into
 * pieces that each take their time to start, as where a framework or a driver launches each.
 */
#ifndef VENTURI_ENGINE_LAUNCH_H
#define VENTURI_ENGINE_LAUNCH_H

#include "engine/faults.h"
#include "engine/pool.h"

/* As pool_run; faults (NULL: none) says how many pieces. pool NULL: in the calling thread. */
void launch(
        struct pool *pool, const struct engine_faults *faults, int n_tiles, pool_fn *fn, void *ctx);

#endif
