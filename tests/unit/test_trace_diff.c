#include "trace/diff.h"

#include "report/trace_diff.h"
#include "tap.h"
#include "timeline_make.h"

#include <jansson.h>

static void put_step(struct timeline *t, int i, int64_t start_ns, int64_t end_ns)
{
	char name[32];
	snprintf(name, sizeof name, "ProfilerStep#%d", i);
	put(t, GROUP_ANNOTATION, host_track(t, "1"), name, start_ns, end_ns, 0);
}

static void put_operator(
        struct timeline *t, const char *name, const char *dims, int64_t start_ns, int64_t end_ns)
{
	uint32_t i = put(t, GROUP_OPERATOR, host_track(t, "1"), name, start_ns, end_ns, 0);
	struct operator_detail d;
	memset(&d, 0, sizeof d);
	d.dims = timeline_name(t, str_of(dims));
	t->lists[GROUP_OPERATOR].v[i].detail = timeline_detail(t, DETAIL_OPERATOR, &d);
}

static const struct trace_diff_row *row_of(
        const struct trace_diff *d, const char *kind, const char *name, const char *shape)
{
	for (size_t i = 0; i < d->n_rows; i++)
		if (strcmp(d->rows[i].kind, kind) == 0 && str_eq(d->rows[i].name, str_of(name)) &&
		        str_eq(d->rows[i].shape, str_of(shape)))
			return &d->rows[i];
	return NULL;
}

static const struct trace_diff_measure *measure_of(const struct trace_diff *d, const char *name)
{
	for (size_t i = 0; i < d->n_measures; i++)
		if (strcmp(d->measures[i].name, name) == 0)
			return &d->measures[i];
	return NULL;
}

static const struct trace_diff_options no_gate = { .top = 10, .fail_over_ratio = NAN };

static void without_steps_whole_traces_are_compared(void)
{
	struct timeline a, b;
	struct arena run = { 0 };
	struct trace_diff d;
	timeline_init(&a, "a", "test");
	timeline_init(&b, "b", "test");
	put_kernel(&a, "gemm", 0, 100, 0);
	put_kernel(&a, "gemm", 50, 150, 0); /* overlaps: 150 busy, 200 of kernels */
	put_kernel(&a, "old", 200, 210, 0);
	put_kernel(&b, "other", 0, 10, 0); /* other numbers for the same names */
	put_kernel(&b, "gemm", 100, 350, 0);
	put_operator(&a, "aten::mm", "[[8,64]]", 0, 50);
	put_operator(&a, "aten::mm", "[[16,64]]", 60, 90);
	put_operator(&b, "aten::mm", "[ [8,\n 64]]", 0, 40);
	put_call(&a, "cudaLaunchKernel", 10, 15, 0);
	put_call(&b, "cudaLaunchKernel", 10, 18, 0);
	trace_diff(&a, &b, &no_gate, &run, &d);
	timeline_release(&a);
	timeline_release(&b);
	CHECK(!d.per_step);
	CHECK(!d.failed);
	CHECK_INT(d.n_rows_all, 6);
	CHECK_INT(d.n_new, 1);
	CHECK_INT(d.n_gone, 2);
	const struct trace_diff_row *gemm = row_of(&d, "kernel", "gemm", "");
	CHECK(gemm == &d.rows[0]); /* the largest change of the first kind */
	CHECK_INT(gemm->calls[0], 2);
	CHECK_INT(gemm->calls[1], 1);
	CHECK_INT(gemm->total_ns[0], 200);
	CHECK_INT(gemm->total_ns[1], 250);
	CHECK_NEAR(gemm->delta_ns, 50, 0);
	CHECK_NEAR(gemm->mean_ns[0], 100, 0);
	CHECK_NEAR(row_of(&d, "cpu_op", "aten::mm", "[[8,64]]")->delta_ns, -10, 0);
	CHECK_INT(row_of(&d, "cpu_op", "aten::mm", "[[16,64]]")->calls[1], 0);
	CHECK_NEAR(row_of(&d, "runtime", "cudaLaunchKernel", "")->delta_ns, 3, 0);
	CHECK_NEAR(measure_of(&d, "device_busy")->ns[0], 160, 0);
	CHECK_NEAR(measure_of(&d, "device_busy")->ns[1], 260, 0);
	CHECK_NEAR(measure_of(&d, "device_busy")->change_ratio, 100.0 / 160, 1e-12);
	CHECK_NEAR(measure_of(&d, "kernel_time")->ns[0], 210, 0);
	CHECK(isnan(measure_of(&d, "step_time")->ns[0]));
	arena_release(&run);
}

