/* trace_analyse on timelines written by hand: sums, windows, names, and what holds them. */
#include "trace/run/run_parts.h"

#include "report/trace_words.h"
#include "tap.h"
#include "timeline_make.h"
#include "trace/kinds/kernel_name.h"

/* Two steps of 100 ns; in each a call of 10 ns launches a kernel of 30 ns, which runs 50 ns after
 * the call began: that of the second step runs after its step has ended. */
static void make(struct timeline *t)
{
	timeline_init(t, "made", "kineto");
	put(t, GROUP_ANNOTATION, host_track(t, "1"), "ProfilerStep#0", 1000, 1100, 0);
	put(t, GROUP_ANNOTATION, host_track(t, "1"), "ProfilerStep#1", 1100, 1200, 0);
	put_call(t, "cudaLaunchKernel", 1010, 1020, 1);
	put_call(t, "cudaLaunchKernel", 1160, 1170, 2);
	put_kernel(t, "void a<1>(int)", 1060, 1090, 1);
	put_kernel(t, "void b(int)", 1210, 1240, 2);
}

static const struct trace_options defaults = {
	.top = 10, .from_ns = TRACE_NONE, .to_ns = TRACE_NONE, .step = -1, .by = "name"
};

static bool analyse(struct timeline *t, const struct trace_options *options, struct arena *run,
        struct trace_run *ret)
{
	const struct trace trace = { .timelines = t, .n = 1 };
	struct err err;
	return trace_analyse(&trace, options, run, ret, &err);
}

static struct trace_kind_total total_of_kernels(const struct trace_run *r)
{
	for (size_t i = 0; i < r->n_kinds; i++)
		if (strcmp(r->kinds[i].kind, "kernel") == 0)
			return r->kinds[i];
	return (struct trace_kind_total){ 0 };
}

static void figures_are_sums_over_the_events(void)
{
	struct arena run = { 0 };
	struct timeline t;
	struct trace_run r;
	make(&t);
	CHECK(analyse(&t, &defaults, &run, &r));
	CHECK_INT(r.n_devices, 1);
	CHECK_INT(r.devices[0].busy_ns, 60);
	CHECK_INT(r.devices[0].span_ns, 180);
	CHECK_NEAR(r.devices[0].idle_ratio, 1 - 60.0 / 180, 1e-12);
	CHECK_INT(r.devices[0].longest_gap_ns, 120);
	CHECK_INT(r.links.linked, 2);
	CHECK_NEAR(r.links.median_launch_to_start_ns, 50, 0);
	CHECK_NEAR(r.links.median_queue_delay_ns, 40, 0);
	CHECK_INT(r.steps.n, 2);
	CHECK_INT(total_of_kernels(&r).total_ns, 60);
	CHECK_NEAR(r.top5_ratio, 1, 0);
	CHECK_INT(r.files[0].span_ns, 240);
	arena_release(&run);
	timeline_release(&t);
}

static void a_step_has_what_was_launched_in_it_a_window_what_starts_in_it(void)
{
	struct arena run = { 0 };
	struct timeline t;
	struct trace_run r;
	struct trace_options o = defaults;
	make(&t);
	o.step = 1;
	CHECK(analyse(&t, &o, &run, &r));
	CHECK_INT(total_of_kernels(&r).calls, 1);
	CHECK_STR(str_c(r.operators[0].name, &run), "void b(int)");
	o.step = 2;
	CHECK(!analyse(&t, &o, &run, &r));
	/* The kernel runs from 210 to 240 ns after the start of the file, its launch is outside. */
	o = defaults;
	o.from_ns = 200;
	o.to_ns = 211;
	CHECK(analyse(&t, &o, &run, &r));
	CHECK_INT(total_of_kernels(&r).calls, 1);
	CHECK_INT(r.links.unlinked, 1);
	o.to_ns = 210;
	CHECK(analyse(&t, &o, &run, &r));
	CHECK_INT(total_of_kernels(&r).calls, 0);
	CHECK_INT(t.lists[GROUP_DEVICE].n, 2);
	arena_release(&run);
	timeline_release(&t);
}

/* Steps by launches of a graph are the host's: work belongs to the step that launched it, also
 * where it runs after that step has ended. */
static void a_step_of_graphs_has_what_they_launched(void)
{
	struct arena run = { 0 };
	struct timeline t;
	struct trace_run r;
	struct trace_options o = defaults;
	timeline_init(&t, "made", "kineto");
	for (int64_t i = 0; i < 4; i++) {
		put_call(&t, "cudaGraphLaunch", 1000 * i, 1000 * i + 10, (uint64_t)i + 1);
		put_kernel(&t, "void a(int)", 1000 * i + 1500, 1000 * i + 1600, (uint64_t)i + 1);
	}
	o.step = 0;
	CHECK(analyse(&t, &o, &run, &r));
	CHECK_INT(total_of_kernels(&r).calls, 1);
	CHECK_INT(r.links.linked, 1);
	o = defaults;
	o.by = "step";
	CHECK(analyse(&t, &o, &run, &r));
	CHECK_STR(r.steps.source, "graph_launch");
	for (size_t i = 0; i < r.n_operators; i++)
		if (strcmp(r.operators[i].kind, "kernel") == 0)
			CHECK_INT(r.operators[i].calls, 1);
	arena_release(&run);
	timeline_release(&t);
}

