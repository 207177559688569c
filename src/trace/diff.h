/*
 * diff.h - what changed from one trace to another, by kernel and by operator with its shapes.
 *
 * Where both have steps from the same source, what the host asked for in the steps that are not
 * warm-up is compared, divided by their number; else all of each trace. Names are compared as they
 * stand, or by their base.
 */
#ifndef VENTURI_TRACE_DIFF_H
#define VENTURI_TRACE_DIFF_H

#include "record/trace_diff.h"
#include "trace/timeline/timeline.h"

struct trace_diff_options {
	int64_t top;            /* rows of each kind; at least 1 */
	double fail_over_ratio; /* NAN: no gate */
	bool by_base;           /* kernels without their templates and parameters, see base */
};

/* Memory from run. */
void trace_diff(const struct timeline *a, const struct timeline *b,
        const struct trace_diff_options *options, struct arena *run, struct trace_diff *ret);

/*
 * The function of a kernel, without return type, template arguments and parameters, which hold what
 * changes from build to build: "void at::native::elementwise_kernel<128, ...>(int, ...)" is
 * "at::native::elementwise_kernel".
 */
struct str trace_diff_base(struct str name);

#endif
