/*
 * The analyses of the timeline on timelines written by hand: every expected number was added up
 * from the times in the test.
 */
#include "tap.h"
#include "timeline_make.h"

#include "trace/analyses/analyses.h"
#include "trace/analyses/stream_load.h"

static struct arena run;
static struct timeline t;
static struct trace_view v;

static void begin(void)
{
	timeline_init(&t, "x", "test");
}

static struct trace_finding *run_analysis(const struct trace_analysis *a)
{
	static const struct analysis_limits limits = { .top = 10 };
	struct trace_finding *f = arena_new(&run, struct trace_finding);
	f->id = a->id;
	trace_view_init(&v, &t);
	a->analyse(&v, &limits, &run, f);
	trace_view_release(&v);
	return f;
}

static void end(void)
{
	timeline_release(&t);
	arena_release(&run);
}

static const struct fact *fact_of(const struct trace_finding *f, const char *name)
{
	static const struct fact none = { .value = NAN };
	for (size_t i = 0; i < f->n_facts; i++)
		if (strcmp(f->facts[i].name, name) == 0)
			return &f->facts[i];
	printf("# no fact '%s'\n", name);
	return &none;
}

static double value_of(const struct trace_finding *f, const char *name)
{
	return fact_of(f, name)->value;
}

static const struct trace_table *table_of(const struct trace_finding *f, const char *name)
{
	for (size_t i = 0; i < f->n_tables; i++)
		if (strcmp(f->tables[i]->name, name) == 0)
			return f->tables[i];
	printf("# no table '%s'\n", name);
	return NULL;
}

/* The cell of a column in the first row whose first text is key. */
static double cell_of(const struct trace_table *table, const char *key, const char *column)
{
	for (size_t i = 0; table && i < table->n_cells; i += table->n_columns) {
		size_t text = 0;
		while (text < table->n_columns && !table->cells[i + text].is_text)
			text++;
		if (text == table->n_columns || strcmp(table->cells[i + text].text.s, key) != 0)
			continue;
		for (size_t k = 0; k < table->n_columns; k++)
			if (strcmp(table->columns[k].name, column) == 0)
				return table->cells[i + k].number;
	}
	printf("# no cell '%s' '%s'\n", key, column);
	return NAN;
}

/*
 * Span 1000 to 2000. k1 [1000,1100), all_reduce [1050,1200) on another stream, memset [1190,1210),
 * copy [1210,1250), gap until 1400 (launched at 1300: host 50, launch 100), k2 [1400,1500), gap
 * until 1600 (launched before: queued), k3 [1600,1700), gap until 1980 (launched at 1900 by a
 * thread that had waited until 1710), k4 [1980,2000).
 */
static void timeline_of_all_parts(void)
{
	begin();
	put_call(&t, "cudaLaunchKernel", 900, 910, 1);
	put_call(&t, "cudaLaunchKernel", 1300, 1310, 2);
	put_call(&t, "cudaLaunchKernel", 1320, 1330, 3);
	put_call(&t, "cudaStreamSynchronize", 1350, 1710, 0);
	put_call(&t, "cudaLaunchKernel", 1900, 1910, 4);
	put_kernel(&t, "gemm_1", 1000, 1100, 1);
	put(&t, GROUP_DEVICE, device_track(&t, 0, "9"), "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
	        1050, 1200, 1);
	put_copy(&t, COPY_HTOD, MEMORY_PINNED, MEMORY_DEVICE, 100, 1190, 1210, 1);
	t.lists[GROUP_DEVICE].v[2].kind = DEVICE_MEMSET;
	put_copy(&t, COPY_HTOD, MEMORY_PINNED, MEMORY_DEVICE, 100, 1210, 1250, 1);
	put_kernel(&t, "gemm_2", 1400, 1500, 2);
	put_kernel(&t, "gemm_3", 1600, 1700, 3);
	put_kernel(&t, "gemm_4", 1980, 2000, 4);
}

