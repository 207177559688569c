/*
 * kernel_base.h - the base name of a kernel, by which two profilers' names of it can be matched:
 * without what it returns, its namespaces, template arguments and parameters.
 *
 *	void at::native::vectorized_elementwise_kernel<4, at::F<float>>(int, at::F<float>)
 *	             -> vectorized_elementwise_kernel
 */
#ifndef VENTURI_TRACE_KERNEL_BASE_H
#define VENTURI_TRACE_KERNEL_BASE_H

#include "base/str.h"

/* A part of name; all of it when nothing else would be left. */
struct str kernel_base_name(struct str name);

#endif
