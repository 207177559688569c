/*
 * What bounds each profiled launch, by its share of the device's speed of light: above 60 % of the
 * peak of the multiprocessors it is bound by compute, above 60 % of that of the memory by memory,
 * by the greater where both are; below both it waits: latency.
 *
 * Source: NVIDIA, Nsight Compute's rule SOLBottleneck (60 %).
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/ncu.h"

#include "base/i18n.h"

#include <math.h>

static const double BOUND_PERCENT = 60;

enum bound { BOUND_UNKNOWN, BOUND_COMPUTE, BOUND_MEMORY, BOUND_LATENCY, N_BOUNDS };

static const char *const bound_names[N_BOUNDS] = { "unknown", "compute", "memory", "latency" };

static const char *const bound_advice[N_BOUNDS] = {
	[BOUND_COMPUTE] =
	        N_("Compute is the limit: use a narrower type that the tensor cores take, "
	           "or do less arithmetic."),
	[BOUND_MEMORY] =
	        N_("Memory is the limit: fuse the kernel with its neighbours, keep what it "
	           "reads again in shared memory, or store it in a narrower type."),
	[BOUND_LATENCY] =
	        N_("The kernel waits: give it more blocks (a larger batch), more warps per "
	           "multiprocessor, or more independent work per thread."),
};

static enum bound bound_of(const struct ncu_launch *l)
{
	double sm = l->v[NCU_SM_PERCENT], memory = l->v[NCU_MEMORY_PERCENT];
	if (isnan(memory))
		memory = l->v[NCU_DRAM_PERCENT];
	if (sm > BOUND_PERCENT && !(memory > sm))
		return BOUND_COMPUTE;
	if (memory > BOUND_PERCENT)
		return BOUND_MEMORY;
	/* One of the two alone cannot say that the other is low. */
	return isnan(sm) || isnan(memory) ? BOUND_UNKNOWN : BOUND_LATENCY;
}

static void add_table(struct trace_finding *f, struct arena *run, const struct timeline *t,
        const struct ncu_launches *all, int64_t top)
{
	struct trace_table *table = ncu_table(f, run, "launches");
	table_column(table, run, "compute", "%");
	table_column(table, run, "memory", "%");
	table_column(table, run, "dram", "%");
	table_column(table, run, "dram_rate", "GB/s");
	table_column(table, run, "bound_by", "");
	for (size_t i = 0; i < all->n && (int64_t)i < top; i++) {
		const struct ncu_launch *l = &all->v[i];
		ncu_table_launch(table, run, t, l);
		table_number(table, run, l->v[NCU_SM_PERCENT]);
		table_number(table, run, l->v[NCU_MEMORY_PERCENT]);
		table_number(table, run, l->v[NCU_DRAM_PERCENT]);
		table_number(table, run,
		        (l->v[NCU_DRAM_READ_BYTES] + l->v[NCU_DRAM_WRITE_BYTES]) /
		                l->v[NCU_DURATION_NS]);
		table_text(table, run, str_of(bound_names[bound_of(l)]));
	}
}

static char *sentence(enum bound bound, size_t n, size_t n_all, struct arena *run)
{
	static const char *const sentences[N_BOUNDS] = {
		[BOUND_COMPUTE] =
		        N_("profiled launches that are bound by compute: %zu of %zu; they use more "
		           "than 60 %% of its peak"),
		[BOUND_MEMORY] =
		        N_("profiled launches that are bound by memory: %zu of %zu; they use more "
		           "than 60 %% of its peak"),
		[BOUND_LATENCY] =
		        N_("profiled launches that wait: %zu of %zu; they use at most 60 %% of the "
		           "peaks of compute and of memory"),
	};
	return arena_printf(run, _(sentences[bound]), n, n_all);
}

static void analyse(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	struct arena tmp = { 0 };
	struct ncu_launches all = ncu_launches_of(v->t, &tmp);
	double ratio[N_BOUNDS] = { 0 };
	size_t n[N_BOUNDS] = { 0 };
	for (size_t i = 0; i < all.n; i++) {
		enum bound bound = bound_of(&all.v[i]);
		ratio[bound] += all.v[i].weight;
		n[bound]++;
	}
	enum bound most = BOUND_COMPUTE;
	for (int b = BOUND_COMPUTE; b < N_BOUNDS; b++)
		if (ratio[b] > ratio[most])
			most = b;
	if (n[most] == 0) {
		ncu_abstain(f, run,
		        "sm__throughput.avg.pct_of_peak_sustained_elapsed,"
		        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed");
	} else {
		finding_found(f, NAN, sentence(most, n[most], all.n, run), _(bound_advice[most]));
		finding_fact(f, run, "compute_bound_ratio", ratio[BOUND_COMPUTE], "ratio",
		        (int64_t)n[BOUND_COMPUTE], "ncu");
		finding_fact(f, run, "memory_bound_ratio", ratio[BOUND_MEMORY], "ratio",
		        (int64_t)n[BOUND_MEMORY], "ncu");
		finding_fact(f, run, "latency_bound_ratio", ratio[BOUND_LATENCY], "ratio",
		        (int64_t)n[BOUND_LATENCY], "ncu");
	}
	add_table(f, run, v->t, &all, limits->top);
	arena_release(&tmp);
}

const struct trace_analysis ncu_speed_of_light_analysis = {
	.id = "ncu_speed_of_light",
	.of = ANALYSIS_OF_NCU,
	.analyse = analyse,
};
