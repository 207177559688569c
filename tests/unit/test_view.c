#include "trace/view/view.h"

#include "base/rng.h"
#include "tap.h"
#include "timeline_make.h"
#include "trace/kinds/call_kind.h"

static void calls_are_told_by_their_names(void)
{
	static const struct {
		const char *name;
		enum call_kind kind;
	} cases[] = {
		{ "cudaLaunchKernel", CALL_LAUNCH },
		{ "cudaLaunchKernelExC_v11060", CALL_LAUNCH },
		{ "cuLaunchKernelEx", CALL_LAUNCH },
		{ "hipExtModuleLaunchKernel", CALL_LAUNCH },
		{ "hipModuleLaunchKernel", CALL_LAUNCH },
		{ "hipModuleLoadData", CALL_LOAD },
		{ "cudaGraphLaunch", CALL_GRAPH_LAUNCH },
		{ "hipGraphLaunch", CALL_GRAPH_LAUNCH },
		{ "cudaGraphInstantiate", CALL_CAPTURE },
		{ "cudaMemcpyAsync", CALL_COPY_ASYNC },
		{ "cuMemcpyHtoDAsync_v2", CALL_COPY_ASYNC },
		{ "cuMemcpyDtoH_v2", CALL_COPY_BLOCKING },
		{ "hipMemcpyWithStream", CALL_COPY_BLOCKING },
		{ "cudaMemsetAsync", CALL_MEMSET },
		{ "cudaStreamSynchronize", CALL_SYNC },
		{ "hipEventSynchronize", CALL_SYNC },
		{ "cuCtxSynchronize", CALL_SYNC },
		{ "cudaStreamWaitEvent", CALL_OTHER },
		{ "cudaMalloc", CALL_ALLOCATE },
		{ "cudaMallocAsync", CALL_POOL },
		{ "hipHostMalloc", CALL_ALLOCATE },
		{ "cudaFree", CALL_ALLOCATE },
		{ "cudaFreeAsync", CALL_POOL },
		{ "cuMemCreate", CALL_ALLOCATE },
		{ "cudaLaunchHostFunc", CALL_OTHER },
		{ "cuda", CALL_OTHER },
		{ "aten::copy_", CALL_OTHER },
		{ "", CALL_OTHER },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_INT(call_kind_of(str_of(cases[i].name)), cases[i].kind);
}

static void a_union_joins_what_touches_and_drops_what_is_empty(void)
{
	struct arena arena = { 0 };
	struct interval v[] = { { 50, 60 }, { 10, 20 }, { 20, 25 }, { 12, 15 }, { 40, 40 },
		{ 55, 70 } };
	struct intervals u = intervals_union(v, ARRAY_LEN(v), &arena);
	CHECK_INT(u.n, 2);
	CHECK_INT(u.v[0].start_ns, 10);
	CHECK_INT(u.v[0].end_ns, 25);
	CHECK_INT(u.v[1].start_ns, 50);
	CHECK_INT(u.v[1].end_ns, 70);
	CHECK_INT(intervals_length_ns(u), 35);
	struct interval w[] = { { 0, 12 }, { 24, 51 }, { 69, 100 } };
	CHECK_INT(intervals_overlap_ns(u, intervals_union(w, ARRAY_LEN(w), &arena)), 2 + 1 + 1 + 1);
	CHECK_INT(intervals_union(v, 0, &arena).n, 0);
	arena_release(&arena);
}

/*
 * One thread: op [0, 100) launches k1 on the device at [30, 50); the host waits for it from 35 to
 * 52, then launches k2, which runs from 80; k3 was launched before k2 ended.
 */
static void a_gap_has_its_cause_and_what_the_host_was_at(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	uint32_t host = host_track(&t, "1");
	uint32_t step = put(&t, GROUP_ANNOTATION, host, "ProfilerStep#1", 0, 200, 0);
	uint32_t frame = put(&t, GROUP_PYTHON, host, "model.py: forward", 40, 190, 0);
	uint32_t op = put(&t, GROUP_OPERATOR, host, "aten::add", 55, 95, 0);
	put_call(&t, "cudaLaunchKernel", 20, 25, 1);
	put_call(&t, "cudaStreamSynchronize", 35, 52, 0);
	put_call(&t, "cudaLaunchKernel", 70, 75, 2);
	put_call(&t, "cudaLaunchKernel", 85, 90, 3);
	uint32_t k1 = put_kernel(&t, "k1", 30, 50, 1);
	uint32_t k2 = put_kernel(&t, "k2", 80, 100, 2);
	put_kernel(&t, "k3", 103, 110, 3);
	put_kernel(&t, "k4", 120, 130, 99);
	struct trace_view v;
	trace_view_init(&v, &t);
	CHECK_INT(v.n_devices, 1);
	const struct device_view *d = &v.devices[0];
	CHECK_INT(d->busy_ns, 20 + 20 + 7 + 10);
	CHECK_INT(d->n_gaps, 3);
	CHECK_INT(d->gaps[0].cause, GAP_SYNC);
	CHECK_INT(d->gaps[0].host_ns, 20);
	CHECK_INT(d->gaps[1].host_ns, 0);
	CHECK_INT(d->gaps[0].before, k1);
	CHECK_INT(d->gaps[0].after, k2);
	/* The host was free from 50 to 70: its middle, 60, lies in the operator. */
	CHECK_INT(d->gaps[0].operator, op);
	CHECK_INT(d->gaps[0].annotation, step);
	CHECK_INT(d->gaps[0].python, frame);
	CHECK(!d->gaps[0].between_steps);
	CHECK_INT(d->gaps[1].cause, GAP_QUEUED);
	CHECK_INT(d->gaps[2].cause, GAP_UNKNOWN);
	CHECK_INT(d->gaps[2].operator, NONE32);
	CHECK_INT(v.n_steps, 1);
	CHECK_INT(v.steps_from, STEPS_PROFILER);
	trace_view_release(&v);
	timeline_release(&t);
}

static void a_host_gap_is_refined_by_what_the_thread_called_in_it(void)
{
	static const struct {
		const char *call;
		int64_t start, end;
		bool copied_back;
		enum gap_cause want;
	} cases[] = {
		{ "cudaGetDevice", 60, 62, false, GAP_HOST },
		{ "cudaMalloc", 60, 70, false, GAP_ALLOCATION },
		{ "cudaMalloc", 40, 51, false, GAP_ALLOCATION },
		{ "cudaMalloc", 40, 50, false, GAP_HOST }, /* over when the gap begins */
		{ "cudaMallocAsync", 60, 70, false, GAP_HOST },
		{ "cudaStreamSynchronize", 60, 61, false, GAP_HOST }, /* had nothing to wait for */
		{ "cudaStreamSynchronize", 60, 61, true, GAP_SYNC },
		{ "cudaDeviceSynchronize", 30, 55, false, GAP_SYNC },
		{ "hipMemcpyWithStream", 30, 55, false, GAP_SYNC },
		{ "cudaDeviceSynchronize", 60, 90, false, GAP_SYNC },  /* for most of the gap */
		{ "cudaDeviceSynchronize", 60, 85, false, GAP_HOST },  /* for half of it */
		{ "cudaDeviceSynchronize", 101, 105, true, GAP_HOST }, /* after the launch */
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct timeline t;
		timeline_init(&t, "x", "test");
		put_call(&t, "cudaLaunchKernel", 1, 2, 1);
		put_call(&t, cases[i].call, cases[i].start, cases[i].end, 0);
		put_call(&t, "cudaLaunchKernel", 100, 101, 2);
		if (cases[i].copied_back)
			put_copy(&t, COPY_DTOH, MEMORY_DEVICE, MEMORY_PINNED, 8, 10, 50, 1);
		else
			put_kernel(&t, "a", 10, 50, 1);
		put_kernel(&t, "b", 110, 120, 2);
		struct trace_view v;
		trace_view_init(&v, &t);
		CHECK_INT(v.devices[0].n_gaps, 1);
		if (!CHECK_INT(v.devices[0].gaps[0].cause, cases[i].want))
			printf("# case %zu: %s\n", i, cases[i].call);
		trace_view_release(&v);
		timeline_release(&t);
	}
}

static void gaps_between_steps_are_those_whose_ends_belong_to_different_steps(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	uint32_t host = host_track(&t, "1");
	put(&t, GROUP_ANNOTATION, host, "ProfilerStep#1", 0, 100, 0);
	put(&t, GROUP_ANNOTATION, host, "ProfilerStep#2", 100, 200, 0);
	/* The second kernel runs when the second step has begun, but is of the first. */
	put_call(&t, "cudaLaunchKernel", 10, 12, 1);
	put_call(&t, "cudaLaunchKernel", 90, 92, 2);
	put_call(&t, "cudaLaunchKernel", 150, 152, 3);
	uint32_t a = put_kernel(&t, "k", 20, 30, 1);
	uint32_t b = put_kernel(&t, "k", 110, 120, 2);
	uint32_t c = put_kernel(&t, "k", 160, 170, 3);
	struct trace_view v;
	trace_view_init(&v, &t);
	CHECK_INT(v.n_steps, 2);
	CHECK_INT(trace_step_of(&v, a), 0);
	CHECK_INT(trace_step_of(&v, b), 0);
	CHECK_INT(trace_step_of(&v, c), 1);
	CHECK_INT(trace_step_at(&v, 99), 0);
	CHECK_INT(trace_step_at(&v, 100), 1);
	CHECK_INT(trace_step_at(&v, 200), NONE32);
	CHECK(!v.devices[0].gaps[0].between_steps);
	CHECK(v.devices[0].gaps[1].between_steps);
	trace_view_release(&v);
	timeline_release(&t);
}

static void annotations_of_servers_are_steps_and_the_inner_one_is_not_counted_again(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	uint32_t host = host_track(&t, "1");
	put(&t, GROUP_ANNOTATION, host, "execute_context_1(8)_generation_0(0)", 0, 50, 0);
	put(&t, GROUP_ANNOTATION, host, "execute_inner", 10, 20, 0);
	put(&t, GROUP_ANNOTATION, host, "execute_context_0(0)_generation_4(4)", 60, 90, 0);
	struct trace_view v;
	trace_view_init(&v, &t);
	CHECK_INT(v.n_steps, 2);
	CHECK_INT(v.steps_from, STEPS_ANNOTATION);
	CHECK_INT(v.steps[1].start_ns, 60);
	CHECK_INT(v.steps[1].end_ns, 90);
	trace_view_release(&v);
	timeline_release(&t);
}

static void ranges_that_repeat_and_fill_the_trace_are_steps(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	uint32_t host = host_track(&t, "1");
	put(&t, GROUP_ANNOTATION, host, "whole program", 0, 1000, 0);
	for (int i = 0; i < 5; i++) {
		char name[32];
		snprintf(name, sizeof name, "iteration %d", i + 8);
		put(&t, GROUP_ANNOTATION, host, name, 200 * i, 200 * i + 180, 0);
		put(&t, GROUP_ANNOTATION, host, "attention", 200 * i + 20, 200 * i + 60, 0);
	}
	struct trace_view v;
	trace_view_init(&v, &t);
	CHECK_INT(v.n_steps, 5);
	CHECK_INT(v.steps_from, STEPS_ANNOTATION);
	CHECK_INT(v.steps[4].start_ns, 800);
	trace_view_release(&v);
	timeline_release(&t);
}

/* A range that waits long twice and then hardly at all fills the trace, but is no step. */
static void ranges_of_very_uneven_length_are_no_steps(void)
{
	static const int64_t lengths[] = { 400, 400, 1, 1 };
	struct timeline t;
	timeline_init(&t, "x", "test");
	int64_t at = 0;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++, at += 410)
		put(&t, GROUP_ANNOTATION, host_track(&t, "1"), "wait", at, at + lengths[i], 0);
	struct trace_view v;
	trace_view_init(&v, &t);
	CHECK_INT(v.n_steps, 0);
	trace_view_release(&v);
	timeline_release(&t);
}

