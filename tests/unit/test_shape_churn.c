#include "trace/analyses/analyses.h"

#include "finding_of.h"
#include "tap.h"
#include "timeline_make.h"

static void put_operator(
        struct timeline *t, const char *name, const char *dims, int64_t start_ns, int64_t end_ns)
{
	uint32_t i = put(t, GROUP_OPERATOR, host_track(t, "1"), name, start_ns, end_ns, 0);
	struct operator_detail d;
	memset(&d, 0, sizeof d);
	d.sequence = d.output_bytes = -1;
	d.dims = timeline_name(t, str_of(dims));
	t->lists[GROUP_OPERATOR].v[i].detail = timeline_detail(t, DETAIL_OPERATOR, &d);
}

static void put_step(struct timeline *t, int n, int64_t start_ns, int64_t end_ns)
{
	char name[32];
	snprintf(name, sizeof name, "ProfilerStep#%d", n);
	put(t, GROUP_ANNOTATION, host_track(t, "1"), name, start_ns, end_ns, 0);
}

static void variants_are_counted_by_operator_and_listed_most_first(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	put_operator(&t, "aten::b", "[[1]]", 0, 10);
	put_operator(&t, "aten::a", "[[1]]", 10, 20);
	put_operator(&t, "aten::a", "[[2]]", 20, 30);
	put_operator(&t, "aten::a", "[[2]]", 30, 40);
	put_operator(&t, "aten::c", "[[3]]", 40, 50);
	put_operator(&t, "aten::c", "[[4]]", 50, 60);
	put_operator(&t, "aten::no_shape", "", 60, 70);
	found_open(&x, &shape_churn_analysis, &t);
	const struct trace_table *table = found_table(&x, "shape_variants");
	CHECK_INT(table_rows(table), 3);
	CHECK(cell_is(table_cell(table, 0, 0), "aten::a"));
	CHECK_INT(table_cell(table, 0, 1).number, 2);
	CHECK_INT(table_cell(table, 0, 2).number, 3);
	CHECK(cell_is(table_cell(table, 1, 0), "aten::c"));
	CHECK(cell_is(table_cell(table, 2, 0), "aten::b"));
	CHECK_INT(table_cell(table, 2, 1).number, 1);
	CHECK_INT(found_value(&x, "operator_calls_with_shape"), 6);
	CHECK_INT(found_value(&x, "shape_variants_max"), 2);
	CHECK_INT(x.f.state, TRACE_ABSTAINED);
	CHECK(isnan(found_value(&x, "first_of_shape_over_repeats")));
	found_close(&x, &t);
}

/*
 * Steps of 100 with one operator. Shape A is of the first step, B and C are new later: B takes 80
 * and then 10 and 20, C takes 40 and then 20. Firsts 120 over medians 10 + 20: 4. Extra: 70 + 20
 * of the 600 from the second step on.
 */
static void the_first_of_a_shape_is_held_against_its_repeats(void)
{
	static const struct {
		const char *dims;
		int64_t ns;
	} steps[] = { { "[[1]]", 99 }, { "[[2]]", 80 }, { "[[1]]", 5 }, { "[[3]]", 40 },
		{ "[[2]]", 20 }, { "[[2]]", 10 }, { "[[3]]", 20 } };
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	for (int i = 0; i < (int)ARRAY_LEN(steps); i++) {
		put_step(&t, i, i * 100, i * 100 + 100);
		put_operator(&t, "aten::mm", steps[i].dims, i * 100, i * 100 + steps[i].ns);
		/* what is different in every step, so that no step repeats another */
		char dims[16];
		snprintf(dims, sizeof dims, "[[%d]]", 100 + i);
		put_operator(&t, "aten::view", dims, i * 100 + 99, i * 100 + 99);
	}
	found_open(&x, &shape_churn_analysis, &t);
	CHECK_INT(x.f.state, TRACE_FOUND);
	CHECK_NEAR(found_value(&x, "first_of_shape_over_repeats"), 120.0 / 30.0, 1e-12);
	CHECK_NEAR(found_fact(&x, "first_of_shape_over_repeats")->threshold, 3, 0);
	CHECK_INT(found_fact(&x, "first_of_shape_over_repeats")->n, 2);
	CHECK_NEAR(found_value(&x, "shape_churn_ratio"), 90.0 / 600.0, 1e-12);
	CHECK_INT(found_value(&x, "shapes_new_in_steady_state"), 2 + 6);
	found_close(&x, &t);
}

