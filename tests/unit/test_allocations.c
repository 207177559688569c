#include "trace/analyses/analyses.h"

#include "finding_of.h"
#include "tap.h"
#include "timeline_make.h"

static void put_memory(struct timeline *t, int64_t type, int64_t at_ns, int64_t bytes,
        int64_t allocated, int64_t reserved)
{
	struct memory_detail d;
	memset(&d, 0, sizeof d);
	d.bytes = bytes;
	d.total_allocated = allocated;
	d.total_reserved = reserved;
	d.device_type = type;
	uint32_t i = put(t, GROUP_MEMORY, host_track(t, "1"), "[memory]", at_ns, at_ns, 0);
	t->lists[GROUP_MEMORY].v[i].detail = timeline_detail(t, DETAIL_MEMORY, &d);
}

static void put_steps(struct timeline *t, int n)
{
	for (int i = 0; i < n; i++) {
		char name[32];
		snprintf(name, sizeof name, "ProfilerStep#%d", i);
		put(t, GROUP_ANNOTATION, host_track(t, "1"), name, i * 1000, i * 1000 + 1000, 0);
	}
}

static void events_are_summed_by_the_type_of_device(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	put_memory(&t, 0, 10, 100, -1, -1);
	put_memory(&t, 0, 20, -60, -1, -1);
	put_memory(&t, 1, 30, 1000, 1000, 4000);
	put_memory(&t, 1, 40, 500, 1500, 4000);
	put_memory(&t, 1, 50, -1000, 500, 4000);
	put_memory(&t, 1, 60, 0, 500, 4000);
	found_open(&x, &allocations_analysis, &t);
	const struct trace_table *table = found_table(&x, "memory_events");
	static const double want[2][7] = { { 0, 1, 100, 1, 60, NAN, NAN },
		{ 1, 3, 1500, 1, 1000, 1500, 4000 } };
	CHECK_INT(table_rows(table), 2);
	for (size_t r = 0; r < 2; r++)
		for (size_t c = 0; c < 7; c++) {
			double got = table_cell(table, r, c).number;
			CHECK(isnan(want[r][c]) ? isnan(got) : got == want[r][c]);
		}
	CHECK_INT(found_value(&x, "memory_events"), 6);
	/* Large, but it does not grow: an earlier need may have made it so. */
	CHECK_NEAR(found_value(&x, "reserved_unused_ratio"), 1 - 1500.0 / 4000, 1e-12);
	CHECK_NEAR(found_fact(&x, "reserved_unused_ratio")->threshold, 0.2, 0);
	CHECK_INT(found_value(&x, "reserved_growth_bytes"), 0);
	CHECK_INT(x.f.state, TRACE_CLEAR);
	found_close(&x, &t);
}

static void a_reserve_that_grows_beyond_the_need_is_fragmentation(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	for (int i = 0; i < 8; i++)
		put_memory(&t, 6, i, i % 2 ? -700 : 700, i % 2 ? 0 : 700, 800 + 50 * i);
	found_open(&x, &allocations_analysis, &t);
	CHECK_INT(x.f.state, TRACE_FOUND);
	CHECK_NEAR(found_value(&x, "reserved_unused_ratio"), 1 - 700.0 / 1150, 1e-12);
	CHECK_INT(found_value(&x, "reserved_growth_bytes"), 1150 - 950);
	found_close(&x, &t);
}

static void calls_after_the_first_step_are_counted_and_weighed(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	put_steps(&t, 3);
	put_call(&t, "cudaMalloc", 100, 900, 0); /* warm-up */
	put_call(&t, "cudaMalloc", 1100, 1150, 0);
	put_call(&t, "cudaFree", 2100, 2150, 0);
	put_call(&t, "cudaMallocAsync", 2200, 2300, 0); /* of a pool: cheap */
	found_open(&x, &allocations_analysis, &t);
	CHECK_INT(x.f.state, TRACE_FOUND);
	CHECK_INT(found_value(&x, "allocation_calls"), 2);
	CHECK_NEAR(found_value(&x, "allocation_call_ratio"), 100.0 / 2000, 1e-12);
	found_close(&x, &t);
}

static void memory_that_grows_in_every_step_is_a_leak(void)
{
	static const struct {
		int64_t ends[5];
		int state;
		double growth;
	} cases[] = {
		{ { 500, 510, 520, 530, 540 }, TRACE_FOUND, 10 },
		{ { 900, 510, 520, 520, 530 }, TRACE_CLEAR, 20.0 / 3 },
		{ { 500, 500, 500, 500, 500 }, TRACE_CLEAR, 0 },
	};
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct timeline t;
		struct found x;
		timeline_init(&t, "x", "test");
		put_steps(&t, 5);
		for (int i = 0; i < 5; i++)
			put_memory(&t, 1, i * 1000 + 500, 1, cases[k].ends[i], 600);
		found_open(&x, &allocations_analysis, &t);
		CHECK_INT(x.f.state, cases[k].state);
		CHECK_NEAR(found_value(&x, "growth_bytes_per_step"), cases[k].growth, 1e-9);
		CHECK_NEAR(found_value(&x, "memory_events_per_step"), 1, 1e-12);
		found_close(&x, &t);
	}
}

static void sizes_that_cannot_be_true_do_not_reach_a_sum(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	put_memory(&t, 77, 10, INT64_MAX, INT64_MAX, INT64_MAX);
	put_memory(&t, -5, 20, INT64_MIN, -1, -1);
	put_memory(&t, -5, 30, 8, 8, 16);
	found_open(&x, &allocations_analysis, &t);
	const struct trace_table *table = found_table(&x, "memory_events");
	CHECK_INT(table_rows(table), 1);
	CHECK_INT(table_cell(table, 0, 2).number, 8);
	CHECK_INT(table_cell(table, 0, 5).number, 8);
	found_close(&x, &t);
}

static void without_calls_and_events_it_abstains(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	put_kernel(&t, "k", 10, 20, 0);
	found_open(&x, &allocations_analysis, &t);
	CHECK_INT(x.f.state, TRACE_ABSTAINED);
	found_close(&x, &t);
}

int main(void)
{
	TAP_RUN(events_are_summed_by_the_type_of_device);
	TAP_RUN(a_reserve_that_grows_beyond_the_need_is_fragmentation);
	TAP_RUN(calls_after_the_first_step_are_counted_and_weighed);
	TAP_RUN(memory_that_grows_in_every_step_is_a_leak);
	TAP_RUN(sizes_that_cannot_be_true_do_not_reach_a_sum);
	TAP_RUN(without_calls_and_events_it_abstains);
	return tap_done();
}
