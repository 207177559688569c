/* The JSON and CSV of rocprof and rocprofv3. */
#include "trace/reader.h"

#include "trace_text.h"

#include <jansson.h>

/* Reads one of the project's own traces. */
static bool read_own(const char *name, struct timeline *t)
{
	struct err err;
	return CHECK(trace_read_file(tap_data(name), t, &err));
}

static const struct event *nth(const struct timeline *t, enum event_group group, size_t i)
{
	static const struct event none;
	return CHECK(i < t->lists[group].n) ? &t->lists[group].v[i] : &none;
}

static void a_dispatch_of_json_has_its_name_shape_and_place(void)
{
	struct timeline t;
	if (!read_own("traces/rocprofv3_results.json", &t))
		return;
	const struct event *e = nth(&t, GROUP_DEVICE, 0);
	const struct kernel_detail *k = timeline_kernel(&t, e);
	const struct track *at = timeline_track_of(&t, e->track);
	CHECK_STR(t.format, "rocprofv3-json");
	CHECK_STR(event_name(&t, e), "gemm<\"a\">(float*)");
	CHECK_INT(e->start_ns, 2000);
	CHECK_INT(e->dur_ns, 500);
	CHECK_INT(e->link, 20);
	CHECK_INT(k->grid[0], 1024);
	CHECK_INT(k->block[1], 2);
	CHECK_INT(k->shared_bytes, 4096);
	CHECK_INT(k->registers, 96 + 32);
	CHECK_INT(k->grid_in_items, 1);
	CHECK_INT(at->device, 0);
	CHECK_STR(timeline_name_of(&t, at->pid).s, "4711");
	CHECK_STR(timeline_name_of(&t, at->tid).s, "3");
	CHECK_STR(timeline_name_of(&t, at->stream).s, "2");
	/* A kernel without a symbol, on the other GPU. */
	e = nth(&t, GROUP_DEVICE, 1);
	CHECK_STR(event_name(&t, e), "kernel 99");
	CHECK_INT(timeline_track_of(&t, e->track)->device, 1);
	CHECK(t.is_amd);
	timeline_release(&t);
}

static void what_cannot_be_true_in_json_is_counted(void)
{
	struct timeline t;
	if (!read_own("traces/rocprofv3_results.json", &t))
		return;
	/* Of four dispatches one ends before it starts, one has no time. */
	CHECK_INT(t.lost[LOST_NEGATIVE], 1);
	CHECK_INT(t.lost[LOST_ZERO_TIME], 1);
	CHECK_INT(t.lost[LOST_UNMATCHED], 1); /* the second free */
	CHECK_INT(t.lost[LOST_BROKEN], 0);
	CHECK(!t.truncated);
	CHECK_INT(t.n_events, 1 + 4 + 1 + 2 + 2 + 3 + 2);
	timeline_release(&t);
}

static void calls_markers_copies_and_memory_of_json_find_their_lists(void)
{
	struct timeline t;
	if (!read_own("traces/rocprofv3_results.json", &t))
		return;
	const struct event *call = nth(&t, GROUP_CALL, 0);
	CHECK_STR(event_name(&t, call), "hipLaunchKernel");
	CHECK_INT(call->link, 20);
	CHECK_STR(event_name(&t, nth(&t, GROUP_INSTANT, 0)), "start");
	CHECK_STR(event_name(&t, nth(&t, GROUP_ANNOTATION, 0)), "decode \"1\"");
	const struct event *copy = nth(&t, GROUP_DEVICE, 2);
	CHECK_INT(copy->kind, DEVICE_MEMCPY);
	CHECK_INT(timeline_copy(&t, copy)->kind, COPY_DTOH);
	CHECK_INT(timeline_copy(&t, copy)->bytes, 65536);
	CHECK_INT(timeline_track_of(&t, copy->track)->device, 0);
	copy = nth(&t, GROUP_DEVICE, 3);
	CHECK_INT(timeline_copy(&t, copy)->kind, COPY_HTOD);
	CHECK_INT(timeline_track_of(&t, copy->track)->device, 1);
	CHECK_INT(t.lists[GROUP_MEMORY].n, 2);
	CHECK_INT(timeline_memory(&t, nth(&t, GROUP_MEMORY, 0))->bytes, 1024);
	CHECK_INT(timeline_memory(&t, nth(&t, GROUP_MEMORY, 1))->bytes, -1024);
	CHECK_INT(timeline_memory(&t, nth(&t, GROUP_MEMORY, 1))->device_type, 6);
	timeline_release(&t);
}

static void agents_and_counters_of_json_are_kept(void)
{
	struct timeline t;
	if (!read_own("traces/rocprofv3_results.json", &t))
		return;
	CHECK_INT(t.n_devices, 2);
	CHECK_STR(timeline_name_of(&t, t.devices[0].name).s, "AMD Instinct MI250X");
	CHECK_INT(t.devices[0].n_sm, 104);
	CHECK_INT(t.devices[0].max_threads_per_sm, 32 * 64);
	CHECK_INT(t.devices[0].memory_bytes, INT64_C(64) << 30);
	CHECK_STR(timeline_name_of(&t, t.devices[1].name).s, "gfx90a");
	CHECK_INT(t.devices[1].memory_bytes, -1);
	CHECK_INT(t.n_launches, 1);
	/* 1000 work-items by 64 are 16 blocks, the last one partly empty. */
	CHECK_INT(t.launches[0].grid[0], 16);
	CHECK_INT(t.launches[0].grid[1], 4);
	CHECK_INT(t.launches[0].n_metrics, 2);
	CHECK_NEAR(t.launches[0].metrics[0].value, 128, 0);
	CHECK(isnan(t.launches[0].metrics[1].value));
	timeline_release(&t);
}