static void the_cover_of_a_device_adds_up_to_its_span_to_the_ns(void)
{
	static const struct {
		const char *part;
		double ns;
	} want[] = {
		{ "compute", 100 + 100 + 100 + 20 },
		{ "exposed_communication", 100 },
		{ "exposed_copy", 40 },
		{ "exposed_memset", 10 },
		{ "gap_launch", 100 + 80 },
		{ "gap_host", 50 },
		{ "gap_queued", 100 },
		{ "gap_sync", 200 },
		{ "gap_allocation", 0 },
		{ "gap_unknown", 0 },
	};
	timeline_of_all_parts();
	struct trace_finding *f = run_analysis(&device_timeline_analysis);
	double sum = 0;
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		double ns = cell_of(table_of(f, "cover"), want[i].part, "time");
		if (!CHECK_NEAR(ns, want[i].ns, 0))
			printf("# %s\n", want[i].part);
		sum += ns;
	}
	CHECK_NEAR(sum, 1000, 0);
	CHECK_INT(f->state, TRACE_FOUND);
	CHECK_NEAR(f->share_ratio, 0.53, 1e-12);
	CHECK_NEAR(value_of(f, "idle_ratio"), 0.53, 1e-12);
	CHECK_NEAR(value_of(f, "gap_sync_ratio"), 0.2, 1e-12);
	CHECK(strstr(f->text, "53 %") && strstr(f->text, "38 %")); /* 200 of 530 */
	end();
}

static void one_gap_that_is_most_of_the_idle_time_is_named_first(void)
{
	begin();
	put_kernel(&t, "gemm", 1000, 1100, 0);
	put_kernel(&t, "gemm", 1700, 1800, 0); /* 600 of 1000 ns idle */
	put_kernel(&t, "gemm", 2200, 2300, 0);
	CHECK(strstr(run_analysis(&device_timeline_analysis)->advice, "One gap"));
	end();
	begin();
	put_kernel(&t, "gemm", 1000, 1100, 0);
	put_kernel(&t, "gemm", 1600, 1700, 0); /* 500 of them: no more than half */
	put_kernel(&t, "gemm", 2200, 2300, 0);
	CHECK(!strstr(run_analysis(&device_timeline_analysis)->advice, "One gap"));
	end();
}

static void a_busy_device_has_nothing_to_gain_between_its_work(void)
{
	begin();
	put_kernel(&t, "gemm", 1000, 1970, 0);
	put_kernel(&t, "gemm", 1990, 2000, 0);
	struct trace_finding *f = run_analysis(&device_timeline_analysis);
	CHECK_INT(f->state, TRACE_CLEAR);
	CHECK_NEAR(value_of(f, "idle_ratio"), 0.02, 1e-12);
	CHECK(f->advice == NULL);
	end();
}

static void without_a_device_every_analysis_of_it_abstains(void)
{
	static const struct trace_analysis *const all[] = { &device_timeline_analysis,
		&gaps_analysis, &launch_bound_analysis, &copies_analysis, &streams_analysis,
		&synchronisation_analysis };
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		begin();
		put(&t, GROUP_OPERATOR, host_track(&t, "1"), "aten::add", 0, 10, 0);
		struct trace_finding *f = run_analysis(all[i]);
		CHECK_INT(f->state, TRACE_ABSTAINED);
		CHECK(f->reason != NULL);
		end();
	}
}

static void an_empty_timeline_is_no_trouble(void)
{
	for (size_t i = 0; trace_analyses[i]; i++) {
		begin();
		struct trace_finding *f = run_analysis(trace_analyses[i]);
		CHECK(f->state == TRACE_ABSTAINED ? f->reason != NULL : f->text != NULL);
		end();
	}
}

