#include "trace/work/op_work.h"

const char *const work_kind_names[N_WORK_KINDS] = {
	[WORK_NONE] = "none",
	[WORK_PRODUCT] = "product",
	[WORK_CONVOLUTION] = "convolution",
	[WORK_ATTENTION] = "attention",
};

enum { NO_INPUT = -1 };

enum product_form {
	FORM_MATRIX, /* [m, k] x [k, n], either side perhaps transposed where the sizes say so */
	FORM_BATCH,  /* [b, m, k] x [b, k, n] */
	FORM_LINEAR, /* [..., k] x [n, k] */
	FORM_MATMUL, /* NumPy's matmul: batches broadcast, vectors allowed */
};

static const struct product_row {
	const char *name;
	int a, b; /* which inputs */
	enum product_form form;
} product_rows[] = {
	{ "aten::mm", 0, 1, FORM_MATRIX },
	{ "aten::addmm", 1, 2, FORM_MATRIX },
	{ "aten::_addmm_activation", 1, 2, FORM_MATRIX },
	{ "aten::_scaled_mm", 0, 1, FORM_MATRIX },
	{ "aten::_int_mm", 0, 1, FORM_MATRIX },
	{ "_C::cutlass_scaled_mm", 1, 2, FORM_MATRIX },
	{ "aten::bmm", 0, 1, FORM_BATCH },
	{ "aten::baddbmm", 1, 2, FORM_BATCH },
	{ "aten::addbmm", 1, 2, FORM_BATCH },
	{ "aten::linear", 0, 1, FORM_LINEAR },
	{ "linear", 0, 1, FORM_LINEAR }, /* venturi-serve */
	{ "mkldnn::_linear_pointwise", 0, 1, FORM_LINEAR },
	{ "mkl::_mkl_linear", 0, 1, FORM_LINEAR },
	{ "aiter::gemm_a16w16", 0, 1, FORM_LINEAR },
	{ "aiter::gemm_a8w8", 0, 1, FORM_LINEAR },
	{ "aten::matmul", 0, 1, FORM_MATMUL },
	{ "aten::mv", 0, 1, FORM_MATMUL },
	{ "aten::dot", 0, 1, FORM_MATMUL },
	{ "aten::addmv", 1, 2, FORM_MATMUL },
	{ "MatMul", 0, 1, FORM_MATMUL },
	{ "FusedMatMul", 0, 1, FORM_MATMUL },
	{ "MatMulInteger", 0, 1, FORM_MATMUL },
	{ "DynamicQuantizeMatMul", 0, 1, FORM_MATMUL },
	{ "QLinearMatMul", 0, 3, FORM_MATMUL },
	{ "MatMulNBits", 0, NO_INPUT, FORM_MATMUL },
	{ "Gemm", 0, 1, FORM_MATRIX },
	{ "FusedGemm", 0, 1, FORM_MATRIX },
};

/* Where the arguments of a convolution are; weights are input 1. */
static const struct convolution_row {
	const char *name;
	int stride, padding, dilation, transposed, output_padding, groups;
} convolution_rows[] = {
	{ "aten::convolution", 3, 4, 5, 6, 7, 8 },
	{ "aten::_convolution", 3, 4, 5, 6, 7, 8 },
	{ "aten::conv1d", 3, 4, 5, NO_INPUT, NO_INPUT, 6 },
	{ "aten::conv2d", 3, 4, 5, NO_INPUT, NO_INPUT, 6 },
	{ "aten::conv3d", 3, 4, 5, NO_INPUT, NO_INPUT, 6 },
	{ "aten::cudnn_convolution", 3, 2, 4, NO_INPUT, NO_INPUT, 5 },
	{ "aten::miopen_convolution", 4, 3, 5, NO_INPUT, NO_INPUT, 6 },
	{ "aten::mkldnn_convolution", 4, 3, 5, NO_INPUT, NO_INPUT, 6 },
};

/* ONNX Runtime tells no attributes, but the bytes of the result. */
static const char *const onnx_convolutions[] = { "Conv", "FusedConv", "ConvInteger" };

