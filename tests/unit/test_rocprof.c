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

static void names_may_stand_behind_the_records(void)
{
	struct timeline t;
	if (!CHECK(read_trace_text(
	            STR("{\"rocprofiler-sdk-tool\":[{\"buffer_records\":{\"kernel_dispatch\":[{"
	                "\"kind\":1,\"start_timestamp\":5,\"end_timestamp\":9,\"dispatch_info\":{"
	                "\"kernel_id\":1,\"agent_id\":{\"handle\":3}}}]},\"kernel_symbols\":[{"
	                "\"kernel_id\":1,\"kernel_name\":\"f.kd\"}],\"agents\":[{\"id\":{"
	                "\"handle\":3},\"type\":2,\"name\":\"gfx942\"}]}]}"),
	            &t)))
		return;
	const struct event *e = nth(&t, GROUP_DEVICE, 0);
	CHECK_STR(event_name(&t, e), "f");
	CHECK_INT(timeline_track_of(&t, e->track)->device, 0);
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

static const char trace_header[] =
        "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\","
        "\"End_Timestamp\",\"Workgroup_Size_X\",\"Grid_Size_X\"\n";

static bool read_rows(const char *header, const char *rows, struct timeline *t)
{
	char text[2048];
	snprintf(text, sizeof text, "%s%s", header, rows);
	return CHECK(read_trace_text(str_of(text), t));
}

static void the_last_line_of_csv_counts_when_it_is_whole(void)
{
	static const struct {
		const char *rows;
		size_t n;
		bool truncated;
	} cases[] = {
		{ "K,1,1,a,1,100,200,64,1024\n", 1, false },
		{ "K,1,1,a,1,100,200,64,1024", 1, false },
		{ "K,1,1,a,1,100,200,64,1024\nK,1,1,b,2,300,40", 1, true },
		{ "K,1,1,a,1,100,200,64,1024\nK,1,1,\"b, c", 1, true },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char rows[256] = "", *to = rows;
		/* K stands for the kind. */
		for (const char *p = cases[i].rows; *p; p++)
			to += sprintf(to, *p == 'K' ? "KERNEL_DISPATCH" : "%c", *p);
		struct timeline t;
		if (!read_rows(trace_header, rows, &t))
			continue;
		CHECK_INT(t.lists[GROUP_DEVICE].n, cases[i].n);
		CHECK_INT(t.truncated, cases[i].truncated);
		CHECK_INT(t.lost[LOST_BROKEN] > 0, cases[i].truncated);
		timeline_release(&t);
	}
}

static void an_agent_of_csv_is_a_number_or_a_name_with_one(void)
{
	static const struct {
		const char *agent;
		int64_t device;
	} cases[] = { { "1", 1 }, { "Agent 7", 7 }, { "\"GPU 0\"", 0 }, { "CPU 0", TRACE_NONE },
		{ "", TRACE_NONE }, { "none", TRACE_NONE } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char row[128];
		struct timeline t;
		snprintf(row, sizeof row, "KERNEL_DISPATCH,%s,3,a,1,100,200,64,1024\n",
		        cases[i].agent);
		if (!read_rows(trace_header, row, &t))
			continue;
		CHECK_INT(timeline_track_of(&t, nth(&t, GROUP_DEVICE, 0)->track)->device,
		        cases[i].device);
		timeline_release(&t);
	}
}

static void tables_that_stand_one_behind_the_other_are_all_read(void)
{
	struct timeline t;
	if (!read_rows(trace_header,
	            "KERNEL_DISPATCH,1,1,gemm [clone .kd],9,100,200,64,1024\n"
	            "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\","
	            "\"Start_Timestamp\",\"End_Timestamp\"\n"
	            "HIP_RUNTIME_API,hipLaunchKernel,7,8,9,50,60\n"
	            "MARKER_CORE_API,decode,7,8,10,50,300\n"
	            "MARKER_CORE_API,here,7,8,11,50,50\n",
	            &t))
		return;
	CHECK_STR(event_name(&t, nth(&t, GROUP_DEVICE, 0)), "gemm");
	CHECK_STR(event_name(&t, nth(&t, GROUP_CALL, 0)), "hipLaunchKernel");
	CHECK_INT(nth(&t, GROUP_CALL, 0)->link, nth(&t, GROUP_DEVICE, 0)->link);
	CHECK_STR(event_name(&t, nth(&t, GROUP_ANNOTATION, 0)), "decode");
	CHECK_STR(event_name(&t, nth(&t, GROUP_INSTANT, 0)), "here");
	timeline_release(&t);
}

static void counters_of_csv_are_gathered_by_launch(void)
{
	struct timeline t;
	if (!read_rows(
	            "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,"
	            "Kernel_Name,Workgroup_Size,Counter_Name,Counter_Value,Start_Timestamp,"
	            "End_Timestamp\n",
	            "1,1,1,1,7,7,1048576,a,64,SQ_WAVES,16384,1000,1500\n"
	            "1,1,1,1,7,7,1048576,a,64,TCC_HIT,2.5,1000,1500\n"
	            "2,2,1,1,7,7,128,a,64,SQ_WAVES,2,2000,2100\n"
	            "2,2,1,1,7,7,128,a,64,TCC_HIT,,2000,2100\n",
	            &t))
		return;
	CHECK_INT(t.n_launches, 2);
	CHECK_INT(t.launches[0].n_metrics, 2);
	CHECK_INT(t.launches[0].grid[0], 16384);
	CHECK_NEAR(t.launches[0].metrics[1].value, 2.5, 0);
	CHECK(isnan(t.launches[1].metrics[1].value));
	CHECK_INT(t.lists[GROUP_DEVICE].n, 2);
	CHECK_INT(nth(&t, GROUP_DEVICE, 1)->dur_ns, 100);
	CHECK_INT(t.n_events, 4);
	timeline_release(&t);
}

/* The columns are those of the manual of rocprof. */
static void the_table_of_the_first_rocprof_is_read(void)
{
	struct timeline t;
	if (!read_rows(
	            "\"Index\",\"KernelName\",\"gpu-id\",\"queue-id\",\"queue-index\",\"pid\","
	            "\"tid\",\"grd\",\"wgr\",\"lds\",\"scr\",\"arch_vgpr\",\"accum_vgpr\",\"sgpr\","
	            "\"wave_size\",\"sig\",\"obj\",\"SQ_WAVES\",\"DispatchNs\",\"BeginNs\","
	            "\"EndNs\","
	            "\"CompleteNs\",\"DurationNs\"\n",
	            "0,\"copy(float*, float const*) [clone "
	            ".kd]\",2,0,0,7,8,1048576,256,0,0,8,4,16,64,"
	            "0x0,0x7f,16384,1000,2000,2600,3000,600\n",
	            &t))
		return;
	const struct event *e = nth(&t, GROUP_DEVICE, 0);
	const struct kernel_detail *k = timeline_kernel(&t, e);
	CHECK_STR(t.format, "rocprof-csv");
	CHECK_STR(event_name(&t, e), "copy(float*, float const*)");
	CHECK_INT(e->start_ns, 2000);
	CHECK_INT(e->dur_ns, 600);
	CHECK_INT(k->grid[0], 1048576);
	CHECK_INT(k->grid[1], 1);
	CHECK_INT(k->block[0], 256);
	CHECK_INT(k->registers, 12);
	CHECK_INT(timeline_track_of(&t, e->track)->device, 2);
	CHECK_INT(t.n_launches, 1);
	CHECK_INT(t.launches[0].n_metrics, 1);
	CHECK_NEAR(t.launches[0].metrics[0].value, 16384, 0);
	timeline_release(&t);
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

static void the_tables_of_the_set_give_the_answers(void)
{
	static const struct {
		const char *name;
		enum event_group group;
	} tables[] = {
		{ "kernel_trace.csv", GROUP_DEVICE },
		{ "memory_copy_trace.csv", GROUP_DEVICE },
		{ "hip_runtime_trace.csv", GROUP_CALL },
		{ "counter_collection.csv", GROUP_DEVICE },
	};
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		char path[128];
		struct timeline t;
		struct err err;
		json_t *want = answers_of(tables[i].name);
		snprintf(path, sizeof path, "data/traces/rocprof/%s", tables[i].name);
		const char *found = tap_shared(path);
		if (!want || !found) {
			tap_skip("the traces of ../shared/data are not here");
			return;
		}
		if (!CHECK(trace_read_file(found, &t, &err)))
			continue;
		CHECK_INT(t.n_events, json_integer_value(json_object_get(want, "rows")));
		check_top(&t, tables[i].group, json_object_get(want, "top10"));
		for (int k = 0; k < N_LOSSES; k++)
			CHECK_INT(t.lost[k], 0);
		json_decref(want);
		timeline_release(&t);
	}
}

int main(void)
{
	TAP_RUN(a_dispatch_of_json_has_its_name_shape_and_place);
	TAP_RUN(what_cannot_be_true_in_json_is_counted);
	TAP_RUN(calls_markers_copies_and_memory_of_json_find_their_lists);
	TAP_RUN(agents_and_counters_of_json_are_kept);
	TAP_RUN(names_may_stand_behind_the_records);
	TAP_RUN(json_that_is_cut_anywhere_gives_what_stands_before);
	TAP_RUN(the_last_line_of_csv_counts_when_it_is_whole);
	TAP_RUN(an_agent_of_csv_is_a_number_or_a_name_with_one);
	TAP_RUN(tables_that_stand_one_behind_the_other_are_all_read);
	TAP_RUN(counters_of_csv_are_gathered_by_launch);
	TAP_RUN(the_table_of_the_first_rocprof_is_read);
	TAP_RUN(the_trace_of_an_mi350_gives_the_answers);
	TAP_RUN(the_tables_of_the_set_give_the_answers);
	return tap_done();
}
