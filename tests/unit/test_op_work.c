#include "trace/work/op_work.h"

#include "tap.h"

static struct op_work work_of(const char *name, const char *dims, const char *types,
        const char *values, int64_t output_bytes)
{
	struct shapes s;
	shapes_parse(&s, str_of(dims), str_of(types), str_of(values));
	return op_work_of(str_of(name), &s, output_bytes);
}

#define HALF2 "[\"c10::Half\",\"c10::Half\"]"
#define HALF3 "[\"c10::Half\",\"c10::Half\",\"c10::Half\"]"

static void a_product_takes_two_operations_for_each_pair(void)
{
	struct op_work w = work_of("aten::mm", "[[8,512],[512,2048]]", HALF2, "", -1);
	CHECK_INT(w.kind, WORK_PRODUCT);
	CHECK_INT(w.type, ELEMENT_FLOAT16);
	CHECK_NEAR(w.flop, 2.0 * 8 * 512 * 2048, 0);
	CHECK_NEAR(w.bytes, 2.0 * (8 * 512 + 512 * 2048 + 8 * 2048), 0);
}

static void every_form_of_a_product_is_the_same_work(void)
{
	/* 2 * batch * m * n * k with batch 4, m 3, n 7, k 5, where there is a batch */
	static const struct {
		const char *name, *dims;
		double flop;
	} cases[] = {
		{ "aten::addmm", "[[7],[3,5],[5,7],[],[]]", 2 * 3 * 7 * 5 },
		{ "aten::bmm", "[[4,3,5],[4,5,7]]", 2 * 4 * 3 * 7 * 5 },
		{ "aten::baddbmm", "[[4,3,7],[4,3,5],[4,5,7]]", 2 * 4 * 3 * 7 * 5 },
		{ "aten::linear", "[[4,3,5],[7,5],[7]]", 2 * 4 * 3 * 7 * 5 },
		{ "aten::linear", "[[5],[7,5]]", 2 * 7 * 5 },
		{ "aten::matmul", "[[4,3,5],[5,7]]", 2 * 4 * 3 * 7 * 5 },
		{ "aten::matmul", "[[3,5],[4,5,7]]", 2 * 4 * 3 * 7 * 5 },
		{ "aten::matmul", "[[2,4,3,5],[4,5,7]]", 2 * 2 * 4 * 3 * 7 * 5 },
		{ "aten::matmul", "[[5],[5,7]]", 2 * 7 * 5 },
		{ "aten::mv", "[[3,5],[5]]", 2 * 3 * 5 },
		{ "aten::dot", "[[5],[5]]", 2 * 5 },
		{ "Gemm", "[{\"float\":[3,5]},{\"float\":[7,5]},{\"float\":[7]}]", 2 * 3 * 7 * 5 },
		{ "FusedMatMul", "[{\"float\":[4,3,5]},{\"float\":[4,7,5]}]", 2 * 4 * 3 * 7 * 5 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct op_work w = work_of(cases[i].name, cases[i].dims,
		        cases[i].name[0] == 'a' ? "[\"float\",\"float\",\"float\"]" : "", "", -1);
		if (!CHECK_NEAR(w.flop, cases[i].flop, 0))
			printf("#   of %s %s\n", cases[i].name, cases[i].dims);
	}
}

static void weights_that_are_not_recorded_are_told_by_the_result(void)
{
	/* [2,8,64] x [64,32] in float32 gives 2*8*32*4 bytes */
	struct op_work w = work_of("MatMul", "[{\"float\":[2,8,64]}]", "", "", 2 * 8 * 32 * 4);
	CHECK_NEAR(w.flop, 2.0 * 16 * 32 * 64, 0);
	CHECK_NEAR(w.bytes, 4.0 * (16 * 64 + 64 * 32 + 16 * 32), 0);
	CHECK_INT(work_of("MatMul", "[{\"float\":[2,8,64]}]", "", "", -1).kind, WORK_NONE);
}

#define CONV_VALUES "[\"\",\"\",\"\",\"[14, 14]\",\"[0, 0]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\"]"

static void a_convolution_is_the_product_that_it_stands_for(void)
{
	/* OWLv2's patches: 1008 / 14 = 72 a side */
	struct op_work w = work_of("aten::convolution",
	        "[[1,3,1008,1008],[1024,3,14,14],[],[],[],[],[],[],[]]", HALF2, CONV_VALUES, -1);
	CHECK_INT(w.kind, WORK_CONVOLUTION);
	CHECK_NEAR(w.m, 72 * 72, 0);
	CHECK_NEAR(w.flop, 2.0 * 72 * 72 * 1024 * 3 * 14 * 14, 0);
	CHECK_NEAR(w.bytes, 2.0 * (3 * 1008 * 1008 + 1024 * 3 * 14 * 14 + 72 * 72 * 1024), 0);
	/* ResNet's first: 7 taps, stride 2, padding 3 on 224 gives 112; cuDNN's order */
	w = work_of("aten::cudnn_convolution", "[[32,3,224,224],[64,3,7,7]]", HALF2,
	        "[\"\",\"\",\"[3, 3]\",\"[2, 2]\",\"[1, 1]\",\"1\"]", -1);
	CHECK_NEAR(w.flop, 2.0 * 32 * 112 * 112 * 64 * 3 * 49, 0);
	/* depth-wise: 32 groups of one channel; dilation 2 reaches over 5 */
	w = work_of("aten::conv2d", "[[1,32,20,20],[32,1,3,3]]", HALF2,
	        "[\"\",\"\",\"\",\"1\",\"[0]\",\"[2, 2]\",\"32\"]", -1);
	CHECK_NEAR(w.flop, 2.0 * 16 * 16 * 32 * 9, 0);
	/* transposed: each of 4 x 4 x 8 inputs meets 16 x 2 x 2 weights; 8 x 8 out */
	w = work_of("aten::convolution", "[[1,8,4,4],[8,16,2,2]]", HALF2,
	        "[\"\",\"\",\"\",\"[2, 2]\",\"[0, 0]\",\"[1, 1]\",\"True\",\"[0, 0]\",\"1\"]", -1);
	CHECK_NEAR(w.flop, 2.0 * 4 * 4 * 8 * 16 * 4, 0);
	CHECK_NEAR(w.m, 64, 0);
	/* ONNX Runtime: [1,8,8,8] by [4,8,3,3], padded, gives 4 * 64 floats */
	w = work_of("Conv", "[{\"float\":[1,8,8,8]},{\"float\":[4,8,3,3]}]", "", "", 4 * 64 * 4);
	CHECK_NEAR(w.flop, 2.0 * 4 * 64 * 8 * 9, 0);
}

static void attention_counts_the_pairs_that_a_mask_leaves(void)
{
	const char *dims = "[[2,16,100,64],[2,4,100,64],[2,4,100,64],[],[],[],[]]";
	struct op_work full = work_of("aten::_scaled_dot_product_flash_attention", dims, HALF3,
	        "[\"\",\"\",\"\",\"0.\",\"False\"]", -1);
	CHECK_INT(full.kind, WORK_ATTENTION);
	CHECK_NEAR(full.flop, 2.0 * 2 * 16 * 100 * 100 * (64 + 64), 0);
	CHECK_NEAR(full.bytes, 2.0 * 2 * 100 * 64 * (16 + 4 + 4 + 16), 0);
	struct op_work causal = work_of("aten::scaled_dot_product_attention", dims, HALF3,
	        "[\"\",\"\",\"\",\"\",\"0.\",\"True\"]", -1);
	CHECK_NEAR(causal.flop, 2.0 * 2 * 16 * (100 * 101 / 2) * 128, 0);
	struct op_work forward = work_of("aten::_flash_attention_forward",
	        "[[2,100,16,64],[2,100,4,64],[2,100,4,64]]", HALF3,
	        "[\"\",\"\",\"\",\"\",\"\",\"100\",\"100\",\"0.\",\"False\"]", -1);
	CHECK_NEAR(forward.flop, full.flop, 0);
	CHECK_NEAR(forward.bytes, full.bytes, 0);
	/* a step of decoding sees every key, whatever the mask */
	struct op_work decode = work_of("aten::scaled_dot_product_attention",
	        "[[1,8,1,64],[1,8,500,64],[1,8,500,64]]", HALF3, "", -1);
	CHECK_NEAR(decode.flop, 2.0 * 8 * 500 * 128, 0);
}

static void what_was_not_recorded_is_no_work(void)
{
	CHECK_INT(work_of("aten::mm", "[[8,512],[512,2048]]", "", "", -1).kind, WORK_NONE);
	CHECK_INT(work_of("aten::mm", "[[8,512],[511,2048]]", HALF2, "", -1).kind, WORK_NONE);
	CHECK_INT(work_of("aten::mm", "[]", HALF2, "", -1).kind, WORK_NONE);
	CHECK_INT(work_of("aten::mm", "[[8,512]]", HALF2, "", -1).kind, WORK_NONE);
	CHECK_INT(work_of("aten::add", "[[8,512],[8,512]]", HALF2, "", -1).kind, WORK_NONE);
	CHECK_INT(work_of("aten::convolution", "[[1,3,9,9],[8,3,3,3]]", HALF2, "", -1).kind,
	        WORK_NONE);
	CHECK_INT(work_of("aten::convolution", "[[1,3,2,2],[8,3,14,14]]", HALF2, CONV_VALUES, -1)
	                  .kind,
	        WORK_NONE);
	/* whether the mask is causal is not told */
	CHECK_INT(work_of("aten::scaled_dot_product_attention",
	                  "[[1,8,9,64],[1,8,9,64],[1,8,9,64]]", HALF3, "", -1)
	                  .kind,
	        WORK_NONE);
	CHECK_INT(work_of("", "", "", "", -1).kind, WORK_NONE);
}

int main(void)
{
	TAP_RUN(a_product_takes_two_operations_for_each_pair);
	TAP_RUN(every_form_of_a_product_is_the_same_work);
	TAP_RUN(weights_that_are_not_recorded_are_told_by_the_result);
	TAP_RUN(a_convolution_is_the_product_that_it_stands_for);
	TAP_RUN(attention_counts_the_pairs_that_a_mask_leaves);
	TAP_RUN(what_was_not_recorded_is_no_work);
	return tap_done();
}
