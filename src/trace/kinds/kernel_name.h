/*
 * kernel_name.h - the name of a kernel without what C++ puts around it.
 */
#ifndef VENTURI_TRACE_KERNEL_NAME_H
#define VENTURI_TRACE_KERNEL_NAME_H

#include "base/str.h"

/*
 * The function's own name: "void at::native::reduce_kernel<512, 1>(float*)" is "reduce_kernel".
 * A view into name; all of it when it is no declaration of C++. What Nsight Systems calls the short
 * name, and Nsight Compute prints by default.
 */
struct str kernel_base_name(struct str name);

#endif
