/* The dialects of Chrome traces: torch without Kineto, ONNX Runtime, XProf, llama.cpp, any other.
 */
#include "trace/reader.h"

#include "trace_text.h"

#include <jansson.h>

static const struct event *nth(const struct timeline *t, enum event_group group, size_t i)
{
	static const struct event none;
	return CHECK(i < t->lists[group].n) ? &t->lists[group].v[i] : &none;
}

static const char *text_of(const struct timeline *t, uint32_t name)
{
	return timeline_name_of(t, name).s;
}

static bool read_text(const char *text, const char *format, struct timeline *t)
{
	return CHECK(read_trace_text(str_of(text), t)) && CHECK_STR(t->format, format);
}

/* ---- ONNX Runtime ---- */

static const char ort_text[] =
        "[\n"
        "{\"cat\" : \"Session\",\"pid\" :5,\"tid\" :6,\"dur\" :10,\"ts\" :3,\"ph\" : \"X\","
        "\"name\" :\"session_initialization\",\"args\" : {}},\n"
        "{\"cat\" : \"Node\",\"pid\" :5,\"tid\" :6,\"dur\" :0,\"ts\" :20,\"ph\" : \"X\","
        "\"name\" :\"C:\\new\\fc_fence_before\",\"args\" : {\"op_name\" : \"MatMul\"}},\n"
        "{\"cat\" : \"Node\",\"pid\" :5,\"tid\" :6,\"dur\" :40,\"ts\" :21,\"ph\" : \"X\","
        "\"name\" :\"C:\\new\\fc_kernel_time\",\"args\" : {\"thread_scheduling_stats\" : \"\","
        "\"input_type_shape\" : [{\"float\":[2,8,64]},{\"float\":[64,256]}],"
        "\"output_size\" : \"16384\",\"parameter_size\" : \"65536\",\"op_name\" : \"MatMul\","
        "\"provider\" : \"CUDAExecutionProvider\"}},\n"
        "{\"cat\" : \"Api\",\"pid\" :5,\"tid\" :6,\"dur\" :2,\"ts\" :22,\"ph\" : \"X\","
        "\"name\" :\"cudaLaunchKernel\",\"args\" : {}},\n"
        "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :-1,\"dur\" :30,\"ts\" :25,\"ph\" : \"X\","
        "\"name\" :\"gemm<float>\",\"args\" : {\"stream\" : \"7\",\"grid_x\" : \"4\","
        "\"grid_y\" : \"2\",\"grid_z\" : \"1\",\"block_x\" : \"128\",\"block_y\" : \"1\","
        "\"block_z\" : \"1\"}},\n"
        "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :-1,\"dur\" :3,\"ts\" :60,\"ph\" : \"X\","
        "\"name\" :\"MemcpyDeviceToHost\",\"args\" : {\"stream\" : \"7\",\"grid_x\" : \"-1\",}},\n"
        "{\"cat\" : \"Session\",\"pid\" :5,\"tid\" :6,\"dur\" :50,\"ts\" :18,\"ph\" : \"X\","
        "\"name\" :\"model_run\",\"args\" : {}}\n]\n";

static void a_node_of_onnx_runtime_is_an_operator_with_its_shapes_and_provider(void)
{
	struct timeline t;
	if (!read_text(ort_text, "ort", &t))
		return;
	const struct event *e = nth(&t, GROUP_OPERATOR, 0);
	const struct operator_detail *d = timeline_operator(&t, e);
	CHECK_INT(t.lists[GROUP_OPERATOR].n, 1);
	/* Names are not escaped: \n is a backslash and a letter. */
	CHECK_STR(event_name(&t, e), "C:\\new\\fc");
	CHECK_INT(e->start_ns, 21000);
	CHECK_INT(e->dur_ns, 40000);
	CHECK_STR(text_of(&t, d->op_type), "MatMul");
	CHECK_STR(text_of(&t, d->provider), "CUDAExecutionProvider");
	CHECK_STR(text_of(&t, d->dims), "[{\"float\":[2,8,64]},{\"float\":[64,256]}]");
	CHECK_INT(d->output_bytes, 16384);
	CHECK_INT(t.has_shapes, 1);
	timeline_release(&t);
}