/* Steps A A B B B A: the first B takes 90, its repeats 20 and 30. */
static void whole_steps_are_compared_where_their_shapes_come_again(void)
{
	static const struct {
		const char *dims;
		int64_t ns;
	} steps[] = { { "[[1]]", 20 }, { "[[1]]", 20 }, { "[[2]]", 90 }, { "[[2]]", 20 },
		{ "[[2]]", 30 }, { "[[1]]", 20 } };
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	for (int i = 0; i < (int)ARRAY_LEN(steps); i++) {
		put_step(&t, i, i * 100, i * 100 + steps[i].ns);
		put_operator(&t, "aten::mm", steps[i].dims, i * 100, i * 100 + 10);
		put_operator(&t, "aten::mul", steps[i].dims, i * 100 + 10, i * 100 + 20);
	}
	found_open(&x, &shape_churn_analysis, &t);
	CHECK_NEAR(found_value(&x, "first_of_shape_over_repeats"), 90.0 / 20.0, 1e-12);
	CHECK_INT(found_fact(&x, "first_of_shape_over_repeats")->n, 1);
	CHECK_INT(x.f.state, TRACE_FOUND);
	CHECK_NEAR(x.f.share_ratio, 70.0 / 420.0, 1e-12);
	found_close(&x, &t);
}

static void what_is_compiled_or_loaded_after_warm_up_is_counted_once(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	uint32_t host = host_track(&t, "1");
	for (int i = 0; i < 4; i++)
		put_step(&t, i, i * 1000, i * 1000 + 1000);
	put_call(&t, "cuModuleLoadData", 10, 500, 0); /* in the first step */
	put_call(&t, "cuModuleLoadData", 1100, 1200, 0);
	put(&t, GROUP_OVERHEAD, host, "Lazy Function Loading", 1150, 1300, 0);
	put_call(&t, "cudaGraphInstantiate", 2000, 2100, 0);
	put(&t, GROUP_ANNOTATION, host, "inductor_compile (dynamo_timed)", 3000, 3050, 0);
	put_call(&t, "cudaLaunchKernel", 3060, 3090, 0);
	put(&t, GROUP_OPERATOR, host, "Torch-Compiled Region: 0/0", 100, 200, 0);
	put(&t, GROUP_OPERATOR, host, "Torch-Compiled Region: 0/1", 3100, 3200, 0);
	found_open(&x, &shape_churn_analysis, &t);
	CHECK_INT(x.f.state, TRACE_FOUND);
	CHECK_INT(found_value(&x, "compile_events"), 4);
	CHECK_INT(found_value(&x, "compile_ns"), 200 + 100 + 50);
	CHECK_NEAR(x.f.share_ratio, 350.0 / 3000.0, 1e-12);
	CHECK_INT(found_value(&x, "compiled_again"), 1);
	const struct trace_table *table = found_table(&x, "compile_events");
	CHECK_INT(table_rows(table), 4);
	CHECK(cell_is(table_cell(table, 0, 0), "cuModuleLoadData"));
	CHECK(cell_is(table_cell(table, 0, 1), "module_load"));
	CHECK_INT(table_cell(table, 0, 2).number, 1);
	CHECK_INT(table_cell(table, 0, 3).number, 100);
	found_close(&x, &t);
}

static void a_kernel_is_new_when_it_was_asked_for_after_the_first_step(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	put_step(&t, 0, 0, 100);
	put_step(&t, 1, 100, 200);
	put_call(&t, "cudaLaunchKernel", 90, 95, 1);
	put_kernel(&t, "late", 110, 120, 1); /* launched in the first step, ran in the second */
	put_call(&t, "cudaLaunchKernel", 150, 155, 2);
	put_kernel(&t, "new", 160, 170, 2);
	put_call(&t, "cudaLaunchKernel", 170, 175, 3);
	put_kernel(&t, "late", 180, 190, 3);
	put_operator(&t, "aten::mm", "[[1]]", 0, 10);
	found_open(&x, &shape_churn_analysis, &t);
	CHECK_INT(found_value(&x, "kernels_new_in_steady_state"), 1);
	CHECK_INT(x.f.state, TRACE_CLEAR);
	found_close(&x, &t);
}

static void without_shapes_and_steps_it_abstains(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	put_kernel(&t, "k", 10, 20, 0);
	found_open(&x, &shape_churn_analysis, &t);
	CHECK_INT(x.f.state, TRACE_ABSTAINED);
	CHECK(x.f.reason != NULL);
	found_close(&x, &t);
	timeline_init(&t, "x", "test");
	found_open(&x, &shape_churn_analysis, &t);
	CHECK_INT(x.f.state, TRACE_ABSTAINED);
	found_close(&x, &t);
}

int main(void)
{
	TAP_RUN(variants_are_counted_by_operator_and_listed_most_first);
	TAP_RUN(the_first_of_a_shape_is_held_against_its_repeats);
	TAP_RUN(whole_steps_are_compared_where_their_shapes_come_again);
	TAP_RUN(what_is_compiled_or_loaded_after_warm_up_is_counted_once);
	TAP_RUN(a_kernel_is_new_when_it_was_asked_for_after_the_first_step);
	TAP_RUN(without_shapes_and_steps_it_abstains);
	return tap_done();
}
