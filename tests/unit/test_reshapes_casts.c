#include "finding_look.h"
#include "operator_make.h"
#include "tap.h"

static void bytes_that_are_only_moved_are_told_by_what_moves_them(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	const char *copy = "elementwise_kernel<128, 4, gpu_kernel_impl_nocast<direct_copy_kernel>>";
	put_launching(&t, "aten::mm", "[]", "", 10, "sgemm", 1000, 1600);
	put_operator(&t, "aten::to", "[]", "", 95, 115);
	put_launching(&t, "aten::copy_", "[[2, 3]]", "", 100, copy, 1600, 1700);
	put_operator(&t, "aten::contiguous", "[]", "", 195, 215);
	put_launching(&t, "aten::copy_", "[[4, 5]]", "", 200, copy, 1700, 1750);
	put_launching(&t, "aten::cat", "[]", "", 300, "CatArrayBatchedCopy<float>", 1750, 1800);
	put_launching(
	        &t, "vllm::cache", "[]", "", 400, "reshape_and_cache_flash_kernel", 1800, 1900);
	put_copy(&t, COPY_DTOD, MEMORY_DEVICE, MEMORY_DEVICE, 8, 1900, 1950, 0);
	put_copy(&t, COPY_HTOD, MEMORY_PINNED, MEMORY_DEVICE, 8, 1950, 2000, 0);
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &reshapes_casts_analysis);
	/* 100 cast, 50 copy, 50 concat, 50 within the device; of 900 of kernels and those 50 */
	CHECK_INT(f->state, TRACE_FOUND);
	CHECK_NEAR(fact_value(f, "layout_ratio"), 250.0 / 950, 1e-12);
	CHECK_NEAR(fact_value(f, "cast_ratio"), 100.0 / 950, 1e-12);
	CHECK_NEAR(fact_value(f, "layout_exposed_ratio"), 250.0 / 1000, 1e-12);
	CHECK_NEAR(fact_value(f, "layout_calls"), 4, 0);
	CHECK_STR(text_in(f, "operators", 0, "kind"), "cast");
	CHECK_STR(text_in(f, "operators", 0, "input_dims"), "[[2,3]]");
	CHECK_STR(text_in(f, "kinds", 1, "kind"), "concat");
	CHECK_STR(text_in(f, "kinds", 4, "kind"), "cache_write");
	look_away(&l);
	timeline_release(&t);
}

static void a_copy_that_runs_beside_a_product_is_not_exposed(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	put(&t, GROUP_DEVICE, device_track(&t, 0, "7"), "sgemm", 1000, 1100, 0);
	put(&t, GROUP_DEVICE, device_track(&t, 0, "8"), "CatArrayBatchedCopy<float>", 1050, 1100,
	        0);
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &reshapes_casts_analysis);
	CHECK_NEAR(fact_value(f, "layout_ratio"), 50.0 / 150, 1e-12);
	CHECK_NEAR(fact_value(f, "layout_exposed_ratio"), 0, 0);
	look_away(&l);
	timeline_release(&t);
}

static void nodes_of_a_graph_are_told_by_their_type(void)
{
	struct timeline t;
	timeline_init(&t, "x", "ort");
	put_operator(&t, "MatMul", "", "", 100, 180);
	put_operator(&t, "Transpose", "", "", 180, 195);
	put_operator(&t, "Cast", "", "", 195, 200);
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &reshapes_casts_analysis);
	CHECK_NEAR(fact_value(f, "layout_ratio"), 0.2, 1e-12);
	CHECK_NEAR(fact_value(f, "cast_ratio"), 0.05, 1e-12);
	look_away(&l);
	timeline_release(&t);
}

static void an_empty_trace_cannot_tell(void)
{
	struct timeline t;
	timeline_init(&t, "x", "ort");
	struct look l;
	CHECK_INT(look_at(&l, &t, &reshapes_casts_analysis)->state, TRACE_ABSTAINED);
	look_away(&l);
	timeline_release(&t);
}

int main(void)
{
	TAP_RUN(bytes_that_are_only_moved_are_told_by_what_moves_them);
	TAP_RUN(a_copy_that_runs_beside_a_product_is_not_exposed);
	TAP_RUN(nodes_of_a_graph_are_told_by_their_type);
	TAP_RUN(an_empty_trace_cannot_tell);
	return tap_done();
}
