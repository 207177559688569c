#include "finding_look.h"
#include "operator_make.h"
#include "tap.h"
#include "trace/kinds/kernel_type.h"

static void put_named_device(struct timeline *t, const char *name, int64_t major)
{
	struct device_info *d = timeline_device(t, 0);
	d->name = timeline_name(t, str_of(name));
	d->compute_major = major;
}

static void products_in_32_bits_are_found_where_fewer_would_be_faster(void)
{
	static const struct {
		const char *device;
		int64_t major;
		double wide;
	} cases[] = {
		{ "Tesla V100-SXM2-32GB", 7, 0.5 }, { "an NVIDIA device to come", 13, 0.5 },
		{ "Quadro GP100", 6, 0 }, /* no matrix units: twice as fast in 16 bits, no more */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct timeline t;
		timeline_init(&t, "x", "kineto");
		put_named_device(&t, cases[i].device, cases[i].major);
		put_kernel(&t, "volta_sgemm_128x64_nn", 1000, 1300, 0);
		put_launching(&t, "aten::mm", "[]", "[\"float\",\"float\"]", 10,
		        "gemv_of_unknown_type", 1300, 1500);
		put_launching(&t, "aten::mm", "[]", "[\"c10::Half\"]", 30, "gemm_b", 1500, 1800);
		put_kernel(&t, "scaled_fp8_quant_kernel", 1800, 2000, 0);
		struct look l;
		struct trace_finding *f = look_at(&l, &t, &precision_analysis);
		if (!CHECK_NEAR(fact_value(f, "wide_gemm_ratio"), cases[i].wide, 1e-12))
			printf("#   on %s\n", cases[i].device);
		CHECK_NEAR(fact_value(f, "quantise_ratio"), 0.2, 1e-12);
		CHECK_INT(f->state, TRACE_FOUND);
		CHECK_STR(text_in(f, "product_types", 0, "type"), "float32");
		CHECK_NEAR(number_in(f, "product_types", 1, "ratio"), 0.3, 1e-12);
		look_away(&l);
		timeline_release(&t);
	}
}

static void without_a_device_only_conversions_are_told(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	put_kernel(&t, "volta_sgemm_128x64_nn", 1000, 1300, 0);
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &precision_analysis);
	CHECK(isnan(fact_value(f, "wide_gemm_ratio")));
	CHECK_NEAR(fact_value(f, "quantise_ratio"), 0, 0);
	look_away(&l);
	timeline_release(&t);
}

static void names_of_kernels_tell_their_types(void)
{
	static const struct {
		const char *name;
		enum element_type type;
	} cases[] = {
		{ "ampere_sgemm_128x64_nn", ELEMENT_FLOAT32 },
		{ "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8", ELEMENT_FLOAT32 },
		{ "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc", ELEMENT_TFLOAT32 },
		{ "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64>", ELEMENT_TFLOAT32 },
		{ "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128>",
		        ELEMENT_BFLOAT16 },
		{ "turing_fp16_s1688gemm_fp16_128x64", ELEMENT_FLOAT16 },
		{ "volta_h884gemm_64x64_ldg8_nn", ELEMENT_FLOAT16 },
		{ "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV", ELEMENT_BFLOAT16 },
		{ "Cijk_Ailk_Bljk_S_B_Bias_HA_S_SAV", ELEMENT_FLOAT32 },
		{ "bmm_MxE4m3_MxE2m1MxE4m3_Fp32", ELEMENT_FLOAT8 },
		{ "volta_dgemm_64x64_nn", ELEMENT_FLOAT64 },
		{ "attn_fwd", ELEMENT_UNKNOWN },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (!CHECK_INT(kernel_type_of(str_of(cases[i].name)), cases[i].type))
			printf("#   of '%s'\n", cases[i].name);
}

int main(void)
{
	TAP_RUN(products_in_32_bits_are_found_where_fewer_would_be_faster);
	TAP_RUN(without_a_device_only_conversions_are_told);
	TAP_RUN(names_of_kernels_tell_their_types);
	return tap_done();
}
