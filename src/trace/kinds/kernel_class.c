#include "trace/kinds/kernel_class.h"

#include <ctype.h>
#include <string.h>

const char *const kernel_class_names[N_KERNEL_CLASSES] = {
	[CLASS_GEMM] = "gemm",
	[CLASS_ATTENTION] = "attention",
	[CLASS_CONVOLUTION] = "convolution",
	[CLASS_ELEMENTWISE] = "elementwise",
	[CLASS_NORMALISATION] = "normalisation",
	[CLASS_SOFTMAX] = "softmax",
	[CLASS_REDUCTION] = "reduction",
	[CLASS_INDEXING] = "indexing",
	[CLASS_SAMPLING] = "sampling",
	[CLASS_QUANTISATION] = "quantisation",
	[CLASS_COPY_LAYOUT] = "copy_layout",
	[CLASS_COMMUNICATION] = "communication",
	[CLASS_VIEW] = "view",
	[CLASS_ALLOCATION] = "allocation",
	[CLASS_OTHER] = "other",
};

/* A name of this class holds one, and two when there is one; in lower case. '^' is its start. */
struct pattern {
	const char *one, *two;
	enum kernel_class class;
};

/* The first that fits decides: words that also occur inside others' names come late. */
static const struct pattern kernel_patterns[] = {
	/* ATen's loops over elements, told apart by what they are called with */
	{ "elementwise_kernel", "direct_copy_kernel", CLASS_COPY_LAYOUT },
	{ "elementwise_kernel", "_copy_kernel", CLASS_COPY_LAYOUT },
	{ "elementwise_kernel", "copy_device_to_device", CLASS_COPY_LAYOUT },
	{ "elementwise_kernel", "batch_norm", CLASS_NORMALISATION },
	{ "elementwise_kernel", "hfp8", CLASS_QUANTISATION },
	{ "elementwise_kernel", "quant", CLASS_QUANTISATION },
	{ "index_elementwise_kernel", NULL, CLASS_INDEXING },
	{ "elementwise_kernel", "index_kernel", CLASS_INDEXING },
	{ "scatter_gather_elementwise", NULL, CLASS_INDEXING },
	{ "elementwise_kernel", NULL, CLASS_ELEMENTWISE },

	{ "nccl", NULL, CLASS_COMMUNICATION },
	{ "rccl", NULL, CLASS_COMMUNICATION },
	{ "mscclpp", NULL, CLASS_COMMUNICATION },
	{ "nvshmem", NULL, CLASS_COMMUNICATION },
	{ "all_reduce", NULL, CLASS_COMMUNICATION },
	{ "allreduce", NULL, CLASS_COMMUNICATION },
	{ "all-reduce", NULL, CLASS_COMMUNICATION },
	{ "all_gather", NULL, CLASS_COMMUNICATION },
	{ "allgather", NULL, CLASS_COMMUNICATION },
	{ "all-gather", NULL, CLASS_COMMUNICATION },
	{ "reduce_scatter", NULL, CLASS_COMMUNICATION },
	{ "reducescatter", NULL, CLASS_COMMUNICATION },
	{ "reduce-scatter", NULL, CLASS_COMMUNICATION },
	{ "all_to_all", NULL, CLASS_COMMUNICATION },
	{ "all-to-all", NULL, CLASS_COMMUNICATION },
	{ "alltoall", NULL, CLASS_COMMUNICATION },
	{ "all2all", NULL, CLASS_COMMUNICATION },
	{ "collective", NULL, CLASS_COMMUNICATION },
	{ "cross_device_reduce", NULL, CLASS_COMMUNICATION },
	{ "deep_ep", NULL, CLASS_COMMUNICATION },
	{ "ncclsend", NULL, CLASS_COMMUNICATION },
	{ "^send", NULL, CLASS_COMMUNICATION },
	{ "^recv", NULL, CLASS_COMMUNICATION },

	/* parts of others' names that mislead */
	{ "kv_indices", NULL, CLASS_INDEXING },
	{ "fbgemm", "quant", CLASS_QUANTISATION },
	{ "fbgemm", "fp8", CLASS_QUANTISATION },
	{ "fbgemm", "qparam", CLASS_QUANTISATION },
	{ "fbgemm", NULL, CLASS_INDEXING },
	{ "split_embedding", NULL, CLASS_INDEXING },
	{ "rotary", NULL, CLASS_ELEMENTWISE },
	{ "upsample", NULL, CLASS_ELEMENTWISE },
	{ "subtensoropwithcast", NULL, CLASS_COPY_LAYOUT },
	{ "subtensorop", NULL, CLASS_ELEMENTWISE },
	{ "moe::dev::finalize", NULL, CLASS_ELEMENTWISE },
	{ "routing", NULL, CLASS_SAMPLING },
	{ "set_kv_buffer", NULL, CLASS_COPY_LAYOUT },
	{ "paged_attention", NULL, CLASS_ATTENTION },
	{ "fft2d_", NULL, CLASS_CONVOLUTION },
	{ "reshape_and_cache", NULL, CLASS_COPY_LAYOUT },
	{ "store_kv", NULL, CLASS_COPY_LAYOUT },
	{ "nchwtonhwc", NULL, CLASS_COPY_LAYOUT },
	{ "nhwctonchw", NULL, CLASS_COPY_LAYOUT },
	{ "catarray", NULL, CLASS_COPY_LAYOUT },
	{ "multi_tensor_apply", NULL, CLASS_ELEMENTWISE },
	{ "::reduce_kernel<", NULL, CLASS_REDUCTION },
	{ "::reduceop", NULL, CLASS_REDUCTION },

	{ "flash_fwd", NULL, CLASS_ATTENTION },
	{ "flash_bwd", NULL, CLASS_ATTENTION },
	{ "flashattn", NULL, CLASS_ATTENTION },
	{ "flash_attn", NULL, CLASS_ATTENTION },
	{ "fmha", NULL, CLASS_ATTENTION },
	{ "attn_", NULL, CLASS_ATTENTION },
	{ "_attn", NULL, CLASS_ATTENTION },
	{ "attention", NULL, CLASS_ATTENTION },
	{ "pagedkv", NULL, CLASS_ATTENTION },
	{ "raggedkv", NULL, CLASS_ATTENTION },
	{ "mha_", NULL, CLASS_ATTENTION },
	{ "_mha", NULL, CLASS_ATTENTION },
	{ "flashmla", NULL, CLASS_ATTENTION },
	{ "flash_mla", NULL, CLASS_ATTENTION },
	{ "mla_decode", NULL, CLASS_ATTENTION },
	{ "mergestates", NULL, CLASS_ATTENTION },
	{ "_fwd_grouped_kernel_stage", NULL, CLASS_ATTENTION },
	{ "_fwd_kernel_stage", NULL, CLASS_ATTENTION },
	{ "^_fwd_kernel", NULL, CLASS_ATTENTION },
	{ "^bwd_kernel_fuse", NULL, CLASS_ATTENTION }, /* AOTriton */
	{ "^bwd_kernel_dk", NULL, CLASS_ATTENTION },
	{ "^bwd_kernel_dq", NULL, CLASS_ATTENTION },
	{ "^bwd_preprocess", NULL, CLASS_ATTENTION },

	{ "layer_norm", NULL, CLASS_NORMALISATION },
	{ "layernorm", NULL, CLASS_NORMALISATION },
	{ "rms_norm", NULL, CLASS_NORMALISATION },
	{ "rmsnorm", NULL, CLASS_NORMALISATION },
	{ "batch_norm", NULL, CLASS_NORMALISATION },
	{ "batchnorm", NULL, CLASS_NORMALISATION },
	{ "bn_fw", NULL, CLASS_NORMALISATION },
	{ "bn_bw", NULL, CLASS_NORMALISATION },
	{ "group_norm", NULL, CLASS_NORMALISATION },
	{ "groupnorm", NULL, CLASS_NORMALISATION },
	{ "instance_norm", NULL, CLASS_NORMALISATION },
	{ "instancenorm", NULL, CLASS_NORMALISATION },
	{ "l2norm", NULL, CLASS_NORMALISATION },
	{ "qk_norm", NULL, CLASS_NORMALISATION },
	{ "rowwisemoments", NULL, CLASS_NORMALISATION },
	{ "gammabeta", NULL, CLASS_NORMALISATION },
	{ "computefusedparams", NULL, CLASS_NORMALISATION },
	{ "computeinternalgradients", NULL, CLASS_NORMALISATION },

	{ "convert", NULL, CLASS_COPY_LAYOUT },
	{ "conversion", NULL, CLASS_COPY_LAYOUT },
	{ "implicit_gemm", NULL, CLASS_CONVOLUTION },
	{ "implicitgemm", NULL, CLASS_CONVOLUTION },
	{ "convol", NULL, CLASS_CONVOLUTION },
	{ "conv_", NULL, CLASS_CONVOLUTION },
	{ "_conv", NULL, CLASS_CONVOLUTION },
	{ "-conv", NULL, CLASS_CONVOLUTION },
	{ "conv::", NULL, CLASS_CONVOLUTION },
	{ "conv1d", NULL, CLASS_CONVOLUTION },
	{ "conv2d", NULL, CLASS_CONVOLUTION },
	{ "conv3d", NULL, CLASS_CONVOLUTION },
	{ "fprop", NULL, CLASS_CONVOLUTION },
	{ "dgrad", NULL, CLASS_CONVOLUTION },
	{ "wgrad", NULL, CLASS_CONVOLUTION },
	{ "igemm_fwd", NULL, CLASS_CONVOLUTION },
	{ "igemm_bwd", NULL, CLASS_CONVOLUTION },
	{ "igemm_wrw", NULL, CLASS_CONVOLUTION },
	{ "winograd", NULL, CLASS_CONVOLUTION },
	{ "im2col", NULL, CLASS_CONVOLUTION },
	{ "im2d2col", NULL, CLASS_CONVOLUTION },
	{ "im3d2col", NULL, CLASS_CONVOLUTION },
	{ "col2im", NULL, CLASS_CONVOLUTION },
	{ "scudnn", NULL, CLASS_CONVOLUTION },
	{ "cask_cudnn", NULL, CLASS_CONVOLUTION },

	{ "topk", NULL, CLASS_SAMPLING },
	{ "gemm", NULL, CLASS_GEMM },
	{ "gemv", NULL, CLASS_GEMM },
	{ "^cijk_", NULL, CLASS_GEMM },
	{ "cublas", NULL, CLASS_GEMM },
	{ "nvjet", NULL, CLASS_GEMM },
	{ "cutlass", NULL, CLASS_GEMM },
	{ "_tensorop", NULL, CLASS_GEMM },
	{ "matmul", NULL, CLASS_GEMM },
	{ "mul_mat", NULL, CLASS_GEMM },
	{ "^bmm", NULL, CLASS_GEMM },
	{ "triton_mm", NULL, CLASS_GEMM },
	{ "triton_bmm", NULL, CLASS_GEMM },
	{ "splitk", NULL, CLASS_GEMM },
	{ "split_k", NULL, CLASS_GEMM },
	{ "marlin", NULL, CLASS_GEMM },
	{ "machete", NULL, CLASS_GEMM },
	{ "wvsplit", NULL, CLASS_GEMM },
	{ "llmm1", NULL, CLASS_GEMM },
	{ "fused_moe", NULL, CLASS_GEMM },
	{ "dot_kernel", NULL, CLASS_GEMM },
	{ "dot_fusion", NULL, CLASS_GEMM },
	{ "fusion_dot", NULL, CLASS_GEMM },
	{ "^dot", NULL, CLASS_GEMM },

	{ "softmax", NULL, CLASS_SOFTMAX },
	{ "soft_max", NULL, CLASS_SOFTMAX },
	{ "quant", NULL, CLASS_QUANTISATION },
	{ "fp8_cast", NULL, CLASS_QUANTISATION },

	{ "sort", NULL, CLASS_SAMPLING },
	{ "radix", NULL, CLASS_SAMPLING },
	{ "bitonic", NULL, CLASS_SAMPLING },
	{ "sampling", NULL, CLASS_SAMPLING },
	{ "multinomial", NULL, CLASS_SAMPLING },
	{ "top_p", NULL, CLASS_SAMPLING },
	{ "top_k", NULL, CLASS_SAMPLING },
	{ "_moe_", NULL, CLASS_SAMPLING },
	{ "histogram", NULL, CLASS_SAMPLING },
	{ "::moe", NULL, CLASS_SAMPLING },

	{ "transpose", NULL, CLASS_COPY_LAYOUT },
	{ "permute", NULL, CLASS_COPY_LAYOUT },
	{ "page_indices", NULL, CLASS_INDEXING },
	{ "gather", NULL, CLASS_INDEXING },
	{ "scatter", NULL, CLASS_INDEXING },
	{ "embedding", NULL, CLASS_INDEXING },
	{ "get_rows", NULL, CLASS_INDEXING },
	{ "set_rows", NULL, CLASS_INDEXING },
	{ "index", NULL, CLASS_INDEXING },
	{ "nonzero", NULL, CLASS_INDEXING },
	{ "partition_kernel", NULL, CLASS_INDEXING },
	{ "segment", NULL, CLASS_INDEXING },
	{ "compute_grad_weight", NULL, CLASS_INDEXING },
	{ "deviceselect", NULL, CLASS_INDEXING },
	{ "compute_position", NULL, CLASS_INDEXING },
	{ "clamp_position", NULL, CLASS_INDEXING },
	{ "token_ids", NULL, CLASS_INDEXING },
	{ "req_to_token", NULL, CLASS_INDEXING },

	{ "copy", NULL, CLASS_COPY_LAYOUT },
	{ "memcpy", NULL, CLASS_COPY_LAYOUT },
	{ "memset", NULL, CLASS_COPY_LAYOUT },
	{ "fillbuffer", NULL, CLASS_COPY_LAYOUT },
	{ "concat", NULL, CLASS_COPY_LAYOUT },
	{ "_cast", NULL, CLASS_COPY_LAYOUT },
	{ "slice", NULL, CLASS_COPY_LAYOUT },
	{ "reshape", NULL, CLASS_COPY_LAYOUT },
	{ "bitcast", NULL, CLASS_COPY_LAYOUT },
	{ "data formatting", NULL, CLASS_COPY_LAYOUT },
	{ "pad_", NULL, CLASS_COPY_LAYOUT },
	{ "_pad", NULL, CLASS_COPY_LAYOUT },
	{ "roll_cuda", NULL, CLASS_COPY_LAYOUT },
	{ "repeat", NULL, CLASS_COPY_LAYOUT },

	{ "reduc", NULL, CLASS_REDUCTION },
	{ "argmax", NULL, CLASS_REDUCTION },
	{ "argmin", NULL, CLASS_REDUCTION },
	{ "cumsum", NULL, CLASS_REDUCTION },
	{ "scan", NULL, CLASS_REDUCTION },
	{ "lpnorm", NULL, CLASS_REDUCTION },
	{ "nllcriterion", NULL, CLASS_REDUCTION },
	{ "_sum", NULL, CLASS_REDUCTION },
	{ "sum_", NULL, CLASS_REDUCTION },
	{ "nll_loss", NULL, CLASS_REDUCTION },
	{ "cross_entropy", NULL, CLASS_REDUCTION },
	{ "max_pool", NULL, CLASS_REDUCTION },
	{ "avg_pool", NULL, CLASS_REDUCTION },
	{ "adaptive_average_pool", NULL, CLASS_REDUCTION },
	{ "pooling", NULL, CLASS_REDUCTION },

	{ "elementwise", NULL, CLASS_ELEMENTWISE },
	{ "pointwise", NULL, CLASS_ELEMENTWISE },
	{ "loop_", NULL, CLASS_ELEMENTWISE },
	{ "loop fusion", NULL, CLASS_ELEMENTWISE },
	{ "activation", NULL, CLASS_ELEMENTWISE },
	{ "act_and_mul", NULL, CLASS_ELEMENTWISE },
	{ "silu", NULL, CLASS_ELEMENTWISE },
	{ "swiglu", NULL, CLASS_ELEMENTWISE },
	{ "gelu", NULL, CLASS_ELEMENTWISE },
	{ "relu", NULL, CLASS_ELEMENTWISE },
	{ "sigmoid", NULL, CLASS_ELEMENTWISE },
	{ "rope", NULL, CLASS_ELEMENTWISE },
	{ "dropout", NULL, CLASS_ELEMENTWISE },
	{ "scalepackedtensor", NULL, CLASS_ELEMENTWISE },
	{ "transform_kernel", NULL, CLASS_ELEMENTWISE },
	{ "optensor", NULL, CLASS_ELEMENTWISE },
	{ "op_tensor", NULL, CLASS_ELEMENTWISE },
	{ "distribution", NULL, CLASS_ELEMENTWISE },
	{ "triu", NULL, CLASS_ELEMENTWISE },
	{ "tril", NULL, CLASS_ELEMENTWISE },
	{ "cupy_", NULL, CLASS_ELEMENTWISE },
	{ "^broadcast", NULL, CLASS_ELEMENTWISE },
	{ "^iota", NULL, CLASS_ELEMENTWISE },
	{ "fill", NULL, CLASS_ELEMENTWISE },
	{ "masked_scale", NULL, CLASS_ELEMENTWISE },
	{ "add_", NULL, CLASS_ELEMENTWISE },
	{ "_add", NULL, CLASS_ELEMENTWISE },
	{ "mul_", NULL, CLASS_ELEMENTWISE },
	{ "_mul", NULL, CLASS_ELEMENTWISE },
};