/* XLA's modules on two devices at the same times. */
static void modules_of_the_first_device_are_steps(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	for (int64_t device = 0; device < 2; device++) {
		struct track k = *timeline_track_of(&t, device_track(&t, device, "line"));
		k.label = timeline_name(&t, STR("XLA Modules"));
		uint32_t track = timeline_track(&t, &k);
		for (int s = 0; s < 3; s++) {
			int64_t at = 100 * s + 7 * device;
			put(&t, GROUP_DEVICE_ANNOTATION, track, "jit_f", at, at + 80, 0);
			put(&t, GROUP_DEVICE, device_track(&t, device, "ops"), "fusion", at + 10,
			        at + 70, 0);
		}
	}
	struct trace_view v;
	trace_view_init(&v, &t);
	CHECK_INT(v.n_steps, 3);
	CHECK_INT(v.steps_from, STEPS_RUN);
	CHECK(v.steps_on_device);
	struct step_reach r = trace_step_reach(&v, &v.devices[0]);
	CHECK_INT(r.n_steps, 3);
	CHECK_INT(r.start_ns, 10);
	CHECK_INT(r.end_ns, 270);
	CHECK_INT(r.n_between, 2);
	CHECK_INT(r.between_ns, 80);
	trace_view_release(&v);
	timeline_release(&t);
}

