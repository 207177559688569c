#include "trace/kinds/kernel_class.h"

#include "tap.h"

struct row {
	const char *name, *class;
};

static void check_rows(const struct row *rows, size_t n, enum kernel_class (*look)(struct str name))
{
	for (size_t i = 0; i < n; i++) {
		const char *got = kernel_class_names[look(str_of(rows[i].name))];
		if (!CHECK_STR(got, rows[i].class))
			printf("#   of '%s'\n", rows[i].name);
	}
}

#define CHECK_CLASSES(rows, look) check_rows(rows, sizeof(rows) / sizeof *(rows), look)

static void kernels_of_libraries_are_told_by_their_names(void)
{
	static const struct row rows[] = {
		{ "ampere_sgemm_128x64_nn", "gemm" },
		{ "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3", "gemm" },
		{ "nvjet_tst_64x16_64x16_2x4_2cta_h_bz_bias_TNT", "gemm" },
		{ "void cutlass::Kernel<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64>", "gemm" },
		{ "void cublasLt::splitKreduce_kernel<32, 16, int, float, float>(float*)", "gemm" },
		{ "void gemv2T_kernel_val<int, int, float, float, float>", "gemm" },
		{ "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x32x512", "gemm" },
		{ "wvSplitKQ_hf_sml_<__hip_bfloat16>", "gemm" },
		{ "mul_mat_vec_q<(ggml_type)2, 1, false>", "gemm" },
		{ "fused_moe_kernel", "gemm" },
		{ "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>, "
		  "cutlass::bf16>",
		        "attention" },
		{ "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausal", "attention" },
		{ "attn_fwd", "attention" },
		{ "void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16>", "attention" },
		{ "BatchDecodeWithPagedKVCacheKernel", "attention" },
		{ "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw",
		        "convolution" },
		{ "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "convolution" },
		{ "igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1_bt64x64x64", "convolution" },
		{ "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>",
		        "copy_layout" },
		{ "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512>",
		        "normalisation" },
		{ "SubTensorOpWithCastTensor1d", "copy_layout" },
		{ "SubTensorOpWithScalar1d", "elementwise" },
		{ "__amd_rocclr_copyBuffer", "copy_layout" },
		{ "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
		        "communication" },
		{ "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>", "communication" },
		{ "multimem_all_reduce_kernel<c10::BFloat16, 16>", "communication" },
	};
	CHECK_CLASSES(rows, kernel_class_of);
}

static void kernels_of_frameworks_are_told_by_what_they_call(void)
{
	static const struct row rows[] = {
		{ "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>",
		        "elementwise" },
		{ "void at::native::elementwise_kernel<128, 2, "
		  "direct_copy_kernel_cuda(TensorIterator)>",
		        "copy_layout" },
		{ "void at::native::vectorized_elementwise_kernel<4, bfloat16_copy_kernel_cuda>",
		        "copy_layout" },
		{ "void at::native::vectorized_elementwise_kernel<4, "
		  "fbgemm_gpu::_float_to_hfp8_gpu>",
		        "quantisation" },
		{ "void at::native::index_elementwise_kernel<128, 4, gpu_index_kernel>",
		        "indexing" },
		{ "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, NormTwoOps>>",
		        "reduction" },
		{ "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned "
		  "int>",
		        "copy_layout" },
		{ "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>",
		        "normalisation" },
		{ "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10>",
		        "softmax" },
		{ "void vllm::rotary_embedding_kernel<c10::BFloat16, true>", "elementwise" },
		{ "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>", "copy_layout" },
		{ "void vllm::scaled_fp8_quant_kernel<c10::BFloat16>", "quantisation" },
		{ "void at::native::radixSortKVInPlace<2, -1, 32, 4>", "sampling" },
		{ "%broadcast_add_fusion.1 = f32[5,1024]{1,0} fusion(%copy.3), kind=kLoop",
		        "elementwise" },
		{ "%all-reduce = f32[5,1024]{1,0} all-reduce(%dot.1)", "communication" },
		{ "input_transpose_fusion.kd", "copy_layout" },
		{ "create_flashinfer_kv_indices_triton", "indexing" },
		{ "void clover::par_ranged2d_kernel<PdV_kernel(bool, int)>", "other" },
		{ "", "other" },
	};
	CHECK_CLASSES(rows, kernel_class_of);
}

static void a_fused_kernel_is_not_the_product_whose_result_it_takes_up(void)
{
	static const struct row rows[] = {
		{ "triton_poi_fused_addmm_gelu_view_15", "elementwise" },
		{ "triton_poi_fused__unsafe_view_clone_slice_transpose_11", "copy_layout" },
		{ "triton_poi_fused__to_copy_cat_slice_1", "copy_layout" },
		{ "triton_red_fused__unsafe_view_add_addmm_native_layer_norm_split_19",
		        "normalisation" },
		{ "triton_red_fused_add_mean_mul_pow_rsqrt_0", "normalisation" },
		{ "triton_per_fused__softmax_add_3", "softmax" },
		{ "triton_red_fused_sum_2", "reduction" },
		{ "triton_tem_fused_mm_4", "gemm" },
		{ "triton_tem_fused_flex_attention_1", "attention" },
		{ "triton_poi_", "copy_layout" },
	};
	CHECK_CLASSES(rows, kernel_class_of);
}

static void operators_are_told_without_their_ornaments(void)
{
	static const struct row rows[] = {
		{ "aten::mm", "gemm" },
		{ "aten::bmm", "gemm" },
		{ "AddmmBackward0", "gemm" },
		{ "autograd::engine::evaluate_function: MmBackward0", "gemm" },
		{ "MatMul", "gemm" },
		{ "FusedMatMul", "gemm" },
		{ "aten::_scaled_dot_product_flash_attention", "attention" },
		{ "vllm::unified_attention_with_output", "attention" },
		{ "aten::convolution", "convolution" },
		{ "Conv", "convolution" },
		{ "aten::miopen_convolution", "convolution" },
		{ "aten::_softmax_backward_data", "softmax" },
		{ "aten::native_layer_norm", "normalisation" },
		{ "SkipLayerNormalization", "normalisation" },
		{ "aten::mul_", "elementwise" },
		{ "Erf", "elementwise" },
		{ "aten::sum", "reduction" },
		{ "ReduceMean", "reduction" },
		{ "aten::index_select", "indexing" },
		{ "aten::_to_copy", "copy_layout" },
		{ "aten::transpose", "view" }, /* of strides only */
		{ "Transpose", "copy_layout" },
		{ "aten::empty_strided", "allocation" },
		{ "c10d::allreduce_", "communication" },
		{ "vllm::moe_forward", "gemm" },
		{ "DynamicQuantizeLinear", "quantisation" },
		{ "ProfilerStep#5", "other" },
		{ "_", "other" },
		{ "::", "other" },
	};
	CHECK_CLASSES(rows, operator_class_of);
}

static void a_name_of_any_length_has_a_class(void)
{
	char name[3 * KERNEL_NAME_MAX];
	memset(name, 'x', sizeof name);
	memcpy(name + 2 * KERNEL_NAME_MAX, "gemm", 4);
	CHECK_INT(kernel_class_of((struct str){ name, sizeof name }), CLASS_OTHER);
	memcpy(name + KERNEL_NAME_MAX - 4, "gemm", 4);
	CHECK_INT(kernel_class_of((struct str){ name, sizeof name }), CLASS_GEMM);
	CHECK_INT(operator_class_of((struct str){ name, sizeof name }), CLASS_GEMM);
}

static void events_are_asked_by_name_then_by_category(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	struct kernel_detail k;
	memset(&k, 0, sizeof k);
	k.category = timeline_name(&t, STR("loop fusion"));
	struct event fusion = { .name = timeline_name(&t, STR("fusion.7")),
		.detail = timeline_detail(&t, DETAIL_KERNEL, &k) };
	struct event copy = { .name = timeline_name(&t, STR("Memcpy HtoD")),
		.kind = DEVICE_MEMCPY };
	struct operator_detail o;
	memset(&o, 0, sizeof o);
	o.op_type = timeline_name(&t, STR("MatMul"));
	struct event node = { .name = timeline_name(&t, STR("/layers.0/add")),
		.detail = timeline_detail(&t, DETAIL_OPERATOR, &o) };
	struct arena arena = { 0 };
	struct kernel_classes c;
	kernel_classes_init(&c, &t, &arena);
	for (int i = 0; i < 2; i++) { /* found, then remembered */
		CHECK_INT(kernel_classes_device(&c, &fusion), CLASS_ELEMENTWISE);
		CHECK_INT(kernel_classes_device(&c, &copy), CLASS_COPY_LAYOUT);
		CHECK_INT(kernel_classes_operator(&c, &node), CLASS_GEMM);
	}
	arena_release(&arena);
	timeline_release(&t);
}

int main(void)
{
	TAP_RUN(kernels_of_libraries_are_told_by_their_names);
	TAP_RUN(kernels_of_frameworks_are_told_by_what_they_call);
	TAP_RUN(a_fused_kernel_is_not_the_product_whose_result_it_takes_up);
	TAP_RUN(operators_are_told_without_their_ornaments);
	TAP_RUN(a_name_of_any_length_has_a_class);
	TAP_RUN(events_are_asked_by_name_then_by_category);
	return tap_done();
}
