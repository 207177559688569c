/*
 * In which types products are taken, and what changes of type cost.
 *
 * wide_gemm_ratio  of kernel time: matrix products, convolutions and attention in float32 or
 *                  float64 on a device whose matrix units are much faster in narrower types. TF32
 *                  is a narrow type here
 * quantise_ratio   of kernel time: kernels that only quantise or dequantise
 *
 * The type is that of the operator's inputs where it was recorded, else the kernel's name tells it
 * in the manner of cuBLAS, CUTLASS, cuDNN and rocBLAS; what neither tells counts as unknown.
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/callers.h"
#include "trace/analyses/device_of.h"
#include "trace/analyses/measures.h"
#include "trace/work/device_peaks.h"
#include "trace/kinds/kernel_type.h"
#include "trace/work/shapes.h"

#include "base/i18n.h"

#include <math.h>
#include <stdlib.h>

/* Of kernel time: a tenth is what a change of type must touch to show beyond noise. Ours. */
static const double WIDE_RATIO = 0.10;
static const double QUANTISE_RATIO = 0.10;
/* From this on a narrower type is worth telling: float16 over float32 by the data sheet. */
static const double MATRIX_UNIT_GAIN = 2.5;

struct types {
	const struct trace_view *v;
	uint8_t *by_name, *by_types; /* [names.n]: enum element_type + 1; 0: not looked at */
	int64_t ns[N_ELEMENT_TYPES], n[N_ELEMENT_TYPES]; /* of products */
	int64_t kernel_ns, quantise_ns, n_quantise, n_products, n_kernels;
	int64_t wide_ns; /* on devices with matrix units */
	int64_t known_device_ns;
};

/* The type of the first tensor of "Input type": ["float","float"]. */
static enum element_type type_of_inputs(struct types *x, uint32_t types)
{
	if (!x->by_types[types]) {
		struct shapes s;
		shapes_parse(
		        &s, (struct str){ 0 }, timeline_name_of(x->v->t, types), (struct str){ 0 });
		enum element_type type = ELEMENT_UNKNOWN;
		for (size_t i = 0; i < s.n && type == ELEMENT_UNKNOWN; i++)
			type = s.v[i].type;
		x->by_types[types] = (uint8_t)(type + 1);
	}
	return x->by_types[types] - 1;
}

static enum element_type type_of_kernel(struct types *x, uint32_t i)
{
	const struct event *e = &x->v->t->lists[GROUP_DEVICE].v[i];
	if (!x->by_name[e->name])
		x->by_name[e->name] =
		        (uint8_t)(kernel_type_of(timeline_name_of(x->v->t, e->name)) + 1);
	enum element_type told = x->by_name[e->name] - 1;
	const struct event *op = operator_event(x->v, caller_of(x->v, i));
	const struct operator_detail *o = op ? timeline_operator(x->v->t, op) : NULL;
	enum element_type type = o && o->types ? type_of_inputs(x, o->types) : ELEMENT_UNKNOWN;
	/* float32 inputs may be multiplied in a narrower type: the kernel says so */
	return type == ELEMENT_UNKNOWN || (type == ELEMENT_FLOAT32 && told != ELEMENT_UNKNOWN)
	               ? told
	               : type;
}

static bool has_matrix_units(const struct timeline *t, const struct device_info *d)
{
	struct device_peaks peaks;
	if (device_peaks_of(t, d, &peaks))
		return peaks.flop_per_s[ELEMENT_FLOAT16] >
		       MATRIX_UNIT_GAIN * peaks.flop_per_s[ELEMENT_FLOAT32];
	return d && !t->is_amd && d->compute_major >= 7;
}

static bool is_product(enum kernel_class class)
{
	return class == CLASS_GEMM || class == CLASS_CONVOLUTION || class == CLASS_ATTENTION;
}