static const struct attention_row {
	const char *name;
	int causal;      /* which input */
	bool heads_last; /* [batch, length, heads, dim], else [batch, heads, length, dim] */
} attention_rows[] = {
	{ "aten::scaled_dot_product_attention", 5, false },
	{ "aten::_scaled_dot_product_attention_math", 5, false },
	{ "aten::_scaled_dot_product_flash_attention", 4, false },
	{ "aten::_scaled_dot_product_flash_attention_for_cpu", 4, false },
	{ "aten::_scaled_dot_product_efficient_attention", 6, false },
	{ "aten::_scaled_dot_product_cudnn_attention", 6, false },
	{ "aten::_flash_attention_forward", 8, true },
};

static const struct op_work none;

/* An input that is one tensor of at least this rank, or NULL. */
static const struct shape *tensor(const struct shapes *s, int i, int rank)
{
	if (i < 0 || (size_t)i >= s->n || s->v[i].n_tensors > 1 || s->v[i].rank < rank)
		return NULL;
	return &s->v[i];
}

static int64_t last(const struct shape *s, int from_end)
{
	return s->dims[s->rank - from_end];
}

/* The sizes of a product of two tensors; false when they do not fit together. */
static bool product_sizes(
        const struct shape *a, const struct shape *b, enum product_form form, struct op_work *w)
{
	int64_t m = a->rank > 1 ? last(a, 2) : 1, k = last(a, 1);
	int64_t bk = b->rank > 1 ? last(b, 2) : last(b, 1), n = b->rank > 1 ? last(b, 1) : 1;
	if (form == FORM_LINEAR) {
		m = shape_product(a, 0, a->rank - 1);
		bk = last(b, 1);
		n = last(b, 2);
	} else if (k != bk && b->rank > 1 && k == n) { /* b is transposed */
		n = bk;
		bk = k;
	} else if (k != bk && m == bk) { /* a is */
		m = k;
		k = bk;
	}
	if (k != bk)
		return false;
	/* batches broadcast: the larger of the two is that of the result, unless both differ */
	int64_t batch_a = form == FORM_LINEAR ? 1 : shape_product(a, 0, a->rank - 2);
	int64_t batch_b = form == FORM_LINEAR ? 1 : shape_product(b, 0, b->rank - 2);
	w->batch = (double)(batch_a > batch_b ? batch_a : batch_b);
	w->m = (double)m;
	w->n = (double)n;
	w->k = (double)k;
	return true;
}

/* Where the weights are not recorded, the result tells how many columns they have. */
static bool product_by_result(const struct shape *a, int64_t output_bytes, struct op_work *w)
{
	double rows = (double)shape_product(a, 0, a->rank - 1);
	double of_one = element_bytes(a->type, 1);
	if (output_bytes <= 0 || rows <= 0 || of_one <= 0)
		return false;
	w->batch = 1;
	w->m = rows;
	w->k = (double)last(a, 1);
	w->n = (double)output_bytes / of_one / rows;
	return true;
}

static struct op_work product_work(
        const struct product_row *row, const struct shapes *s, int64_t output_bytes)
{
	static const int min_rank[] = {
		[FORM_MATRIX] = 2, [FORM_BATCH] = 3, [FORM_LINEAR] = 1, [FORM_MATMUL] = 1
	};
	const struct shape *a = tensor(s, row->a, min_rank[row->form]);
	const struct shape *b =
	        tensor(s, row->b, row->form == FORM_LINEAR ? 2 : min_rank[row->form]);
	struct op_work w = { .kind = WORK_PRODUCT };
	if (!a || a->type == ELEMENT_UNKNOWN)
		return none;
	w.type = a->type;
	if (b ? !product_sizes(a, b, row->form, &w) : !product_by_result(a, output_bytes, &w))
		return none;
	w.flop = 2 * w.batch * w.m * w.n * w.k;
	double b_elements = b ? (double)b->elements : w.n * w.k;
	enum element_type b_type = b && b->type != ELEMENT_UNKNOWN ? b->type : a->type;
	w.bytes = element_bytes(a->type, (double)a->elements) + element_bytes(b_type, b_elements) +
	          (output_bytes > 0 ? (double)output_bytes
	                            : element_bytes(a->type, w.batch * w.m * w.n));
	return w;
}

