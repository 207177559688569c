/*
 * kernel_type.h - the type in which a product is taken, told by the name of its kernel in the
 * manner of cuBLAS, CUTLASS, cuDNN, rocBLAS and Triton. ELEMENT_UNKNOWN where it does not tell.
 */
#ifndef VENTURI_TRACE_KERNEL_TYPE_H
#define VENTURI_TRACE_KERNEL_TYPE_H

#include "trace/work/shapes.h"

enum element_type kernel_type_of(struct str name);

#endif