static void sessions_waits_calls_and_kernels_of_onnx_runtime_find_their_lists(void)
{
	struct timeline t;
	if (!read_text(ort_text, "ort", &t))
		return;
	CHECK_STR(event_name(&t, nth(&t, GROUP_ANNOTATION, 1)), "model_run");
	CHECK_STR(event_name(&t, nth(&t, GROUP_OTHER, 0)), "C:\\new\\fc_fence_before");
	CHECK_STR(event_name(&t, nth(&t, GROUP_CALL, 0)), "cudaLaunchKernel");
	const struct event *kernel = nth(&t, GROUP_DEVICE, 0), *copy = nth(&t, GROUP_DEVICE, 1);
	CHECK_INT(timeline_kernel(&t, kernel)->grid[0], 4);
	CHECK_INT(timeline_kernel(&t, kernel)->block[0], 128);
	CHECK_STR(text_of(&t, timeline_track_of(&t, kernel->track)->stream), "7");
	CHECK_INT(copy->kind, DEVICE_MEMCPY);
	CHECK_INT(timeline_copy(&t, copy)->kind, COPY_DTOH);
	CHECK(!t.capped);
	timeline_release(&t);
}

static void a_million_events_of_onnx_runtime_are_a_profile_that_stopped(void)
{
	static const struct {
		int n;
		bool capped;
	} cases[] = { { 999999, false }, { 1000000, true } };
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		AUTO(auto_buf) struct buf text = { 0 };
		struct timeline t;
		buf_add_c(&text, "[{\"cat\":\"Node\",\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"a_"
		                 "kernel_time\"}");
		for (int i = 1; i < cases[k].n; i++)
			buf_add_c(&text, ",{\"cat\":\"Api\",\"ph\":\"X\",\"ts\":1,\"dur\":1}");
		buf_add_c(&text, "\n]");
		if (!read_text(text.s, "ort", &t))
			continue;
		CHECK_INT(t.lists[GROUP_CALL].n, cases[k].n - 1);
		CHECK_INT(t.capped, cases[k].capped);
		timeline_release(&t);
	}
}

/* ---- torch without Kineto ---- */

static void operators_of_old_torch_have_a_host_time_and_one_of_the_device(void)
{
	struct timeline t;
	if (!read_text("[{\"name\": \"aten::mm\", \"ph\": \"X\", \"ts\": 10.5, \"dur\": 3, "
	               "\"tid\": 1, "
	               "\"pid\": \"CPU functions\", \"args\": {}}, "
	               "{\"name\": \"aten::mm\", \"ph\": \"s\", \"ts\": 10.5, \"tid\": 1, \"pid\": "
	               "\"CPU functions\", \"id\": 1, \"cat\": \"cpu_to_cuda\", \"args\": {}}, "
	               "{\"name\": \"aten::mm\", \"ph\": \"X\", \"ts\": 12, \"dur\": 0.25, "
	               "\"tid\": 2, "
	               "\"pid\": \"CUDA functions\", \"args\": {}}]",
	            "torch-legacy", &t))
		return;
	CHECK_INT(nth(&t, GROUP_OPERATOR, 0)->start_ns, 10500);
	const struct event *e = nth(&t, GROUP_DEVICE, 0);
	CHECK_INT(e->dur_ns, 250);
	CHECK_INT(timeline_track_of(&t, e->track)->device, 2);
	CHECK_INT(t.n_events, 3);
	CHECK_INT(t.phases['s'], 1);
	timeline_release(&t);
}

/* ---- XProf ---- */