/* Three steps of 10 us; in each two kernels of 2 us, 1 us apart, and 5 us to the next step. */
static void gaps_between_steps_are_told_from_gaps_inside_them(void)
{
	begin();
	uint32_t host = host_track(&t, "1");
	for (int s = 0; s < 3; s++) {
		int64_t at = 10000 * s;
		char name[32];
		snprintf(name, sizeof name, "ProfilerStep#%d", s);
		put(&t, GROUP_ANNOTATION, host, name, at, at + 10000, 0);
		put_kernel(&t, "a", at + 1000, at + 3000, 0);
		put_kernel(&t, "b", at + 4000, at + 6000, 0);
	}
	struct trace_finding *f = run_analysis(&gaps_analysis);
	/* From 1000 to 26000: 25 us, of these 2 times 5 us between, 3 times 1 us inside. */
	CHECK_NEAR(value_of(f, "between_step_gap_ratio"), 10.0 / 25, 1e-12);
	CHECK_NEAR(value_of(f, "in_step_gap_ratio"), 3.0 / 25, 1e-12);
	CHECK_NEAR(fact_of(f, "between_step_gap_ratio")->threshold, 0.1, 0);
	CHECK_INT(fact_of(f, "between_step_gap_ratio")->n, 2);
	CHECK_NEAR(value_of(f, "longest_gap_ns"), 5000, 0);
	CHECK_INT(f->state, TRACE_FOUND);
	CHECK_NEAR(f->share_ratio, 0.4, 1e-12);
	end();
}

static void gaps_are_counted_by_their_length_and_the_host_is_named(void)
{
	begin();
	uint32_t op = put(&t, GROUP_OPERATOR, host_track(&t, "1"), "aten::item", 100, 9000000, 0);
	CHECK_INT(op, 0);
	put_call(&t, "cudaLaunchKernel", 3000000, 3000010, 7);
	put_kernel(&t, "a", 1000, 2000, 0);
	put_kernel(&t, "a", 11999, 12000, 0);     /* 9,999 before it */
	put_kernel(&t, "a", 22000, 23000, 0);     /* 10,000 */
	put_kernel(&t, "a", 123000, 124000, 0);   /* 100,000 */
	put_kernel(&t, "a", 4124000, 4125000, 7); /* 4,000,000 */
	struct trace_finding *f = run_analysis(&gaps_analysis);
	const struct trace_table *sizes = table_of(f, "sizes");
	CHECK_NEAR(cell_of(sizes, "below 10 us", "gaps"), 1, 0);
	CHECK_NEAR(cell_of(sizes, "below 10 us", "time"), 9999, 0);
	CHECK_NEAR(cell_of(sizes, "10 to 100 us", "gaps"), 1, 0);
	CHECK_NEAR(cell_of(sizes, "100 us to 1 ms", "gaps"), 1, 0);
	CHECK_NEAR(cell_of(sizes, "1 ms and above", "time"), 4000000, 0);
	CHECK_NEAR(cell_of(table_of(f, "operators"), "aten::item", "time"), 4000000, 0);
	CHECK_NEAR(cell_of(table_of(f, "operators"), "", "gaps"), 3, 0);
	const struct trace_table *largest = table_of(f, "largest");
	CHECK_NEAR(cell_of(largest, "host", "time"), 4000000, 0);
	CHECK_NEAR(cell_of(largest, "host", "until_launch"), 3000000 - 124000, 0);
	/* Times count from the start of the file, which is that of the operator. */
	CHECK_NEAR(cell_of(largest, "host", "start"), 124000 - 100, 0);
	CHECK_INT(largest->n_cells, 4 * largest->n_columns);
	CHECK(fact_of(f, "between_step_gap_ratio")->reason != NULL);
	end();
}

/* n launches of 8 us every 20 us, each of a kernel of so long 2 us after its call began. */
static void eager_host(int n, int64_t kernel_ns)
{
	begin();
	for (int i = 0; i < n; i++) {
		int64_t at = 20000 * i;
		put_call(&t, "cudaLaunchKernel", at, at + 8000, (uint64_t)i + 1);
		put_kernel(&t, "k", at + 10000, at + 10000 + kernel_ns, (uint64_t)i + 1);
	}
}