static bool has(struct str name, const char *needle)
{
	if (*needle == '^')
		return str_starts(name, str_of(needle + 1));
	return memmem(name.s, name.len, needle, strlen(needle)) != NULL;
}

static enum kernel_class by_patterns(struct str lower)
{
	for (size_t i = 0; i < sizeof kernel_patterns / sizeof *kernel_patterns; i++) {
		const struct pattern *p = &kernel_patterns[i];
		if (has(lower, p->one) && (!p->two || has(lower, p->two)))
			return p->class;
	}
	return CLASS_OTHER;
}

static bool is_one_of(struct str word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(word, str_of(words[i])))
			return true;
	return false;
}

/*
 * Words of operators that move or relabel bytes. Products and convolutions are among them: they
 * are named in a fused kernel because it takes up their result.
 */
static const char *const layout_words[] = { "", "addmm", "as", "bmm", "cat", "clone", "constant",
	"convolution", "copy", "expand", "mm", "pad", "permute", "reshape", "select", "slice",
	"split", "squeeze", "stack", "strided", "t", "to", "transpose", "unsafe", "unsqueeze",
	"view", "with", "sizes", "scatter" };

/* Whether each word of an Inductor name moves bytes only; a number at its end is its count. */
static bool words_are_layout(struct str words)
{
	while (words.len) {
		struct str word = str_cut(words, '_', &words);
		int64_t number;
		if (!words.len && str_to_i64(word, &number))
			return true;
		if (!is_one_of(word, layout_words, sizeof layout_words / sizeof *layout_words))
			return false;
	}
	return true;
}

