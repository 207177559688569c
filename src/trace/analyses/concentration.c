/*
 * Which few kernels take most of the time, what kind of work they are, and what the whole could
 * gain at most if one of them took none: Amdahl, new = old (1 - f), f the share of the device's
 * time from first to last work in which only that kernel ran (rule G1 of the causes).
 *
 * Without device work the same over the operators of the host and their own time.
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/callers.h"
#include "trace/analyses/groups.h"
#include "trace/analyses/measures.h"
#include "trace/work/shapes.h"

#include "base/i18n.h"

#include <stdlib.h>

/* Five names beyond this share are worth a look; every real inference trace has them, so they are
 * told with their class. Source: trace.md, section 4. */
static const double TOP5_RATIO = 0.60;
enum { N_FIRST = 5 };

static const char *const class_facts[N_KERNEL_CLASSES] = {
	[CLASS_GEMM] = "gemm_ratio",
	[CLASS_ATTENTION] = "attention_ratio",
	[CLASS_CONVOLUTION] = "convolution_ratio",
	[CLASS_ELEMENTWISE] = "elementwise_ratio",
	[CLASS_NORMALISATION] = "normalisation_ratio",
	[CLASS_SOFTMAX] = "softmax_ratio",
	[CLASS_REDUCTION] = "reduction_ratio",
	[CLASS_INDEXING] = "indexing_ratio",
	[CLASS_SAMPLING] = "sampling_ratio",
	[CLASS_QUANTISATION] = "quantisation_ratio",
	[CLASS_COPY_LAYOUT] = "copy_layout_ratio",
	[CLASS_COMMUNICATION] = "communication_ratio",
	[CLASS_VIEW] = "view_ratio",
	[CLASS_ALLOCATION] = "allocation_ratio",
	[CLASS_OTHER] = "other_ratio",
};

static const char *const class_phrases[N_KERNEL_CLASSES] = {
	[CLASS_GEMM] = N_("matrix products"),
	[CLASS_ATTENTION] = N_("attention"),
	[CLASS_CONVOLUTION] = N_("convolutions"),
	[CLASS_ELEMENTWISE] = N_("element-wise work"),
	[CLASS_NORMALISATION] = N_("normalisation"),
	[CLASS_SOFTMAX] = N_("softmax"),
	[CLASS_REDUCTION] = N_("reductions"),
	[CLASS_INDEXING] = N_("gather and scatter"),
	[CLASS_SAMPLING] = N_("sorting and sampling"),
	[CLASS_QUANTISATION] = N_("quantisation"),
	[CLASS_COPY_LAYOUT] = N_("copies and changes of layout"),
	[CLASS_COMMUNICATION] = N_("communication"),
	[CLASS_VIEW] = N_("views"),
	[CLASS_ALLOCATION] = N_("allocation"),
	[CLASS_OTHER] = N_("work of an unknown kind"),
};

static const char *const class_advice[N_KERNEL_CLASSES] = {
	[CLASS_GEMM] = N_("Matrix products go faster in a narrower type (bfloat16, float8, integer "
	                  "weights) and with a larger batch; the roofline tells whether arithmetic "
	                  "or memory bounds them."),
	[CLASS_ATTENTION] =
	        N_("Use the newest fused attention for this device; fewer key-value "
	           "heads, a quantised cache and shared prefixes give it less to read."),
	[CLASS_CONVOLUTION] = N_("Convolutions want channels-last layout, half precision and an "
	                         "algorithm that was searched once per shape before serving."),
	[CLASS_ELEMENTWISE] =
	        N_("Compile the model (torch.compile, TensorRT, the optimizer of ONNX "
	           "Runtime), so that chains of element-wise kernels become one."),
	[CLASS_NORMALISATION] =
	        N_("Use a fused normalisation that also adds the residual, or compile the model."),
	[CLASS_SOFTMAX] =
	        N_("Softmax as a kernel of its own means that attention is not fused: use "
	           "scaled_dot_product_attention or FlashAttention."),
	[CLASS_COPY_LAYOUT] =
	        N_("Keep one layout and one type from end to end; look which operators "
	           "copy under \"reshapes and casts\"."),
	[CLASS_COMMUNICATION] =
	        N_("Fewer ways of tensor parallelism if the model fits, direct links "
	           "between devices, a one-shot all-reduce for small messages."),
};