static void add_device(struct types *x, const struct device_view *d)
{
	struct device_peaks peaks;
	const struct device_info *info = device_of(x->v, d);
	bool matrix_units = has_matrix_units(x->v->t, info);
	bool known = matrix_units || device_peaks_of(x->v->t, info, &peaks);
	for (size_t i = 0; i < d->n; i++) {
		const struct event *e = &x->v->t->lists[GROUP_DEVICE].v[d->order[i]];
		if (e->kind != DEVICE_KERNEL)
			continue;
		enum kernel_class class = kernel_classes_device(x->v->classes, e);
		x->n_kernels++;
		x->kernel_ns += e->dur_ns;
		x->known_device_ns += known ? e->dur_ns : 0;
		if (class == CLASS_QUANTISATION) {
			x->n_quantise++;
			x->quantise_ns += e->dur_ns;
		}
		if (!is_product(class))
			continue;
		enum element_type type = type_of_kernel(x, d->order[i]);
		x->n_products++;
		x->n[type]++;
		x->ns[type] += e->dur_ns;
		if (matrix_units && (type == ELEMENT_FLOAT32 || type == ELEMENT_FLOAT64))
			x->wide_ns += e->dur_ns;
	}
}

static void add_table(const struct types *x, struct arena *run, struct trace_finding *f)
{
	struct trace_table *t = finding_table(f, run, "product_types");
	table_column(t, run, "type", "");
	table_column(t, run, "calls", "");
	table_column(t, run, "total", "ms");
	table_column(t, run, "ratio", "ratio");
	for (int i = 0; i < N_ELEMENT_TYPES; i++) {
		if (!x->n[i])
			continue;
		table_text(t, run, str_of(element_type_names[i]));
		table_number(t, run, (double)x->n[i]);
		table_number(t, run, (double)x->ns[i] / 1e6);
		table_number(t, run, (double)x->ns[i] / (double)x->kernel_ns);
	}
}

static void conclude(const struct types *x, struct arena *run, struct trace_finding *f)
{
	double all = (double)x->kernel_ns;
	double wide = (double)x->wide_ns / all, quantise = (double)x->quantise_ns / all;
	if (x->known_device_ns)
		finding_fact_anchor(f, run, "wide_gemm_ratio", wide, "ratio", WIDE_RATIO,
		        x->n_products, "trace");
	else
		finding_fact_absent(f, run, "wide_gemm_ratio", "ratio",
		        _("the trace does not tell what the device is"));
	finding_fact_anchor(
	        f, run, "quantise_ratio", quantise, "ratio", QUANTISE_RATIO, x->n_kernels, "trace");
	finding_fact(f, run, "unknown_type_ratio", (double)x->ns[ELEMENT_UNKNOWN] / all, "ratio",
	        x->n_products, "trace");
	char *text =
	        x->known_device_ns
	                ? arena_printf(run,
	                          _("products in 32 or 64 bits take %.1f %% of %s of kernel "
	                            "time on devices that are faster in fewer bits; quantising and "
	                            "dequantising takes %.1f %%"),
	                          100 * wide, time_text(all, run), 100 * quantise)
	                : arena_printf(run,
	                          _("quantising and dequantising takes %.1f %% of %s of "
	                            "kernel "
	                            "time; whether the device is faster in fewer bits is not told"),
	                          100 * quantise, time_text(all, run));
	if (wide >= WIDE_RATIO)
		finding_found(f, NAN, text,
		        _("Run the model in bfloat16 or float16, or at least allow TF32 "
		          "(torch.set_float32_matmul_precision(\"high\")), and compare the "
		          "outputs."));
	else if (quantise >= QUANTISE_RATIO)
		finding_found(f, NAN, text,
		        _("Use kernels that take quantised weights as they are and quantise "
		          "within the normalisation or activation before; a batch too large for "
		          "weight-only quantisation does better without it."));
	else
		finding_clear(f, text);
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	(void)limits;
	struct types x = { .v = v,
		.by_name = mem_zeroed((size_t)v->t->names.n + 1, 1),
		.by_types = mem_zeroed((size_t)v->t->names.n + 1, 1) };
	for (size_t i = 0; i < v->n_devices; i++)
		add_device(&x, &v->devices[i]);
	if (x.kernel_ns > 0) {
		conclude(&x, run, f);
		add_table(&x, run, f);
	} else {
		finding_abstain(f, _("the trace holds no kernels"));
	}
	free(x.by_name);
	free(x.by_types);
}

const struct trace_analysis precision_analysis = { .id = "precision", .analyse = analyse };