static void short_kernels_behind_late_launches_are_bound_by_them(void)
{
	eager_host(11, 3000);
	struct trace_finding *f = run_analysis(&launch_bound_analysis);
	/* Span 10 * 20 + 3 us; 10 gaps of 17 us. */
	CHECK_NEAR(value_of(f, "launch_gap_ratio"), 170.0 / 203, 1e-12);
	CHECK_NEAR(value_of(f, "host_gap_ratio"), 170.0 / 203, 1e-12);
	CHECK_NEAR(value_of(f, "short_kernel_ratio"), 1, 0);
	CHECK_NEAR(value_of(f, "median_kernel_ns"), 3000, 0);
	CHECK_NEAR(value_of(f, "median_queue_delay_ns"), 2000, 0);
	CHECK_NEAR(value_of(f, "launches"), 11, 0);
	CHECK_NEAR(value_of(f, "launch_time_ns"), 88000, 0);
	CHECK_NEAR(value_of(f, "device_busy_ns"), 33000, 0);
	CHECK_NEAR(value_of(f, "graph_kernel_ratio"), 0, 0);
	CHECK_INT(f->state, TRACE_FOUND);
	CHECK_NEAR(f->share_ratio, 170.0 / 203, 1e-12);
	end();
}

static void long_kernels_are_not_bound_by_launches(void)
{
	eager_host(11, 19000);
	struct trace_finding *f = run_analysis(&launch_bound_analysis);
	/* Each was launched while the one before still ran. */
	CHECK_NEAR(value_of(f, "launch_gap_ratio"), 0, 0);
	CHECK_INT(f->state, TRACE_CLEAR);
	end();
}

/* All is launched at once, and the device works it off with gaps of 1 us. */
static void a_host_that_is_far_ahead_is_the_negative_control(void)
{
	begin();
	for (int i = 0; i < 21; i++) {
		put_call(&t, "cudaLaunchKernel", 100 * i, 100 * i + 50, (uint64_t)i + 1);
		put_kernel(&t, "k", 5000 + 20000 * i, 5000 + 20000 * i + 9000, (uint64_t)i + 1);
	}
	struct trace_finding *f = run_analysis(&launch_bound_analysis);
	/* The median of 21 is the 11th: 5000 + 20000 * 10 - (100 * 10 + 50). */
	CHECK_NEAR(value_of(f, "median_queue_delay_ns"), 203950, 0);
	CHECK_NEAR(value_of(f, "launch_gap_ratio"), 0, 0);
	CHECK_INT(f->state, TRACE_CLEAR);
	CHECK(strstr(f->text, "204 us"));
	end();
}

static void kernels_of_graphs_are_told_from_others(void)
{
	begin();
	put_call(&t, "cudaGraphLaunch", 0, 100, 1);
	put_call(&t, "cudaLaunchKernel", 200, 210, 2);
	for (int i = 0; i < 3; i++)
		put_kernel(&t, "k", 1000 + 20 * i, 1010 + 20 * i, 1);
	put_kernel(&t, "k", 2000, 2010, 2);
	struct trace_finding *f = run_analysis(&launch_bound_analysis);
	CHECK_NEAR(value_of(f, "graph_kernel_ratio"), 0.75, 0);
	CHECK_NEAR(value_of(f, "short_kernel_ratio"), 0, 0);
	CHECK_NEAR(value_of(f, "launches_per_step"), 2, 0);
	end();
}

/*
 * Span 1000: kernel [0,500); copy to the device [400,600), pageable, 100 of it exposed; copy to the
 * host [600,650), pinned; a second to the host [700,710), size unknown; on the device [990,1000).
 */