/* The numbers of an argument for each spatial axis; one number stands for all. */
static bool axes(const struct shapes *s, int input, int n_axes, int64_t *ret)
{
	if (input < 0 || (size_t)input >= s->n)
		return false;
	size_t n = shape_numbers(s->v[input].value, ret, SHAPE_MAX_RANK);
	for (int i = (int)n; n == 1 && i < n_axes; i++)
		ret[i] = ret[0];
	return n == 1 || (int)n >= n_axes;
}

static bool is_true(const struct shapes *s, int input)
{
	return input >= 0 && (size_t)input < s->n &&
	       (str_eq(s->v[input].value, STR("True")) || str_eq(s->v[input].value, STR("1")));
}

/* Elements of one channel of the result, or 0 when the arguments do not tell. */
static double positions_of_result(const struct convolution_row *row, const struct shapes *s,
        const struct shape *in, const struct shape *kernel, bool transposed)
{
	int64_t stride[SHAPE_MAX_RANK], padding[SHAPE_MAX_RANK], dilation[SHAPE_MAX_RANK];
	int64_t more[SHAPE_MAX_RANK] = { 0 };
	int n = in->rank - 2;
	if (!axes(s, row->stride, n, stride) || !axes(s, row->padding, n, padding) ||
	        !axes(s, row->dilation, n, dilation) ||
	        (transposed && !axes(s, row->output_padding, n, more)))
		return 0;
	double positions = 1;
	for (int i = 0; i < n; i++) {
		double size = (double)in->dims[2 + i], pad = (double)padding[i];
		double reach = (double)dilation[i] * (double)(kernel->dims[2 + i] - 1);
		double step = (double)stride[i];
		if (step < 1)
			return 0;
		double room = size + 2 * pad - reach - 1; /* for further positions */
		double out = room < 0 ? 0 : (double)(int64_t)(room / step) + 1;
		if (transposed)
			out = (size - 1) * step - 2 * pad + reach + (double)more[i] + 1;
		if (out < 1)
			return 0;
		positions *= out;
	}
	return positions;
}

/* n, k and the operands' bytes; m, the positions of the result, is set. */
static struct op_work convolution_of(const struct shape *in, const struct shape *kernel,
        bool transposed, double groups, double positions)
{
	double taps = (double)shape_product(kernel, 2, kernel->rank);
	double images = (double)in->dims[0];
	struct op_work w = { .kind = WORK_CONVOLUTION, .type = in->type, .batch = 1 };
	w.m = images * positions;
	w.n = transposed ? (double)kernel->dims[1] * groups : (double)kernel->dims[0];
	w.k = transposed ? (double)kernel->dims[0] / groups * taps : (double)kernel->dims[1] * taps;
	w.flop = 2 * w.m * w.n * w.k;
	if (transposed) /* each element of the input meets each tap once, whatever the stride */
		w.flop = 2 * (double)in->elements * (double)kernel->dims[1] * taps;
	w.bytes = element_bytes(in->type, (double)in->elements) +
	          element_bytes(kernel->type != ELEMENT_UNKNOWN ? kernel->type : in->type,
	                  (double)kernel->elements) +
	          element_bytes(in->type, w.m * w.n);
	return w;
}

static struct op_work convolution_work(const struct convolution_row *row, const struct shapes *s)
{
	const struct shape *in = tensor(s, 0, 3), *kernel = tensor(s, 1, 3);
	int64_t groups[SHAPE_MAX_RANK];
	if (!in || !kernel || in->rank != kernel->rank || in->type == ELEMENT_UNKNOWN ||
	        !axes(s, row->groups, 1, groups) || groups[0] < 1)
		return none;
	bool transposed = is_true(s, row->transposed);
	double positions = positions_of_result(row, s, in, kernel, transposed);
	if (positions < 1)
		return none;
	return convolution_of(in, kernel, transposed, (double)groups[0], positions);
}