/* Each step: a graph for the beginning, three alike for the layers; then one kernel by itself. */
static void launches_of_graphs_mark_steps_at_the_one_that_begins_each(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	uint64_t link = 1;
	for (int s = 0; s < 4; s++) {
		for (int g = 0; g < 4; g++, link++) {
			int64_t at = 1000 * s + 100 * g;
			put_call(&t, "cudaGraphLaunch", at, at + 10, link);
			put_kernel(&t, g ? "layer" : "embed", at + 20, at + 40, link);
			put_kernel(&t, "gemm", at + 40, at + 60, link);
		}
	}
	struct trace_view v;
	trace_view_init(&v, &t);
	CHECK_INT(v.n_steps, 4);
	CHECK_INT(v.steps_from, STEPS_GRAPH);
	CHECK_INT(v.steps[1].start_ns, 1000);
	CHECK_INT(v.steps[1].end_ns, 2000);
	CHECK_INT(v.steps[3].end_ns, 3360);
	CHECK_INT(trace_step_of(&v, 9), 1);
	trace_view_release(&v);
	timeline_release(&t);
}

static void kernels_that_repeat_mark_steps_on_the_device(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	for (int s = 0; s < 5; s++) {
		int64_t at = 100 + 1000 * s;
		put_kernel(&t, "embed", at, at + 10, 0);
		for (int layer = 0; layer < 8; layer++) {
			put_kernel(&t, "gemm", at + 20 + 40 * layer, at + 30 + 40 * layer, 0);
			put_kernel(&t, "norm", at + 30 + 40 * layer, at + 40 + 40 * layer, 0);
		}
		put_kernel(&t, "argmax", at + 500, at + 510, 0);
	}
	struct trace_view v;
	trace_view_init(&v, &t);
	CHECK_INT(v.steps_from, STEPS_PERIOD);
	CHECK(v.steps_on_device);
	CHECK_INT(v.n_steps, 4);
	CHECK_INT(v.steps[0].start_ns, 100);
	CHECK_INT(v.steps[0].end_ns, 1100);
	CHECK_INT(v.steps[3].end_ns, 4100);
	trace_view_release(&v);
	timeline_release(&t);
}

