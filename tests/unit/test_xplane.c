#include "tap.h"
#include "trace_data.h"

#include "trace/readers/readers.h"

#include <jansson.h>

/* A message under construction: fields are appended, messages inside are built first. */
struct message {
	char bytes[4096];
	size_t n;
};

static void put_varint(struct message *m, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		m->bytes[m->n++] = (char)(value | 0x80);
	m->bytes[m->n++] = (char)value;
}

static void put_number(struct message *m, int field, int64_t value)
{
	put_varint(m, (uint64_t)field << 3);
	put_varint(m, (uint64_t)value);
}

static void put_bytes(struct message *m, int field, const char *bytes, size_t n)
{
	put_varint(m, (uint64_t)field << 3 | 2);
	put_varint(m, n);
	memcpy(m->bytes + m->n, bytes, n);
	m->n += n;
}

static void put_text(struct message *m, int field, const char *text)
{
	put_bytes(m, field, text, strlen(text));
}

static void put_message(struct message *m, int field, const struct message *part)
{
	put_bytes(m, field, part->bytes, part->n);
}

static void put_event(struct message *line, int64_t id, int64_t offset_ps, int64_t dur_ps,
        const struct message *stat)
{
	struct message e = { .n = 0 };
	put_number(&e, 1, id);
	put_number(&e, 2, offset_ps);
	put_number(&e, 3, dur_ps);
	if (stat)
		put_message(&e, 4, stat);
	put_message(line, 4, &e);
}

/* An entry of the maps of names; stat is one of an event's metadata. */
static void put_name(
        struct message *plane, int field, int64_t id, const char *name, const struct message *stat)
{
	struct message meta = { .n = 0 }, entry = { .n = 0 };
	put_number(&meta, 1, id);
	put_text(&meta, 2, name);
	if (stat)
		put_message(&meta, 5, stat);
	put_number(&entry, 1, id);
	put_message(&entry, 2, &meta);
	put_message(plane, field, &entry);
}

static struct message stat_text(int64_t id, const char *text)
{
	struct message s = { .n = 0 };
	put_number(&s, 1, id);
	put_text(&s, 5, text);
	return s;
}

static struct message stat_number(int64_t id, int64_t number)
{
	struct message s = { .n = 0 };
	put_number(&s, 1, id);
	put_number(&s, 4, number);
	return s;
}

static void begin_line(struct message *line, int64_t id, const char *name, int64_t timestamp_ns)
{
	line->n = 0;
	put_number(line, 1, id);
	put_text(line, 2, name);
	put_number(line, 3, timestamp_ns);
}

static bool read_plane(const struct message *plane, struct timeline *t)
{
	struct message space = { .n = 0 };
	struct err err = { .text = "" };
	put_message(&space, 1, plane);
	bool ok = trace_read_bytes(space.bytes, space.n, t, &err);
	if (!ok)
		printf("# %s\n", err.text);
	return CHECK(ok);
}

static const struct event *event_of(const struct timeline *t, enum event_group group, size_t i)
{
	static const struct event none;
	CHECK(i < t->lists[group].n);
	return i < t->lists[group].n ? &t->lists[group].v[i] : &none;
}

static bool is_named(const struct timeline *t, const struct event *e, const char *name)
{
	return str_eq(timeline_name_of(t, e->name), str_of(name));
}

