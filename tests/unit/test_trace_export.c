#include "trace/export/export.h"

#include "tap.h"
#include "timeline_make.h"
#include "trace/reader.h"

#include <jansson.h>
#include <unistd.h>

static bool collect(void *ctx, struct str piece, struct err *err)
{
	(void)err;
	buf_add(ctx, piece);
	return true;
}

static struct buf exported(const struct timeline *t,
        bool (*write)(const struct trace_view *, const struct trace_out *, struct err *))
{
	struct buf text = { 0 };
	struct trace_view v;
	struct err err = { 0 };
	const struct trace_out out = { collect, &text };
	trace_view_init(&v, t);
	CHECK(write(&v, &out, &err));
	trace_view_release(&v);
	return text;
}

/* Whether the text has this line. */
static bool has_line(const struct buf *text, const char *line)
{
	struct str rest = buf_str(text);
	while (rest.len)
		if (str_eq(str_cut(rest, '\n', &rest), str_of(line)))
			return true;
	return false;
}

static size_t count_lines(const struct buf *text)
{
	size_t n = 0;
	for (size_t i = 0; i < text->len; i++)
		n += text->s[i] == '\n';
	return n;
}

/*
 * step [0, 100) around outer [10, 60) around inner [20, 40) around a launch [25, 30) of k, and
 * a second outer [70, 80); other's launch is not in the trace.
 */
static void stacks_hold_own_time_on_the_host_and_durations_on_devices(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	uint32_t host = host_track(&t, "1");
	put(&t, GROUP_OPERATOR, host, "outer", 10, 60, 0);
	put(&t, GROUP_OPERATOR, host, "inner;[0]", 20, 40, 0);
	put(&t, GROUP_OPERATOR, host, "outer", 70, 80, 0);
	put(&t, GROUP_ANNOTATION, host, "step", 0, 100, 0);
	put_call(&t, "cudaLaunchKernel", 25, 30, 5);
	put_kernel(&t, "k", 50, 57, 5);
	put_kernel(&t, "other", 60, 63, 0);
	struct buf text = exported(&t, trace_export_folded);
	CHECK(has_line(&text, "host;thread 100/1;step 40"));
	CHECK(has_line(&text, "host;thread 100/1;step;outer 40"));
	CHECK(has_line(&text, "host;thread 100/1;step;outer;inner:[0] 15"));
	CHECK(has_line(&text, "host;thread 100/1;step;outer;inner:[0];cudaLaunchKernel 5"));
	CHECK(has_line(&text, "device 0;step;outer;inner:[0];cudaLaunchKernel;k 7"));
	CHECK(has_line(&text, "device 0;(not linked);other 3"));
	CHECK_INT(count_lines(&text), 6);
	buf_release(&text);
	timeline_release(&t);
}

static void spans_that_stick_out_of_what_is_around_them_lose_nothing(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	uint32_t host = host_track(&t, "1");
	put(&t, GROUP_OPERATOR, host, "a", 0, 10, 0);
	put(&t, GROUP_OPERATOR, host, "b", 6, 20, 0);
	put(&t, GROUP_OPERATOR, host, "zero", 30, 30, 0);
	put(&t, GROUP_OPERATOR, host_track(&t, "2"), "a", 0, 10, 0);
	struct buf text = exported(&t, trace_export_folded);
	CHECK(has_line(&text, "host;thread 100/1;a 6"));
	CHECK(has_line(&text, "host;thread 100/1;a;b 14"));
	CHECK(has_line(&text, "host;thread 100/2;a 10"));
	CHECK_INT(count_lines(&text), 3);
	buf_release(&text);
	timeline_release(&t);
}

