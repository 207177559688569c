/*
 * Attention that is taken apart: a product, softmax, a product, each writing the scores to memory
 * and reading them again, where a fused kernel keeps them on the chip.
 *
 * Found by the order of work on a stream: product, at most BETWEEN_MAX kernels that scale, mask,
 * cast or copy, softmax, as many again, product. What is not a product in it is what a fused kernel
 * would save (estimated: its products take as long as these).
 *
 * Without a device the same over operators without operators in them, thread by thread.
 *
 * Source: Dao 2022, FlashAttention, section 3.1: the scores are written and read again O(L^2).
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/measures.h"

#include "base/i18n.h"

#include <math.h>
#include <stdlib.h>

/* Of the time of kernels or operators: from here on it shows beyond noise. Ours. */
static const double UNFUSED_RATIO = 0.05;
enum { BETWEEN_MAX = 4 };

enum stage { BEFORE, AFTER_PRODUCT, AFTER_SOFTMAX };

/* How far the work of a stream or thread has come in the pattern. */
struct progress {
	enum stage stage;
	int n_between;
	int64_t product_ns, between_ns;
};

struct attention {
	struct progress *of_track;
	int64_t n, n_softmax, n_fused;
	int64_t total_ns, unfused_ns, saved_ns, wall_ns;
};

static bool lies_between(enum kernel_class class)
{
	return class == CLASS_ELEMENTWISE || class == CLASS_COPY_LAYOUT || class == CLASS_INDEXING;
}

static void at_product(struct attention *x, struct progress *p, int64_t ns)
{
	bool ends_one = p->stage == AFTER_SOFTMAX;
	if (ends_one) {
		x->n++;
		x->saved_ns += p->between_ns;
		x->unfused_ns += p->product_ns + p->between_ns + ns;
	}
	/* it may begin the next one too, but its time counts once */
	*p = (struct progress){ .stage = AFTER_PRODUCT, .product_ns = ends_one ? 0 : ns };
}

static void at_work(struct attention *x, struct progress *p, enum kernel_class class, int64_t ns)
{
	x->total_ns += ns;
	x->n_softmax += class == CLASS_SOFTMAX;
	x->n_fused += class == CLASS_ATTENTION;
	if (class == CLASS_GEMM) {
		at_product(x, p, ns);
	} else if (class == CLASS_SOFTMAX && p->stage == AFTER_PRODUCT) {
		p->stage = AFTER_SOFTMAX;
		p->n_between = 0;
		p->between_ns += ns;
	} else if (lies_between(class) && p->stage != BEFORE && p->n_between < BETWEEN_MAX) {
		p->n_between++;
		p->between_ns += ns;
	} else {
		p->stage = BEFORE;
	}
}

static bool walk_devices(struct attention *x, const struct trace_view *v)
{
	size_t n_kernels = 0;
	for (size_t i = 0; i < v->n_devices; i++) {
		const struct device_view *d = &v->devices[i];
		n_kernels += d->n_kernels;
		x->wall_ns += d->end_ns - d->start_ns;
		for (size_t k = 0; k < d->n; k++) {
			const struct event *e = &v->t->lists[GROUP_DEVICE].v[d->order[k]];
			if (e->kind == DEVICE_KERNEL)
				at_work(x, &x->of_track[e->track],
				        kernel_classes_device(v->classes, e), e->dur_ns);
		}
	}
	return n_kernels > 0;
}

static void walk_operators(struct attention *x, const struct trace_view *v)
{
	const struct event_list *list = &v->t->lists[GROUP_OPERATOR];
	bool *has_parts = mem_zeroed(list->n + 1, sizeof *has_parts);
	for (size_t i = 0; i < list->n; i++)
		if (v->parent[i] != NONE32)
			has_parts[v->parent[i]] = true;
	x->wall_ns = 0;
	for (size_t k = 0; k < list->n; k++) {
		uint32_t i = v->operators_by_thread[k];
		const struct event *e = &list->v[i];
		enum kernel_class class = kernel_classes_operator(v->classes, e);
		if (has_parts[i] || class == CLASS_VIEW || class == CLASS_ALLOCATION)
			x->total_ns += v->self_ns[i];
		else
			at_work(x, &x->of_track[e->track], class, v->self_ns[i]);
	}
	free(has_parts);
}

static void conclude(const struct attention *x, struct arena *run, struct trace_finding *f)
{
	double all = (double)x->total_ns;
	double share = (double)x->unfused_ns / all;
	double saved = (double)x->saved_ns / (double)(x->wall_ns > 0 ? x->wall_ns : x->total_ns);
	finding_fact_anchor(
	        f, run, "unfused_attention_ratio", share, "ratio", UNFUSED_RATIO, x->n, "trace");
	finding_fact(f, run, "unfused_attentions", (double)x->n, "1", x->n_softmax, "trace");
	finding_fact(f, run, "fused_attentions", (double)x->n_fused, "1", x->n_fused, "trace");
	finding_fact_estimated(f, run, "unfused_attention_saved_ratio", saved, "ratio", x->n,
	        "what is no product in it");
	char *text = arena_printf(run,
	        _("attention is computed in parts %lld times and as one fused kernel %lld times; "
	          "the parts take %.1f %% of %s, and fusing them would save about %.1f %% of "
	          "the wall time"),
	        (long long)x->n, (long long)x->n_fused, 100 * share, time_text(all, run),
	        100 * saved);
	if (share >= UNFUSED_RATIO)
		finding_found(f, saved, text,
		        _("Let attention be one kernel: scaled_dot_product_attention or "
		          "FlashAttention in PyTorch (attn_implementation=\"sdpa\" in "
		          "transformers), the attention fusion of ONNX Runtime's optimizer, an "
		          "engine that has it; odd head sizes or masks can prevent it."));
	else
		finding_clear(f, text);
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	(void)limits;
	struct attention x = { .of_track =
		                       mem_zeroed((size_t)v->t->tracks.n + 1, sizeof *x.of_track) };
	if (!walk_devices(&x, v))
		walk_operators(&x, v);
	if (x.total_ns > 0)
		conclude(&x, run, f);
	else
		finding_abstain(f, _("the trace holds neither kernels nor operators"));
	free(x.of_track);
}

const struct trace_analysis unfused_attention_analysis = { .id = "unfused_attention",
	.analyse = analyse };
