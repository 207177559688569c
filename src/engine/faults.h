/*
 * faults.h - what an engine can be told to do badly, so that a doctor can be tried on it.
 *
 * All zero is a good engine. Each names the cause of the catalogue that it makes. They show in no
 * metric, log, name or configuration, only by their effects.
 */
#ifndef VENTURI_ENGINE_FAULTS_H
#define VENTURI_ENGINE_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

struct engine_faults {
	int64_t recompile;    /* dynamic_shape_recompile: primitives for each exact shape, made
	                         so many times over; only the last few shapes are kept */
	bool dequantize;      /* quant_no_gain: weights to float32 at every call */
	bool wide;            /* precision_fallback: float32 whatever the weights are said to be */
	bool wide_attention;  /* precision_fallback: attention in float64 */
	const char *isa;      /* kernel_choice_bad: "plain", "avx2": not beyond it */
	bool naive_attention; /* kernel_choice_bad: attention as three plain loops */
	int64_t reorders;     /* layout_copies: so many before and after each layer */
	int64_t pieces;       /* launch_bound: each operator cut into so many */
	int64_t dispatch_ns;  /* launch_bound: to start each piece */
	int64_t copy_bytes;   /* per_step_copies: copied there and back each step */
	bool alloc_churn;     /* gpu_mem_fragmentation: buffers of an operator new each time */
	bool denormal;        /* denormal_stall: a part of the weights is 1e-39 */
	int64_t cold;         /* cold_start: so many first calls of each layer pack its weights */
};

#endif
