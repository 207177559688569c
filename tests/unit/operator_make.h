/*
 * operator_make.h - operators with shapes that launch kernels, for the tests of the analyses.
 */
#ifndef VENTURI_TESTS_OPERATOR_MAKE_H
#define VENTURI_TESTS_OPERATOR_MAKE_H

#include "timeline_make.h"

/* The number of the operator. */
static inline uint32_t put_operator(struct timeline *t, const char *name, const char *dims,
        const char *types, int64_t start_ns, int64_t end_ns)
{
	struct operator_detail o = operator_detail_none();
	o.dims = timeline_name(t, str_of(dims));
	o.types = timeline_name(t, str_of(types));
	uint32_t i = put(t, GROUP_OPERATOR, host_track(t, "1"), name, start_ns, end_ns, 0);
	t->lists[GROUP_OPERATOR].v[i].detail = timeline_detail(t, DETAIL_OPERATOR, &o);
	return i;
}

/*
 * An operator of 10 ns on the host that launches one kernel; the link is the operator's start, so
 * that starts must differ.
 */
static inline void put_launching(struct timeline *t, const char *name, const char *dims,
        const char *types, int64_t host_ns, const char *kernel, int64_t start_ns, int64_t end_ns)
{
	put_operator(t, name, dims, types, host_ns, host_ns + 10);
	put_call(t, "cudaLaunchKernel", host_ns + 2, host_ns + 4, (uint64_t)host_ns);
	put_kernel(t, kernel, start_ns, end_ns, (uint64_t)host_ns);
}

#endif