/* What Inductor writes: triton_KIND_fused_OPERATORS_NUMBER, poi for point by point, red and per for
 * reductions, tem for templates. */
static enum kernel_class by_inductor_name(struct str lower)
{
	struct str rest = { lower.s + 11, lower.len - 11 };
	if (str_starts(lower, STR("triton_tem_")))
		return has(rest, "attention")     ? CLASS_ATTENTION
		       : has(rest, "convolution") ? CLASS_CONVOLUTION
		                                  : CLASS_GEMM;
	if (str_starts(lower, STR("triton_poi_"))) {
		if (str_starts(rest, STR("fused_")))
			rest = (struct str){ rest.s + 6, rest.len - 6 };
		return words_are_layout(rest) ? CLASS_COPY_LAYOUT : CLASS_ELEMENTWISE;
	}
	if (has(rest, "norm") || has(rest, "rsqrt"))
		return CLASS_NORMALISATION;
	return has(rest, "softmax") ? CLASS_SOFTMAX : CLASS_REDUCTION;
}

static bool is_inductor_name(struct str lower)
{
	return str_starts(lower, STR("triton_poi_")) || str_starts(lower, STR("triton_red_")) ||
	       str_starts(lower, STR("triton_per_")) || str_starts(lower, STR("triton_tem_"));
}