static const char any_advice[] =
        N_("Begin with the first row: nothing else can save more than its limit.");

/* Two divisions of the same time. */
struct division {
	struct groups names;   /* key: name */
	struct groups callers; /* key: name and the operator's dims, op: which shape is largest */
	int64_t class_ns[N_KERNEL_CLASSES], class_n[N_KERNEL_CLASSES];
	int64_t total_ns, wall_ns;
	int64_t n;
	uint32_t n_names;
	uint32_t *group_of;
	int64_t *exposed_ns; /* [names.n] */
	bool on_device;
};

static enum kernel_class class_of(const struct trace_view *v, bool on_device, uint32_t member)
{
	return on_device ? kernel_classes_device(v->classes, &v->t->lists[GROUP_DEVICE].v[member])
	                 : kernel_classes_operator(
	                           v->classes, &v->t->lists[GROUP_OPERATOR].v[member]);
}

static void count(struct division *x, const struct trace_view *v, uint32_t member, uint32_t name,
        uint32_t dims, int64_t ns)
{
	enum kernel_class class = class_of(v, x->on_device, member);
	x->class_ns[class] += ns;
	x->class_n[class]++;
	x->total_ns += ns;
	x->n++;
	uint32_t group = groups_add(&x->names, name, ns, member);
	uint32_t shape = groups_add(&x->callers, group_key(name, dims), ns, member);
	struct group *g = &x->names.v[group];
	x->n_names += g->n == 1;
	if (g->n == 1 || x->callers.v[shape].total_ns > x->callers.v[g->part].total_ns)
		g->part = shape;
}

static void divide_device(struct division *x, const struct trace_view *v)
{
	const struct event_list *list = &v->t->lists[GROUP_DEVICE];
	x->on_device = true;
	x->group_of = mem_zeroed(list->n + 1, sizeof *x->group_of);
	for (uint32_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		if (e->kind == DEVICE_KERNEL)
			count(x, v, i, e->name,
			        operator_dims(v->t, operator_event(v, caller_of(v, i))), e->dur_ns);
		/* copies have groups too, to know when a kernel ran alone */
		x->group_of[i] = groups_of(&x->names, e->name);
	}
	x->exposed_ns = mem_zeroed((size_t)x->names.n + 1, sizeof *x->exposed_ns);
	for (size_t d = 0; d < v->n_devices; d++) {
		groups_exposed(v, &v->devices[d], x->group_of, x->names.n, x->exposed_ns);
		x->wall_ns += v->devices[d].end_ns - v->devices[d].start_ns;
	}
}

static void divide_operators(struct division *x, const struct trace_view *v)
{
	const struct event_list *list = &v->t->lists[GROUP_OPERATOR];
	for (uint32_t i = 0; i < list->n; i++)
		count(x, v, i, operator_type(v->t, &list->v[i]), operator_dims(v->t, &list->v[i]),
		        v->self_ns[i]);
}

static double ratio(int64_t part, int64_t whole)
{
	return whole > 0 ? (double)part / (double)whole : NAN;
}

static void add_names(const struct division *x, const struct trace_view *v, const uint32_t *order,
        size_t top, struct arena *run, struct trace_finding *f)
{
	struct trace_table *t = finding_table(f, run, x->on_device ? "kernels" : "operators");
	table_column(t, run, "name", "");
	table_column(t, run, "class", "");
	table_column(t, run, "calls", "");
	table_column(t, run, "total", "ms");
	table_column(t, run, "ratio", "ratio");
	table_column(t, run, "alone_ratio", "ratio");
	table_column(t, run, "speedup_limit", "x");
	table_column(t, run, "input_dims", "");
	for (size_t i = 0; i < top && i < x->n_names; i++) {
		const struct group *g = &x->names.v[order[i]];
		double alone =
		        x->on_device ? ratio(x->exposed_ns[order[i]], x->wall_ns) : (double)NAN;
		table_text(t, run, timeline_name_of(v->t, (uint32_t)g->key));
		table_text(
		        t, run, str_of(kernel_class_names[class_of(v, x->on_device, g->example)]));
		table_number(t, run, (double)g->n);
		table_number(t, run, (double)g->total_ns / 1e6);
		table_number(t, run, ratio(g->total_ns, x->total_ns));
		table_number(t, run, alone);
		table_number(t, run, alone < 1 ? 1 / (1 - alone) : NAN);
		table_text(t, run,
		        shapes_compact(
		                timeline_name_of(v->t, (uint32_t)x->callers.v[g->part].key), run));
	}
}