static const char xprof_text[] =
        "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true},\"traceEvents\":["
        "{\"ph\":\"X\",\"pid\":1,\"tid\":3,\"ts\":5,\"dur\":2,\"name\":\"early\"},"
        "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"/device:GPU:3\"}},"
        "{\"ph\":\"M\",\"pid\":1,\"tid\":3,\"name\":\"thread_name\",\"args\":{\"name\":"
        "\"Stream #16(Kernel,MemcpyD2H)\"}},"
        "{\"ph\":\"M\",\"pid\":1,\"tid\":4,\"name\":\"thread_name\",\"args\":{\"name\":\"XLA "
        "Ops\"}},"
        "{\"ph\":\"M\",\"pid\":2,\"name\":\"process_name\",\"args\":{\"name\":\"/host:CPU\"}},"
        "{\"ph\":\"M\",\"pid\":5,\"name\":\"process_name\",\"args\":{\"name\":\"/device:TPU:0\"}},"
        "{\"ph\":\"M\",\"pid\":5,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"XLA "
        "Ops\"}},"
        "{\"ph\":\"M\",\"pid\":5,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":\"Steps\"}},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":3,\"ts\":10.0012,\"dur\":1.5,\"name\":\"gemm\",\"args\":{"
        "\"hlo_op\":\"dot.1\",\"kernel_details\":\" grid:1280,1,2 block:256,1,1 private_mem:0 "
        "regs:40 static_shared:1024 dynamic_shared:512 occ_pct:0\",\"correlation_id\":\"77\"}},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":3,\"ts\":13,\"dur\":1,\"name\":\"MemcpyD2H\",\"args\":{"
        "\"memcpy_details\":\"kind_src:device kind_dst:pinned size:4096 dest:0 async:1\"}},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":4,\"ts\":10,\"dur\":3,\"name\":\"dot.1\"},"
        "{\"ph\":\"X\",\"pid\":2,\"tid\":9,\"ts\":8,\"dur\":1,\"name\":\"cuLaunchKernel\",\"args\":"
        "{"
        "\"correlation_id\":\"77\"}},"
        "{\"ph\":\"X\",\"pid\":2,\"tid\":9,\"ts\":7,\"dur\":4,\"name\":\"PjitFunction(f)\"},"
        "{\"ph\":\"X\",\"pid\":2,\"tid\":9,\"ts\":6,\"dur\":60,\"name\":\"$a.py:1 f\"},"
        "{\"ph\":\"X\",\"pid\":2,\"tid\":9,\"ts\":6,\"dur\":40,\"name\":\"$a.py:2 g\"},"
        "{\"ph\":\"X\",\"pid\":5,\"tid\":1,\"ts\":20,\"dur\":4,\"name\":\"fusion.3\",\"args\":{"
        "\"hlo_category\":\"loop fusion\",\"bytes_accessed\":\"65536\",\"model_flops\":\"NaN\"}},"
        "{\"ph\":\"X\",\"pid\":5,\"tid\":2,\"ts\":20,\"dur\":9,\"name\":\"1\"},"
        "{}]}";

static void streams_of_xprof_are_known_by_the_names_of_their_threads(void)
{
	struct timeline t;
	if (!read_text(xprof_text, "xprof-json", &t))
		return;
	CHECK_INT(t.lists[GROUP_DEVICE].n, 4);
	/* It stands before the names. */
	CHECK_STR(event_name(&t, nth(&t, GROUP_DEVICE, 0)), "early");
	const struct event *e = nth(&t, GROUP_DEVICE, 1), *call = nth(&t, GROUP_CALL, 0);
	const struct kernel_detail *k = timeline_kernel(&t, e);
	const struct track *at = timeline_track_of(&t, e->track);
	CHECK_INT(e->start_ns, 10001); /* 10.0012 us */
	CHECK_INT(e->link, 77);
	CHECK_INT(call->link, 77);
	CHECK_INT(k->grid[0], 1280);
	CHECK_INT(k->grid[2], 2);
	CHECK_INT(k->block[0], 256);
	CHECK_INT(k->registers, 40);
	CHECK_INT(k->shared_bytes, 1536);
	CHECK_STR(text_of(&t, k->op), "dot.1");
	CHECK_INT(at->device, 3);
	CHECK_STR(text_of(&t, at->stream), "16");
	e = nth(&t, GROUP_DEVICE, 2);
	CHECK_INT(e->kind, DEVICE_MEMCPY);
	CHECK_INT(timeline_copy(&t, e)->kind, COPY_DTOH);
	CHECK_INT(timeline_copy(&t, e)->bytes, 4096);
	CHECK_INT(timeline_copy(&t, e)->to, MEMORY_PINNED);
	timeline_release(&t);
}