static void streams_of_a_gpu_are_its_work_and_its_other_lines_are_not(void)
{
	struct message plane = { .n = 0 }, line;
	struct timeline t;
	put_number(&plane, 1, 7);
	put_text(&plane, 2, "/device:GPU:3");
	begin_line(&line, 16, "Stream #16(MemcpyH2D,Kernel)", 1000);
	struct message grid = stat_text(
	        1, "regs:32 static_shared:8 dynamic_shared:16 grid:4,2,1 block:128,1,1 occ_pct:50");
	put_event(&line, 1, 2000, 5000, &grid);
	struct message copy = stat_text(2, "kind_src:pageable kind_dst:device size:64 async:1");
	put_event(&line, 2, 9000, 1000, &copy);
	put_message(&plane, 3, &line);
	begin_line(&line, 1, "XLA Ops", 1000);
	put_event(&line, 1, 2000, 8000, NULL);
	put_message(&plane, 3, &line);
	begin_line(&line, 2, "XLA Modules", 1000);
	put_event(&line, 3, 1000, 10000, NULL);
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "gemm", NULL);
	put_name(&plane, 4, 2, "MemcpyH2D", NULL);
	put_name(&plane, 4, 3, "jit_f", NULL);
	put_name(&plane, 5, 1, "kernel_details", NULL);
	put_name(&plane, 5, 2, "memcpy_details", NULL);
	if (!read_plane(&plane, &t))
		return;
	CHECK_INT(t.lists[GROUP_DEVICE].n, 2);
	CHECK_INT(t.lists[GROUP_OTHER].n, 1);
	CHECK_INT(t.lists[GROUP_DEVICE_ANNOTATION].n, 1);
	const struct event *kernel = event_of(&t, GROUP_DEVICE, 0);
	CHECK(is_named(&t, kernel, "gemm"));
	CHECK_INT(kernel->start_ns, 1002);
	CHECK_INT(kernel->dur_ns, 5);
	const struct kernel_detail *k = timeline_kernel(&t, kernel);
	CHECK(k && k->grid[0] == 4 && k->grid[1] == 2 && k->block[0] == 128);
	CHECK(k && k->registers == 32 && k->shared_bytes == 24 && k->occupancy_percent == 50);
	const struct copy_detail *c = timeline_copy(&t, event_of(&t, GROUP_DEVICE, 1));
	CHECK(c && c->kind == COPY_HTOD && c->bytes == 64 && c->from == MEMORY_PAGEABLE);
	CHECK_INT(timeline_track_of(&t, kernel->track)->device, 3);
	CHECK(str_eq(
	        timeline_name_of(&t, timeline_track_of(&t, kernel->track)->stream), STR("16")));
	timeline_release(&t);
}

static void operations_of_a_tpu_count_without_the_loops_around_them(void)
{
	struct message plane = { .n = 0 }, line;
	struct timeline t;
	put_text(&plane, 2, "/device:TPU:0");
	begin_line(&line, 3, "XLA Ops", 0);
	put_event(&line, 1, 100000, 50000, NULL); /* while */
	put_event(&line, 2, 110000, 10000, NULL);
	put_event(&line, 3, 120000, 30000, NULL);
	put_message(&plane, 3, &line);
	begin_line(&line, 4, "Async XLA Ops", 0);
	put_event(&line, 3, 100000, 50000, NULL);
	put_message(&plane, 3, &line);
	struct message fusion = stat_text(1, "convolution fusion");
	struct message wait = stat_text(1, "copy-done");
	put_name(&plane, 4, 1, "%while = ...", NULL);
	put_name(&plane, 4, 2, "%fusion = ...", &fusion);
	put_name(&plane, 4, 3, "%copy-done = f32[8]{0:T(8)S(5)} copy-done((f32[8]{0} ...", &wait);
	put_name(&plane, 5, 1, "hlo_category", NULL);
	if (!read_plane(&plane, &t))
		return;
	CHECK_INT(t.lists[GROUP_DEVICE].n, 2);
	CHECK_INT(t.lists[GROUP_DEVICE_ANNOTATION].n, 1);
	CHECK_INT(t.lists[GROUP_OTHER].n, 1);
	const struct event *fused = event_of(&t, GROUP_DEVICE, 0);
	const struct kernel_detail *k = timeline_kernel(&t, fused);
	CHECK(k && str_eq(timeline_name_of(&t, k->category), STR("convolution fusion")));
	const struct event *copy = event_of(&t, GROUP_DEVICE, 1);
	CHECK_INT(copy->kind, DEVICE_MEMCPY);
	const struct copy_detail *c = timeline_copy(&t, copy);
	CHECK(c && c->kind == COPY_DTOH && c->bytes == -1);
	timeline_release(&t);
}

