/*
 * kernels_sets.h - the tables that kernels_set.c makes, one per instruction set.
 */
#ifndef VENTURI_ENGINE_KERNELS_SETS_H
#define VENTURI_ENGINE_KERNELS_SETS_H

#include "engine/kernels.h"

extern const struct kernels kernels_avx512_bf16, kernels_avx512, kernels_avx2, kernels_plain;

#endif
