#include "trace/analyses/analyses.h"

#include "finding_of.h"
#include "tap.h"
#include "timeline_make.h"

static void put_node(struct timeline *t, const char *node, const char *op_type,
        const char *provider, const char *dims, int64_t start_ns, int64_t end_ns)
{
	uint32_t i = put(t, GROUP_OPERATOR, host_track(t, "1"), node, start_ns, end_ns, 0);
	struct operator_detail d;
	memset(&d, 0, sizeof d);
	d.sequence = d.output_bytes = -1;
	d.op_type = timeline_name(t, str_of(op_type));
	d.provider = timeline_name(t, str_of(provider));
	d.dims = timeline_name(t, str_of(dims));
	t->lists[GROUP_OPERATOR].v[i].detail = timeline_detail(t, DETAIL_OPERATOR, &d);
}

static void put_session(struct timeline *t, const char *name, int64_t start_ns, int64_t end_ns)
{
	put(t, GROUP_ANNOTATION, host_track(t, "1"), name, start_ns, end_ns, 0);
}

static const char cpu[] = "CPUExecutionProvider", cuda[] = "CUDAExecutionProvider";

/* Two runs of 100 and 60; nodes take 30 + 20 in the first and 20 + 10 in the second. */
static void runs_nodes_and_what_is_between_are_told(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "ort");
	put_session(&t, "session_initialization", 0, 500);
	put_session(&t, "model_run", 1000, 1100);
	put_session(&t, "SequentialExecutor::Execute", 1001, 1099);
	put_session(&t, "model_run", 2000, 2060);
	put_node(&t, "/fc", "MatMul", cpu, "[{\"float\":[2,8]}]", 1010, 1040);
	put_node(&t, "/add", "Add", cpu, "[{\"float\":[2,8]}]", 1040, 1060);
	put_node(&t, "/fc", "MatMul", cpu, "[{\"float\":[4,8]}]", 2010, 2030);
	put_node(&t, "/add", "Add", cpu, "[{\"float\":[2,8]}]", 2030, 2040);
	found_open(&x, &ort_runs_analysis, &t);
	CHECK_INT(x.f.state, TRACE_FOUND);
	static const struct {
		const char *name;
		double value;
	} facts[] = { { "model_runs", 2 }, { "model_run_total_ns", 160 },
		{ "model_run_median_ns", 60 }, { "model_run_first_ns", 100 }, { "node_events", 4 },
		{ "node_total_ns", 80 }, { "distinct_nodes", 2 },
		{ "nodes_with_more_than_one_shape", 1 }, { "shape_variants_max", 2 },
		{ "framework_overhead_ratio", 0.5 } };
	for (size_t i = 0; i < ARRAY_LEN(facts); i++)
		CHECK_NEAR(found_value(&x, facts[i].name), facts[i].value, 1e-12);
	const struct trace_table *ops = found_table(&x, "by_op_type");
	CHECK(cell_is(table_cell(ops, 0, 0), "MatMul"));
	CHECK_INT(table_cell(ops, 0, 1).number, 2);
	CHECK_INT(table_cell(ops, 0, 2).number, 50);
	CHECK_NEAR(table_cell(ops, 0, 3).number, 50.0 / 80, 1e-12);
	CHECK_INT(table_rows(found_table(&x, "providers")), 1);
	CHECK_INT(table_rows(found_table(&x, "session")), 3);
	found_close(&x, &t);
}

static void nodes_at_the_same_time_leave_no_overhead_to_be_told(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "ort");
	put_session(&t, "model_run", 0, 100);
	put_node(&t, "/a", "MatMul", cpu, "", 10, 90);
	put_node(&t, "/b", "MatMul", cpu, "", 20, 95);
	found_open(&x, &ort_runs_analysis, &t);
	CHECK_INT(x.f.state, TRACE_CLEAR);
	CHECK(isnan(found_value(&x, "framework_overhead_ratio")));
	found_close(&x, &t);
}

/* Device 40, copy 5, CPU 10, copy 5, device 40. */
static void nodes_that_fall_back_to_the_cpu_are_found_with_their_copies(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "ort");
	put_node(&t, "/c", "MatMul", cuda, "", 60, 100);
	put_node(&t, "/a", "MatMul", cuda, "", 0, 40);
	put_node(&t, "Memcpy_1", "MemcpyToHost", cuda, "", 40, 45);
	put_node(&t, "/b", "NonZero", cpu, "", 45, 55);
	put_node(&t, "Memcpy_2", "MemcpyFromHost", cuda, "", 55, 60);
	found_open(&x, &cpu_fallback_analysis, &t);
	CHECK_INT(x.f.state, TRACE_FOUND);
	CHECK_NEAR(found_value(&x, "cpu_fallback_ratio"), 20.0 / 100, 1e-12);
	CHECK_INT(found_value(&x, "cpu_fallback_calls"), 1);
	CHECK_INT(found_value(&x, "copy_nodes"), 2);
	CHECK_INT(found_value(&x, "provider_changes"), 2);
	found_close(&x, &t);
}

static void a_graph_on_one_provider_has_no_fallback(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "ort");
	put_node(&t, "/a", "MatMul", cpu, "", 0, 40);
	found_open(&x, &cpu_fallback_analysis, &t);
	CHECK_INT(x.f.state, TRACE_CLEAR);
	found_close(&x, &t);
	timeline_init(&t, "x", "ort");
	put_node(&t, "/a", "MatMul", cuda, "", 0, 40);
	found_open(&x, &cpu_fallback_analysis, &t);
	CHECK_INT(x.f.state, TRACE_CLEAR);
	CHECK_INT(found_value(&x, "cpu_fallback_ratio"), 0);
	found_close(&x, &t);
}

static void other_traces_are_none_of_its_business(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "kineto");
	put(&t, GROUP_OPERATOR, host_track(&t, "1"), "aten::mm", 0, 10, 0);
	found_open(&x, &ort_runs_analysis, &t);
	CHECK_INT(x.f.state, TRACE_ABSTAINED);
	trace_view_release(&x.v);
	arena_release(&x.run);
	found_open(&x, &cpu_fallback_analysis, &t);
	CHECK_INT(x.f.state, TRACE_ABSTAINED);
	found_close(&x, &t);
}

int main(void)
{
	TAP_RUN(runs_nodes_and_what_is_between_are_told);
	TAP_RUN(nodes_at_the_same_time_leave_no_overhead_to_be_told);
	TAP_RUN(nodes_that_fall_back_to_the_cpu_are_found_with_their_copies);
	TAP_RUN(a_graph_on_one_provider_has_no_fallback);
	TAP_RUN(other_traces_are_none_of_its_business);
	return tap_done();
}
