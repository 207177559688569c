#include "finding_look.h"
#include "tap.h"
#include "trace/reader.h"
#include "timeline_make.h"

static void what_runs_alone_is_what_could_be_saved(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	/* a product of 60 with 20 of them under a copy, an element-wise kernel of 20, idle for 20:
	 * 40 of 100 are the product's alone */
	put_kernel(&t, "ampere_sgemm_128x64_nn", 1000, 1060, 0);
	put_copy(&t, COPY_HTOD, MEMORY_PINNED, MEMORY_DEVICE, 64, 1020, 1040, 0);
	put_kernel(&t, "vectorized_elementwise_kernel<add>", 1080, 1100, 0);
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &concentration_analysis);
	CHECK_INT(f->state, TRACE_FOUND);
	CHECK_NEAR(fact_value(f, "top5_ratio"), 1, 0);
	CHECK_NEAR(fact_value(f, "gemm_ratio"), 0.75, 1e-12);
	CHECK_NEAR(fact_value(f, "elementwise_ratio"), 0.25, 1e-12);
	CHECK_NEAR(f->share_ratio, 0.6, 1e-12);
	CHECK_STR(text_in(f, "kernels", 0, "class"), "gemm");
	CHECK_NEAR(number_in(f, "kernels", 0, "alone_ratio"), 0.4, 1e-12);
	CHECK_NEAR(number_in(f, "kernels", 0, "speedup_limit"), 1 / 0.6, 1e-12);
	CHECK_NEAR(number_in(f, "kernels", 1, "alone_ratio"), 0.2, 1e-12);
	CHECK(isnan(number_in(f, "kernels", 2, "total")));
	look_away(&l);
	timeline_release(&t);
}

static void the_same_kernel_on_two_streams_runs_alone(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	put(&t, GROUP_DEVICE, device_track(&t, 0, "7"), "gemm", 0 + 10, 40, 0);
	put(&t, GROUP_DEVICE, device_track(&t, 0, "8"), "gemm", 20, 60, 0);
	put(&t, GROUP_DEVICE, device_track(&t, 0, "9"), "softmax", 50, 110, 0);
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &concentration_analysis);
	CHECK_NEAR(number_in(f, "kernels", 0, "alone_ratio"), 0.4, 1e-12); /* 10 to 50 */
	CHECK_NEAR(number_in(f, "kernels", 1, "alone_ratio"), 0.5, 1e-12); /* 60 to 110 */
	look_away(&l);
	timeline_release(&t);
}

static void the_shape_that_takes_most_is_named(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	static const char *const dims[] = { "[[1]]", "[[2]]" };
	for (uint64_t i = 0; i < 3; i++) {
		int64_t at = 1000 * (int64_t)(i + 1);
		uint32_t op =
		        put(&t, GROUP_OPERATOR, host_track(&t, "1"), "aten::mm", at, at + 500, 0);
		struct operator_detail o = operator_detail_none();
		o.dims = timeline_name(&t, str_of(dims[i != 0]));
		t.lists[GROUP_OPERATOR].v[op].detail = timeline_detail(&t, DETAIL_OPERATOR, &o);
		put_call(&t, "cudaLaunchKernel", at + 10, at + 20, i + 1);
		/* 100 of the first shape, 80 and 80 of the second */
		put_kernel(&t, "gemm", at + 30, at + (i ? 110 : 130), i + 1);
	}
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &concentration_analysis);
	CHECK_STR(text_in(f, "kernels", 0, "input_dims"), "[[2]]");
	CHECK_NEAR(number_in(f, "kernels", 0, "calls"), 3, 0);
	look_away(&l);
	timeline_release(&t);
}

static void operators_stand_in_where_there_is_no_device(void)
{
	struct timeline t;
	timeline_init(&t, "x", "ort");
	put(&t, GROUP_OPERATOR, host_track(&t, "1"), "MatMul", 10, 40, 0);
	put(&t, GROUP_OPERATOR, host_track(&t, "1"), "Softmax", 40, 50, 0);
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &concentration_analysis);
	CHECK_NEAR(fact_value(f, "gemm_ratio"), 0.75, 1e-12);
	CHECK_STR(text_in(f, "operators", 1, "class"), "softmax");
	CHECK(isnan(f->share_ratio));
	look_away(&l);
	timeline_release(&t);
}

static void nothing_to_look_at_is_said(void)
{
	struct timeline t;
	timeline_init(&t, "x", "chrome");
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &concentration_analysis);
	CHECK_INT(f->state, TRACE_ABSTAINED);
	CHECK(f->reason != NULL);
	look_away(&l);
	timeline_release(&t);
}

static void many_names_are_no_concentration(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	char name[] = "a_gemm";
	for (int i = 0; i < 20; i++) {
		name[0] = (char)('a' + i);
		put_kernel(&t, name, 100 + 10 * i, 110 + 10 * i, 0);
	}
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &concentration_analysis);
	CHECK_INT(f->state, TRACE_CLEAR);
	CHECK_NEAR(fact_value(f, "top5_ratio"), 0.25, 1e-12);
	look_away(&l);
	timeline_release(&t);
}

/* top5_share, distinct_names and total_us of the answers; and hardly anything without a kind. */
static void real_traces_have_the_shares_of_the_reference_program(void)
{
	static const struct {
		const char *file;
		double top5;
	} cases[] = {
		{ "data/traces/kineto/h100_bert_small_infer.json.gz", 0.785838 },
		{ "data/traces/kineto/h100_qwen15_05b_infer.json.gz", 0.638214 },
		{ "data/traces/kineto/mi300_sglang_qwen3_8b_decode.json.gz", 0.751117 },
		{ "data/traces/kineto/b200_vllm_eager_infer.json.gz", 0.751826 },
		{ "data/traces/kineto/mi300_torch_compile_triton.json.gz", 0.97541 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *path = tap_shared(cases[i].file);
		struct timeline t;
		struct err err;
		if (!path) {
			tap_skip("the traces are not here");
			return;
		}
		if (!CHECK(trace_read_file(path, &t, &err)))
			return;
		struct look l;
		struct trace_finding *f = look_at(&l, &t, &concentration_analysis);
		CHECK_NEAR(fact_value(f, "top5_ratio"), cases[i].top5, 5e-7);
		double other = fact_value(f, "other_ratio");
		CHECK(isnan(other) || other < 0.01);
		look_away(&l);
		timeline_release(&t);
	}
}

int main(void)
{
	TAP_RUN(what_runs_alone_is_what_could_be_saved);
	TAP_RUN(the_same_kernel_on_two_streams_runs_alone);
	TAP_RUN(the_shape_that_takes_most_is_named);
	TAP_RUN(operators_stand_in_where_there_is_no_device);
	TAP_RUN(nothing_to_look_at_is_said);
	TAP_RUN(real_traces_have_the_shares_of_the_reference_program);
	TAP_RUN(many_names_are_no_concentration);
	return tap_done();
}