/* Wherever the text ends, the records before the end are read and nothing else. */
static void json_that_is_cut_anywhere_gives_what_stands_before(void)
{
	struct arena arena = { 0 };
	struct str text;
	struct err err;
	if (!CHECK(str_read_file(
	            tap_data("traces/rocprofv3_results.json"), 1 << 20, &arena, &text, &err)))
		return;
	size_t n_before = 0;
	for (size_t n = 40; n + 8 < text.len; n += 7) {
		struct timeline t;
		if (!read_trace_text((struct str){ text.s, n }, &t))
			continue;
		size_t n_events = 0;
		for (int g = 0; g < N_GROUPS; g++)
			n_events += t.lists[g].n;
		CHECK(t.truncated);
		CHECK(n_events >= n_before);
		CHECK_INT(t.lost[LOST_NO_TIME] + t.lost[LOST_TOO_LONG], 0);
		n_before = n_events;
		timeline_release(&t);
	}
	CHECK_INT(n_before, 4 + 1 + 2 + 2);
	arena_release(&arena);
}

/* ---- the traces of the set, against the answers of another program ---- */

static json_t *answers_of(const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "data/traces/answers/%s.answers.json", name);
	const char *found = tap_shared(path);
	return found ? json_load_file(found, 0, NULL) : NULL;
}

static double us_of(int64_t ns)
{
	return (double)ns / 1000;
}

static const char *const row_names[] = { "kernel_dispatch", "hip_api", "memory_copy" };

static void check_rows(const struct timeline *t, json_t *want)
{
	for (size_t i = 0; i < ARRAY_LEN(row_names); i++) {
		int64_t n = -1;
		for (size_t k = 0; k < t->rows.n; k++)
			if (str_eq(timeline_name_of(t, t->rows.v[k].name), str_of(row_names[i])))
				n = t->rows.v[k].n;
		CHECK_INT(n, json_integer_value(json_object_get(want, row_names[i])));
	}
}

/* Names with their number and time in a list of events. */
static void check_top(const struct timeline *t, enum event_group group, json_t *top)
{
	size_t i;
	json_t *row;
	json_array_foreach(top, i, row)
	{
		struct str name = str_of(json_string_value(json_object_get(row, "name")));
		int64_t n = 0, ns = 0;
		for (size_t k = 0; k < t->lists[group].n; k++) {
			const struct event *e = &t->lists[group].v[k];
			if (!str_eq(timeline_name_of(t, e->name), name))
				continue;
			n++;
			ns += e->dur_ns;
		}
		CHECK_INT(n, json_integer_value(json_object_get(row, "count")));
		CHECK_NEAR(us_of(ns), json_number_value(json_object_get(row, "total_us")), 0.0004);
	}
}

static void the_trace_of_an_mi350_gives_the_answers(void)
{
	static const char name[] = "mi350_rocprofv3_results.json.gz";
	struct timeline t;
	struct err err;
	json_t *want = answers_of(name);
	const char *path =
	        want ? tap_shared("data/traces/rocprof/mi350_rocprofv3_results.json.gz") : NULL;
	if (!path) {
		tap_skip("the traces of ../shared/data are not here");
		return;
	}
	if (!CHECK(trace_read_file(path, &t, &err)))
		return;
	json_t *kernels = json_object_get(want, "kernels");
	int64_t ns = 0;
	for (size_t i = 0; i < t.lists[GROUP_DEVICE].n; i++)
		ns += t.lists[GROUP_DEVICE].v[i].dur_ns;
	CHECK_INT(t.lists[GROUP_DEVICE].n, json_integer_value(json_object_get(kernels, "count")));
	CHECK_NEAR(us_of(ns), json_number_value(json_object_get(kernels, "total_us")), 0.0004);
	CHECK_NEAR(us_of(t.span_end_ns - t.span_start_ns), 15122023.494, 0.0004);
	CHECK_INT(t.n_bytes, json_integer_value(json_object_get(want, "uncompressed_bytes")));
	check_rows(&t, json_object_get(want, "buffer_records"));
	check_top(&t, GROUP_DEVICE, json_object_get(kernels, "top10"));
	CHECK_INT(t.n_devices, 8);
	CHECK_INT(t.devices[7].n_sm, 256);
	json_decref(want);
	timeline_release(&t);
}

int main(void)
{
	TAP_RUN(a_dispatch_of_json_has_its_name_shape_and_place);
	TAP_RUN(what_cannot_be_true_in_json_is_counted);
	TAP_RUN(calls_markers_copies_and_memory_of_json_find_their_lists);
	TAP_RUN(agents_and_counters_of_json_are_kept);
	TAP_RUN(json_that_is_cut_anywhere_gives_what_stands_before);
	TAP_RUN(the_trace_of_an_mi350_gives_the_answers);
	return tap_done();
}
