/*
 * The class of an operator of a framework: a table of their bare names, and what kernels are told
 * by for those that are not in it.
 */
#include "trace/kinds/kernel_class.h"

#include <ctype.h>

/* Longer ones than this are no operators of a framework, but kernels that go by that name. */
enum { OPERATOR_NAME_MAX = 256 };

/* Operators without their namespace, their underscores at both ends, their back end and
 * direction. */
static const struct operator_row {
	const char *name;
	enum kernel_class class;
} operator_rows[] = {
	{ "mm", CLASS_GEMM },
	{ "bmm", CLASS_GEMM },
	{ "moe", CLASS_GEMM },
	{ "fused_moe", CLASS_GEMM },
	{ "addmm", CLASS_GEMM },
	{ "baddbmm", CLASS_GEMM },
	{ "addbmm", CLASS_GEMM },
	{ "addmv", CLASS_GEMM },
	{ "mv", CLASS_GEMM },
	{ "dot", CLASS_GEMM },
	{ "linear", CLASS_GEMM },
	{ "einsum", CLASS_GEMM },
	{ "tensordot", CLASS_GEMM },
	{ "scaled_mm", CLASS_GEMM },
	{ "int_mm", CLASS_GEMM },
	{ "grouped_mm", CLASS_GEMM },
	{ "scaled_dot_product_attention", CLASS_ATTENTION },
	{ "scaled_dot_product_flash_attention", CLASS_ATTENTION },
	{ "scaled_dot_product_efficient_attention", CLASS_ATTENTION },
	{ "scaled_dot_product_cudnn_attention", CLASS_ATTENTION },
	{ "scaled_dot_product_attention_math", CLASS_ATTENTION },
	{ "conv", CLASS_CONVOLUTION },
	{ "fusedconv", CLASS_CONVOLUTION },
	{ "nhwcconv", CLASS_CONVOLUTION },
	{ "nhwcfusedconv", CLASS_CONVOLUTION },
	{ "convinteger", CLASS_CONVOLUTION },
	{ "qlinearconv", CLASS_CONVOLUTION },
	{ "convtranspose", CLASS_CONVOLUTION },
	{ "norm", CLASS_REDUCTION },
	{ "linalg_norm", CLASS_REDUCTION },
	{ "linalg_vector_norm", CLASS_REDUCTION },
	{ "sum", CLASS_REDUCTION },
	{ "mean", CLASS_REDUCTION },
	{ "max", CLASS_REDUCTION },
	{ "min", CLASS_REDUCTION },
	{ "amax", CLASS_REDUCTION },
	{ "amin", CLASS_REDUCTION },
	{ "prod", CLASS_REDUCTION },
	{ "var", CLASS_REDUCTION },
	{ "std", CLASS_REDUCTION },
	{ "var_mean", CLASS_REDUCTION },
	{ "any", CLASS_REDUCTION },
	{ "all", CLASS_REDUCTION },
	{ "logsumexp", CLASS_REDUCTION },
	{ "mse_loss", CLASS_REDUCTION },
	{ "l1_loss", CLASS_REDUCTION },
	{ "broadcast", CLASS_COMMUNICATION },
	{ "send", CLASS_COMMUNICATION },
	{ "recv", CLASS_COMMUNICATION },
	{ "barrier", CLASS_COMMUNICATION },
	{ "record_param_comms", CLASS_COMMUNICATION },
	{ "copy", CLASS_COPY_LAYOUT },
	{ "store_cache", CLASS_COPY_LAYOUT },
	{ "to", CLASS_COPY_LAYOUT },
	{ "to_copy", CLASS_COPY_LAYOUT },
	{ "type_as", CLASS_COPY_LAYOUT },
	{ "clone", CLASS_COPY_LAYOUT },
	{ "contiguous", CLASS_COPY_LAYOUT },
	{ "cat", CLASS_COPY_LAYOUT },
	{ "stack", CLASS_COPY_LAYOUT },
	{ "pad", CLASS_COPY_LAYOUT },
	{ "constant_pad_nd", CLASS_COPY_LAYOUT },
	{ "cast", CLASS_COPY_LAYOUT },
	{ "roll", CLASS_COPY_LAYOUT },
	{ "flip", CLASS_COPY_LAYOUT },
	{ "tile", CLASS_COPY_LAYOUT },
	{ "item", CLASS_COPY_LAYOUT }, /* of one number, to the host */
	{ "local_scalar_dense", CLASS_COPY_LAYOUT },
	{ "foreach_copy", CLASS_COPY_LAYOUT },
	{ "flatten_dense_tensors", CLASS_COPY_LAYOUT },
	{ "has_compatible_shallow_copy_type", CLASS_VIEW },
	{ "view", CLASS_VIEW },
	{ "unsafe_view", CLASS_VIEW },
	{ "as_strided", CLASS_VIEW },
	{ "reshape_alias", CLASS_VIEW },
	{ "transpose", CLASS_VIEW },
	{ "permute", CLASS_VIEW },
	{ "t", CLASS_VIEW },
	{ "numpy_t", CLASS_VIEW },
	{ "slice", CLASS_VIEW },
	{ "select", CLASS_VIEW },
	{ "narrow", CLASS_VIEW },
	{ "expand", CLASS_VIEW },
	{ "expand_as", CLASS_VIEW },
	{ "broadcast_to", CLASS_VIEW },
	{ "broadcast_tensors", CLASS_VIEW },
	{ "squeeze", CLASS_VIEW },
	{ "unsqueeze", CLASS_VIEW },
	{ "split", CLASS_VIEW },
	{ "split_with_sizes", CLASS_VIEW },
	{ "chunk", CLASS_VIEW },
	{ "unbind", CLASS_VIEW },
	{ "flatten", CLASS_VIEW },
	{ "unflatten", CLASS_VIEW },
	{ "movedim", CLASS_VIEW },
	{ "swapaxes", CLASS_VIEW },
	{ "alias", CLASS_VIEW },
	{ "detach", CLASS_VIEW },
	{ "unfold", CLASS_VIEW },
	{ "resolve_conj", CLASS_VIEW },
	{ "resolve_neg", CLASS_VIEW },
	{ "conj", CLASS_VIEW },
	{ "lift_fresh", CLASS_VIEW },
	{ "unflatten_dense_tensors", CLASS_VIEW },
	{ "empty", CLASS_ALLOCATION },
	{ "empty_like", CLASS_ALLOCATION },
	{ "empty_strided", CLASS_ALLOCATION },
	{ "new_empty", CLASS_ALLOCATION },
	{ "new_empty_strided", CLASS_ALLOCATION },
	{ "resize", CLASS_ALLOCATION },
	{ "resize_as", CLASS_ALLOCATION },
	{ "set", CLASS_ALLOCATION },
	{ "index_put", CLASS_INDEXING },
	{ "where", CLASS_ELEMENTWISE },
	{ "abs", CLASS_ELEMENTWISE },
	{ "add", CLASS_ELEMENTWISE },
	{ "addcmul", CLASS_ELEMENTWISE },
	{ "addcdiv", CLASS_ELEMENTWISE },
	{ "arange", CLASS_ELEMENTWISE },
	{ "binary_cross_entropy_with_logits", CLASS_REDUCTION },
	{ "bitwise_and", CLASS_ELEMENTWISE },
	{ "bitwise_not", CLASS_ELEMENTWISE },
	{ "bitwise_or", CLASS_ELEMENTWISE },
	{ "clamp", CLASS_ELEMENTWISE },
	{ "clamp_max", CLASS_ELEMENTWISE },
	{ "clamp_min", CLASS_ELEMENTWISE },
	{ "clip", CLASS_ELEMENTWISE },
	{ "cos", CLASS_ELEMENTWISE },
	{ "div", CLASS_ELEMENTWISE },
	{ "elu", CLASS_ELEMENTWISE },
	{ "eq", CLASS_ELEMENTWISE },
	{ "equal", CLASS_ELEMENTWISE },
	{ "erf", CLASS_ELEMENTWISE },
	{ "exp", CLASS_ELEMENTWISE },
	{ "fill", CLASS_ELEMENTWISE },
	{ "floor", CLASS_ELEMENTWISE },
	{ "foreach_add", CLASS_ELEMENTWISE },
	{ "foreach_mul", CLASS_ELEMENTWISE },
	{ "full", CLASS_ELEMENTWISE },
	{ "full_like", CLASS_ELEMENTWISE },
	{ "ge", CLASS_ELEMENTWISE },
	{ "greater", CLASS_ELEMENTWISE },
	{ "gt", CLASS_ELEMENTWISE },
	{ "hardswish", CLASS_ELEMENTWISE },
	{ "isnan", CLASS_ELEMENTWISE },
	{ "le", CLASS_ELEMENTWISE },
	{ "leaky_relu", CLASS_ELEMENTWISE },
	{ "less", CLASS_ELEMENTWISE },
	{ "log", CLASS_ELEMENTWISE },
	{ "log2", CLASS_ELEMENTWISE },
	{ "logical_and", CLASS_ELEMENTWISE },
	{ "logical_not", CLASS_ELEMENTWISE },
	{ "logical_or", CLASS_ELEMENTWISE },
	{ "logit", CLASS_ELEMENTWISE },
	{ "lt", CLASS_ELEMENTWISE },
	{ "masked_fill", CLASS_ELEMENTWISE },
	{ "maximum", CLASS_ELEMENTWISE },
	{ "minimum", CLASS_ELEMENTWISE },
	{ "mul", CLASS_ELEMENTWISE },
	{ "mul_out", CLASS_ELEMENTWISE },
	{ "nan_to_num", CLASS_ELEMENTWISE },
	{ "ne", CLASS_ELEMENTWISE },
	{ "neg", CLASS_ELEMENTWISE },
	{ "new_zeros", CLASS_ELEMENTWISE },
	{ "normal", CLASS_ELEMENTWISE },
	{ "ones", CLASS_ELEMENTWISE },
	{ "ones_like", CLASS_ELEMENTWISE },
	{ "pow", CLASS_ELEMENTWISE },
	{ "rand", CLASS_ELEMENTWISE },
	{ "randn", CLASS_ELEMENTWISE },
	{ "random", CLASS_ELEMENTWISE },
	{ "reciprocal", CLASS_ELEMENTWISE },
	{ "remainder", CLASS_ELEMENTWISE },
	{ "round", CLASS_ELEMENTWISE },
	{ "rsqrt", CLASS_ELEMENTWISE },
	{ "rsub", CLASS_ELEMENTWISE },
	{ "scalar_tensor", CLASS_ELEMENTWISE },
	{ "sgn", CLASS_ELEMENTWISE },
	{ "sign", CLASS_ELEMENTWISE },
	{ "sin", CLASS_ELEMENTWISE },
	{ "sqrt", CLASS_ELEMENTWISE },
	{ "square", CLASS_ELEMENTWISE },
	{ "sub", CLASS_ELEMENTWISE },
	{ "tan", CLASS_ELEMENTWISE },
	{ "tanh", CLASS_ELEMENTWISE },
	{ "threshold", CLASS_ELEMENTWISE },
	{ "uniform", CLASS_ELEMENTWISE },
	{ "zero", CLASS_ELEMENTWISE },
	{ "zeros", CLASS_ELEMENTWISE },
	{ "zeros_like", CLASS_ELEMENTWISE },
};

