/*
 * kernels_set.c - the kernels of one instruction set: compiled once for each (meson.build), with
 * KERNELS_SET as the name of its table and KERNELS_NAME as that of the set.
 */
#include "engine/kernels_attention.h"
#include "engine/kernels_epilogue.h"
#include "engine/kernels_rows.h"
#include "engine/kernels_sets.h"

const struct kernels KERNELS_SET = {
	.name = KERNELS_NAME,
	.epilogue = epilogue,
	.add_norm = add_norm,
	.quantize = quantize,
	.to_bf16 = to_bf16,
	.from_bf16 = from_bf16,
	.attention = attention,
	.add_bias = add_bias,
	.activate = activate,
	.add = add,
	.scale = scale,
	.softmax = softmax,
	.mean_rows = mean_rows,
	.unit = unit,
};