static void a_call_of_the_host_is_linked_to_its_kernel(void)
{
	struct message device = { .n = 0 }, host = { .n = 0 }, space = { .n = 0 }, line;
	struct message link = stat_number(9, 77);
	struct timeline t;
	struct err err;
	put_text(&device, 2, "/device:GPU:0");
	begin_line(&line, 16, "Stream #16(Kernel)", 0);
	put_event(&line, 1, 200000, 5000, &link);
	put_message(&device, 3, &line);
	put_name(&device, 4, 1, "k", NULL);
	put_name(&device, 5, 9, "correlation_id", NULL);
	put_text(&host, 2, "/host:CPU");
	begin_line(&line, 55, "python", 0);
	put_event(&line, 1, 100000, 50000, &link);
	put_event(&line, 2, 90000, 70000, NULL);
	put_event(&line, 3, 0, 60000000, NULL);
	put_event(&line, 3, 0, 40000000, NULL);
	put_message(&host, 3, &line);
	put_name(&host, 4, 1, "cudaLaunchKernel", NULL);
	put_name(&host, 4, 2, "ExecuteHelper", NULL);
	put_name(&host, 4, 3, "$main.py:3 run", NULL);
	put_name(&host, 5, 9, "correlation_id", NULL);
	put_message(&space, 1, &device);
	put_message(&space, 1, &host);
	if (!CHECK(trace_read_bytes(space.bytes, space.n, &t, &err)))
		return;
	CHECK_INT(event_of(&t, GROUP_DEVICE, 0)->link, 77);
	CHECK_INT(event_of(&t, GROUP_CALL, 0)->link, 77);
	CHECK(is_named(&t, event_of(&t, GROUP_OPERATOR, 0), "ExecuteHelper"));
	/* Of two frames only that of 50 us or more is kept. */
	CHECK_INT(t.lists[GROUP_PYTHON].n, 1);
	CHECK_INT(t.n_python, 2);
	CHECK_INT(t.n_events, 5);
	timeline_release(&t);
}

static void a_free_without_a_size_has_that_of_its_allocation(void)
{
	struct message plane = { .n = 0 }, line, address = stat_number(1, 4096), e;
	struct message size = stat_number(2, 512), place = stat_number(3, 1);
	struct timeline t;
	put_text(&plane, 2, "/host:CPU");
	for (int64_t i = 0; i < 3; i++) {
		/* The frees stand before the allocation, as those of another thread may. */
		begin_line(&line, i, "worker", 0);
		e.n = 0;
		put_number(&e, 1, i == 2 ? 1 : 2);
		put_number(&e, 2, i == 0 ? 900000 : i == 1 ? 100000 : 500000);
		put_message(&e, 4, &address);
		put_message(&e, 4, &place);
		if (i == 2)
			put_message(&e, 4, &size);
		put_message(&line, 4, &e);
		put_message(&plane, 3, &line);
	}
	put_name(&plane, 4, 1, "MemoryAllocation", NULL);
	put_name(&plane, 4, 2, "MemoryDeallocation", NULL);
	put_name(&plane, 5, 1, "addr", NULL);
	put_name(&plane, 5, 2, "allocation_bytes", NULL);
	put_name(&plane, 5, 3, "index_on_host", NULL);
	if (!read_plane(&plane, &t))
		return;
	/* The free at 100 ns is of something from before the profile. */
	CHECK_INT(t.lists[GROUP_INSTANT].n, 1);
	CHECK_INT(event_of(&t, GROUP_INSTANT, 0)->start_ns, 100);
	CHECK_INT(t.lists[GROUP_MEMORY].n, 2);
	CHECK_INT(timeline_memory(&t, event_of(&t, GROUP_MEMORY, 0))->bytes, -512);
	CHECK_INT(timeline_memory(&t, event_of(&t, GROUP_MEMORY, 1))->bytes, 512);
	CHECK_INT(timeline_memory(&t, event_of(&t, GROUP_MEMORY, 1))->device, 1);
	timeline_release(&t);
}