static void only_what_no_kernel_hides_counts_as_exposed(void)
{
	begin();
	put_kernel(&t, "k", 0, 500, 0);
	put_copy(&t, COPY_HTOD, MEMORY_PAGEABLE, MEMORY_DEVICE, 2 << 20, 400, 600, 0);
	put_copy(&t, COPY_DTOH, MEMORY_DEVICE, MEMORY_PINNED, 1 << 20, 600, 650, 0);
	put_copy(&t, COPY_DTOH, MEMORY_DEVICE, MEMORY_PINNED, -1, 700, 710, 0);
	put_copy(&t, COPY_HTOD, MEMORY_PINNED, MEMORY_DEVICE, 8, 800, 800, 0);
	put_copy(&t, COPY_DTOD, MEMORY_DEVICE, MEMORY_DEVICE, 64 << 10, 990, 1000, 0);
	struct trace_finding *f = run_analysis(&copies_analysis);
	CHECK_NEAR(value_of(f, "exposed_copy_ratio"), 0.160, 1e-12);
	CHECK_NEAR(value_of(f, "pageable_copy_ratio"), 0.100, 1e-12);
	CHECK_NEAR(value_of(f, "exposed_device_copy_ratio"), 0.010, 1e-12);
	CHECK_NEAR(value_of(f, "host_copies"), 4, 0);
	CHECK_NEAR(value_of(f, "small_host_copies"), 1, 0);
	CHECK_NEAR(value_of(f, "unknown_size_host_copies"), 1, 0);
	CHECK_NEAR(value_of(f, "direction_changes"), 2, 0);
	CHECK_NEAR(value_of(f, "pageable_rate"), 2097152.0 / 200, 1e-9);
	CHECK_NEAR(value_of(f, "pinned_rate"), 1048576.0 / 50, 1e-9);
	CHECK_NEAR(value_of(f, "pageable_rate_ratio"), 0.5, 1e-12);
	const struct trace_table *kinds = table_of(f, "kinds");
	CHECK_NEAR(cell_of(kinds, "DtoH", "copies"), 2, 0);
	CHECK_NEAR(cell_of(kinds, "DtoH", "size"), 1 << 20, 0);
	CHECK_NEAR(cell_of(kinds, "DtoH", "rate"), 1048576.0 / 50, 1e-9);
	CHECK_NEAR(cell_of(kinds, "HtoD", "pageable"), 1, 0);
	CHECK_NEAR(cell_of(kinds, "DtoD", "small"), 0, 0);
	CHECK_NEAR(cell_of(kinds, "DtoH", "small"), 0, 0);
	CHECK_NEAR(cell_of(kinds, "DtoH", "size_unknown"), 1, 0);
	CHECK_INT(f->state, TRACE_FOUND);
	CHECK_NEAR(f->share_ratio, 0.1, 1e-12);
	end();
}

static void pinned_copies_that_nothing_hides_are_found_too(void)
{
	begin();
	put_kernel(&t, "k", 0, 800, 0);
	put_copy(&t, COPY_DTOH, MEMORY_DEVICE, MEMORY_PINNED, 4, 800, 1000, 0);
	struct trace_finding *f = run_analysis(&copies_analysis);
	CHECK_INT(f->state, TRACE_FOUND);
	CHECK_NEAR(f->share_ratio, 0.2, 1e-12);
	CHECK(strstr(f->advice, "Keep tensors on the device"));
	end();
}

