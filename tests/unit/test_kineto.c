#include "trace/readers/kineto.h"

#include "base/rng.h"
#include "timeline_same.h"
#include "trace/scan/parallel.h"

#include "tap.h"
#include "trace_text.h"

static struct timeline read_file(const char *path)
{
	struct timeline t;
	struct err err = { 0 };
	if (!CHECK(trace_read_file(path, &t, &err)))
		printf("#   %s\n", err.text);
	CHECK_STR(t.format, "kineto");
	return t;
}

static const struct event *event_at(const struct timeline *t, enum event_group g, size_t i)
{
	static const struct event none = { 0 };
	return CHECK(i < t->lists[g].n) ? &t->lists[g].v[i] : &none;
}

static const char *text_of(const struct timeline *t, uint32_t name)
{
	return timeline_name_of(t, name).s;
}

static void every_group_is_filled(void)
{
	static const struct {
		enum event_group group;
		size_t n;
	} want[] = { { GROUP_DEVICE, 3 }, { GROUP_OPERATOR, 2 }, { GROUP_CALL, 1 },
		{ GROUP_SYNC, 1 }, { GROUP_ANNOTATION, 1 }, { GROUP_DEVICE_ANNOTATION, 1 },
		{ GROUP_PYTHON, 1 }, { GROUP_MEMORY, 1 }, { GROUP_OVERHEAD, 1 }, { GROUP_OTHER, 1 },
		{ GROUP_INSTANT, 0 } };
	struct timeline t = read_file(tap_data("traces/kineto_small.json"));
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		printf("# %s\n", event_group_names[want[i].group]);
		CHECK_INT(t.lists[want[i].group].n, want[i].n);
	}
	CHECK_INT(t.n_events, 23);
	CHECK_INT(t.n_python, 2);
	CHECK_INT(t.phases['X'], 18);
	CHECK_INT(t.phases['s'], 1);
	CHECK_INT(t.n_counters, 1);
	/* Of the span: from ProfilerStep#2 at 980 to what is unknown, at 1131; not the "Trace". */
	CHECK_INT(t.span_start_ns, 980000);
	CHECK_INT(t.span_end_ns, 1131000);
	CHECK(!t.truncated && !t.is_amd);
	timeline_release(&t);
}

static void what_is_damaged_is_counted_under_its_reason(void)
{
	struct timeline t = read_file(tap_data("traces/kineto_small.json"));
	CHECK_INT(t.lost[LOST_ZERO_TIME], 1);
	CHECK_INT(t.lost[LOST_NEGATIVE], 1);
	CHECK_INT(t.lost[LOST_NO_TIME], 1);
	CHECK_INT(t.lost[LOST_NOT_FINITE], 1);
	CHECK_INT(t.lost[LOST_BROKEN], 0);
	const struct event *e = event_at(&t, GROUP_OPERATOR, 1);
	CHECK_STR(event_name(&t, e), "quoted \"numbers\"");
	CHECK_INT(e->start_ns, 1110500);
	CHECK_INT(e->dur_ns, 500);
	timeline_release(&t);
}

static void a_kernel_has_its_details_and_its_launch(void)
{
	struct timeline t = read_file(tap_data("traces/kineto_small.json"));
	const struct event *e = event_at(&t, GROUP_DEVICE, 0);
	CHECK_STR(event_name(&t, e), "void gemm<float, 4>(float const*)");
	CHECK_INT(e->start_ns, 1020002);
	CHECK_INT(e->dur_ns, 30003);
	CHECK_INT(e->kind, DEVICE_KERNEL);
	CHECK_INT(e->link, 42);
	CHECK_INT(event_at(&t, GROUP_CALL, 0)->link, 42);
	const struct track *k = timeline_track_of(&t, e->track);
	CHECK_INT(k->device, 0);
	CHECK_STR(text_of(&t, k->stream), "7");
	const struct kernel_detail *d = timeline_kernel(&t, e);
	CHECK_INT(d->grid[0] * 100 + d->grid[1] * 10 + d->grid[2], 432);
	CHECK_INT(d->block[0], 256);
	CHECK_INT(d->registers, 168);
	CHECK_INT(d->shared_bytes, 73728);
	CHECK_INT(d->occupancy_percent, 37);
	CHECK_STR(text_of(&t, d->graph), "9");
	CHECK_INT(timeline_track_of(&t, event_at(&t, GROUP_CALL, 0)->track)->device, TRACE_NONE);
	timeline_release(&t);
}