static struct str lowered(struct str name, char *to)
{
	size_t n = name.len < OPERATOR_NAME_MAX ? name.len : OPERATOR_NAME_MAX;
	for (size_t i = 0; i < n; i++)
		to[i] = (char)tolower((unsigned char)name.s[i]);
	return (struct str){ to, n };
}

static struct str without_prefix(struct str name, struct str prefix)
{
	if (!str_starts(name, prefix))
		return name;
	return (struct str){ name.s + prefix.len, name.len - prefix.len };
}

static struct str without_suffix(struct str name, struct str suffix)
{
	if (str_ends(name, suffix) && name.len > suffix.len)
		name.len -= suffix.len;
	return name;
}

/* "aten::_softmax_backward_data" is about "softmax", "AddmmBackward0" about "addmm". */
static struct str bare_operator(struct str name)
{
	ptrdiff_t at;
	if ((at = str_find(name, STR("evaluate_function: "))) >= 0)
		name = (struct str){ name.s + at + 19, name.len - (size_t)at - 19 };
	while ((at = str_find(name, STR("::"))) >= 0)
		name = (struct str){ name.s + at + 2, name.len - (size_t)at - 2 };
	while (name.len > 1 && name.s[name.len - 1] >= '0' && name.s[name.len - 1] <= '9' &&
	        str_find(name, STR("backward")) > 0)
		name.len--;
	while (name.len > 1 && *name.s == '_')
		name = (struct str){ name.s + 1, name.len - 1 };
	while (name.len > 1 && name.s[name.len - 1] == '_')
		name.len--;
	static const struct str suffixes[] = { STR_INIT("_data"), STR_INIT("_backward"),
		STR_INIT("backward"), STR_INIT("_forward") };
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
		name = without_suffix(name, suffixes[i]);
	static const struct str prefixes[] = { STR_INIT("native_"), STR_INIT("cudnn_"),
		STR_INIT("miopen_"), STR_INIT("mkldnn_") };
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		name = without_prefix(name, prefixes[i]);
	return name;
}

enum kernel_class operator_class_of(struct str name)
{
	char text[OPERATOR_NAME_MAX];
	struct str bare = bare_operator(lowered(name, text));
	/* in ONNX these two are nodes that move bytes */
	if (str_eq(name, STR("Transpose")) || str_eq(name, STR("Slice")) ||
	        str_eq(name, STR("Split")) || str_eq(name, STR("Expand")))
		return CLASS_COPY_LAYOUT;
	for (size_t i = 0; i < sizeof operator_rows / sizeof *operator_rows; i++)
		if (str_eq(bare, str_of(operator_rows[i].name)))
			return operator_rows[i].class;
	return kernel_class_of(name);
}
