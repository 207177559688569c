#include "tap.h"

#include "trace/kinds/kernel_name.h"

static void what_surrounds_the_name_of_a_kernel_is_taken_off(void)
{
	static const struct {
		const char *name, *base;
	} cases[] = {
		{ "add", "add" },
		{ "add(int*, int)", "add" },
		{ "void add<float>(float*)", "add" },
		{ "void at::native::elementwise<4, at::F<float>, at::detail::Array<char*, 2> "
		  ">(int)",
		        "elementwise" },
		{ "void (anonymous namespace)::softmax<c10::Half, 8>(c10::Half*)", "softmax" },
		{ "void at::native::(anonymous namespace)::cat<float>(float*)", "cat" },
		/* As Windows prints it. */
		{ "void unnamed>::gemm_tiled_kernel<32>(const float *, int)", "gemm_tiled_kernel" },
		{ "Outer<int>::kernel(float)", "kernel" },
		{ "copy_blocked[v1,cw51](Array<long long, 1, C>, long long)", "copy_blocked" },
		{ "Im3d2Col.kd", "Im3d2Col" },
		{ "Cijk_Ailk_Bljk_BBS_BH_MT256x128x64", "Cijk_Ailk_Bljk_BBS_BH_MT256x128x64" },
		{ "", "" },
		{ "::", "::" },
		{ "(((", "(((" },
		{ "a<b", "a" },
		{ "void x::", "void x::" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct str base = kernel_base_name(str_of(cases[i].name));
		if (!CHECK(str_eq(base, str_of(cases[i].base))))
			printf("#   '%s': '%.*s'\n", cases[i].name, STR_ARG(base));
	}
}

int main(void)
{
	TAP_RUN(what_surrounds_the_name_of_a_kernel_is_taken_off);
	return tap_done();
}
