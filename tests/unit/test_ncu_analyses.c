#include "tap.h"

#include "trace/trace.h"

#include <sys/mman.h>
#include <unistd.h>

/* Files that live as long as the program. */
static const char *file_of(const char *text)
{
	static char paths[16][64];
	static size_t n;
	int fd = memfd_create("trace", MFD_CLOEXEC);
	size_t size = strlen(text);
	if (fd < 0 || n == ARRAY_LEN(paths) || write(fd, text, size) != (ssize_t)size)
		abort();
	snprintf(paths[n], sizeof paths[n], "/proc/self/fd/%d", fd);
	return paths[n++];
}

struct analysed {
	struct trace trace;
	struct arena run;
	struct trace_run r;
};

static bool analyse(struct analysed *a, const char *const *paths, size_t n)
{
	struct trace_options options = {
		.top = 5, .from_ns = TRACE_NONE, .to_ns = TRACE_NONE, .step = -1, .by = "name"
	};
	struct err err = { .text = "" };
	*a = (struct analysed){ .r = { 0 } };
	bool ok = trace_open(&a->trace, paths, n, NULL, &err) &&
	          trace_analyse(&a->trace, &options, &a->run, &a->r, &err);
	if (!ok)
		printf("# %s\n", err.text);
	return CHECK(ok);
}

static void release(struct analysed *a)
{
	trace_close(&a->trace);
	arena_release(&a->run);
}

static const struct trace_finding *finding(const struct analysed *a, const char *id)
{
	static const struct trace_finding none = { .id = "" };
	for (size_t i = 0; i < a->r.n_findings; i++)
		if (strcmp(a->r.findings[i].id, id) == 0)
			return &a->r.findings[i];
	printf("# no finding '%s'\n", id);
	return &none;
}

static double fact(const struct trace_finding *f, const char *name)
{
	for (size_t i = 0; i < f->n_facts; i++)
		if (strcmp(f->facts[i].name, name) == 0)
			return f->facts[i].value;
	return NAN;
}

static struct str cell(const struct trace_finding *f, size_t row, const char *column)
{
	const struct trace_table *t = f->n_tables ? f->tables[0] : NULL;
	for (size_t i = 0; t && i < t->n_columns; i++)
		if (strcmp(t->columns[i].name, column) == 0 && row * t->n_columns + i < t->n_cells)
			return t->cells[row * t->n_columns + i].text;
	return STR("");
}

static double number(const struct trace_finding *f, size_t row, const char *column)
{
	const struct trace_table *t = f->n_tables ? f->tables[0] : NULL;
	for (size_t i = 0; t && i < t->n_columns; i++)
		if (strcmp(t->columns[i].name, column) == 0 && row * t->n_columns + i < t->n_cells)
			return t->cells[row * t->n_columns + i].number;
	return NAN;
}

#define RAW                                                                                        \
	"\"ID\",\"Process ID\",\"Kernel Name\",\"Grid Size\",\"gpu__time_duration.sum\","          \
	"\"sm__throughput.avg.pct_of_peak_sustained_elapsed\","                                    \
	"\"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed\","                    \
	"\"sm__warps_active.avg.pct_of_peak_sustained_active\","                                   \
	"\"launch__occupancy_limit_registers\",\"launch__occupancy_limit_shared_mem\","            \
	"\"launch__occupancy_limit_blocks\",\"launch__occupancy_limit_warps\","                    \
	"\"launch__waves_per_multiprocessor\","                                                    \
	"\"smsp__thread_inst_executed_per_inst_executed.ratio\","                                  \
	"\"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum\","                                      \
	"\"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum\","                                     \
	"\"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum\","                                  \
	"\"smsp__inst_executed_op_shared_ld.sum\",\"dram__bytes_read.sum\","                       \
	"\"dram__bytes_write.sum\"\n"                                                              \
	",,,,us,%,%,%,block,block,block,block,,,sector,,,inst,Kbyte,byte\n"

static const char two_launches[] =
        RAW "0,7,\"void ns::slow<int>(int)\",\"(8, 1, 1)\",30.00,5.0,20.5,25.0,2,4,32,8,1.25,16,"
            "3200,100,50,100,3000,0\n"
            "1,7,fast,\"(9, 1, 1)\",10.00,80.0,70.0,90.0,8,8,32,8,4,32,400,100,0,100,1,0\n";

static void a_launch_is_classed_by_its_share_of_the_speed_of_light(void)
{
	const char *path = file_of(two_launches);
	struct analysed a;
	if (!analyse(&a, &path, 1))
		return;
	const struct trace_finding *f = finding(&a, "ncu_speed_of_light");
	CHECK_INT(f->state, TRACE_FOUND);
	/* 30 us of 40 wait, 10 are bound by compute. */
	CHECK_NEAR(fact(f, "latency_bound_ratio"), 0.75, 1e-12);
	CHECK_NEAR(fact(f, "compute_bound_ratio"), 0.25, 1e-12);
	CHECK_NEAR(fact(f, "memory_bound_ratio"), 0, 1e-12);
	CHECK(str_eq(cell(f, 0, "bound_by"), STR("latency")));
	CHECK(str_eq(cell(f, 1, "bound_by"), STR("compute")));
	CHECK_NEAR(number(f, 0, "dram_rate"), 3e6 / 30e3, 1e-9);
	release(&a);
}

