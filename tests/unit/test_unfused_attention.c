#include "finding_look.h"
#include "operator_make.h"
#include "tap.h"

/* Kernels of 100 ns one after the other, by the letters p(roduct), s(oftmax), e(lement-wise),
 * c(opy), t(op-k), a(ttention). */
static void put_kernels(struct timeline *t, const char *letters)
{
	for (int i = 0; letters[i]; i++) {
		const char *name = letters[i] == 'p'   ? "ampere_bf16_gemm"
		                   : letters[i] == 's' ? "softmax_warp_forward<float>"
		                   : letters[i] == 'e' ? "elementwise_kernel<mul>"
		                   : letters[i] == 'c' ? "CatArrayBatchedCopy<float>"
		                   : letters[i] == 't' ? "sbtopk::gatherTopK<float>"
		                                       : "flash_fwd_kernel";
		put_kernel(t, name, 1000 + 100 * i, 1100 + 100 * i, 0);
	}
}

static void a_softmax_between_products_is_attention_in_parts(void)
{
	static const struct {
		const char *kernels;
		double n, share, saved;
	} cases[] = {
		{ "psp", 1, 1, 1.0 / 3 },
		{ "pespe", 1, 0.8, 2.0 / 5 },
		{ "pceespeee", 1, 6.0 / 9, 4.0 / 9 },
		{ "psppsp", 2, 1, 2.0 / 6 },
		{ "pspsp", 2, 1, 2.0 / 5 }, /* the middle product belongs to both */
		{ "pst", 0, 0, 0 },         /* sampling */
		{ "ptsp", 0, 0, 0 },
		{ "peeeeesp", 0, 0, 0 },
		{ "aaep", 0, 0, 0 },
		{ "sp", 0, 0, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct timeline t;
		timeline_init(&t, "x", "kineto");
		put_kernels(&t, cases[i].kernels);
		struct look l;
		struct trace_finding *f = look_at(&l, &t, &unfused_attention_analysis);
		bool ok = CHECK_NEAR(fact_value(f, "unfused_attentions"), cases[i].n, 0);
		ok &= CHECK_NEAR(fact_value(f, "unfused_attention_ratio"), cases[i].share, 1e-12);
		ok &= CHECK_NEAR(
		        fact_value(f, "unfused_attention_saved_ratio"), cases[i].saved, 1e-12);
		CHECK_INT(f->state, cases[i].n > 0 ? TRACE_FOUND : TRACE_CLEAR);
		if (!ok)
			printf("#   of %s\n", cases[i].kernels);
		look_away(&l);
		timeline_release(&t);
	}
}

static void views_between_operators_of_the_host_do_not_matter(void)
{
	struct timeline t;
	timeline_init(&t, "x", "torch-legacy");
	static const char *const names[] = { "aten::bmm", "aten::view", "aten::div",
		"aten::softmax", "aten::view", "aten::bmm" };
	for (int i = 0; i < 6; i++)
		put_operator(&t, names[i], "", "", 100 + 10 * i, 110 + 10 * i);
	struct look l;
	struct trace_finding *f = look_at(&l, &t, &unfused_attention_analysis);
	CHECK_NEAR(fact_value(f, "unfused_attentions"), 1, 0);
	CHECK_NEAR(fact_value(f, "unfused_attention_ratio"), 40.0 / 60, 1e-12);
	look_away(&l);
	timeline_release(&t);
}

int main(void)
{
	TAP_RUN(a_softmax_between_products_is_attention_in_parts);
	TAP_RUN(views_between_operators_of_the_host_do_not_matter);
	return tap_done();
}
