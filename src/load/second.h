/*
 * second.h - a second generator, in a process of its own, beside a halved first one.
 *
 * Interleaved with the one generator that has the whole load, so that what the service and the
 * machine do meanwhile meets both. Never more requests at a time than the shape has.
 */
#ifndef VENTURI_LOAD_SECOND_H
#define VENTURI_LOAD_SECOND_H

#include "load/load.h"

/*
 * Fills ret: figures and .n, or .why with the reason when it could not be measured.
 *
 * shape      a closed loop of two requests or more, as r was measured with
 * budget_ns  for all measurements together
 */
void second_measure(struct load *load, const struct load_shape *shape, const struct load_run *r,
        int64_t budget_ns, const struct load_hooks *hooks, struct arena *run,
        struct load_halved *ret);

#endif