static struct op_work onnx_convolution_work(const struct shapes *s, int64_t output_bytes)
{
	const struct shape *in = tensor(s, 0, 3), *kernel = tensor(s, 1, 3);
	double of_one = in ? element_bytes(in->type, 1) : 0;
	if (!in || !kernel || in->rank != kernel->rank || output_bytes <= 0 || of_one <= 0 ||
	        in->dims[0] < 1 || kernel->dims[0] < 1)
		return none;
	double elements = (double)output_bytes / of_one;
	return convolution_of(
	        in, kernel, false, 1, elements / (double)in->dims[0] / (double)kernel->dims[0]);
}

/* Pairs of a query and a key that a causal mask leaves, aligned at the first of both. */
static double causal_pairs(double queries, double keys)
{
	if (queries <= keys)
		return queries * (queries + 1) / 2;
	return keys * (keys + 1) / 2 + (queries - keys) * keys;
}

static struct op_work attention_work(const struct attention_row *row, const struct shapes *s)
{
	const struct shape *q = tensor(s, 0, 4), *k = tensor(s, 1, 4), *v = tensor(s, 2, 4);
	if (!q || !k || !v || q->rank != 4 || k->rank != 4 || v->rank != 4 ||
	        q->type == ELEMENT_UNKNOWN)
		return none;
	int length = row->heads_last ? 1 : 2, heads = row->heads_last ? 2 : 1;
	double queries = (double)q->dims[length], keys = (double)k->dims[length];
	double dim = (double)q->dims[3], dim_v = (double)v->dims[3];
	bool told = (size_t)row->causal < s->n && s->v[row->causal].value.len;
	if (!told && queries > 1)
		return none;
	struct op_work w = { .kind = WORK_ATTENTION,
		.type = q->type,
		.batch = (double)q->dims[0] * (double)q->dims[heads],
		.m = queries,
		.n = keys,
		.k = dim };
	double pairs = is_true(s, row->causal) ? causal_pairs(queries, keys) : queries * keys;
	w.flop = 2 * w.batch * pairs * (dim + dim_v);
	w.bytes = element_bytes(q->type, (double)q->elements + (double)k->elements +
	                                         (double)v->elements + w.batch * queries * dim_v);
	return w;
}

struct op_work op_work_of(struct str name, const struct shapes *s, int64_t output_bytes)
{
	for (size_t i = 0; i < sizeof product_rows / sizeof *product_rows; i++)
		if (str_eq(name, str_of(product_rows[i].name)))
			return product_work(&product_rows[i], s, output_bytes);
	for (size_t i = 0; i < sizeof convolution_rows / sizeof *convolution_rows; i++)
		if (str_eq(name, str_of(convolution_rows[i].name)))
			return convolution_work(&convolution_rows[i], s);
	for (size_t i = 0; i < sizeof onnx_convolutions / sizeof *onnx_convolutions; i++)
		if (str_eq(name, str_of(onnx_convolutions[i])))
			return onnx_convolution_work(s, output_bytes);
	for (size_t i = 0; i < sizeof attention_rows / sizeof *attention_rows; i++)
		if (str_eq(name, str_of(attention_rows[i].name)))
			return attention_work(&attention_rows[i], s);
	return none;
}

struct op_work op_work_of_event(const struct timeline *t, const struct event *e)
{
	const struct operator_detail *o = timeline_operator(t, e);
	if (!o || !o->dims)
		return none;
	struct shapes s;
	shapes_parse(&s, timeline_name_of(t, o->dims), timeline_name_of(t, o->types),
	        timeline_name_of(t, o->values));
	return op_work_of(
	        timeline_name_of(t, o->op_type ? o->op_type : e->name), &s, o->output_bytes);
}