/* Three events of 0.4 ns and one of 0.4 over two of them: by events rounded, all would be 0. */
static void sums_of_a_line_are_rounded_once(void)
{
	struct message plane = { .n = 0 }, line;
	struct timeline t;
	put_text(&plane, 2, "/device:TPU:0");
	begin_line(&line, 3, "XLA Ops", 5);
	put_event(&line, 1, 2400, 400, NULL);
	put_event(&line, 1, 1000, 400, NULL);
	put_event(&line, 2, 1400, 400, NULL);
	put_event(&line, 2, 1200, 400, NULL);
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "b", NULL);
	put_name(&plane, 4, 2, "a", NULL);
	if (!read_plane(&plane, &t))
		return;
	CHECK_INT(t.n_lines, 1);
	CHECK_INT(t.lines[0].n_events, 4);
	CHECK_INT(t.lines[0].busy_ns, 1);  /* 0.8 + 0.4 */
	CHECK_INT(t.lines[0].span_ns, 2);  /* 1.0 to 2.8 */
	CHECK_INT(t.lines[0].total_ns, 2); /* 1.6 */
	CHECK_INT(t.lines[0].n_names, 2);
	/* Equal times: by name. */
	CHECK(str_eq(timeline_name_of(&t, t.lines[0].names[0].name), STR("a")));
	CHECK_INT(t.lines[0].names[0].total_ns, 1);
	CHECK_INT(t.lines[0].names[1].n, 2);
	timeline_release(&t);
}

static void what_cannot_be_is_counted_and_left_out(void)
{
	struct message plane = { .n = 0 }, line, e = { .n = 0 };
	struct timeline t;
	put_text(&plane, 2, "/device:GPU:0");
	begin_line(&line, 16, "Stream #1(Kernel)", 0);
	put_event(&line, 1, 1000, -5, NULL);
	put_event(&line, 1, INT64_MAX, 5, NULL);
	put_event(&line, 1, 1000, INT64_MAX, NULL);
	put_number(&e, 1, 1);
	put_number(&e, 5, 100);
	put_message(&line, 4, &e);
	put_bytes(&line, 4, "\x0f\xff", 2);
	put_event(&line, 1, 0, 3000, NULL);
	put_message(&plane, 3, &line);
	begin_line(&line, 17, "Stream #2(Kernel)", INT64_MAX);
	put_event(&line, 1, 1000, 5, NULL);
	put_message(&plane, 3, &line);
	if (!read_plane(&plane, &t))
		return;
	CHECK_INT(t.lost[LOST_NEGATIVE], 1);
	CHECK_INT(t.lost[LOST_TOO_LONG], 3);
	CHECK_INT(t.lost[LOST_NO_TIME], 1);
	CHECK_INT(t.lost[LOST_BROKEN], 1);
	CHECK_INT(t.n_events, 7);
	/* The names were lost: the event has the number of its own. */
	CHECK_INT(t.lists[GROUP_DEVICE].n, 1);
	CHECK(is_named(&t, event_of(&t, GROUP_DEVICE, 0), "#1"));
	timeline_release(&t);
}

static void a_cut_file_gives_what_is_before_the_cut(void)
{
	struct message plane = { .n = 0 }, space = { .n = 0 }, line;
	put_text(&plane, 2, "/device:GPU:0");
	begin_line(&line, 16, "Stream #1(Kernel)", 0);
	put_event(&line, 1, 1000, 5000, NULL);
	put_event(&line, 1, 7000, 5000, NULL);
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "k", NULL);
	put_message(&space, 1, &plane);
	size_t n_whole = 0, n_cut = 0;
	for (size_t n = 20; n <= space.n; n++) {
		struct timeline t;
		struct err err;
		if (!CHECK(trace_read_bytes(space.bytes, n, &t, &err)))
			return;
		CHECK(t.truncated == (n < space.n));
		n_cut += t.lists[GROUP_DEVICE].n == 1;
		n_whole += t.lists[GROUP_DEVICE].n == 2;
		timeline_release(&t);
	}
	CHECK(n_cut > 5);
	CHECK(n_whole > 5);
}

static void an_empty_file_says_that_its_writer_stopped(void)
{
	struct timeline t;
	struct err err;
	CHECK(!trace_read_bytes("", 0, &t, &err));
	CHECK(strstr(err.text, "is empty") != NULL);
	/* Text that begins with the same byte as a plane is none. */
	CHECK(!trace_read_bytes("\n\nsome text\n", 12, &t, &err));
}

static bool equals_us(int64_t ns, const json_t *us)
{
	return llround(json_number_value(us) * 1000) == ns;
}

