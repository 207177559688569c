#include "trace/analyses/analyses.h"

#include "finding_of.h"
#include "tap.h"
#include "timeline_make.h"
#include "trace/kinds/phases.h"

static void names_of_engines_tell_phase_and_tokens(void)
{
	static const struct {
		const char *name;
		enum phase phase;
		enum phase_source source;
		int64_t prefill, decode;
	} cases[] = {
		{ "execute_context_1(888_788544)_generation_0(0)", PHASE_PREFILL, PHASE_FROM_COUNTS,
		        888, 0 },
		{ "execute_context_0(0)_generation_32(32)", PHASE_DECODE, PHASE_FROM_COUNTS, 0,
		        32 },
		{ "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32("
		  "sq32sk32785sqsq32sqsk32785)",
		        PHASE_DECODE, PHASE_FROM_COUNTS, 0, 32 },
		{ "execute_15_context_2(sq512sk900sqsq1)_generation_8(sq8sk64)", PHASE_MIXED,
		        PHASE_FROM_COUNTS, 512, 8 },
		{ "step[DECODE bs=32]", PHASE_DECODE, PHASE_FROM_STEP, -1, 32 },
		{ "step[EXTEND bs=15 toks=15360]", PHASE_PREFILL, PHASE_FROM_STEP, 15360, -1 },
		{ "execute_new_0_cached_7", PHASE_DECODE, PHASE_FROM_CACHED, -1, 7 },
		{ "execute_new_2_cached_7", PHASE_MIXED, PHASE_FROM_CACHED, -1, -1 },
		{ "Prefill", PHASE_PREFILL, PHASE_FROM_WORD, -1, -1 },
		{ "model.decode_step", PHASE_DECODE, PHASE_FROM_WORD, -1, -1 },
		{ "execute_context_99999999999999999999(1)_generation_1(1)", PHASE_DECODE,
		        PHASE_FROM_COUNTS, 1, 1 },
		{ "execute_diffusion_1_256x256", PHASE_NONE, PHASE_FROM_NONE, -1, -1 },
		{ "## decoder fp8 None ##", PHASE_NONE, PHASE_FROM_NONE, -1, -1 },
		{ "DecodeStep", PHASE_DECODE, PHASE_FROM_WORD, -1, -1 },
		{ "ProfilerStep#6", PHASE_NONE, PHASE_FROM_NONE, -1, -1 },
		{ "execute_context_", PHASE_NONE, PHASE_FROM_NONE, -1, -1 },
		{ "", PHASE_NONE, PHASE_FROM_NONE, -1, -1 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct phase_name p = phase_of_name(str_of(cases[i].name));
		CHECK_INT(p.phase, cases[i].phase);
		CHECK_INT(p.source, cases[i].source);
		CHECK_INT(p.prefill_tokens, cases[i].prefill);
		CHECK_INT(p.decode_tokens, cases[i].decode);
	}
}

static void rows_of_a_product_are_its_tokens(void)
{
	static const struct {
		const char *operator, * dims;
		int64_t rows;
	} cases[] = {
		{ "aten::mm", "[[8,64],[64,512]]", 8 },
		{ "aten::linear", "[[2, 8, 64], [512, 64], [512]]", 16 },
		{ "aten::addmm", "[[512],[32,64],[64,512],[],[]]", 32 },
		{ "aten::mul", "[[8,64],[64,512]]", -1 },
		{ "aten::mm", "[]", -1 },
		{ "aten::mm", "", -1 },
		{ "aten::addmm", "[[512]]", -1 },
		{ "aten::mm", "[[8,0],[0,4]]", -1 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_INT(phase_rows(str_of(cases[i].operator), str_of(cases[i].dims)),
		        cases[i].rows);
}

/*
 * One prompt of 900 tokens: range [0, 100), its kernel until 400, cut by the next step at 350.
 * Then two decode steps of two sequences: 350 to 450, whose kernel ends at 440, and 500 to 700,
 * where the kernel of attention ends at 760.
 */
static void ranges_give_the_time_of_each_phase_and_of_a_token(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	uint32_t host = host_track(&t, "1");
	put(&t, GROUP_ANNOTATION, host, "execute_context_1(900)_generation_0(0)", 0, 100, 0);
	put(&t, GROUP_ANNOTATION, host, "step[EXTEND bs=1 toks=900]", 1, 99, 0);
	put(&t, GROUP_ANNOTATION, host, "execute_context_0(0)_generation_2(2)", 350, 450, 0);
	put(&t, GROUP_ANNOTATION, host, "execute_context_0(0)_generation_2(2)", 500, 700, 0);
	put_call(&t, "cudaLaunchKernel", 50, 60, 1);
	put_kernel(&t, "gemm", 100, 400, 1);
	put_call(&t, "cudaLaunchKernel", 360, 370, 2);
	put_kernel(&t, "gemm", 400, 440, 2);
	put_call(&t, "cudaLaunchKernel", 510, 520, 3);
	put_kernel(&t, "flash_fwd_kernel", 730, 760, 3);
	found_open(&x, &prefill_decode_analysis, &t);
	CHECK_INT(x.f.state, TRACE_CLEAR);
	CHECK_INT(found_value(&x, "prefill_steps"), 1);
	CHECK_INT(found_value(&x, "prefill_tokens"), 900);
	CHECK_NEAR(found_value(&x, "prefill_ns_per_token"), 350.0 / 900, 1e-12);
	CHECK_INT(found_value(&x, "decode_steps"), 2);
	CHECK_INT(found_value(&x, "decode_tokens"), 4);
	CHECK_NEAR(found_value(&x, "decode_ns_per_token"), (100.0 + 260.0) / 4, 1e-12);
	CHECK_INT(found_value(&x, "decode_step_ns_median"), 100);
	CHECK_NEAR(found_value(&x, "decode_attention_ratio"), 30.0 / 70, 1e-12);
	CHECK_NEAR(found_value(&x, "decode_time_ratio"), 360.0 / 710, 1e-12);
	const struct trace_table *table = found_table(&x, "phases");
	CHECK_INT(table_rows(table), 2);
	CHECK(cell_is(table_cell(table, 0, 0), "prefill"));
	CHECK_INT(table_cell(table, 0, 3).number, 350);
	CHECK(cell_is(table_cell(table, 1, 0), "decode"));
	CHECK_INT(table_cell(table, 1, 6).number, 70);
	found_close(&x, &t);
}

/* Attention: 10 of 110 in the first half of four steps, 40 of 140 in the second. */
static void attention_that_grows_with_the_context_is_found(void)
{
	static const int64_t attention[] = { 5, 5, 20, 20 };
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	for (int64_t i = 0; i < 4; i++) {
		put(&t, GROUP_ANNOTATION, host_track(&t, "1"), "step[DECODE bs=1]", i * 1000,
		        i * 1000 + 500, 0);
		put_kernel(&t, "gemm", i * 1000 + 10, i * 1000 + 60, 0);
		put_kernel(
		        &t, "flash_fwd_kernel", i * 1000 + 100, i * 1000 + 100 + attention[i], 0);
	}
	found_open(&x, &prefill_decode_analysis, &t);
	CHECK_INT(x.f.state, TRACE_FOUND);
	CHECK_NEAR(found_value(&x, "attention_growth"), (40.0 / 140) / (10.0 / 110), 1e-12);
	found_close(&x, &t);
}

static void put_step(struct timeline *t, int i, const char *kernel, const char *dims)
{
	char name[32];
	snprintf(name, sizeof name, "ProfilerStep#%d", i);
	put(t, GROUP_ANNOTATION, host_track(t, "1"), name, i * 1000, i * 1000 + 500, 0);
	put_kernel(t, kernel, i * 1000 + 10, i * 1000 + 60, 0);
	uint32_t at = put(
	        t, GROUP_OPERATOR, host_track(t, "1"), "aten::mm", i * 1000 + 5, i * 1000 + 9, 0);
	struct operator_detail d;
	memset(&d, 0, sizeof d);
	d.dims = timeline_name(t, str_of(dims));
	t->lists[GROUP_OPERATOR].v[at].detail = timeline_detail(t, DETAIL_OPERATOR, &d);
}

static void kernels_made_for_a_phase_tell_where_ranges_do_not(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	put_step(&t, 0, "BatchPrefillWithPagedKVCacheKernel", "[[4,4],[4,4]]");
	put_step(&t, 1, "paged_attention_v2_kernel", "[[4,4],[4,4]]");
	put_step(&t, 2, "flash_fwd_splitkv_kernel", "[[4,4],[4,4]]");
	found_open(&x, &prefill_decode_analysis, &t);
	CHECK_INT(found_value(&x, "prefill_steps"), 1);
	CHECK_INT(found_value(&x, "decode_steps"), 2);
	CHECK(isnan(found_value(&x, "decode_ns_per_token")));
	found_close(&x, &t);
}

static void rows_of_products_tell_where_kernels_do_not(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	put_step(&t, 0, "gemm", "[[512,64],[64,64]]");
	put_step(&t, 1, "gemm", "[[2,64],[64,64]]");
	put_step(&t, 2, "gemm", "[[4,64],[64,64]]");
	found_open(&x, &prefill_decode_analysis, &t);
	CHECK_INT(found_value(&x, "prefill_tokens"), 512);
	CHECK_INT(found_value(&x, "decode_tokens"), 6);
	CHECK_INT(found_value(&x, "decode_ns_per_token"), 1000 / 6);
	found_close(&x, &t);
}

static void steps_of_one_size_cannot_be_told_apart(void)
{
	struct timeline t;
	struct found x;
	timeline_init(&t, "x", "test");
	put_step(&t, 0, "gemm", "[[8,64],[64,64]]");
	put_step(&t, 1, "gemm", "[[16,64],[64,64]]");
	found_open(&x, &prefill_decode_analysis, &t);
	CHECK_INT(x.f.state, TRACE_ABSTAINED);
	found_close(&x, &t);
	timeline_init(&t, "x", "test");
	found_open(&x, &prefill_decode_analysis, &t);
	CHECK_INT(x.f.state, TRACE_ABSTAINED);
	found_close(&x, &t);
}

int main(void)
{
	TAP_RUN(names_of_engines_tell_phase_and_tokens);
	TAP_RUN(rows_of_a_product_are_its_tokens);
	TAP_RUN(ranges_give_the_time_of_each_phase_and_of_a_token);
	TAP_RUN(attention_that_grows_with_the_context_is_found);
	TAP_RUN(kernels_made_for_a_phase_tell_where_ranges_do_not);
	TAP_RUN(rows_of_products_tell_where_kernels_do_not);
	TAP_RUN(steps_of_one_size_cannot_be_told_apart);
	return tap_done();
}