/* Two threads wait at the same time, one of them in a call within a call. */
static void waits_are_a_union_for_each_thread_and_never_more_than_wall(void)
{
	begin();
	uint32_t second = host_track(&t, "2");
	put(&t, GROUP_OPERATOR, host_track(&t, "1"), "aten::item", 0, 1000, 0);
	put_call(&t, "cudaStreamSynchronize", 0, 600, 0);
	put_call(&t, "cuStreamSynchronize", 10, 590, 0);
	put_call(&t, "cudaMemcpy", 700, 900, 0);
	put(&t, GROUP_CALL, second, "cudaDeviceSynchronize", 100, 800, 0);
	put_call(&t, "cudaLaunchKernel", 910, 920, 0);
	struct trace_finding *f = run_analysis(&synchronisation_analysis);
	CHECK_NEAR(value_of(f, "blocked_ratio"), 0.8, 1e-12);
	CHECK_NEAR(value_of(f, "waits"), 4, 0);
	CHECK_NEAR(value_of(f, "wait_time_ns"), 600 + 580 + 200 + 700, 0);
	CHECK_NEAR(cell_of(table_of(f, "calls"), "cudaDeviceSynchronize", "time"), 700, 0);
	CHECK_NEAR(cell_of(table_of(f, "callers"), "aten::item", "calls"), 3, 0);
	CHECK_NEAR(cell_of(table_of(f, "callers"), "aten::item", "time"), 1380, 0);
	CHECK_INT(f->state, TRACE_CLEAR);
	end();
}

static void a_wait_costs_what_passes_until_the_host_launches_again(void)
{
	timeline_of_all_parts();
	struct trace_finding *f = run_analysis(&synchronisation_analysis);
	CHECK_NEAR(value_of(f, "sync_gap_ratio"), 0.2, 1e-12);
	CHECK_INT(f->state, TRACE_FOUND);
	end();
}

static void communication_counts_where_no_other_kernel_runs(void)
{
	timeline_of_all_parts();
	struct trace_finding *f = run_analysis(&streams_analysis);
	CHECK_NEAR(value_of(f, "exposed_communication_ratio"), 0.1, 1e-12);
	CHECK_NEAR(value_of(f, "communication_ratio"), 0.15, 1e-12);
	CHECK_NEAR(value_of(f, "mean_communication_ns"), 150, 0);
	CHECK_NEAR(fact_of(f, "exposed_communication_ratio")->threshold, 0.15, 0);
	CHECK_INT(fact_of(f, "exposed_communication_ratio")->n, 1);
	/* Both streams at [1050,1100) and [1190,1200), of 470 busy. */
	CHECK_NEAR(value_of(f, "overlap_ratio"), 60.0 / 470, 1e-12);
	CHECK_NEAR(cell_of(table_of(f, "streams"), "9", "time"), 150, 0);
	CHECK_NEAR(cell_of(table_of(f, "streams"), "7", "operations"), 6, 0);
	CHECK_INT(f->state, TRACE_CLEAR);
	end();
}

static void streams_share_time_from_the_second_on_and_are_not_counted_twice(void)
{
	static const struct {
		const char *stream;
		int64_t start, end;
	} work[] = {
		{ "1", 0, 100 },
		{ "1", 50, 120 }, /* overlaps its own stream: 0 to 120 */
		{ "2", 60, 80 },
		{ "3", 70, 130 },
		{ "2", 125, 126 },
		{ "3", 200, 200 },
	};
	begin();
	for (size_t i = 0; i < ARRAY_LEN(work); i++)
		put(&t, GROUP_DEVICE, device_track(&t, 0, work[i].stream), "k", work[i].start,
		        work[i].end, 0);
	trace_view_init(&v, &t);
	struct stream_loads loads = stream_loads_of(&v, &v.devices[0], &run);
	CHECK_INT(loads.n, 3);
	CHECK_INT(loads.v[0].ns, 170);
	CHECK_INT(loads.v[0].busy_ns, 120);
	CHECK_INT(loads.v[2].n, 2);
	/* [60,120) and [125,126) */
	CHECK_INT(loads.overlap_ns, 61);
	trace_view_release(&v);
	end();
}

static void an_honest_recording_passes_all_checks(void)
{
	eager_host(5, 3000);
	struct trace_finding *f = run_analysis(&profiler_honesty_analysis);
	CHECK_INT(f->state, TRACE_CLEAR);
	CHECK_INT(table_of(f, "checks")->n_cells, 0);
	end();
}

