/*
 * The usual ways in which a kernel wastes its multiprocessors, each a judge with one figure:
 *
 *	occupancy    achieved share of the warps that could be resident; what limits them is the
 *	             resource that allows the fewest blocks
 *	coalescing   32-byte sectors per request of a warp to global memory: 4 when 32 threads read
 *	             4 neighbouring bytes each (32 * 4 / 32), 16 for the widest access of 16 bytes;
 *	             more cannot be anything but scattered
 *	conflicts    bank conflicts per instruction that touches shared memory: 0 is ideal, 1 takes
 *	             twice as long
 *	divergence   threads that are active in an instruction, of the 32 of a warp
 *	tail         waves = blocks / blocks resident at once; the last, partly filled one wastes
 *	             1 - waves / ceil(waves)
 *
 * Source: NVIDIA, Nsight Compute's Kernel Profiling Guide. The thresholds are ours: what is beyond
 * them is worth a tenth or more of the kernel.
 */
#include "trace/analyses/analyses.h"
#include "trace/analyses/ncu.h"

#include "base/i18n.h"

#include <math.h>

static const double OCCUPANCY_MIN_PERCENT = 50;
static const double SECTORS_IDEAL = 4, SECTORS_WIDEST = 16;
static const double CONFLICTS_MAX = 0.1;
static const double WARP_THREADS = 32, THREADS_MIN_RATIO = 0.75;
static const double TAIL_MAX_RATIO = 0.20;

static enum ncu_answer answer(double value, bool is_yes)
{
	return isnan(value) ? NCU_NOT_TOLD : is_yes ? NCU_YES : NCU_NO;
}

static enum ncu_answer judge_occupancy(const struct ncu_launch *l, double *ret_value)
{
	*ret_value = l->v[NCU_OCCUPANCY_PERCENT] / 100;
	return answer(*ret_value, l->v[NCU_OCCUPANCY_PERCENT] < OCCUPANCY_MIN_PERCENT);
}

static double per(double told, double part, double whole)
{
	return !isnan(told) ? told : whole > 0 ? part / whole : NAN;
}

/* The worse of loads and stores. */
static enum ncu_answer judge_coalescing(const struct ncu_launch *l, double *ret_value)
{
	double loads = per(l->v[NCU_LOAD_RATIO], l->v[NCU_LOAD_SECTORS], l->v[NCU_LOAD_REQUESTS]);
	double stores =
	        per(l->v[NCU_STORE_RATIO], l->v[NCU_STORE_SECTORS], l->v[NCU_STORE_REQUESTS]);
	*ret_value = fmax(loads, stores);
	return answer(*ret_value, *ret_value > SECTORS_WIDEST);
}

static double sum_or(double all, double a, double b)
{
	return !isnan(all) ? all : isnan(a) ? b : isnan(b) ? a : a + b;
}

static enum ncu_answer judge_conflicts(const struct ncu_launch *l, double *ret_value)
{
	double conflicts =
	        sum_or(l->v[NCU_CONFLICTS], l->v[NCU_CONFLICTS_LOAD], l->v[NCU_CONFLICTS_STORE]);
	double accesses =
	        sum_or(l->v[NCU_SHARED_ALL], l->v[NCU_SHARED_LOADS], l->v[NCU_SHARED_STORES]);
	*ret_value = conflicts == 0 ? 0 : accesses > 0 ? conflicts / accesses : NAN;
	return answer(*ret_value, *ret_value > CONFLICTS_MAX);
}

static enum ncu_answer judge_divergence(const struct ncu_launch *l, double *ret_value)
{
	*ret_value = l->v[NCU_THREADS_PER_INST] / WARP_THREADS;
	return answer(*ret_value, *ret_value < THREADS_MIN_RATIO);
}

static enum ncu_answer judge_tail(const struct ncu_launch *l, double *ret_value)
{
	double waves = l->v[NCU_WAVES];
	*ret_value = waves > 0 ? 1 - waves / ceil(waves) : NAN;
	return answer(*ret_value, *ret_value > TAIL_MAX_RATIO);
}

struct question {
	ncu_judge *judge;
	const char *column, *unit, *fact;
	const char *found, *clear; /* with: launches it holds of (found only), launches that tell */
	const char *advice;
	const char *metrics; /* what an answer needs */
	double threshold;
};