static void copies_operators_memory_and_syncs_have_their_details(void)
{
	struct timeline t = read_file(tap_data("traces/kineto_small.json"));
	const struct copy_detail *copy = timeline_copy(&t, event_at(&t, GROUP_DEVICE, 1));
	CHECK_INT(copy->kind, COPY_HTOD);
	CHECK_STR(text_of(&t, copy->kind_name), "HtoD");
	CHECK_INT(copy->bytes, 4096);
	CHECK_INT(copy->from, MEMORY_PAGEABLE);
	CHECK_INT(copy->to, MEMORY_DEVICE);
	CHECK_INT(event_at(&t, GROUP_DEVICE, 2)->kind, DEVICE_MEMSET);
	CHECK_INT(timeline_copy(&t, event_at(&t, GROUP_DEVICE, 2))->bytes, 512);
	const struct operator_detail *op = timeline_operator(&t, event_at(&t, GROUP_OPERATOR, 0));
	CHECK_STR(text_of(&t, op->dims), "[[4, 8], []]");
	CHECK_STR(text_of(&t, op->types), "[\"float\", \"Scalar\"]");
	CHECK_STR(text_of(&t, op->strides), "[[8, 1], []]");
	CHECK_STR(text_of(&t, op->values), "[\"\", \"1\"]");
	CHECK_INT(op->sequence, 7);
	const struct memory_detail *m = timeline_memory(&t, event_at(&t, GROUP_MEMORY, 0));
	CHECK_INT(m->bytes, -1024);
	CHECK_INT(m->address, 139926520725504);
	CHECK_INT(m->total_allocated, 2048);
	CHECK_INT(m->total_reserved, 4096);
	CHECK_INT(m->device_type, 1);
	const struct sync_detail *s = timeline_sync(&t, event_at(&t, GROUP_SYNC, 0));
	CHECK_INT(s->kind, SYNC_STREAM_WAIT);
	CHECK_STR(text_of(&t, s->waits_on_stream), "20");
	CHECK_INT(s->event, 6);
	timeline_release(&t);
}

static void what_stands_beside_the_events_is_read(void)
{
	struct timeline t = read_file(tap_data("traces/kineto_small.json"));
	CHECK_INT(t.base_unix_ns, 1751410836000000000);
	CHECK_INT(t.rank, 3);
	CHECK_INT(t.world_size, 8);
	CHECK_INT(t.has_shapes, 1);
	CHECK_INT(t.has_memory, 1);
	CHECK_STR(text_of(&t, t.software), "CUPTI 26");
	CHECK_INT(t.n_devices, 1);
	CHECK_STR(text_of(&t, t.devices[0].name), "Test GPU");
	CHECK_INT(t.devices[0].n_sm, 132);
	CHECK_INT(t.devices[0].memory_bytes, 85899345920);
	CHECK_INT(t.devices[0].shared_bytes_per_sm, 233472);
	timeline_release(&t);
}

static void amd_devices_are_told(void)
{
	struct timeline t = read_file(tap_data("traces/kineto_amd.json"));
	CHECK(t.is_amd);
	CHECK_STR(text_of(&t, t.software), "roctracer 4.1");
	CHECK_INT(t.devices[0].n_sm, 304);
	CHECK_INT(t.lists[GROUP_DEVICE].n, 3);
	const struct event *copy = event_at(&t, GROUP_DEVICE, 0);
	CHECK_INT(timeline_track_of(&t, copy->track)->device, 2);
	CHECK_INT(timeline_copy(&t, copy)->kind, COPY_HTOD);
	CHECK_INT(timeline_copy(&t, copy)->bytes, -1);
	CHECK_INT(timeline_copy(&t, copy)->from, MEMORY_UNKNOWN);
	CHECK_INT(timeline_kernel(&t, event_at(&t, GROUP_DEVICE, 2))->grid[0], -1);
	timeline_release(&t);
}