static void lines_of_xprof_that_repeat_the_work_are_none(void)
{
	struct timeline t;
	if (!read_text(xprof_text, "xprof-json", &t))
		return;
	/* "XLA Ops" is the work of a TPU, but not of a GPU. */
	CHECK_INT(t.lists[GROUP_DEVICE_ANNOTATION].n, 2);
	const struct event *e = nth(&t, GROUP_DEVICE, 3);
	CHECK_STR(event_name(&t, e), "fusion.3");
	CHECK_STR(text_of(&t, timeline_kernel(&t, e)->category), "loop fusion");
	CHECK_INT(timeline_kernel(&t, e)->bytes, 65536);
	CHECK_INT(t.lost[LOST_BAD_NUMBER], 1);
	CHECK_STR(event_name(&t, nth(&t, GROUP_OPERATOR, 0)), "PjitFunction(f)");
	CHECK_INT(t.n_python, 2);
	CHECK_STR(event_name(&t, nth(&t, GROUP_PYTHON, 0)), "$a.py:1 f");
	CHECK_INT(t.lists[GROUP_PYTHON].n, 1); /* the other one is shorter than 50 us */
	timeline_release(&t);
}

/* ---- llama.cpp ---- */

static void kernels_of_llama_cpp_are_on_the_device_and_their_queueing_is_no_call(void)
{
	struct timeline t;
	if (!read_text(
	            "[\n"
	            "{\"name\": \"mul_mat\", \"cat\": \"OpenCL\", \"ph\": \"B\", \"ts\": 10, "
	            "\"pid\": "
	            "\"\", \"tid\": \"Host\"},\n"
	            "{\"name\": \"mul_mat\", \"cat\": \"OpenCL\", \"ph\": \"E\", \"ts\": 30, "
	            "\"pid\": "
	            "\"\", \"tid\": \"Host\"},\n"
	            "{\"name\": \"mul_mat\", \"cat\": \"OpenCL\", \"ph\": \"B\", \"ts\": 40, "
	            "\"pid\": "
	            "\"\", \"tid\": \"Device\"},\n"
	            "{\"name\": \"mul_mat\", \"cat\": \"OpenCL\", \"ph\": \"E\", \"ts\": 45, "
	            "\"pid\": "
	            "\"\", \"tid\": \"Device\"},\n"
	            "{\"name\": \"add\", \"cat\": \"OpenCL\", \"ph\": \"B\", \"ts\": 12, \"pid\": "
	            "\"\", \"tid\": \"Host\"},\n"
	            "{\"name\": \"add\", \"cat\": \"OpenCL\", \"ph\": \"E\", \"ts\": 35, \"pid\": "
	            "\"\", \"tid\": \"Host\"},\n"
	            "{\"name\": \"add\", \"cat\": \"OpenCL\", \"ph\": \"E\", \"ts\": 47, \"pid\": "
	            "\"\", \"tid\": \"Device\"},\n",
	            "llama-opencl", &t))
		return;
	CHECK_INT(t.lists[GROUP_DEVICE].n, 1);
	CHECK_INT(nth(&t, GROUP_DEVICE, 0)->dur_ns, 5000);
	CHECK_INT(t.lists[GROUP_OTHER].n, 2);
	CHECK_INT(nth(&t, GROUP_OTHER, 1)->dur_ns, 23000); /* they overlap and do not nest */
	CHECK_INT(t.lost[LOST_UNMATCHED], 1);
	CHECK(t.truncated); /* old releases never close the array */
	timeline_release(&t);
}