static const struct trace_line *find_line(
        const struct timeline *t, const char *plane, const json_t *want)
{
	const struct trace_line *same = NULL;
	for (size_t i = 0; i < t->n_lines; i++) {
		const struct trace_line *l = &t->lines[i];
		if (str_eq(timeline_name_of(t, l->plane), str_of(plane)) &&
		        str_eq(timeline_name_of(t, l->name),
		                str_of(json_string_value(json_object_get(want, "name")))) &&
		        l->n_events == json_integer_value(json_object_get(want, "events")))
			same = l;
	}
	return same;
}

/* Names of the answers are cut after 300 characters. */
static bool same_line(const struct timeline *t, const struct trace_line *l, const json_t *want)
{
	const json_t *top = json_object_get(want, "top5");
	bool ok = json_integer_value(json_object_get(want, "events")) == 0 ||
	          (equals_us(l->busy_ns, json_object_get(want, "busy_us")) &&
	                  equals_us(l->span_ns, json_object_get(want, "span_us")));
	for (size_t i = 0; i < json_array_size(top); i++) {
		const json_t *name = json_array_get(top, i);
		ok = ok && i < l->n_names &&
		     str_starts(timeline_name_of(t, l->names[i].name),
		             str_of(json_string_value(json_object_get(name, "name")))) &&
		     l->names[i].n == json_integer_value(json_object_get(name, "count")) &&
		     equals_us(l->names[i].total_ns, json_object_get(name, "total_us")) &&
		     fabs((double)l->names[i].total_ns / (double)(l->total_ns ? l->total_ns : 1) -
		             json_number_value(json_object_get(name, "share"))) < 1e-6;
	}
	return ok;
}

static void compare(const char *name, size_t n_lines_wanted)
{
	char file[512], answers[512], data[256];
	struct timeline t;
	struct err err;
	json_error_t json_error;
	snprintf(data, sizeof data, "xplane/%s", name);
	if (!trace_data(file, sizeof file, data))
		return;
	snprintf(data, sizeof data, "answers/%s.answers.json", name);
	if (!trace_data(answers, sizeof answers, data))
		return;
	json_t *want = json_load_file(answers, 0, &json_error);
	if (!CHECK(want) || !CHECK(trace_read_file(file, &t, &err)))
		return;
	CHECK_INT(t.n_events, json_integer_value(json_object_get(want, "events_total")));
	CHECK(!t.truncated);
	size_t n_lines = 0;
	const json_t *planes = json_object_get(want, "planes");
	for (size_t i = 0; i < json_array_size(planes); i++) {
		const json_t *plane = json_array_get(planes, i);
		const char *plane_name = json_string_value(json_object_get(plane, "name"));
		const json_t *lines = json_object_get(plane, "lines");
		for (size_t k = 0; k < json_array_size(lines); k++, n_lines++) {
			const json_t *line = json_array_get(lines, k);
			const struct trace_line *got = find_line(&t, plane_name, line);
			if (!got || !same_line(&t, got, line))
				printf("# %s: %s\n", plane_name,
				        json_string_value(json_object_get(line, "name")));
			CHECK(got && same_line(&t, got, line));
		}
	}
	CHECK_INT(n_lines, n_lines_wanted);
	json_decref(want);
	timeline_release(&t);
}

static void a_real_profile_of_a_tpu_gives_the_sums_of_an_independent_program(void)
{
	compare("tpu_inference.xplane.pb", 32);
}

static void a_real_profile_of_a_gpu_gives_the_sums_of_an_independent_program(void)
{
	compare("mi300_jax_conv.xplane.pb", 23);
}

int main(void)
{
	TAP_RUN(streams_of_a_gpu_are_its_work_and_its_other_lines_are_not);
	TAP_RUN(operations_of_a_tpu_count_without_the_loops_around_them);
	TAP_RUN(a_call_of_the_host_is_linked_to_its_kernel);
	TAP_RUN(a_free_without_a_size_has_that_of_its_allocation);
	TAP_RUN(sums_of_a_line_are_rounded_once);
	TAP_RUN(what_cannot_be_is_counted_and_left_out);
	TAP_RUN(a_cut_file_gives_what_is_before_the_cut);
	TAP_RUN(an_empty_file_says_that_its_writer_stopped);
	TAP_RUN(a_real_profile_of_a_tpu_gives_the_sums_of_an_independent_program);
	TAP_RUN(a_real_profile_of_a_gpu_gives_the_sums_of_an_independent_program);
	return tap_done();
}
