#include "finding_look.h"
#include "operator_make.h"
#include "tap.h"

static void kernels_of_equal_size_in_a_row_could_be_one(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	const char *k = "vectorized_elementwise_kernel<4, f>";
	/* a root-mean-square norm as eager PyTorch has it: the row sums are smaller, but divide */
	put_launching(&t, "aten::pow", "[[8,64]]", "", 10, k, 1000, 1100);
	put_launching(&t, "aten::mean", "[[8,64]]", "", 30, "void at::native::reduce_kernel<1>",
	        1110, 1150);
	put_launching(&t, "aten::rsqrt", "[[8,1]]", "", 50, k, 1160, 1180);
	put_launching(&t, "aten::mul", "[[8,64],[8,1]]", "", 70, k, 1190, 1290);
	put_launching(&t, "aten::mm", "[[8,64],[64,64]]", "", 90, "sgemm", 1300, 1900);
	/* alone */
	put_launching(&t, "aten::add", "[[8,64]]", "", 110, k, 1900, 2000);
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &fusible_chains_analysis);
	CHECK_INT(f->state, TRACE_FOUND);
	/* 320 element-wise of 960 */
	CHECK_NEAR(fact_value(f, "elementwise_norm_ratio"), 320.0 / 960, 1e-12);
	CHECK_NEAR(fact_value(f, "chains"), 1, 0);
	CHECK_NEAR(fact_value(f, "kernels_in_chains"), 4, 0);
	/* 260 become 100, and three pauses of 10 go; of 1000 */
	CHECK_NEAR(fact_value(f, "fusible_ratio"), 190.0 / 1000, 1e-12);
	CHECK_STR(text_in(f, "chains", 0, "chain"),
	        "aten::pow > aten::mean > aten::rsqrt > aten::mul");
	for (size_t i = 0; i < f->n_facts; i++)
		if (strcmp(f->facts[i].name, "fusible_ratio") == 0)
			CHECK_INT(f->facts[i].state, FACT_ESTIMATED);
	look_away(&l);
	timeline_release(&t);
}

static void a_pause_another_size_and_another_stream_part_chains(void)
{
	static const struct {
		const char *dims;
		int64_t pause_ns;
		double chains;
	} cases[] = {
		{ "[[8,64]]", 50000, 1 },
		{ "[[8,64]]", 50001, 0 },
		{ "[[8,63]]", 10, 0 },
		{ "[[16,64]]", 10, 1 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct timeline t;
		timeline_init(&t, "x", "kineto");
		const char *k = "vectorized_elementwise_kernel<4, f>";
		put_launching(&t, "aten::add", "[[8,64]]", "", 10, k, 1000, 1100);
		put_launching(&t, "aten::mul", cases[i].dims, "", 30, k, 1100 + cases[i].pause_ns,
		        1200 + cases[i].pause_ns);
		struct look l;
		struct trace_finding *f = look_at(&l, &t, &fusible_chains_analysis);
		if (!CHECK_NEAR(fact_value(f, "chains"), cases[i].chains, 0))
			printf("#   %s after %d\n", cases[i].dims, (int)cases[i].pause_ns);
		look_away(&l);
		timeline_release(&t);
	}
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	for (int i = 0; i < 4; i++) {
		struct kernel_detail k = kernel_detail_none();
		for (int a = 0; a < 3; a++)
			k.grid[a] = k.block[a] = 4;
		uint32_t n = put(&t, GROUP_DEVICE, device_track(&t, 0, i % 2 ? "7" : "8"),
		        "elementwise_kernel<f>", 100 + 10 * i, 110 + 10 * i, 0);
		t.lists[GROUP_DEVICE].v[n].detail = timeline_detail(&t, DETAIL_KERNEL, &k);
	}
	struct look l; /* two on each, as large as their grids say */
	CHECK_NEAR(
	        fact_value(look_at(&l, &t, &fusible_chains_analysis), "kernels_in_chains"), 4, 0);
	CHECK_NEAR(fact_value(&l.finding, "chains"), 2, 0);
	look_away(&l);
	timeline_release(&t);
}

static void copies_alone_are_no_chain(void)
{
	struct timeline t;
	timeline_init(&t, "x", "kineto");
	for (int i = 0; i < 3; i++)
		put_launching(&t, "aten::cat", "[[[8,64]]]", "", 10 + 20 * i,
		        "CatArrayBatchedCopy<float>", 1000 + 100 * i, 1100 + 100 * i);
	struct look l;
	CHECK_NEAR(fact_value(look_at(&l, &t, &fusible_chains_analysis), "chains"), 0, 0);
	CHECK_INT(l.finding.state, TRACE_CLEAR);
	look_away(&l);
	timeline_release(&t);
}

static void nodes_on_the_host_form_chains_too(void)
{
	struct timeline t;
	timeline_init(&t, "x", "ort");
	put_operator(&t, "MatMul", "[{\"float\":[2,8,64]}]", "", 100, 180);
	put_operator(&t, "Div", "[{\"float\":[2,8,64]},{\"float\":[]}]", "", 180, 190);
	put_operator(&t, "Erf", "[{\"float\":[2,8,64]}]", "", 190, 200);
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &fusible_chains_analysis);
	CHECK_NEAR(fact_value(f, "chains"), 1, 0);
	CHECK_NEAR(fact_value(f, "elementwise_norm_ratio"), 0.2, 1e-12);
	CHECK_NEAR(fact_value(f, "fusible_ratio"), 0.1, 1e-12);
	look_away(&l);
	timeline_release(&t);
}

int main(void)
{
	TAP_RUN(kernels_of_equal_size_in_a_row_could_be_one);
	TAP_RUN(a_pause_another_size_and_another_stream_part_chains);
	TAP_RUN(copies_alone_are_no_chain);
	TAP_RUN(nodes_on_the_host_form_chains_too);
	return tap_done();
}