static void operators_of_several_files_are_joined_by_name(void)
{
	struct arena run = { 0 };
	struct timeline t[2];
	struct trace_run r;
	struct err err;
	make(&t[0]);
	/* The names have other numbers in the second file. */
	timeline_init(&t[1], "other", "kineto");
	put_kernel(&t[1], "void b(int)", 5000, 5007, 0);
	const struct trace trace = { .timelines = t, .n = 2 };
	CHECK(trace_analyse(&trace, &defaults, &run, &r, &err));
	CHECK_INT(r.n_devices, 2);
	CHECK_STR(str_c(r.operators[0].name, &run), "void b(int)");
	CHECK_INT(r.operators[0].calls, 2);
	CHECK_INT(r.operators[0].total_ns, 37);
	CHECK_INT(r.operators[0].max_ns, 30);
	CHECK_NEAR(r.operators[0].ratio, 37.0 / 67, 1e-12);
	arena_release(&run);
	timeline_release(&t[0]);
	timeline_release(&t[1]);
}

static void sums_of_absurd_numbers_are_held_not_wrapped(void)
{
	struct arena run = { 0 };
	struct timeline t;
	struct trace_run r;
	timeline_init(&t, "made", "kineto");
	for (int i = 0; i < 3; i++)
		put_copy(&t, COPY_HTOD, MEMORY_PAGEABLE, MEMORY_DEVICE, INT64_MAX, 100 + i * 10,
		        105 + i * 10, 0);
	for (int i = 0; i < 4; i++) {
		struct memory_detail m;
		memset(&m, 0, sizeof m);
		m.bytes = i % 2 ? INT64_MIN : INT64_MAX;
		m.total_allocated = -1;
		uint32_t at = put(&t, GROUP_MEMORY, 0, "[memory]", 100, 100, 0);
		t.lists[GROUP_MEMORY].v[at].detail = timeline_detail(&t, DETAIL_MEMORY, &m);
	}
	CHECK(analyse(&t, &defaults, &run, &r));
	CHECK_INT(r.copies[0].bytes, INT64_MAX);
	CHECK_INT(r.copies[0].pageable, 3);
	CHECK_INT(r.memory[0].allocated_bytes, INT64_MAX);
	CHECK_INT(r.memory[0].freed_bytes, INT64_MAX);
	CHECK_INT(r.memory[0].peak_allocated_bytes, -1);
	arena_release(&run);
	timeline_release(&t);
}

static void every_key_has_its_own_sums(void)
{
	enum { KEYS = 5000 };
	struct aggregate a = { 0 };
	/* Keys that differ in their upper halves only, or in their lower ones. */
	for (uint64_t i = 0; i < 3 * KEYS; i++)
		aggregate_add(&a, i % 2 ? i % KEYS << 32 : i % KEYS, (uint32_t)i,
		        1 + (int64_t)(i / KEYS), 2);
	int64_t calls = 0, total_ns = 0;
	for (size_t i = 0; i < a.n; i++) {
		calls += a.rows[i].calls;
		total_ns += a.rows[i].total_ns;
		CHECK(aggregate_find(&a, a.rows[i].key) == &a.rows[i]);
	}
	CHECK_INT(calls, 3 * KEYS);
	CHECK_INT(total_ns, KEYS * (1 + 2 + 3));
	CHECK(!aggregate_find(&a, UINT64_MAX));
	aggregate_release(&a);
}

static void the_own_name_of_a_kernel_is_found(void)
{
	static const struct {
		const char *name, *want;
	} cases[] = {
		{ "void at::native::reduce_kernel<512, 1, "
		  "f<float>::operator()(int)::{lambda(int)#1}>(int)",
		        "reduce_kernel" },
		{ "void (anonymous namespace)::softmax<float, (int)3>(float*)", "softmax" },
		{ "sm90_xmma_gemm_bf16bf16_tn_n", "sm90_xmma_gemm_bf16bf16_tn_n" },
		{ "std::pair<int, int> outer<int>::inner(float)", "inner" },
		{ "", "" },
		{ "::", "::" },
		{ "a<b", "a" },
		{ "(x)", "(x)" },
	};
	struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(str_c(kernel_base_name(str_of(cases[i].name)), &run), cases[i].want);
	arena_release(&run);
}

static void names_are_made_short_without_what_says_nothing(void)
{
	static const struct {
		const char *name, *want;
		int columns;
	} cases[] = {
		{ "void at::native::elementwise_kernel<4, at::native::f(int)::{lambda()#1}, "
		  "std::array<char*, 2ul> >(int, char)",
		        "elementwise_kernel<4, f >", 40 },
		{ "void (anonymous namespace)::k<c10::Half>(float*)", "k<Half>", 40 },
		{ "_ZN5aiter7rmsnormIfEEvv", "aiter::rmsnorm<fEEvv>", 40 },
		{ "_ZN999999999999999999999x", "_ZN999999999999999999999x", 40 },
		{ "Cijk_Alik_Bljk_BBS_BH_MT256x128x64_WG64_4_1", "Cijk_Alik_B...64_4_1", 20 },
		{ "tab\there\x01", "tab here?", 20 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		trace_short_name(&out, str_of(cases[i].name), cases[i].columns);
		CHECK_STR(out.s, cases[i].want);
	}
}

int main(void)
{
	TAP_RUN(figures_are_sums_over_the_events);
	TAP_RUN(a_step_has_what_was_launched_in_it_a_window_what_starts_in_it);
	TAP_RUN(a_step_of_graphs_has_what_they_launched);
	TAP_RUN(operators_of_several_files_are_joined_by_name);
	TAP_RUN(sums_of_absurd_numbers_are_held_not_wrapped);
	TAP_RUN(every_key_has_its_own_sums);
	TAP_RUN(the_own_name_of_a_kernel_is_found);
	TAP_RUN(names_are_made_short_without_what_says_nothing);
	return tap_done();
}
