/* Real databases of Nsight Systems, against the answers of an independent program. */
#include "trace/reader.h"

#include "tap.h"

#include <jansson.h>
#include <time.h>

static const char *const files[] = {
	"a100_cloverleaf_2024.sqlite",
	"power_iteration_2025.sqlite",
	"h100_2gpu_2026.sqlite",
};
enum { N_FILES = sizeof files / sizeof *files };

/* Answers are in microseconds with three decimals. */
static int64_t ns_of(const json_t *object, const char *key)
{
	return llround(json_number_value(json_object_get(object, key)) * 1000);
}

static int64_t int_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

struct sum {
	int64_t n, ns, bytes;
};

static bool is_device(const struct timeline *t, const struct event *e, int64_t device)
{
	return timeline_track_of(t, e->track)->device == device;
}

static int by_start(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* The union of all device work, or of kernels only; the list is in order of start. */
static int64_t busy_ns(const struct timeline *t, int64_t device, bool kernels_only)
{
	const struct event_list *list = &t->lists[GROUP_DEVICE];
	int64_t busy = 0, end = INT64_MIN;
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		if (!is_device(t, e, device) || (kernels_only && e->kind != DEVICE_KERNEL))
			continue;
		int64_t from = e->start_ns > end ? e->start_ns : end;
		int64_t to = e->start_ns + e->dur_ns;
		if (to > from)
			busy += to - from;
		end = to > end ? to : end;
	}
	return busy;
}

static void check_device(const struct timeline *t, int64_t device, const json_t *want)
{
	const struct event_list *list = &t->lists[GROUP_DEVICE];
	int64_t n = 0, first = INT64_MAX, last = INT64_MIN;
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		if (!is_device(t, e, device))
			continue;
		n++;
		first = e->start_ns < first ? e->start_ns : first;
		last = e->start_ns + e->dur_ns > last ? e->start_ns + e->dur_ns : last;
	}
	CHECK_INT(n, int_of(want, "gpu_ops"));
	CHECK_INT(last - first, ns_of(want, "span_us"));
	CHECK_INT(busy_ns(t, device, false), ns_of(want, "busy_us"));
	CHECK_INT(busy_ns(t, device, true), ns_of(want, "kernel_busy_us"));
}

static struct sum sum_of_name(
        const struct timeline *t, enum event_group group, uint32_t kind, const char *name)
{
	const struct event_list *list = &t->lists[group];
	int64_t number = intern_find(&t->names, str_of(name));
	struct sum sum = { 0 };
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].kind != kind || list->v[i].name != number)
			continue;
		sum.n++;
		sum.ns += list->v[i].dur_ns;
	}
	return sum;
}

static void check_names(
        const struct timeline *t, enum event_group group, uint32_t kind, const json_t *names)
{
	size_t i;
	json_t *row;
	json_array_foreach(names, i, row)
	{
		const char *name = json_string_value(json_object_get(row, "name"));
		struct sum sum = sum_of_name(t, group, kind, name);
		CHECK_INT(sum.n, int_of(row, "count"));
		CHECK_INT(sum.ns, ns_of(row, "total_us"));
	}
}

/* All copies of a kind, or all memsets. */
static struct sum sum_of_copies(const struct timeline *t, uint32_t kind, const char *kind_name)
{
	const struct event_list *list = &t->lists[GROUP_DEVICE];
	struct sum sum = { 0 };
	for (size_t i = 0; i < list->n; i++) {
		const struct event *e = &list->v[i];
		if (e->kind != kind)
			continue;
		const struct copy_detail *copy = timeline_copy(t, e);
		if (kind_name && !str_eq(timeline_name_of(t, copy->kind_name), str_of(kind_name)))
			continue;
		sum.n++;
		sum.ns += e->dur_ns;
		sum.bytes += copy->bytes > 0 ? copy->bytes : 0;
	}
	return sum;
}

static void check_copies(const struct timeline *t, const json_t *answers)
{
	const char *kind;
	json_t *want;
	json_object_foreach(json_object_get(answers, "memcpy"), kind, want)
	{
		struct sum sum = sum_of_copies(t, DEVICE_MEMCPY, kind);
		CHECK_INT(sum.n, int_of(want, "count"));
		CHECK_INT(sum.ns, ns_of(want, "time_us"));
		CHECK_INT(sum.bytes, int_of(want, "bytes"));
	}
	want = json_object_get(answers, "memset");
	struct sum sum = sum_of_copies(t, DEVICE_MEMSET, NULL);
	CHECK_INT(sum.n, int_of(want, "count"));
	CHECK_INT(sum.ns, ns_of(want, "time_us"));
	CHECK_INT(sum.bytes, int_of(want, "bytes"));
}