static void kernels_without_a_period_give_no_steps(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	struct rng rng;
	rng_init(&rng, 7);
	for (int i = 0; i < 300; i++) {
		char name[8];
		snprintf(name, sizeof name, "k%d", (int)rng_below(&rng, 12));
		put_kernel(&t, name, 10 * i + 1, 10 * i + 5, 0);
	}
	struct trace_view v;
	trace_view_init(&v, &t);
	CHECK_INT(v.n_steps, 0);
	CHECK_INT(v.steps_from, STEPS_NONE);
	trace_view_release(&v);
	timeline_release(&t);
}

static void one_kernel_over_and_over_is_no_step(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	for (int i = 0; i < 50; i++)
		put_kernel(&t, i % 2 ? "a" : "b", 10 * i + 1, 10 * i + 5, 0);
	struct trace_view v;
	trace_view_init(&v, &t);
	CHECK_INT(v.n_steps, 0);
	trace_view_release(&v);
	timeline_release(&t);
}

static void blocks_are_the_grid_or_work_items_by_the_block(void)
{
	static const struct {
		bool amd, in_items;
		const char *call;
		int64_t grid[3], block[3], want;
	} cases[] = {
		{ false, false, "cudaLaunchKernel", { 10, 2, 3 }, { 256, 1, 1 }, 60 },
		{ true, false, "hipLaunchKernel", { 10, 2, 3 }, { 256, 1, 1 }, 60 },
		{ true, false, "hipExtModuleLaunchKernel", { 2560, 2, 1 }, { 256, 1, 1 }, 20 },
		{ false, true, "", { 300, 2, 1 }, { 256, 1, 1 }, 4 },
		{ true, false, "hipExtModuleLaunchKernel", { 2560, 2, 1 }, { -1, -1, -1 }, -1 },
		{ false, false, "cudaLaunchKernel", { -1, -1, -1 }, { 256, 1, 1 }, -1 },
		{ false, false, "x", { INT64_C(1) << 40, INT64_C(1) << 30, 1 }, { 1, 1, 1 }, -1 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct timeline t;
		timeline_init(&t, "x", "test");
		t.is_amd = cases[i].amd;
		put_call(&t, cases[i].call, 1, 2, 5);
		put_kernel(&t, "k", 3, 4, 5);
		struct kernel_detail k = kernel_detail_none();
		memcpy(k.grid, cases[i].grid, sizeof k.grid);
		memcpy(k.block, cases[i].block, sizeof k.block);
		k.grid_in_items = cases[i].in_items;
		t.lists[GROUP_DEVICE].v[0].detail = timeline_detail(&t, DETAIL_KERNEL, &k);
		struct trace_view v;
		trace_view_init(&v, &t);
		if (!CHECK_INT(trace_kernel_blocks(&v, 0), cases[i].want))
			printf("# case %zu\n", i);
		trace_view_release(&v);
		timeline_release(&t);
	}
}

static void work_before_its_launch_tells_how_far_the_clocks_are_apart(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	put_call(&t, "cudaLaunchKernel", 10000, 10010, 1);
	put_call(&t, "cudaLaunchKernel", 20000, 20010, 2);
	put_call(&t, "cudaLaunchKernel", 90000000, 90000010, 3);
	put_kernel(&t, "k", 9000, 9500, 1);
	put_kernel(&t, "k", 16000, 16500, 2);
	put_kernel(&t, "k", 30000, 36500, 3); /* a number used again, not a clock */
	struct trace_view v;
	trace_view_init(&v, &t);
	CHECK_INT(v.clock_skew_ns, -4000);
	trace_view_release(&v);
	timeline_release(&t);
}

/* Stream 7 of device 0 is drawn by two processes; device 2 has only a track without work. */
static void streams_are_counted_by_device_and_name(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	struct track other = *timeline_track_of(&t, device_track(&t, 0, "7"));
	other.pid = timeline_name(&t, STR("1"));
	put(&t, GROUP_DEVICE, device_track(&t, 0, "7"), "k", 10, 20, 0);
	put(&t, GROUP_DEVICE, timeline_track(&t, &other), "k", 20, 30, 0);
	put(&t, GROUP_DEVICE, device_track(&t, 5, "7"), "k", 10, 20, 0);
	put(&t, GROUP_DEVICE, device_track(&t, 0, "8"), "k", 10, 20, 0);
	device_track(&t, 2, "7");
	struct trace_view v;
	trace_view_init(&v, &t);
	CHECK_INT(v.n_devices, 2);
	CHECK_INT(v.devices[0].id, 0);
	CHECK_INT(v.devices[0].n_streams, 2);
	CHECK_INT(v.devices[1].id, 5);
	CHECK_INT(v.devices[1].n_streams, 1);
	trace_view_release(&v);
	timeline_release(&t);
}

static void an_empty_timeline_has_an_empty_view(void)
{
	struct timeline t;
	struct trace_view v;
	timeline_init(&t, "x", "test");
	trace_view_init(&v, &t);
	CHECK_INT(v.n_devices, 0);
	CHECK_INT(v.n_steps, 0);
	trace_view_release(&v);
	timeline_release(&t);
}

/* ---- the same from the definitions, in square time, on random timelines ---- */

static int64_t end_of(const struct event *e)
{
	return e->start_ns + e->dur_ns;
}

/* Whether a stands before b by start, longest first, order in the file. */
static bool stands_before(const struct event *v, uint32_t a, uint32_t b)
{
	if (v[a].start_ns != v[b].start_ns)
		return v[a].start_ns < v[b].start_ns;
	return v[a].dur_ns != v[b].dur_ns ? v[a].dur_ns > v[b].dur_ns : a < b;
}

/* The last in that order that starts by from, ends after it and not before to. */
static uint32_t innermost(const struct event_list *l, int64_t track, int64_t from, int64_t to)
{
	uint32_t best = NONE32;
	for (uint32_t i = 0; i < l->n; i++) {
		const struct event *e = &l->v[i];
		if ((track >= 0 && e->track != track) || e->start_ns > from || end_of(e) <= from ||
		        end_of(e) < to)
			continue;
		if (best == NONE32 || stands_before(l->v, best, i))
			best = i;
	}
	return best;
}

static uint32_t true_parent(const struct event_list *l, uint32_t i)
{
	uint32_t best = NONE32;
	for (uint32_t k = 0; k < l->n; k++) {
		if (l->v[k].track != l->v[i].track || k == i || !stands_before(l->v, k, i) ||
		        end_of(&l->v[k]) <= l->v[i].start_ns)
			continue;
		if (best == NONE32 || stands_before(l->v, best, k))
			best = k;
	}
	return best;
}

static uint32_t true_launch(const struct timeline *t, uint32_t work)
{
	const struct event_list *calls = &t->lists[GROUP_CALL];
	uint64_t link = t->lists[GROUP_DEVICE].v[work].link;
	uint32_t best = NONE32;
	for (uint32_t i = 0; link && i < calls->n; i++) {
		if (calls->v[i].link == link &&
		        (best == NONE32 || calls->v[i].start_ns < calls->v[best].start_ns))
			best = i;
	}
	return best;
}

enum { RANDOM_TIME = 600 };

static void random_event(struct timeline *t, struct rng *rng, enum event_group group,
        uint32_t track, int64_t longest)
{
	int64_t start = 1 + (int64_t)rng_below(rng, RANDOM_TIME);
	int64_t dur = (int64_t)rng_below(rng, (uint64_t)longest);
	static const char *const names[] = { "cudaLaunchKernel", "cudaMalloc", "x" };
	put(t, group, track, names[rng_below(rng, 3)], start, start + dur, rng_below(rng, 40));
}

static void random_timeline(struct timeline *t, struct rng *rng)
{
	timeline_init(t, "x", "test");
	uint32_t host[2] = { host_track(t, "1"), host_track(t, "2") };
	uint32_t device[3] = { device_track(t, 0, "7"), device_track(t, 0, "8"),
		device_track(t, 3, "7") };
	size_t n = rng_below(rng, 60);
	for (size_t i = 0; i < n; i++) {
		random_event(t, rng, GROUP_DEVICE, device[rng_below(rng, 3)], 12);
		random_event(t, rng, GROUP_OPERATOR, host[rng_below(rng, 2)], 60);
		random_event(t, rng, GROUP_CALL, host[rng_below(rng, 2)], 8);
		random_event(t, rng, GROUP_PYTHON, host[rng_below(rng, 2)], 90);
		random_event(t, rng, GROUP_ANNOTATION, host[rng_below(rng, 2)], 90);
	}
}

static void check_tree(const struct trace_view *v)
{
	const struct event_list *ops = &v->t->lists[GROUP_OPERATOR];
	for (uint32_t i = 0; i < ops->n; i++) {
		CHECK_INT(v->parent[i], true_parent(ops, i));
		int64_t self = ops->v[i].dur_ns;
		for (uint32_t k = 0; k < ops->n; k++) {
			int64_t end = end_of(&ops->v[k]);
			if (true_parent(ops, k) == i)
				self -= (end < end_of(&ops->v[i]) ? end : end_of(&ops->v[i])) -
				        ops->v[k].start_ns;
		}
		CHECK_INT(v->self_ns[i], self);
		CHECK(self >= 0);
	}
	const struct event_list *calls = &v->t->lists[GROUP_CALL];
	for (uint32_t i = 0; i < calls->n; i++) {
		const struct event *e = &calls->v[i];
		CHECK_INT(v->call_operator[i], innermost(ops, e->track, e->start_ns, e->start_ns));
	}
}

static bool on_device(const struct timeline *t, uint32_t i, int64_t id)
{
	return timeline_track_of(t, t->lists[GROUP_DEVICE].v[i].track)->device == id;
}

static void check_busy(const struct trace_view *v, const struct device_view *d)
{
	static bool busy[RANDOM_TIME + 64];
	const struct event_list *work = &v->t->lists[GROUP_DEVICE];
	int64_t sum = 0;
	memset(busy, 0, sizeof busy);
	for (uint32_t i = 0; i < work->n; i++)
		for (int64_t k = 0; on_device(v->t, i, d->id) && k < work->v[i].dur_ns; k++)
			busy[work->v[i].start_ns + k] = true;
	for (size_t i = 0; i < sizeof busy; i++)
		sum += busy[i];
	CHECK_INT(d->busy_ns, sum);
	CHECK_INT(intervals_length_ns(d->busy), sum);
}

static void check_gap(const struct trace_view *v, const struct gap *g)
{
	const struct event *work = v->t->lists[GROUP_DEVICE].v;
	uint32_t call = v->launch[g->after];
	int64_t to = g->end_ns;
	if (call == NONE32) {
		CHECK_INT(g->cause, GAP_UNKNOWN);
		CHECK_INT(g->operator, NONE32);
		CHECK_INT(g->annotation,
		        innermost(&v->t->lists[GROUP_ANNOTATION], -1, g->start_ns, to));
		return;
	}
	const struct event *launch = &v->t->lists[GROUP_CALL].v[call];
	CHECK((g->cause == GAP_QUEUED) == (launch->start_ns < g->start_ns));
	if (g->cause != GAP_QUEUED && launch->start_ns < to)
		to = launch->start_ns;
	CHECK_INT(g->host_ns, g->cause == GAP_QUEUED ? 0 : to - g->start_ns);
	int64_t middle = g->start_ns + (to - g->start_ns) / 2;
	CHECK_INT(end_of(&work[g->before]), g->start_ns);
	CHECK_INT(g->operator,
	        innermost(&v->t->lists[GROUP_OPERATOR], launch->track, middle, middle));
	CHECK_INT(g->python, innermost(&v->t->lists[GROUP_PYTHON], launch->track, g->start_ns, to));
	CHECK_INT(g->annotation, innermost(&v->t->lists[GROUP_ANNOTATION], -1, g->start_ns, to));
}

/* Work i ends a gap when all that starts before it has ended before it, and none of those that
 * start with it comes first. */
static int64_t true_gap_start(const struct timeline *t, uint32_t i, int64_t id)
{
	const struct event_list *work = &t->lists[GROUP_DEVICE];
	int64_t last = INT64_MIN;
	for (uint32_t k = 0; k < work->n; k++) {
		const struct event *a = &work->v[k], *b = &work->v[i];
		if (!on_device(t, k, id) || k == i)
			continue;
		if (a->start_ns < b->start_ns && end_of(a) > last)
			last = end_of(a);
		if (a->start_ns == b->start_ns &&
		        (a->dur_ns < b->dur_ns || (a->dur_ns == b->dur_ns && k < i)))
			return INT64_MIN;
	}
	return last < work->v[i].start_ns ? last : INT64_MIN;
}

static void check_device(const struct trace_view *v, const struct device_view *d)
{
	size_t n = 0;
	check_busy(v, d);
	for (uint32_t i = 0; i < v->t->lists[GROUP_DEVICE].n; i++) {
		CHECK_INT(v->launch[i], true_launch(v->t, i));
		if (!on_device(v->t, i, d->id))
			continue;
		int64_t start = true_gap_start(v->t, i, d->id);
		if (start == INT64_MIN)
			continue;
		n++;
		size_t found = 0;
		for (size_t k = 0; k < d->n_gaps; k++)
			found += d->gaps[k].after == i && d->gaps[k].start_ns == start;
		CHECK_INT(found, 1);
	}
	CHECK_INT(d->n_gaps, n);
	for (size_t k = 0; k < d->n_gaps; k++)
		check_gap(v, &d->gaps[k]);
}

static void random_timelines_agree_with_the_definitions(void)
{
	struct rng rng;
	rng_init(&rng, 20240501);
	for (int round = 0; round < 300; round++) {
		struct timeline t;
		struct trace_view v;
		random_timeline(&t, &rng);
		trace_view_init(&v, &t);
		check_tree(&v);
		for (size_t i = 0; i < v.n_devices; i++)
			check_device(&v, &v.devices[i]);
		trace_view_release(&v);
		timeline_release(&t);
	}
}

int main(void)
{
	TAP_RUN(calls_are_told_by_their_names);
	TAP_RUN(a_union_joins_what_touches_and_drops_what_is_empty);
	TAP_RUN(a_gap_has_its_cause_and_what_the_host_was_at);
	TAP_RUN(a_host_gap_is_refined_by_what_the_thread_called_in_it);
	TAP_RUN(gaps_between_steps_are_those_whose_ends_belong_to_different_steps);
	TAP_RUN(annotations_of_servers_are_steps_and_the_inner_one_is_not_counted_again);
	TAP_RUN(ranges_that_repeat_and_fill_the_trace_are_steps);
	TAP_RUN(ranges_of_very_uneven_length_are_no_steps);
	TAP_RUN(modules_of_the_first_device_are_steps);
	TAP_RUN(launches_of_graphs_mark_steps_at_the_one_that_begins_each);
	TAP_RUN(kernels_that_repeat_mark_steps_on_the_device);
	TAP_RUN(kernels_without_a_period_give_no_steps);
	TAP_RUN(one_kernel_over_and_over_is_no_step);
	TAP_RUN(blocks_are_the_grid_or_work_items_by_the_block);
	TAP_RUN(work_before_its_launch_tells_how_far_the_clocks_are_apart);
	TAP_RUN(streams_are_counted_by_device_and_name);
	TAP_RUN(an_empty_timeline_has_an_empty_view);
	TAP_RUN(random_timelines_agree_with_the_definitions);
	return tap_done();
}