static void deep_stacks_are_cut_and_keep_their_time(void)
{
	enum { DEEP = 1000 };
	struct timeline t;
	timeline_init(&t, "x", "test");
	for (int i = 0; i < DEEP; i++)
		put(&t, GROUP_OPERATOR, host_track(&t, "1"), "f", i, 2 * DEEP - i, 0);
	struct buf text = exported(&t, trace_export_folded);
	int64_t sum = 0;
	struct str rest = buf_str(&text);
	while (rest.len) {
		struct str line = str_cut(rest, '\n', &rest);
		int64_t ns = 0;
		ptrdiff_t blank = (ptrdiff_t)line.len;
		while (blank > 0 && line.s[blank - 1] != ' ')
			blank--;
		CHECK(str_to_i64((struct str){ line.s + blank, line.len - (size_t)blank }, &ns));
		sum += ns;
	}
	CHECK_INT(sum, 2 * DEEP);
	CHECK_INT(count_lines(&text), FOLDED_DEPTH_MAX - 2);
	buf_release(&text);
	timeline_release(&t);
}

/* As many kernels as the table of stacks cannot hold without growing, several times over. */
static void no_time_is_lost_where_the_stacks_of_a_device_grow(void)
{
	enum { NAMES = 5000 };
	struct timeline t;
	timeline_init(&t, "x", "test");
	for (int i = 0; i < NAMES; i++) {
		char name[16];
		snprintf(name, sizeof name, "k%d", i);
		put_kernel(&t, name, 2 * i, 2 * i + 1, 0);
	}
	struct buf text = exported(&t, trace_export_folded);
	CHECK_INT(count_lines(&text), NAMES);
	CHECK(has_line(&text, "device 0;(not linked);k4999 1"));
	buf_release(&text);
	timeline_release(&t);
}

static const json_t *event_named(const json_t *events, const char *name)
{
	size_t i;
	json_t *e;
	json_array_foreach(events, i,
	        e) if (strcmp(json_string_value(json_object_get(e, "name")), name) == 0) return e;
	return NULL;
}

static void put_details(struct timeline *t)
{
	struct operator_detail o;
	memset(&o, 0, sizeof o);
	o.sequence = -1;
	o.dims = timeline_name(t, STR("[[8,\n  64], []]"));
	o.types = timeline_name(t, STR("[broken"));
	uint32_t i =
	        put(t, GROUP_OPERATOR, host_track(t, "1"), "say \"hi\"\\\x01\xff", 5000, 9001, 0);
	t->lists[GROUP_OPERATOR].v[i].detail = timeline_detail(t, DETAIL_OPERATOR, &o);
	struct kernel_detail k;
	memset(&k, 0, sizeof k);
	k = kernel_detail_none();
	k.grid[0] = 256;
	k.grid[1] = k.grid[2] = 1;
	k.block[0] = 64;
	k.block[1] = k.block[2] = 1;
	k.grid_in_items = GRID_IN_ITEMS;
	i = put_kernel(t, "k", 7000, 8000, UINT64_MAX);
	t->lists[GROUP_DEVICE].v[i].detail = timeline_detail(t, DETAIL_KERNEL, &k);
}

static void the_chrome_trace_is_json_with_exact_times(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	t.base_unix_ns = INT64_C(1700000000000000000);
	put_details(&t);
	put_call(&t, "cudaLaunchKernel", 6001, 6500, UINT64_MAX);
	struct buf text = exported(&t, trace_export_chrome);
	json_error_t error;
	json_t *root = json_loads(text.s, 0, &error);
	CHECK(root != NULL);
	const json_t *events = json_object_get(root, "traceEvents");
	CHECK_INT(json_integer_value(json_object_get(root, "baseTimeNanoseconds")),
	        1700000000000000000 + 4000);
	CHECK(strstr(text.s, "\"ts\":1.000,\"dur\":4.001") != NULL);
	CHECK(strstr(text.s, "\"ts\":2.001,\"dur\":0.499") != NULL);
	CHECK(strstr(text.s, "\"Input Dims\":[[8,64],[]]") != NULL);
	CHECK(strstr(text.s, "\"Input type\":\"[broken\"") != NULL);
	const json_t *kernel = event_named(events, "k");
	const json_t *args = json_object_get(kernel, "args");
	CHECK_INT(json_integer_value(json_array_get(json_object_get(args, "grid"), 0)), 4);
	CHECK_INT(json_integer_value(json_object_get(args, "correlation")),
	        json_integer_value(json_object_get(
	                json_object_get(event_named(events, "cudaLaunchKernel"), "args"),
	                "correlation")));
	CHECK(event_named(events, "ac2g") != NULL);
	json_decref(root);
	buf_release(&text);
	timeline_release(&t);
}