static int by_link(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static int64_t count_linked(const struct timeline *t)
{
	const struct event_list *calls = &t->lists[GROUP_CALL], *work = &t->lists[GROUP_DEVICE];
	AUTO(auto_free) uint64_t *links = mem_zeroed(calls->n + 1, sizeof *links);
	int64_t n = 0;
	for (size_t i = 0; i < calls->n; i++)
		links[i] = calls->v[i].link;
	qsort(links, calls->n, sizeof *links, by_link);
	for (size_t i = 0; i < work->n; i++) {
		const struct event *e = &work->v[i];
		if (e->kind == DEVICE_KERNEL && e->link)
			n += bsearch(&e->link, links, calls->n, sizeof *links, by_link) != NULL;
	}
	return n;
}

static void check_rows(const struct timeline *t, const json_t *rows)
{
	const char *table;
	json_t *want;
	json_object_foreach((json_t *)rows, table, want)
	{
		int64_t number = intern_find(&t->names, str_of(table)), n = -1;
		for (size_t i = 0; i < t->rows.n; i++)
			if (t->rows.v[i].name == number)
				n = t->rows.v[i].n;
		if (!CHECK_INT(n, json_integer_value(want)))
			printf("#   rows of %s\n", table);
	}
}

static void check_software(const struct timeline *t, const json_t *answers)
{
	AUTO(auto_buf) struct buf want = { 0 };
	buf_printf(&want, "Nsight Systems %s",
	        json_string_value(json_object_get(answers, "product_version")));
	CHECK_STR(timeline_name_of(t, t->software).s, want.s);
}

static void check_file(struct timeline *t, const json_t *answers)
{
	const char *device;
	json_t *want;
	struct event_list *work = &t->lists[GROUP_DEVICE];
	CHECK_STR(t->format, "nsys-sqlite");
	check_software(t, answers);
	check_rows(t, json_object_get(answers, "rows"));
	qsort(work->v, work->n, sizeof *work->v, by_start);
	json_object_foreach(json_object_get(answers, "devices"), device, want)
	        check_device(t, atoi(device), want);
	want = json_object_get(answers, "kernels");
	check_names(t, GROUP_DEVICE, DEVICE_KERNEL, json_object_get(want, "top10"));
	check_names(t, GROUP_CALL, 0, json_object_get(answers, "runtime_api_top10"));
	check_copies(t, answers);
	CHECK_INT(count_linked(t), int_of(answers, "kernels_linked"));
	CHECK_INT(t->lists[GROUP_ANNOTATION].n, int_of(answers, "nvtx_ranges"));
	check_names(t, GROUP_ANNOTATION, 0, json_object_get(answers, "nvtx_top5"));
	for (int i = 0; i < N_LOSSES; i++)
		CHECK_INT(t->lost[i], 0);
	CHECK(!t->truncated);
}

/* Reads a file of the shared data; skips the test without it. */
static bool read_shared(const char *name, struct timeline *t)
{
	const char *path = tap_shared(name);
	struct err err = { 0 };
	if (!path) {
		tap_skip("the traces of shared/data are not here");
		return false;
	}
	bool ok = trace_read_file(path, t, &err);
	if (!CHECK(ok))
		printf("#   %s\n", err.text);
	return ok;
}

static void every_number_of_the_answers_is_met(void)
{
	for (int i = 0; i < N_FILES; i++) {
		char name[256];
		struct timeline t;
		snprintf(name, sizeof name, "data/traces/nsys/%s", files[i]);
		if (!read_shared(name, &t))
			return;
		snprintf(name, sizeof name, "data/traces/answers/%s.answers.json", files[i]);
		const char *path = tap_shared(name);
		json_t *answers = path ? json_load_file(path, 0, NULL) : NULL;
		if (CHECK(answers != NULL))
			check_file(&t, answers);
		json_decref(answers);
		timeline_release(&t);
	}
}

/* The table TARGET_INFO_GPU says so; a T4 has 40 multiprocessors. */
static void the_device_is_described(void)
{
	struct timeline t;
	if (!read_shared("data/traces/nsys/power_iteration_2025.sqlite", &t))
		return;
	if (CHECK_INT(t.n_devices, 1)) {
		const struct device_info *d = &t.devices[0];
		CHECK_STR(timeline_name_of(&t, d->name).s, "Tesla T4");
		CHECK_INT(d->n_sm, 40);
		CHECK_INT(d->compute_major, 7);
		CHECK_INT(d->compute_minor, 5);
		CHECK_INT(d->warp_size, 32);
		CHECK_INT(d->max_threads_per_sm, 1024);
	}
	timeline_release(&t);
}

/* emit_nvtx wrote all 16,782 ranges of this file, each with an op_id of its own. */
static void ranges_of_pytorch_are_operators_too(void)
{
	struct timeline t;
	if (!read_shared("data/traces/nsys/h100_2gpu_2026.sqlite", &t))
		return;
	const struct event_list *list = &t.lists[GROUP_OPERATOR];
	int64_t number = intern_find(&t.names, STR("aten::item")), n = 0;
	CHECK_INT(list->n, 16782);
	for (size_t i = 0; i < list->n; i++)
		n += list->v[i].name == number;
	CHECK(n > 1);
	timeline_release(&t);
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Ten times what it takes, so that a busy machine or a sanitizer does not fail it. */
static void two_megabytes_take_far_less_than_a_second(void)
{
	struct timeline t;
	double start = seconds();
	if (!read_shared("data/traces/nsys/h100_2gpu_2026.sqlite", &t))
		return;
	double taken = seconds() - start;
	printf("# %.1f ms\n", taken * 1000);
	CHECK(taken < 1);
	timeline_release(&t);
}

int main(void)
{
	TAP_RUN(every_number_of_the_answers_is_met);
	TAP_RUN(the_device_is_described);
	TAP_RUN(ranges_of_pytorch_are_operators_too);
	TAP_RUN(two_megabytes_take_far_less_than_a_second);
	return tap_done();
}