/* ---- any other ---- */

#define MARK(ph, name, tid, ts)                                                                    \
	"{\"ph\":\"" ph "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts "},"

static void begins_and_ends_are_joined_by_thread_and_time(void)
{
	static const struct {
		const char *events;
		const char *spans; /* name start-end, in us, in the order of their ends by thread */
		int64_t unmatched;
	} cases[] = {
		{ MARK("B", "a", 1, 1) MARK("B", "b", 1, 2) MARK("E", "b", 1, 3)
		                MARK("E", "a", 1, 4),
		        "b 2-3 a 1-4 ", 0 },
		{ MARK("B", "a", 1, 1) MARK("B", "b", 2, 2) MARK("E", "", 1, 3) MARK("E", "", 2, 4),
		        "a 1-3 b 2-4 ", 0 },
		/* In any order. */
		{ MARK("E", "b", 1, 3) MARK("E", "a", 1, 4) MARK("B", "b", 1, 2)
		                MARK("B", "a", 1, 1),
		        "b 2-3 a 1-4 ", 0 },
		/* An end closes what is open, whatever it is called. */
		{ MARK("B", "a long name", 1, 1) MARK("E", "a", 1, 2), "a long name 1-2 ", 0 },
		/* A begin, an end, and the begin of an inner span are lost. */
		{ MARK("B", "a", 1, 1), "", 1 },
		{ MARK("E", "a", 1, 1), "", 1 },
		{ MARK("B", "a", 1, 1) MARK("B", "b", 1, 2) MARK("E", "a", 1, 4), "a 1-4 ", 1 },
		{ MARK("B", "a", 1, 1) MARK("E", "a", 1, 4) MARK("E", "b", 1, 5), "a 1-4 ", 1 },
		/* No time. */
		{ MARK("B", "a", 1, null) MARK("E", "a", 1, 4), "", 1 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[1024];
		AUTO(auto_buf) struct buf got = { 0 };
		struct timeline t;
		snprintf(text, sizeof text, "{\"traceEvents\":[%s]}", cases[i].events);
		if (!read_text(text, "chrome", &t))
			continue;
		buf_add_c(&got, "");
		for (size_t k = 0; k < t.lists[GROUP_OTHER].n; k++) {
			const struct event *e = nth(&t, GROUP_OTHER, k);
			buf_printf(&got, "%s %lld-%lld ", event_name(&t, e),
			        (long long)e->start_ns / 1000,
			        (long long)(e->start_ns + e->dur_ns) / 1000);
		}
		CHECK_STR(got.len ? got.s : "", cases[i].spans);
		CHECK_INT(t.lost[LOST_UNMATCHED], cases[i].unmatched);
		timeline_release(&t);
	}
}

#define ASYNC(ph, cat, id, ts)                                                                     \
	"{\"ph\":\"" ph "\",\"name\":\"x\",\"cat\":\"" cat "\",\"id\":" id                         \
	",\"pid\":1,\"tid\":1,\"ts\":" #ts "},"

static void asynchronous_spans_are_joined_by_category_and_id(void)
{
	struct timeline t;
	if (!read_text("{\"traceEvents\":[" ASYNC("b", "p", "1", 1) ASYNC("b", "p", "\"2\"", 2)
	                       ASYNC("e", "p", "1", 5) ASYNC("e", "p", "\"2\"", 9) ASYNC("b", "q",
	                               "1", 3) ASYNC("n", "q", "1", 4) ASYNC("e", "r", "1", 4) "]}",
	            "chrome", &t))
		return;
	CHECK_INT(t.lists[GROUP_OTHER].n, 2);
	CHECK_INT(nth(&t, GROUP_OTHER, 0)->dur_ns, 4000);
	CHECK_INT(nth(&t, GROUP_OTHER, 1)->dur_ns, 7000);
	CHECK_INT(t.lists[GROUP_INSTANT].n, 1);
	CHECK_INT(t.lost[LOST_UNMATCHED], 2);
	timeline_release(&t);
}

static void counters_are_named_by_event_and_argument(void)
{
	struct timeline t;
	if (!read_text(
	            "[{\"ph\":\"C\",\"name\":\"queue\",\"pid\":1,\"ts\":2,\"args\":{\"value\":10}},"
	            "{\"ph\":\"C\",\"name\":\"mem\",\"pid\":1,\"ts\":\"3.5\",\"args\":{\"used\":1."
	            "5,"
	            "\"free\":\"2\",\"bad\":\"?\"}},"
	            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":"
	            "\"worker\"}},{\"ph\":\"i\",\"name\":\"tick\",\"pid\":1,\"tid\":2,\"ts\":4}]",
	            "chrome", &t))
		return;
	CHECK_INT(t.n_counters, 3);
	CHECK_STR(text_of(&t, t.counters[0].name), "queue");
	CHECK_STR(text_of(&t, t.counters[1].name), "mem used");
	CHECK_NEAR(t.counters[2].value, 2, 0);
	CHECK_INT(t.counters[2].time_ns, 3500);
	CHECK_INT(t.lost[LOST_BAD_NUMBER], 1);
	CHECK_STR(text_of(&t, timeline_track_of(&t, nth(&t, GROUP_INSTANT, 0)->track)->label),
	        "worker");
	timeline_release(&t);
}

/* ---- the traces of the set, against the answers of another program ---- */

static bool read_shared(const char *file, struct timeline *t, json_t **ret_want)
{
	char path[256];
	const char *base = strrchr(file, '/') + 1, *found;
	struct err err;
	snprintf(path, sizeof path, "data/traces/answers/%s.answers.json", base);
	found = tap_shared(path);
	*ret_want = found ? json_load_file(found, 0, NULL) : NULL;
	snprintf(path, sizeof path, "data/traces/%s", file);
	found = *ret_want ? tap_shared(path) : NULL;
	if (!found) {
		tap_skip("the traces of ../shared/data are not here");
		return false;
	}
	return CHECK(trace_read_file(found, t, &err));
}

static json_int_t whole(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* Every file: the number of events, of each ph and of each category, and the length. */
static void check_common(const struct timeline *t, json_t *want)
{
	const char *key;
	json_t *value;
	CHECK_INT(t->n_events, whole(want, "events_total"));
	CHECK_INT(t->n_bytes, whole(want, "uncompressed_bytes"));
	json_object_foreach(json_object_get(want, "events_by_ph"), key, value)
	        CHECK_INT(t->phases[(unsigned char)key[0]], json_integer_value(value));
	json_object_foreach(json_object_get(want, "x_events_by_cat"), key, value)
	{
		int64_t n = -1;
		for (size_t i = 0; i < t->categories.n; i++) {
			const char *name = text_of(t, t->categories.v[i].name);
			if (strcmp(name, key) == 0 || (!*name && strcmp(key, "None") == 0))
				n = t->categories.v[i].n;
		}
		CHECK_INT(n, json_integer_value(value));
	}
	json_t *span = json_object_get(want, "span_us");
	if (span)
		CHECK_NEAR((double)(t->span_end_ns - t->span_start_ns) / 1000,
		        json_number_value(span), 0.0004);
	for (int i = 0; i < N_LOSSES; i++)
		CHECK_INT(t->lost[i], 0);
	CHECK(!t->truncated);
}

/* Rows with a name, a count and a total: over the operators, by their own name or by their op. */
static void check_operators(const struct timeline *t, json_t *rows, bool by_op)
{
	size_t i;
	json_t *row;
	CHECK(json_array_size(rows) > 0);
	json_array_foreach(rows, i, row)
	{
		struct str name = str_of(json_string_value(json_object_get(row, "name")));
		int64_t n = 0, ns = 0;
		for (size_t k = 0; k < t->lists[GROUP_OPERATOR].n; k++) {
			const struct event *e = &t->lists[GROUP_OPERATOR].v[k];
			uint32_t its = by_op ? timeline_operator(t, e)->op_type : e->name;
			if (!str_eq(timeline_name_of(t, its), name))
				continue;
			n++;
			ns += e->dur_ns;
		}
		CHECK_INT(n, whole(row, "count"));
		CHECK_NEAR((double)ns / 1000, json_number_value(json_object_get(row, "total_us")),
		        0.0004);
	}
}

static void the_profile_of_onnx_runtime_gives_the_answers(void)
{
	struct timeline t;
	json_t *want;
	if (!read_shared("ort/ort130_cpu_encoder_opt_all.json.gz", &t, &want))
		return;
	check_common(&t, want);
	CHECK_INT(t.lists[GROUP_OPERATOR].n, whole(json_object_get(want, "nodes"), "events"));
	check_operators(&t, json_object_get(want, "top10_by_op_name"), true);
	check_operators(&t, json_object_get(want, "top10_by_node"), false);
	int64_t runs = 0, ns = 0;
	for (size_t i = 0; i < t.lists[GROUP_ANNOTATION].n; i++) {
		const struct event *e = nth(&t, GROUP_ANNOTATION, i);
		bool run = strcmp(event_name(&t, e), "model_run") == 0;
		runs += run;
		ns += run ? e->dur_ns : 0;
	}
	json_t *model = json_object_get(want, "model_runs");
	CHECK_INT(runs, whole(model, "count"));
	CHECK_NEAR(
	        (double)ns / 1000, json_number_value(json_object_get(model, "total_us")), 0.0004);
	json_decref(want);
	timeline_release(&t);
}

static void the_trace_of_torch_without_kineto_gives_the_answers(void)
{
	struct timeline t;
	json_t *want;
	if (!read_shared("torch/torch113_nokineto_cpu_encoder.json.gz", &t, &want))
		return;
	json_t *ops = json_object_get(want, "cpu_ops");
	check_common(&t, want);
	CHECK_INT(t.lists[GROUP_OPERATOR].n, whole(ops, "count"));
	check_operators(&t, json_object_get(ops, "top10_self"), false);
	json_decref(want);
	timeline_release(&t);
}

static void the_sample_of_the_trace_viewer_gives_the_answers(void)
{
	struct timeline t;
	json_t *want;
	if (!read_shared("chrome/tf_trace_viewer_sample.json", &t, &want))
		return;
	check_common(&t, want);
	CHECK_INT(t.lists[GROUP_OPERATOR].n, 0);
	CHECK_INT(t.lists[GROUP_OTHER].n, 4 + 8); /* X, and pairs of B and E */
	CHECK_INT(t.n_counters, 5);
	CHECK_INT(t.lists[GROUP_INSTANT].n, 6);
	json_decref(want);
	timeline_release(&t);
}

int main(void)
{
	TAP_RUN(a_node_of_onnx_runtime_is_an_operator_with_its_shapes_and_provider);
	TAP_RUN(sessions_waits_calls_and_kernels_of_onnx_runtime_find_their_lists);
	TAP_RUN(a_million_events_of_onnx_runtime_are_a_profile_that_stopped);
	TAP_RUN(operators_of_old_torch_have_a_host_time_and_one_of_the_device);
	TAP_RUN(streams_of_xprof_are_known_by_the_names_of_their_threads);
	TAP_RUN(lines_of_xprof_that_repeat_the_work_are_none);
	TAP_RUN(kernels_of_llama_cpp_are_on_the_device_and_their_queueing_is_no_call);
	TAP_RUN(begins_and_ends_are_joined_by_thread_and_time);
	TAP_RUN(asynchronous_spans_are_joined_by_category_and_id);
	TAP_RUN(counters_are_named_by_event_and_argument);
	TAP_RUN(the_profile_of_onnx_runtime_gives_the_answers);
	TAP_RUN(the_trace_of_torch_without_kineto_gives_the_answers);
	TAP_RUN(the_sample_of_the_trace_viewer_gives_the_answers);
	return tap_done();
}