/* First: steps 900 (warm-up) 100 100 100; second: four of 110. A kernel of a step is launched in
 * it; one launched before the first step takes no part. */
static void with_steps_what_is_in_them_is_compared_per_step(void)
{
	struct timeline a, b;
	struct arena run = { 0 };
	struct trace_diff d;
	timeline_init(&a, "a", "test");
	timeline_init(&b, "b", "test");
	int64_t at = 0;
	for (int i = 0; i < 4; i++) {
		int64_t ns = i ? 100 : 900;
		put_step(&a, i, at, at + ns);
		put_call(&a, "cudaLaunchKernel", at + 90, at + 95, (uint64_t)i + 1);
		put_kernel(&a, "gemm", at + 96, at + 106 + (i ? 0 : 500), (uint64_t)i + 1);
		put_step(&b, i, 1000 + i * 110, 1110 + i * 110);
		put_call(&b, "cudaLaunchKernel", 1000 + i * 110, 1010 + i * 110, (uint64_t)i + 1);
		put_kernel(&b, "gemm", 1020 + i * 110, 1032 + i * 110, (uint64_t)i + 1);
		at += ns;
	}
	put_kernel(&b, "before", 10, 500, 0);
	struct trace_diff_options gate = { .top = 10, .fail_over_ratio = 0.15 };
	trace_diff(&a, &b, &gate, &run, &d);
	CHECK(d.per_step);
	CHECK_INT(d.sides[0].steps, 4);
	CHECK_INT(d.sides[0].warm_steps, 1);
	CHECK_INT(d.sides[1].warm_steps, 0);
	CHECK_NEAR(measure_of(&d, "step_time")->change_ratio, 0.10, 1e-12);
	CHECK(!measure_of(&d, "step_time")->failed);
	CHECK_NEAR(measure_of(&d, "device_busy")->ns[0], 10, 0);
	CHECK_NEAR(measure_of(&d, "device_busy")->ns[1], 12, 0);
	CHECK(measure_of(&d, "device_busy")->failed);
	CHECK(d.failed);
	CHECK(row_of(&d, "kernel", "before", "") == NULL);
	CHECK_INT(row_of(&d, "kernel", "gemm", "")->calls[0], 3);
	CHECK_INT(row_of(&d, "kernel", "gemm", "")->calls[1], 4);
	gate.fail_over_ratio = 0.2;
	trace_diff(&a, &b, &gate, &run, &d);
	CHECK(!d.failed);
	timeline_release(&a);
	timeline_release(&b);
	arena_release(&run);
}