static const char *limiter(const struct ncu_launch *l)
{
	static const struct {
		enum ncu_metric metric;
		const char *name;
	} limits[] = {
		{ NCU_LIMIT_REGISTERS, "registers" },
		{ NCU_LIMIT_SHARED, "shared_memory" },
		{ NCU_LIMIT_WARPS, "warps" },
		{ NCU_LIMIT_BLOCKS, "blocks" },
	};
	const char *name = "";
	double least = INFINITY;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		if (l->v[limits[i].metric] < least) {
			least = l->v[limits[i].metric];
			name = limits[i].name;
		}
	}
	return name;
}

/* The launches that tell the figure, the heaviest first. */
static void add_table(struct trace_finding *f, struct arena *run, const struct timeline *t,
        const struct ncu_launches *all, const struct question *q, int64_t top)
{
	struct trace_table *table = ncu_table(f, run, "launches");
	bool is_occupancy = q->judge == judge_occupancy;
	table_column(table, run, q->column, q->unit);
	if (is_occupancy) {
		table_column(table, run, "theoretical", "ratio");
		table_column(table, run, "limited_by", "");
	}
	for (size_t i = 0; i < all->n && top > 0; i++) {
		double value;
		if (q->judge(&all->v[i], &value) == NCU_NOT_TOLD)
			continue;
		ncu_table_launch(table, run, t, &all->v[i]);
		table_number(table, run, value);
		if (is_occupancy) {
			table_number(table, run, all->v[i].v[NCU_OCCUPANCY_MAX_PERCENT] / 100);
			table_text(table, run, str_of(limiter(&all->v[i])));
		}
		top--;
	}
}

static double worst(const struct ncu_launches *all, const struct question *q, bool low_is_bad)
{
	double worst = NAN;
	for (size_t i = 0; i < all->n; i++) {
		double value;
		if (q->judge(&all->v[i], &value) != NCU_NOT_TOLD)
			worst = low_is_bad ? fmin(worst, value) : fmax(worst, value);
	}
	return worst;
}

static void ask(const struct question *q, const struct trace_view *v,
        const struct analysis_limits *limits, struct arena *run, struct trace_finding *f)
{
	struct arena tmp = { 0 };
	struct ncu_launches all = ncu_launches_of(v->t, &tmp);
	struct ncu_share share = ncu_judge_all(&all, q->judge);
	if (share.n == 0) {
		ncu_abstain(f, run, q->metrics);
		arena_release(&tmp);
		return;
	}
	bool low_is_bad = q->judge == judge_occupancy || q->judge == judge_divergence;
	if (share.n_hit)
		finding_found(
		        f, NAN, arena_printf(run, _(q->found), share.n_hit, share.n), _(q->advice));
	else
		finding_clear(f, arena_printf(run, _(q->clear), share.n));
	finding_fact_anchor(f, run, q->fact, worst(&all, q, low_is_bad), q->unit, q->threshold,
	        (int64_t)share.n, "ncu");
	if (all.by_time)
		finding_fact(f, run, "launch_time_ratio", share.hit_ratio, "ratio",
		        (int64_t)share.n_hit, "ncu, of the time of the launches that tell it");
	add_table(f, run, v->t, &all, q, limits->top);
	arena_release(&tmp);
}

static void occupancy(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	static const struct question q = {
		.judge = judge_occupancy,
		.column = "occupancy",
		.unit = "ratio",
		.fact = "occupancy_min_ratio",
		.found =
		        N_("%zu of %zu profiled launches keep less than half of the possible warps "
		           "resident"),
		.clear = N_("all of %zu profiled launches keep half of the possible warps or more "
		            "resident"),
		.advice = N_(
		        "Few warps hide little waiting: use fewer registers or less shared memory "
		        "per block where the table names them, smaller blocks, or a larger grid."),
		.metrics = "sm__warps_active.avg.pct_of_peak_sustained_active",
		.threshold = OCCUPANCY_MIN_PERCENT / 100,
	};
	ask(&q, v, limits, run, f);
}

