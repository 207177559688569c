#include "finding_look.h"
#include "operator_make.h"
#include "tap.h"
#include "trace/reader.h"

#define HALF2 "[\"c10::Half\",\"c10::Half\"]"
#define FLOAT2 "[\"float\",\"float\"]"

/* 312 Tflop/s in float16, 156 in TF32, 19.5 in float32, 1555 GB/s. */
static void put_a100(struct timeline *t)
{
	struct device_info *d = timeline_device(t, 0);
	d->name = timeline_name(t, STR("NVIDIA A100-SXM4-40GB"));
	d->n_sm = 108;
	d->memory_bytes = INT64_C(40354) << 20;
	d->compute_major = 8;
}

static void a_product_is_held_against_the_roof_of_its_device(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	put_a100(&t);
	/* 2 * 4096^3 = 137.4 Gflop: 440.5 us at least; took 500 within aten::linear */
	put_operator(&t, "aten::linear", "[[4096,4096],[4096,4096]]", HALF2, 95, 125);
	put_call(&t, "cudaLaunchKernel", 96, 98, 7); /* a copy of its own */
	put_kernel(&t, "elementwise_kernel<direct_copy_kernel>", 1600000, 1700000, 7);
	put_launching(
	        &t, "aten::mm", "[[4096,4096],[4096,4096]]", HALF2, 100, "hgemm", 1000000, 1500000);
	/* a row by a matrix: 2 * (4096^2 + 2 * 4096) bytes: 21.59 us; took 100 */
	put_launching(
	        &t, "aten::mm", "[[1,4096],[4096,4096]]", HALF2, 200, "hgemm", 1500000, 1600000);
	put_launching(
	        &t, "aten::add", "[[8]]", HALF2, 300, "elementwise_kernel<f>", 1900000, 2000000);
	double flop_a = 2.0 * 4096 * 4096 * 4096, bytes_b = 2.0 * (4096.0 * 4096 + 2 * 4096);
	double roof_a = flop_a / 312e12, roof_b = bytes_b / 1555e9;
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &roofline_analysis);
	CHECK_NEAR(fact_value(f, "known_work_ratio"), 600.0 / 800, 1e-12);
	CHECK_NEAR(fact_value(f, "arithmetic_ratio"), (roof_a + 2.0 * 4096 * 4096 / 312e12) / 1e-3,
	        1e-9);
	CHECK_NEAR(fact_value(f, "bandwidth_ratio"), (6.0 * 4096 * 4096 / 1555e9 + roof_b) / 1e-3,
	        1e-6);
	/* the second is below 0.3 of its roof; at 0.6 it would take 36 us */
	CHECK_NEAR(fact_value(f, "far_below_roofline_ratio"), (100e-6 - roof_b / 0.6) / 1e-3, 1e-6);
	CHECK_STR(text_in(f, "operators", 0, "operator"), "aten::mm");
	CHECK_STR(text_in(f, "operators", 0, "bound"), "arithmetic");
	CHECK_STR(text_in(f, "operators", 1, "bound"), "bandwidth");
	CHECK_NEAR(number_in(f, "operators", 0, "rate"), flop_a / 500e-6 / 1e12, 1e-6);
	CHECK_NEAR(number_in(f, "operators", 0, "roofline_ratio"), roof_a / 500e-6, 1e-6);
	CHECK_NEAR(number_in(f, "operators", 1, "traffic"), bytes_b / 100e-6 / 1e9, 1e-6);
	CHECK(isnan(number_in(f, "operators", 2, "calls")));
	look_away(&l);
	timeline_release(&t);
}

static void float32_on_matrix_units_has_the_roof_of_tf32(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	put_a100(&t);
	put_launching(&t, "aten::mm", "[[1024,1024],[1024,1024]]", FLOAT2, 100,
	        "sm80_xmma_gemm_f32f32_tf32f32_f32_tn", 1000000, 1100000);
	put_launching(&t, "aten::mm", "[[1024,1024],[1024,2048]]", FLOAT2, 200,
	        "ampere_sgemm_128x64", 1100000, 1400000);
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &roofline_analysis);
	CHECK_STR(text_in(f, "operators", 0, "type"), "float32");
	CHECK_NEAR(number_in(f, "operators", 0, "roofline_ratio"),
	        2.0 * 1024 * 1024 * 2048 / 19.5e12 / 300e-6, 1e-6);
	CHECK_STR(text_in(f, "operators", 1, "type"), "tf32");
	CHECK_NEAR(number_in(f, "operators", 1, "roofline_ratio"),
	        2.0 * 1024 * 1024 * 1024 / 156e12 / 100e-6, 1e-6);
	look_away(&l);
	timeline_release(&t);
}

