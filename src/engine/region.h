/*
 * region.h - memory for the weights of a model, and for the buffers of a session: 2 MiB aligned, in
 * huge pages where wanted, filled front to back and given back as a whole.
 *
 * One thread at a time takes from it; what was taken may be used by any.
 */
#ifndef VENTURI_ENGINE_REGION_H
#define VENTURI_ENGINE_REGION_H

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct region;

struct region_options {
	size_t bytes;    /* address space to reserve; what is not used takes no memory */
	bool huge_pages; /* ask for them (MADV_HUGEPAGE); a wish, not an error */
	int node;        /* NUMA node to place it on; -1: where it is touched first */
};

bool region_open(const struct region_options *options, struct region **ret_region,
        struct err *err) NODISCARD;
void region_close(struct region *r);

/* Aligned to 64, zeroed. NULL: the reserved space is used up. */
void *region_alloc(struct region *r, size_t bytes);
/* Bytes handed out so far. */
size_t region_used(const struct region *r);

#endif
