/*
 * kernel_class.h - what kind of work a kernel or an operator does, told by its name.
 *
 * Names are those that libraries and compilers give: cuBLAS, CUTLASS, cuDNN, rocBLAS, hipBLASLt,
 * MIOpen, Composable Kernel, AITER, FlashAttention, FlashInfer, TensorRT-LLM, vLLM, SGLang,
 * llama.cpp, ATen, Inductor, XLA, ONNX Runtime. A name that says nothing is CLASS_OTHER: no class
 * is guessed from how a kernel behaves.
 *
 * The cost of a name is some hundred searches in it, so kernel_classes keeps what was found.
 */
#ifndef VENTURI_TRACE_KERNEL_CLASS_H
#define VENTURI_TRACE_KERNEL_CLASS_H

#include "trace/timeline/timeline.h"

enum kernel_class {
	CLASS_GEMM,
	CLASS_ATTENTION, /* fused: the products and the softmax in one kernel */
	CLASS_CONVOLUTION,
	CLASS_ELEMENTWISE,
	CLASS_NORMALISATION,
	CLASS_SOFTMAX,
	CLASS_REDUCTION,    /* sums, maxima, prefix sums */
	CLASS_INDEXING,     /* gather, scatter, embedding */
	CLASS_SAMPLING,     /* sort, top-k, random choice */
	CLASS_QUANTISATION, /* to or from a narrow type with scales */
	CLASS_COPY_LAYOUT,  /* bytes moved or cast, nothing computed */
	CLASS_COMMUNICATION,
	CLASS_VIEW,       /* operators only: another look at the same bytes */
	CLASS_ALLOCATION, /* operators only */
	CLASS_OTHER,
	N_KERNEL_CLASSES,
};

/* "gemm", "attention", "copy_layout", ...: as in JSON, not translated. */
extern const char *const kernel_class_names[N_KERNEL_CLASSES];

/* Of a kernel. Only the first KERNEL_NAME_MAX bytes are looked at. */
enum { KERNEL_NAME_MAX = 1536 };
enum kernel_class kernel_class_of(struct str name);

/* Of an operator of a framework: "aten::mm", "MatMul", "vllm::all_reduce". */
enum kernel_class operator_class_of(struct str name);

/* Classes of the events of one timeline, found once for each name. */
struct kernel_classes {
	const struct timeline *t;
	uint8_t *kernels, *operators; /* [names.n]: class + 1; 0 is not looked at yet */
};

/* Takes its memory from arena; names added to t afterwards are not covered. */
void kernel_classes_init(struct kernel_classes *c, const struct timeline *t, struct arena *arena);

/*
 * Of an event of GROUP_DEVICE (a copy or memset is CLASS_COPY_LAYOUT; the writer's own category of
 * a kernel is asked where its name says nothing) or of GROUP_OPERATOR (by op_type where there is
 * one).
 */
enum kernel_class kernel_classes_device(struct kernel_classes *c, const struct event *e);
enum kernel_class kernel_classes_operator(struct kernel_classes *c, const struct event *e);

#endif