static void the_categories_and_strings_of_2021_are_known(void)
{
	struct timeline t = read_file(tap_data("traces/kineto_2021.json"));
	CHECK_INT(t.lists[GROUP_OPERATOR].n, 1);
	CHECK_INT(t.lists[GROUP_CALL].n, 1);
	CHECK_INT(t.lists[GROUP_DEVICE].n, 2);
	CHECK_INT(t.lists[GROUP_MEMORY].n, 1);
	const struct event *kernel = event_at(&t, GROUP_DEVICE, 0);
	CHECK_INT(kernel->start_ns, 1610366662254365000);
	CHECK_INT(kernel->dur_ns, 0);
	CHECK_STR(text_of(&t, timeline_track_of(&t, kernel->track)->stream), "7");
	/* Without arguments, pid and tid tell. */
	const struct event *memset_event = event_at(&t, GROUP_DEVICE, 1);
	CHECK_STR(text_of(&t, timeline_track_of(&t, memset_event->track)->stream), "stream 7");
	CHECK_INT(timeline_track_of(&t, memset_event->track)->device, 0);
	CHECK_STR(text_of(&t, timeline_operator(&t, event_at(&t, GROUP_OPERATOR, 0))->dims),
	        "[[2, 3], []]");
	CHECK_INT(t.has_shapes, 1);
	CHECK_INT(t.has_stack, 1);
	CHECK_INT(t.has_memory, 1);
	CHECK_INT(t.rank, -1);
	timeline_release(&t);
}

static struct timeline read_way(const char *path, const struct scan_way *way)
{
	struct timeline t;
	struct source source;
	struct err err;
	timeline_init(&t, path, "kineto");
	CHECK(source_open(&source, path, &err) &&
	        scan_read(&source, &kineto_dialect, way, &t, &err));
	source_close(&source);
	return t;
}

/* Damage of every kind at every kind of place must not make the answer depend on the way. */
static void every_way_of_reading_gives_the_same_answer(void)
{
	static const char *const files[] = {
		"a100_alexnet_cuda_sync.json.gz",
		"h100_bert_small_infer.json.gz",
		"mi300_sglang_qwen3_8b_decode.json.gz",
		"b200_vllm_eager_infer.json.gz",
		"v100_resnet50_2021_memory.json.gz",
	};
	const struct scan_way serial = { scan_ops_all()[0], 1, 1 << 22 };
	const struct scan_way ways[] = {
		{ scan_ops_best(), 1, 10000 },
		{ scan_ops_best(), 2, SCAN_EVENT_MAX / 8 },
		{ scan_ops_best(), 4, 20000 },
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char name[256];
		snprintf(name, sizeof name, "data/traces/kineto/%s", files[i]);
		const char *path = tap_shared(name);
		if (!path) {
			tap_skip("no real traces beside the checkout");
			return;
		}
		struct timeline want = read_way(path, &serial);
		CHECK(want.n_events > 0);
		for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
			struct timeline got = read_way(path, &ways[w]);
			const char *difference = timeline_difference(&want, &got);
			if (!CHECK(!difference))
				printf("#   %s of %s differ\n", difference, files[i]);
			timeline_release(&got);
		}
		timeline_release(&want);
	}
}

int main(void)
{
	TAP_RUN(every_group_is_filled);
	TAP_RUN(what_is_damaged_is_counted_under_its_reason);
	TAP_RUN(a_kernel_has_its_details_and_its_launch);
	TAP_RUN(copies_operators_memory_and_syncs_have_their_details);
	TAP_RUN(what_stands_beside_the_events_is_read);
	TAP_RUN(amd_devices_are_told);
	TAP_RUN(the_categories_and_strings_of_2021_are_known);
	TAP_RUN(every_way_of_reading_gives_the_same_answer);
	return tap_done();
}