static void limits_are_judged_by_their_formulas(void)
{
	const char *path = file_of(two_launches);
	struct analysed a;
	if (!analyse(&a, &path, 1))
		return;
	const struct trace_finding *f = finding(&a, "ncu_occupancy");
	CHECK_INT(f->state, TRACE_FOUND);
	CHECK_NEAR(fact(f, "occupancy_min_ratio"), 0.25, 1e-12);
	CHECK_NEAR(fact(f, "launch_time_ratio"), 0.75, 1e-12);
	CHECK(str_eq(cell(f, 0, "limited_by"), STR("registers")));
	f = finding(&a, "ncu_coalescing");
	CHECK_INT(f->state, TRACE_FOUND);
	CHECK_NEAR(fact(f, "sectors_per_request_max"), 32, 1e-12);
	f = finding(&a, "ncu_bank_conflicts");
	CHECK_INT(f->state, TRACE_FOUND);
	CHECK_NEAR(fact(f, "bank_conflicts_per_access_max"), 0.5, 1e-12);
	f = finding(&a, "ncu_divergence");
	CHECK_INT(f->state, TRACE_FOUND);
	CHECK_NEAR(fact(f, "active_threads_min_ratio"), 0.5, 1e-12);
	f = finding(&a, "ncu_tail");
	CHECK_INT(f->state, TRACE_FOUND);
	CHECK_NEAR(fact(f, "tail_waste_max_ratio"), 1 - 1.25 / 2, 1e-12);
	release(&a);
}

static void what_is_not_told_is_abstained_from(void)
{
	const char *path =
	        file_of("\"ID\",\"Process ID\",\"Kernel Name\","
	                "\"sm__throughput.avg.pct_of_peak_sustained_elapsed\"\n,,,%\n0,7,k,5.0\n");
	static const char *const ids[] = { "ncu_speed_of_light", "ncu_occupancy", "ncu_coalescing",
		"ncu_bank_conflicts", "ncu_divergence", "ncu_tail", "ncu_rules" };
	struct analysed a;
	if (!analyse(&a, &path, 1))
		return;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		const struct trace_finding *f = finding(&a, ids[i]);
		CHECK_INT(f->state, TRACE_ABSTAINED);
		CHECK(f->reason != NULL);
	}
	/* And no question that is about events is put to a file without them. */
	CHECK_INT(a.r.n_findings, ARRAY_LEN(ids));
	release(&a);
}

static const char kernels[] =
        "{\"schemaVersion\":1,\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void ns::slow<float>(float*)\",\"pid\":0,"
        "\"tid\":7,\"ts\":100,\"dur\":30,\"args\":{\"device\":0,\"stream\":7,\"grid\":[8,1,1]}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"slow\",\"pid\":0,"
        "\"tid\":7,\"ts\":200,\"dur\":10,\"args\":{\"device\":0,\"stream\":7,\"grid\":[4,1,1]}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"fast\",\"pid\":0,"
        "\"tid\":7,\"ts\":300,\"dur\":20,\"args\":{\"device\":0,\"stream\":7,\"grid\":[1,1,1]}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"other\",\"pid\":0,"
        "\"tid\":7,\"ts\":400,\"dur\":40,\"args\":{\"device\":0,\"stream\":7,\"grid\":[1,1,1]}}"
        "]}";

static void profiled_launches_are_found_again_in_the_trace(void)
{
	const char *const paths[] = { file_of(kernels), file_of(two_launches) };
	struct analysed a;
	if (!analyse(&a, paths, 2))
		return;
	const struct trace_finding *f = finding(&a, "ncu_join");
	CHECK_INT(f->state, TRACE_CLEAR);
	CHECK_INT(f->file, 1);
	/* 30 of slow with the same grid, 20 of fast by its name, of 100 us. */
	CHECK_NEAR(fact(f, "profiled_kernel_time_ratio"), 0.5, 1e-12);
	CHECK(str_eq(cell(f, 0, "matched_by"), STR("name_and_grid")));
	CHECK_NEAR(number(f, 0, "trace_share"), 0.3, 1e-12);
	CHECK(str_eq(cell(f, 1, "matched_by"), STR("name")));
	CHECK_NEAR(number(f, 1, "trace_total"), 20, 1e-12);
	release(&a);
}

static void counters_of_another_profiler_are_shown_as_means(void)
{
	const char *path = file_of(
	        "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\","
	        "\"Thread_Id\",\"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\",\"Workgroup_Size\","
	        "\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\",\"SGPR_Count\","
	        "\"Counter_Name\",\"Counter_Value\"\n"
	        "1,1,1,1,9,9,64,16,\"k\",64,0,0,8,16,\"SQ_WAVES\",10\n"
	        "2,2,1,1,9,9,64,16,\"k\",64,0,0,8,16,\"SQ_WAVES\",30\n");
	struct analysed a;
	if (!analyse(&a, &path, 1))
		return;
	const struct trace_finding *f = finding(&a, "launch_counters");
	CHECK_INT(f->state, TRACE_CLEAR);
	CHECK(str_eq(cell(f, 0, "counter"), STR("SQ_WAVES")));
	CHECK_NEAR(number(f, 0, "launches"), 2, 0);
	CHECK_NEAR(number(f, 0, "mean"), 20, 0);
	CHECK_NEAR(number(f, 0, "max"), 30, 0);
	release(&a);
}

int main(void)
{
	TAP_RUN(a_launch_is_classed_by_its_share_of_the_speed_of_light);
	TAP_RUN(limits_are_judged_by_their_formulas);
	TAP_RUN(what_is_not_told_is_abstained_from);
	TAP_RUN(profiled_launches_are_found_again_in_the_trace);
	TAP_RUN(counters_of_another_profiler_are_shown_as_means);
	return tap_done();
}