static void the_base_of_a_kernel_is_its_function(void)
{
	static const struct {
		const char *name, *base;
	} cases[] = {
		{ "void at::native::elementwise_kernel<128, 4, f<int>>(int, at::X<3>)",
		        "at::native::elementwise_kernel" },
		{ "void at::native::(anonymous namespace)::softmax<8>(float*)",
		        "at::native::(anonymous namespace)::softmax" },
		{ "void cutlass::Kernel<A<1>>::run<2>(P)", "cutlass::Kernel<A<1>>::run" },
		{ "Cijk_Alik_Bljk_HHS_BH_MT64x64", "Cijk_Alik_Bljk_HHS_BH_MT64x64" },
		{ "gemm_kernel [clone .kd]", "gemm_kernel" },
		{ "unsigned int count(int)", "count" },
		{ "open<1", "open" },
		{ "<lambda>", "<lambda>" },
		{ "", "" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char got[128];
		struct str base = trace_diff_base(str_of(cases[i].name));
		snprintf(got, sizeof got, "%.*s", STR_ARG(base));
		CHECK_STR(got, cases[i].base);
	}
}

static void kernels_that_differ_by_their_templates_meet_by_base(void)
{
	struct timeline a, b;
	struct arena run = { 0 };
	struct trace_diff d;
	struct trace_diff_options options = no_gate;
	options.by_base = true;
	timeline_init(&a, "a", "test");
	timeline_init(&b, "b", "test");
	put_kernel(&a, "void k<1>(int)", 0, 10, 0);
	put_kernel(&a, "void k<2>(int)", 10, 20, 0);
	put_kernel(&b, "void k<3>(int)", 0, 15, 0);
	trace_diff(&a, &b, &options, &run, &d);
	CHECK_INT(d.n_rows_all, 1);
	CHECK_INT(row_of(&d, "kernel", "k", "")->calls[0], 2);
	timeline_release(&a);
	timeline_release(&b);
	arena_release(&run);
}

static void the_top_is_of_each_kind(void)
{
	struct timeline a, b;
	struct arena run = { 0 };
	struct trace_diff d;
	struct trace_diff_options options = { .top = 1, .fail_over_ratio = NAN };
	timeline_init(&a, "a", "test");
	timeline_init(&b, "b", "test");
	put_kernel(&a, "k1", 0, 10, 0);
	put_kernel(&a, "k2", 10, 30, 0);
	put_call(&a, "c1", 0, 10, 0);
	put_call(&a, "c2", 0, 5, 0);
	trace_diff(&a, &b, &options, &run, &d);
	CHECK_INT(d.n_rows, 2);
	CHECK_INT(d.n_rows_all, 4);
	CHECK(row_of(&d, "kernel", "k2", "") != NULL);
	CHECK(row_of(&d, "runtime", "c1", "") != NULL);
	CHECK(isnan(measure_of(&d, "device_busy")->change_ratio));
	timeline_release(&a);
	timeline_release(&b);
	arena_release(&run);
}

static void the_json_has_pairs_and_exact_totals(void)
{
	struct timeline a, b;
	struct arena run = { 0 };
	struct trace_diff d;
	struct buf json = { 0 };
	timeline_init(&a, "a", "test");
	timeline_init(&b, "b", "test");
	put_kernel(&a, "k", 0, 1234567, 0);
	put_kernel(&b, "k", 0, 999, 0);
	trace_diff(&a, &b, &no_gate, &run, &d);
	report_trace_diff_json(&d, &json);
	CHECK(strstr(json.s, "1234.567") != NULL);
	json_error_t error;
	json_t *root = json_loads(json.s, 0, &error);
	CHECK(root != NULL);
	CHECK_STR(json_string_value(json_object_get(root, "schema")), "venturi.trace-diff/1");
	CHECK(json_is_null(json_object_get(root, "fail_over_ratio")));
	json_t *row = json_array_get(json_object_get(root, "rows"), 0);
	CHECK_STR(json_string_value(json_object_get(row, "state")), "both");
	CHECK_NEAR(json_real_value(json_array_get(json_object_get(row, "total_us"), 1)), 0.999, 0);
	CHECK_NEAR(json_number_value(json_object_get(row, "delta_us")), -1233.568, 1e-9);
	json_decref(root);
	buf_release(&json);
	timeline_release(&a);
	timeline_release(&b);
	arena_release(&run);
}

int main(void)
{
	TAP_RUN(without_steps_whole_traces_are_compared);
	TAP_RUN(with_steps_what_is_in_them_is_compared_per_step);
	TAP_RUN(the_base_of_a_kernel_is_its_function);
	TAP_RUN(kernels_that_differ_by_their_templates_meet_by_base);
	TAP_RUN(the_top_is_of_each_kind);
	TAP_RUN(the_json_has_pairs_and_exact_totals);
	return tap_done();
}