static struct str lowered(struct str name, char *to)
{
	size_t n = name.len < KERNEL_NAME_MAX ? name.len : KERNEL_NAME_MAX;
	for (size_t i = 0; i < n; i++)
		to[i] = (char)tolower((unsigned char)name.s[i]);
	return (struct str){ to, n };
}

/* XLA writes the whole instruction: "%add_fusion.1 = f32[5]{0} fusion(%copy), kind=kLoop". */
static struct str without_instruction(struct str name)
{
	ptrdiff_t end = name.len && *name.s == '%' ? str_find(name, STR(" = ")) : -1;
	return end > 0 ? (struct str){ name.s + 1, (size_t)end - 1 } : name;
}

enum kernel_class kernel_class_of(struct str name)
{
	char text[KERNEL_NAME_MAX];
	name = without_instruction(name);
	struct str lower = lowered(name, text);
	return is_inductor_name(lower) ? by_inductor_name(lower) : by_patterns(lower);
}

void kernel_classes_init(struct kernel_classes *c, const struct timeline *t, struct arena *arena)
{
	c->t = t;
	c->kernels = arena_alloc_n(arena, t->names.n + 1, 1);
	c->operators = arena_alloc_n(arena, t->names.n + 1, 1);
}

static enum kernel_class cached(struct kernel_classes *c, uint8_t *cache, uint32_t name,
        enum kernel_class (*look)(struct str name))
{
	if (!cache[name])
		cache[name] = (uint8_t)(look(timeline_name_of(c->t, name)) + 1);
	return cache[name] - 1;
}

enum kernel_class kernel_classes_device(struct kernel_classes *c, const struct event *e)
{
	if (e->kind != DEVICE_KERNEL)
		return CLASS_COPY_LAYOUT;
	enum kernel_class class = cached(c, c->kernels, e->name, kernel_class_of);
	const struct kernel_detail *k = class == CLASS_OTHER ? timeline_kernel(c->t, e) : NULL;
	if (k && k->category)
		class = cached(c, c->kernels, k->category, kernel_class_of);
	if (k && class == CLASS_OTHER && k->op)
		class = cached(c, c->kernels, k->op, kernel_class_of);
	return class;
}

enum kernel_class kernel_classes_operator(struct kernel_classes *c, const struct event *e)
{
	const struct operator_detail *o = timeline_operator(c->t, e);
	return cached(c, c->operators, o && o->op_type ? o->op_type : e->name, operator_class_of);
}