static void coalescing(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	static const struct question q = {
		.judge = judge_coalescing,
		.column = "sectors_per_request",
		.unit = "1",
		.fact = "sectors_per_request_max",
		.found = N_("%zu of %zu profiled launches scatter their accesses to global memory: "
		            "more "
		            "than 16 sectors per request, where neighbours take 4 to 16"),
		.clear = N_(
		        "none of %zu profiled launches needs more than 16 sectors per request to "
		        "global memory; 4 are ideal for values of 4 bytes"),
		.advice = N_(
		        "Let neighbouring threads take neighbouring addresses: change the layout, "
		        "or turn the tile over in shared memory."),
		.metrics = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,"
		           "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
		.threshold = SECTORS_WIDEST,
	};
	ask(&q, v, limits, run, f);
	if (f->state != TRACE_ABSTAINED)
		finding_fact(f, run, "sectors_per_request_ideal", SECTORS_IDEAL, "1", 0,
		        "32 threads * 4 bytes / 32 bytes");
}

static void conflicts(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	static const struct question q = {
		.judge = judge_conflicts,
		.column = "conflicts_per_access",
		.unit = "1",
		.fact = "bank_conflicts_per_access_max",
		.found = N_("%zu of %zu profiled launches wait for banks of shared memory: more "
		            "than one "
		            "conflict in ten accesses"),
		.clear = N_("none of %zu profiled launches has more than one bank conflict in ten "
		            "accesses to shared memory"),
		.advice = N_(
		        "Pad the rows of tiles in shared memory by one element, or swizzle their "
		        "columns."),
		.metrics =
		        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,"
		        "smsp__inst_executed_op_shared_ld.sum,smsp__inst_executed_op_shared_st.sum",
		.threshold = CONFLICTS_MAX,
	};
	ask(&q, v, limits, run, f);
}

static void divergence(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	static const struct question q = {
		.judge = judge_divergence,
		.column = "active_threads",
		.unit = "ratio",
		.fact = "active_threads_min_ratio",
		.found = N_(
		        "in %zu of %zu profiled launches fewer than 24 of the 32 threads of a warp "
		        "are active in an instruction"),
		.clear = N_("in all of %zu profiled launches 24 or more of the 32 threads of a "
		            "warp are "
		            "active in an instruction"),
		.advice =
		        N_("Threads of a warp take different ways: sort the work, pad it to whole "
		           "warps, or give a warp instead of a thread to each item."),
		.metrics = "smsp__thread_inst_executed_per_inst_executed.ratio",
		.threshold = THREADS_MIN_RATIO,
	};
	ask(&q, v, limits, run, f);
}

static void tail(const struct trace_view *v, const struct analysis_limits *limits,
        struct arena *run, struct trace_finding *f)
{
	static const struct question q = {
		.judge = judge_tail,
		.column = "tail_waste",
		.unit = "ratio",
		.fact = "tail_waste_max_ratio",
		.found = N_("%zu of %zu profiled launches leave more than a fifth of the device "
		            "empty in "
		            "their last wave of blocks, counted over all waves"),
		.clear = N_("none of %zu profiled launches leaves more than a fifth of the device "
		            "empty "
		            "in its last wave of blocks"),
		.advice = N_("Choose a tile or a batch that fills whole waves, split the reduction "
		             "(split-K), or use a persistent kernel."),
		.metrics = "launch__waves_per_multiprocessor",
		.threshold = TAIL_MAX_RATIO,
	};
	ask(&q, v, limits, run, f);
}

const struct trace_analysis ncu_occupancy_analysis = {
	.id = "ncu_occupancy", .of = ANALYSIS_OF_NCU, .analyse = occupancy
};
const struct trace_analysis ncu_coalescing_analysis = {
	.id = "ncu_coalescing", .of = ANALYSIS_OF_NCU, .analyse = coalescing
};
const struct trace_analysis ncu_bank_conflicts_analysis = {
	.id = "ncu_bank_conflicts", .of = ANALYSIS_OF_NCU, .analyse = conflicts
};
const struct trace_analysis ncu_divergence_analysis = {
	.id = "ncu_divergence", .of = ANALYSIS_OF_NCU, .analyse = divergence
};
const struct trace_analysis ncu_tail_analysis = {
	.id = "ncu_tail", .of = ANALYSIS_OF_NCU, .analyse = tail
};
