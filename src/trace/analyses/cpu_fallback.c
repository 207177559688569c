/*
 * Operators that run on the CPU inside a graph that otherwise runs on a device, and the copies that
 * this costs.
 *
 * fallback   a node on CPUExecutionProvider in a session that has nodes elsewhere too
 * copy nodes   MemcpyToHost and MemcpyFromHost, which the framework puts between
 * provider_changes   how often, in the order of their starts, a node runs elsewhere than the one
 *     before it
 * Where no provider is told, as with PyTorch: see host_fallback.h.
 *
 * cpu_fallback_ratio   time of fallbacks and copy nodes / time of all nodes
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/host_fallback.h"
#include "trace/analyses/providers.h"

#include "base/i18n.h"

#include <stdlib.h>

/* Less than a hundredth of the time is not worth a change: no comparison of runs would show it. */
#define WORTH_RATIO 0.01

static const struct str cpu_provider = STR_INIT("CPUExecutionProvider");

struct fallbacks {
	int64_t n_nodes, nodes_ns;
	int64_t n, ns; /* on the CPU */
	int64_t n_copies, copies_ns;
	int64_t n_changes;
};

/* The name of its provider; 0: not told. */
static uint32_t provider_of(const struct timeline *t, const struct event *operator)
{
	const struct operator_detail *d = timeline_operator(t, operator);
	return d ? d->provider : 0;
}

bool trace_tells_providers(const struct trace_view *v)
{
	const struct event_list *list = &v->t->lists[GROUP_OPERATOR];
	for (size_t i = 0; i < list->n; i++)
		if (provider_of(v->t, &list->v[i]))
			return true;
	return false;
}

static bool is_copy_node(const struct timeline *t, const struct event *e)
{
	const struct operator_detail *d = timeline_operator(t, e);
	return d && str_starts(timeline_name_of(t, d->op_type), STR("Memcpy"));
}

static int by_start(const void *a, const void *b)
{
	const struct event *x = *(const struct event *const *)a;
	const struct event *y = *(const struct event *const *)b;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x > y) - (x < y);
}

/* The nodes in the order of their starts; to be freed. */
static const struct event **in_order(const struct event_list *list)
{
	const struct event **order = mem_zeroed(list->n + 1, sizeof(const struct event *));
	for (size_t i = 0; i < list->n; i++)
		order[i] = &list->v[i];
	qsort(order, list->n, sizeof(const struct event *), by_start);
	return order;
}

static struct fallbacks measure(const struct trace_view *v)
{
	const struct timeline *t = v->t;
	const struct event_list *list = &t->lists[GROUP_OPERATOR];
	const struct event **order = in_order(list);
	int64_t cpu = intern_find(&t->names, cpu_provider);
	struct fallbacks b = { .n_nodes = (int64_t)list->n };
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = order[i];
		uint32_t provider = provider_of(t, e);
		b.nodes_ns += e->dur_ns;
		b.n_changes += i && provider != provider_of(t, order[i - 1]);
		if (is_copy_node(t, e)) {
			b.n_copies++;
			b.copies_ns += e->dur_ns;
		} else if (provider == cpu) {
			b.n++;
			b.ns += e->dur_ns;
		}
	}
	free(order);
	return b;
}

static void facts(
        const struct fallbacks *b, double share, struct trace_finding *f, struct arena *run)
{
	finding_fact_anchor(
	        f, run, "cpu_fallback_ratio", share, "ratio", WORTH_RATIO, b->n_nodes, "trace");
	finding_fact(f, run, "cpu_fallback_calls", (double)b->n, "1", b->n_nodes, "trace");
	finding_fact(f, run, "cpu_fallback_ns", (double)b->ns, "ns", b->n, "trace");
	finding_fact(f, run, "copy_nodes", (double)b->n_copies, "1", b->n_nodes, "trace");
	finding_fact(f, run, "copy_nodes_ns", (double)b->copies_ns, "ns", b->n_copies, "trace");
	finding_fact(f, run, "provider_changes", (double)b->n_changes, "1", b->n_nodes, "trace");
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	if (!trace_tells_providers(v) && trace_shows_host_fallback(v)) {
		analyse_host_fallback(v, limits, run, f);
		return;
	}
	if (!trace_tells_providers(v)) {
		finding_abstain(
		        f, _("the trace does not tell which device an operator was placed on"));
		return;
	}
	struct fallbacks b = measure(v);
	if (b.n + b.n_copies == b.n_nodes) {
		finding_clear(f, arena_printf(run, _("the whole graph runs on the CPU")));
		return;
	}
	double share = b.nodes_ns ? (double)(b.ns + b.copies_ns) / (double)b.nodes_ns : 0;
	facts(&b, share, f, run);
	char *text = arena_printf(run,
	        _("calls of nodes that fall back to the CPU: %lld of %lld; with %lld copies "
	          "between they take %.1f %% of the time of all nodes, and the provider changes "
	          "%lld times"),
	        (long long)b.n, (long long)b.n_nodes, (long long)b.n_copies, 100 * share,
	        (long long)b.n_changes);
	if (share >= WORTH_RATIO)
		finding_found(f, share, text,
		        _("Choose operators, an opset or a version of the provider that has "
		          "kernels for these nodes, so that the graph stays on one device."));
	else
		finding_clear(f, text);
}

const struct trace_analysis cpu_fallback_analysis = { "cpu_fallback", analyse };