static void add_classes(const struct division *x, struct arena *run, struct trace_finding *f)
{
	struct trace_table *t = finding_table(f, run, "classes");
	table_column(t, run, "class", "");
	table_column(t, run, "calls", "");
	table_column(t, run, "total", "ms");
	table_column(t, run, "ratio", "ratio");
	for (int c = 0; c < N_KERNEL_CLASSES; c++) {
		if (!x->class_n[c])
			continue;
		finding_fact(f, run, class_facts[c], ratio(x->class_ns[c], x->total_ns), "ratio",
		        x->class_n[c], "trace");
		table_text(t, run, str_of(kernel_class_names[c]));
		table_number(t, run, (double)x->class_n[c]);
		table_number(t, run, (double)x->class_ns[c] / 1e6);
		table_number(t, run, ratio(x->class_ns[c], x->total_ns));
	}
}

static enum kernel_class leading(const struct division *x)
{
	int best = CLASS_OTHER;
	for (int c = 0; c < N_KERNEL_CLASSES; c++)
		if (x->class_ns[c] > x->class_ns[best])
			best = c;
	return best;
}

static void conclude(
        const struct division *x, const uint32_t *order, struct arena *run, struct trace_finding *f)
{
	int64_t first_ns = 0, alone_ns = 0;
	uint32_t n_first = x->n_names < N_FIRST ? x->n_names : N_FIRST;
	for (uint32_t i = 0; i < n_first; i++) {
		first_ns += x->names.v[order[i]].total_ns;
		alone_ns += x->on_device ? x->exposed_ns[order[i]] : 0;
	}
	double top5 = ratio(first_ns, x->total_ns);
	enum kernel_class lead = leading(x);
	finding_fact_anchor(f, run, "top5_ratio", top5, "ratio", TOP5_RATIO, x->n, "trace");
	char *text = arena_printf(run,
	        x->on_device ? _("names of kernels: %u; the first %u take %.0f %% of %s of kernel "
	                         "time; by kind, most is %s with %.0f %%")
	                     : _("types of operators: %u; the first %u take %.0f %% of %s of their "
	                         "own time on the host; by kind, most is %s with %.0f %%"),
	        x->n_names, n_first, 100 * top5, time_text((double)x->total_ns, run),
	        _(class_phrases[lead]), 100 * ratio(x->class_ns[lead], x->total_ns));
	if (top5 >= TOP5_RATIO)
		finding_found(f, x->on_device ? ratio(alone_ns, x->wall_ns) : (double)NAN, text,
		        class_advice[lead] ? _(class_advice[lead]) : _(any_advice));
	else
		finding_clear(f, text);
}

static void release(struct division *x)
{
	groups_release(&x->names);
	groups_release(&x->callers);
	free(x->group_of);
	free(x->exposed_ns);
	*x = (struct division){ 0 };
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	struct division x = { 0 };
	if (v->t->lists[GROUP_DEVICE].n)
		divide_device(&x, v);
	if (!x.total_ns && v->t->lists[GROUP_OPERATOR].n) {
		release(&x); /* kernels that took no time must not be counted among operators */
		divide_operators(&x, v);
	}
	if (x.total_ns) {
		uint32_t *order = groups_by_total(&x.names, run);
		conclude(&x, order, run, f);
		add_names(&x, v, order, (size_t)limits->top, run, f);
		add_classes(&x, run, f);
	} else {
		finding_abstain(f, _("the trace holds neither kernels nor operators"));
	}
	release(&x);
}

const struct trace_analysis concentration_analysis = { .id = "concentration", .analyse = analyse };