static void it_says_what_it_lacks(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	put_kernel(&t, "sgemm", 1000, 2000, 0);
	struct look l;
	CHECK_INT(look_at(&l, &t, &roofline_analysis)->state, TRACE_ABSTAINED); /* shapes */
	look_away(&l);
	put_launching(&t, "aten::mm", "[[64,64],[64,64]]", HALF2, 100, "hgemm", 2000, 3000);
	struct trace_finding *f = look_at(&l, &t, &roofline_analysis);
	CHECK_INT(f->state, TRACE_ABSTAINED); /* the device; what it did is told all the same */
	CHECK_NEAR(number_in(f, "operators", 0, "rate"), 2.0 * 64 * 64 * 64 / 1e-6 / 1e12, 1e-9);
	CHECK(isnan(number_in(f, "operators", 0, "roofline_ratio")));
	look_away(&l);
	put_kernel(&t, "other", 3000, 13000, 0);
	put_a100(&t);
	CHECK_INT(
	        look_at(&l, &t, &roofline_analysis)->state, TRACE_ABSTAINED); /* too little known */
	look_away(&l);
	timeline_release(&t);
}

static void peaks_of_the_user_serve_where_there_is_no_device(void)
{
	struct timeline t;
	timeline_init(&t, "x", "ort");
	put_operator(&t, "MatMul", "[{\"float\":[64,64]},{\"float\":[64,64]}]", "", 1000, 2000);
	struct look l;
	memset(&l, 0, sizeof l);
	struct analysis_limits limits = {
		.top = 3, .peak_flop_per_s = 1e12, .peak_bytes_per_s = 1e12
	};
	trace_view_init(&l.view, &t);
	roofline_analysis.analyse(&l.view, &limits, &l.run, &l.finding);
	/* 524288 flop take 0.524 us at least, of 1 */
	CHECK_NEAR(number_in(&l.finding, "operators", 0, "roofline_ratio"), 0.524288, 1e-9);
	CHECK_NEAR(fact_value(&l.finding, "arithmetic_ratio"), 0.524288, 1e-9);
	look_away(&l);
	timeline_release(&t);
}

/* Work and time of products and attention in real traces, by another program: python over the
 * events of the file, calls within operators by thread and time. */
static void real_traces_add_up_to_what_another_program_finds(void)
{
	static const struct {
		const char *file;
		double flop, ns, known;
	} cases[] = {
		{ "data/traces/kineto/h100_timesformer_infer.json.gz", 8977103314944, 54687839,
		        0.3531537817538976 },
		{ "data/traces/kineto/h100_qwen15_05b_infer.json.gz", 5760721390528, 11580932,
		        0.2549030216079177 },
		{ "data/traces/kineto/h100_bert_small_infer.json.gz", 8192059392, 235006,
		        0.7650009602958363 },
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
		memset(&l, 0, sizeof l);
		struct analysis_limits limits = { .top = 1000 };
		trace_view_init(&l.view, &t);
		roofline_analysis.analyse(&l.view, &limits, &l.run, &l.finding);
		double flop = 0, ms = 0;
		for (size_t r = 0; !isnan(number_in(&l.finding, "operators", r, "calls")); r++) {
			double total = number_in(&l.finding, "operators", r, "total");
			ms += total;
			flop += number_in(&l.finding, "operators", r, "rate") * 1e12 * total / 1e3;
		}
		CHECK_NEAR(flop / cases[i].flop, 1, 1e-9);
		CHECK_NEAR(ms * 1e6, cases[i].ns, 1);
		CHECK_NEAR(fact_value(&l.finding, "known_work_ratio"), cases[i].known, 1e-9);
		look_away(&l);
		timeline_release(&t);
	}
}

int main(void)
{
	TAP_RUN(a_product_is_held_against_the_roof_of_its_device);
	TAP_RUN(float32_on_matrix_units_has_the_roof_of_tf32);
	TAP_RUN(it_says_what_it_lacks);
	TAP_RUN(real_traces_add_up_to_what_another_program_finds);
	TAP_RUN(peaks_of_the_user_serve_where_there_is_no_device);
	return tap_done();
}
