#include "trace/analyses/ncu.h"

#include "base/i18n.h"

#include <math.h>
#include <stdlib.h>

enum unit { UNIT_ANY, UNIT_PERCENT, UNIT_TIME, UNIT_BYTES };

/* Names of the raw page and of --metrics, and those of the page of details. */
static const struct {
	struct str name;
	enum ncu_metric metric;
	enum unit unit;
} spellings[] = {
	{ STR_INIT("gpu__time_duration.sum"), NCU_DURATION_NS, UNIT_TIME },
	{ STR_INIT("Duration"), NCU_DURATION_NS, UNIT_TIME },
	{ STR_INIT("sm__throughput.avg.pct_of_peak_sustained_elapsed"), NCU_SM_PERCENT,
	        UNIT_PERCENT },
	{ STR_INIT("Compute (SM) Throughput"), NCU_SM_PERCENT, UNIT_PERCENT },
	{ STR_INIT("Compute (SM) [%]"), NCU_SM_PERCENT, UNIT_PERCENT },
	{ STR_INIT("SOL SM"), NCU_SM_PERCENT, UNIT_PERCENT },
	{ STR_INIT("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"),
	        NCU_MEMORY_PERCENT, UNIT_PERCENT },
	{ STR_INIT("Memory Throughput"), NCU_MEMORY_PERCENT, UNIT_PERCENT },
	{ STR_INIT("Memory [%]"), NCU_MEMORY_PERCENT, UNIT_PERCENT },
	{ STR_INIT("SOL Memory"), NCU_MEMORY_PERCENT, UNIT_PERCENT },
	{ STR_INIT("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"), NCU_DRAM_PERCENT,
	        UNIT_PERCENT },
	{ STR_INIT("dram__throughput.avg.pct_of_peak_sustained_elapsed"), NCU_DRAM_PERCENT,
	        UNIT_PERCENT },
	{ STR_INIT("DRAM Throughput"), NCU_DRAM_PERCENT, UNIT_PERCENT },
	{ STR_INIT("sm__warps_active.avg.pct_of_peak_sustained_active"), NCU_OCCUPANCY_PERCENT,
	        UNIT_PERCENT },
	{ STR_INIT("Achieved Occupancy"), NCU_OCCUPANCY_PERCENT, UNIT_PERCENT },
	{ STR_INIT("sm__maximum_warps_per_active_cycle_pct"), NCU_OCCUPANCY_MAX_PERCENT,
	        UNIT_PERCENT },
	{ STR_INIT("Theoretical Occupancy"), NCU_OCCUPANCY_MAX_PERCENT, UNIT_PERCENT },
	{ STR_INIT("launch__occupancy_limit_registers"), NCU_LIMIT_REGISTERS, UNIT_ANY },
	{ STR_INIT("Block Limit Registers"), NCU_LIMIT_REGISTERS, UNIT_ANY },
	{ STR_INIT("launch__occupancy_limit_shared_mem"), NCU_LIMIT_SHARED, UNIT_ANY },
	{ STR_INIT("Block Limit Shared Mem"), NCU_LIMIT_SHARED, UNIT_ANY },
	{ STR_INIT("launch__occupancy_limit_blocks"), NCU_LIMIT_BLOCKS, UNIT_ANY },
	{ STR_INIT("Block Limit SM"), NCU_LIMIT_BLOCKS, UNIT_ANY },
	{ STR_INIT("launch__occupancy_limit_warps"), NCU_LIMIT_WARPS, UNIT_ANY },
	{ STR_INIT("Block Limit Warps"), NCU_LIMIT_WARPS, UNIT_ANY },
	{ STR_INIT("launch__waves_per_multiprocessor"), NCU_WAVES, UNIT_ANY },
	{ STR_INIT("Waves Per SM"), NCU_WAVES, UNIT_ANY },
	{ STR_INIT("smsp__thread_inst_executed_per_inst_executed.ratio"), NCU_THREADS_PER_INST,
	        UNIT_ANY },
	{ STR_INIT("Avg. Active Threads Per Warp"), NCU_THREADS_PER_INST, UNIT_ANY },
	{ STR_INIT("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), NCU_LOAD_SECTORS, UNIT_ANY },
	{ STR_INIT("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), NCU_LOAD_REQUESTS,
	        UNIT_ANY },
	{ STR_INIT("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"),
	        NCU_LOAD_RATIO, UNIT_ANY },
	{ STR_INIT("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), NCU_STORE_SECTORS, UNIT_ANY },
	{ STR_INIT("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"), NCU_STORE_REQUESTS,
	        UNIT_ANY },
	{ STR_INIT("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"),
	        NCU_STORE_RATIO, UNIT_ANY },
	{ STR_INIT("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"), NCU_CONFLICTS, UNIT_ANY },
	{ STR_INIT("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"), NCU_CONFLICTS_LOAD,
	        UNIT_ANY },
	{ STR_INIT("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"), NCU_CONFLICTS_STORE,
	        UNIT_ANY },
	{ STR_INIT("smsp__inst_executed_op_shared.sum"), NCU_SHARED_ALL, UNIT_ANY },
	{ STR_INIT("smsp__sass_inst_executed_op_shared.sum"), NCU_SHARED_ALL, UNIT_ANY },
	{ STR_INIT("smsp__inst_executed_op_shared_ld.sum"), NCU_SHARED_LOADS, UNIT_ANY },
	{ STR_INIT("smsp__sass_inst_executed_op_shared_ld.sum"), NCU_SHARED_LOADS, UNIT_ANY },
	{ STR_INIT("smsp__inst_executed_op_shared_st.sum"), NCU_SHARED_STORES, UNIT_ANY },
	{ STR_INIT("smsp__sass_inst_executed_op_shared_st.sum"), NCU_SHARED_STORES, UNIT_ANY },
	{ STR_INIT("dram__bytes_read.sum"), NCU_DRAM_READ_BYTES, UNIT_BYTES },
	{ STR_INIT("dram__bytes_op_read.sum"), NCU_DRAM_READ_BYTES, UNIT_BYTES },
	{ STR_INIT("dram__bytes_write.sum"), NCU_DRAM_WRITE_BYTES, UNIT_BYTES },
	{ STR_INIT("dram__bytes_op_write.sum"), NCU_DRAM_WRITE_BYTES, UNIT_BYTES },
};

static const struct {
	struct str name;
	enum unit unit;
	double scale;
} units[] = {
	{ STR_INIT("%"), UNIT_PERCENT, 1 },
	{ STR_INIT("ns"), UNIT_TIME, 1 },
	{ STR_INIT("nsecond"), UNIT_TIME, 1 },
	{ STR_INIT("us"), UNIT_TIME, 1e3 },
	{ STR_INIT("usecond"), UNIT_TIME, 1e3 },
	{ STR_INIT("ms"), UNIT_TIME, 1e6 },
	{ STR_INIT("msecond"), UNIT_TIME, 1e6 },
	{ STR_INIT("s"), UNIT_TIME, 1e9 },
	{ STR_INIT("second"), UNIT_TIME, 1e9 },
	{ STR_INIT("byte"), UNIT_BYTES, 1 },
	{ STR_INIT("Kbyte"), UNIT_BYTES, 1e3 },
	{ STR_INIT("Mbyte"), UNIT_BYTES, 1e6 },
	{ STR_INIT("Gbyte"), UNIT_BYTES, 1e9 },
	{ STR_INIT("Tbyte"), UNIT_BYTES, 1e12 },
};

/* What the unit multiplies a value of this kind with; NAN: it is of another kind. */
static double scale_of(struct str unit, enum unit want)
{
	if (want == UNIT_ANY)
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (units[i].unit == want && str_eq(units[i].name, unit))
			return units[i].scale;
	return NAN;
}

/* By number of name: one more than the index in spellings, 0 for what is none. */
static uint8_t *spelling_of_names(const struct timeline *t, struct arena *arena)
{
	uint8_t *of = arena_new_n(arena, uint8_t, (size_t)t->names.n + 1);
	_Static_assert(ARRAY_LEN(spellings) < UINT8_MAX, "an index fits a byte");
	for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
		int64_t number = intern_find(&t->names, spellings[i].name);
		if (number > 0)
			of[number] = (uint8_t)(i + 1);
	}
	return of;
}

static void read_launch(const struct timeline *t, const struct profiled_launch *from,
        const uint8_t *spelling, struct ncu_launch *ret)
{
	ret->launch = from;
	for (int i = 0; i < N_NCU; i++)
		ret->v[i] = NAN;
	for (size_t i = 0; i < from->n_metrics; i++) {
		const struct launch_metric *m = &from->metrics[i];
		if (!spelling[m->name])
			continue;
		size_t s = spelling[m->name] - 1u;
		double value = m->value * scale_of(timeline_name_of(t, m->unit), spellings[s].unit);
		if (isfinite(value) && value >= 0 && isnan(ret->v[spellings[s].metric]))
			ret->v[spellings[s].metric] = value;
	}
}

static int by_weight(const void *a, const void *b)
{
	const struct ncu_launch *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->launch < y->launch ? -1 : x->launch > y->launch;
}

struct ncu_launches ncu_launches_of(const struct timeline *t, struct arena *arena)
{
	struct ncu_launches all = { .n = t->n_launches, .by_time = t->n_launches > 0 };
	const uint8_t *spelling = spelling_of_names(t, arena);
	double total = 0;
	all.v = arena_new_n(arena, struct ncu_launch, all.n + 1);
	for (size_t i = 0; i < all.n; i++) {
		read_launch(t, &t->launches[i], spelling, &all.v[i]);
		all.by_time = all.by_time && all.v[i].v[NCU_DURATION_NS] > 0;
	}
	for (size_t i = 0; i < all.n; i++) {
		all.v[i].weight = all.by_time ? all.v[i].v[NCU_DURATION_NS] : 1;
		total += all.v[i].weight;
	}
	for (size_t i = 0; i < all.n; i++)
		all.v[i].weight /= total;
	if (all.n)
		qsort(all.v, all.n, sizeof *all.v, by_weight);
	return all;
}

struct ncu_share ncu_judge_all(const struct ncu_launches *all, ncu_judge *judge)
{
	struct ncu_share share = { 0 };
	double known = 0, hit = 0, value;
	for (size_t i = 0; i < all->n; i++) {
		enum ncu_answer answer = judge(&all->v[i], &value);
		if (answer == NCU_NOT_TOLD)
			continue;
		share.n++;
		known += all->v[i].weight;
		if (answer == NCU_YES) {
			share.n_hit++;
			hit += all->v[i].weight;
		}
	}
	share.hit_ratio = known > 0 ? hit / known : 0;
	return share;
}

/* "(64, 64, 1)", empty when it is not told. */
static struct str grid_text(const struct profiled_launch *l, struct arena *run)
{
	if (l->grid[0] < 0)
		return STR("");
	return str_of(arena_printf(run, "(%lld, %lld, %lld)", (long long)l->grid[0],
	        (long long)l->grid[1], (long long)l->grid[2]));
}

struct trace_table *ncu_table(struct trace_finding *f, struct arena *run, const char *name)
{
	struct trace_table *table = finding_table(f, run, name);
	table_column(table, run, "kernel", "");
	table_column(table, run, "grid", "");
	table_column(table, run, "duration", "us");
	return table;
}

void ncu_table_launch(struct trace_table *table, struct arena *run, const struct timeline *t,
        const struct ncu_launch *l)
{
	table_text(table, run, timeline_name_of(t, l->launch->kernel));
	table_text(table, run, grid_text(l->launch, run));
	table_number(table, run, l->v[NCU_DURATION_NS] / 1e3);
}

void ncu_abstain(struct trace_finding *f, struct arena *run, const char *metrics)
{
	finding_abstain(f, arena_printf(run,
	                           _("no profiled launch tells it; profile with --set full, or "
	                             "with --metrics %s"),
	                           metrics));
}