static void what_may_mislead_is_listed_with_its_size(void)
{
	begin();
	put_call(&t, "cudaLaunchKernel", 5000, 5010, 1); /* 4 us after its kernel */
	put_call(&t, "cudaLaunchKernel", 6000, 6010, 2); /* without a kernel */
	put_call(&t, "cudaGraphLaunch", 7000, 7010, 3);  /* without its kernels */
	put(&t, GROUP_OPERATOR, host_track(&t, "1"), "aten::add", 4990, 5020, 0);
	put(&t, GROUP_OVERHEAD, 0, "Buffer Flush", 8000, 9000, 0);
	put(&t, GROUP_OVERHEAD, 0, "Instrumentation", 8500, 9500, 0);
	put_kernel(&t, "k", 1000, 3000, 1);
	put_kernel(&t, "k", 2000, 11000, 99); /* not linked, over the end of the first */
	t.n_python = 7;
	t.n_events = 20;
	t.lost[LOST_ZERO_TIME] = 2;
	t.lost[LOST_NEGATIVE] = 3;
	t.lost[LOST_BAD_ESCAPE] = 5;
	t.truncated = true;
	struct trace_finding *f = run_analysis(&profiler_honesty_analysis);
	CHECK_INT(f->state, TRACE_FOUND);
	CHECK_NEAR(value_of(f, "truncated"), 1, 0);
	CHECK_NEAR(value_of(f, "capped"), 0, 0);
	CHECK_NEAR(value_of(f, "lost_events"), 3, 0);
	CHECK_NEAR(value_of(f, "zero_time_events"), 2, 0);
	CHECK_NEAR(value_of(f, "missing_kernel_ratio"), 0.5, 0);
	CHECK_NEAR(value_of(f, "opaque_graphs"), 1, 0);
	CHECK_NEAR(value_of(f, "unlinked_ratio"), 0.5, 0);
	CHECK_NEAR(value_of(f, "overhead_ratio"), 0.15, 1e-12); /* 1,500 of 10,000 */
	CHECK_NEAR(value_of(f, "python_frames_per_operator"), 7, 0);
	CHECK_NEAR(value_of(f, "same_stream_overlap_ratio"), 1000.0 / 11000, 1e-12);
	CHECK_NEAR(value_of(f, "clock_skew_ns"), 4000, 0);
	const struct trace_table *checks = table_of(f, "checks");
	CHECK_INT(checks->n_cells, 10 * checks->n_columns);
	CHECK(strstr(f->text, "10 of 11"));
	end();
}

int main(void)
{
	TAP_RUN(the_cover_of_a_device_adds_up_to_its_span_to_the_ns);
	TAP_RUN(one_gap_that_is_most_of_the_idle_time_is_named_first);
	TAP_RUN(a_busy_device_has_nothing_to_gain_between_its_work);
	TAP_RUN(without_a_device_every_analysis_of_it_abstains);
	TAP_RUN(an_empty_timeline_is_no_trouble);
	TAP_RUN(gaps_between_steps_are_told_from_gaps_inside_them);
	TAP_RUN(gaps_are_counted_by_their_length_and_the_host_is_named);
	TAP_RUN(short_kernels_behind_late_launches_are_bound_by_them);
	TAP_RUN(long_kernels_are_not_bound_by_launches);
	TAP_RUN(a_host_that_is_far_ahead_is_the_negative_control);
	TAP_RUN(kernels_of_graphs_are_told_from_others);
	TAP_RUN(only_what_no_kernel_hides_counts_as_exposed);
	TAP_RUN(pinned_copies_that_nothing_hides_are_found_too);
	TAP_RUN(waits_are_a_union_for_each_thread_and_never_more_than_wall);
	TAP_RUN(a_wait_costs_what_passes_until_the_host_launches_again);
	TAP_RUN(communication_counts_where_no_other_kernel_runs);
	TAP_RUN(streams_share_time_from_the_second_on_and_are_not_counted_twice);
	TAP_RUN(an_honest_recording_passes_all_checks);
	TAP_RUN(what_may_mislead_is_listed_with_its_size);
	return tap_done();
}