static void a_copy_whose_name_does_not_tell_gets_one_that_does(void)
{
	struct timeline t, again;
	struct err err = { 0 };
	char path[] = "/tmp/venturi-export-XXXXXX";
	timeline_init(&t, "x", "test");
	put_copy(&t, COPY_HTOD, MEMORY_PAGEABLE, MEMORY_DEVICE, 4096, 100, 200, 1);
	struct buf text = exported(&t, trace_export_chrome);
	int fd = mkstemp(path);
	CHECK(fd >= 0 && write(fd, text.s, text.len) == (ssize_t)text.len);
	close(fd);
	CHECK(trace_read_file(path, &again, &err));
	CHECK_INT(again.lists[GROUP_DEVICE].n, 1);
	const struct copy_detail *d = timeline_copy(&again, &again.lists[GROUP_DEVICE].v[0]);
	CHECK(d && d->kind == COPY_HTOD && d->from == MEMORY_PAGEABLE && d->to == MEMORY_DEVICE);
	CHECK(d && d->bytes == 4096);
	unlink(path);
	buf_release(&text);
	timeline_release(&t);
	timeline_release(&again);
}

static void an_empty_timeline_is_an_empty_trace(void)
{
	struct timeline t;
	timeline_init(&t, "x", "test");
	struct buf chrome = exported(&t, trace_export_chrome);
	struct buf folded = exported(&t, trace_export_folded);
	json_t *root = json_loads(chrome.s, 0, NULL);
	CHECK_INT(json_array_size(json_object_get(root, "traceEvents")), 0);
	CHECK_INT(folded.len, 0);
	json_decref(root);
	buf_release(&chrome);
	buf_release(&folded);
	timeline_release(&t);
}

static bool refuse(void *ctx, struct str piece, struct err *err)
{
	(void)piece;
	++*(int *)ctx;
	return err_set(err, ERR_SYSTEM, "full");
}

static void a_place_that_is_full_ends_the_export(void)
{
	struct timeline t;
	struct trace_view v;
	struct err err = { 0 };
	int n_pieces = 0;
	const struct trace_out out = { refuse, &n_pieces };
	timeline_init(&t, "x", "test");
	for (int i = 0; i < 50000; i++) /* several pieces */
		put_kernel(&t, "k", 1000 + i * 10, 1005 + i * 10, 0);
	trace_view_init(&v, &t);
	CHECK(!trace_export_chrome(&v, &out, &err));
	CHECK_INT(n_pieces, 1);
	CHECK(!trace_export_folded(&v, &out, &err));
	trace_view_release(&v);
	timeline_release(&t);
}

int main(void)
{
	TAP_RUN(stacks_hold_own_time_on_the_host_and_durations_on_devices);
	TAP_RUN(spans_that_stick_out_of_what_is_around_them_lose_nothing);
	TAP_RUN(deep_stacks_are_cut_and_keep_their_time);
	TAP_RUN(no_time_is_lost_where_the_stacks_of_a_device_grow);
	TAP_RUN(the_chrome_trace_is_json_with_exact_times);
	TAP_RUN(a_copy_whose_name_does_not_tell_gets_one_that_does);
	TAP_RUN(an_empty_timeline_is_an_empty_trace);
	TAP_RUN(a_place_that_is_full_ends_the_export);
	return tap_done();
}
