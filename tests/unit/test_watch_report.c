#include "tap.h"

#include "report/layout.h"
#include "report/watch.h"
#include "text/json.h"
#include "text/prometheus.h"

#include <jansson.h>

static const struct signal_point points[] = { { 0.1, 0.5 }, { 0.2, 1.5 } };

static struct signal signals[] = {
	{ .name = "process_cpu_ratio",
	        .unit = "ratio",
	        .source = "/proc/PID/schedstat",
	        .instance = "7",
	        .state = SIGNAL_MEASURED,
	        .n = 2,
	        .delta = 0.2,
	        .mean = 1,
	        .min = 0.5,
	        .p50 = 0.5,
	        .p95 = 1.5,
	        .max = 1.5,
	        .last = 1.5,
	        .total = 0.3,
	        .series = points,
	        .n_series = 2 },
	{ .name = "process_cpu_ratio",
	        .unit = "ratio",
	        .instance = "8",
	        .state = SIGNAL_MEASURED,
	        .n = 2,
	        .delta = NAN,
	        .mean = 0.25,
	        .min = 0,
	        .p50 = 0,
	        .p95 = 0.5,
	        .max = 0.5,
	        .last = NAN,
	        .total = NAN },
	{ .name = "process_state",
	        .unit = "1",
	        .state = SIGNAL_MEASURED,
	        .n = 3,
	        .text = "S",
	        .mean = NAN,
	        .last = NAN,
	        .delta = NAN,
	        .total = NAN },
	{ .name = "host_cpu_ratio",
	        .unit = "ratio",
	        .state = SIGNAL_ESTIMATED,
	        .n = 2,
	        .reason = "the tick is coarse",
	        .delta = NAN,
	        .mean = 0.25,
	        .min = 0.25,
	        .p50 = 0.25,
	        .p95 = 0.25,
	        .max = 0.25,
	        .last = 0.25,
	        .total = NAN },
	{ .name = "gpu_util_ratio",
	        .unit = "ratio",
	        .state = SIGNAL_NOT_SUPPORTED,
	        .reason = "there is no device",
	        .mean = NAN },
	{ .name = "gpu_memory_used_ratio",
	        .unit = "ratio",
	        .state = SIGNAL_NOT_SUPPORTED,
	        .reason = "there is no device",
	        .mean = NAN },
	{ .name = "watch_cpu_ratio",
	        .unit = "ratio",
	        .state = SIGNAL_MEASURED,
	        .n = 2,
	        .delta = NAN,
	        .mean = 0.005,
	        .min = 0,
	        .p50 = 0,
	        .p95 = 0.01,
	        .max = 0.01 },
	{ .name = "watch_late_ms",
	        .unit = "ms",
	        .state = SIGNAL_MEASURED,
	        .n = 2,
	        .delta = NAN,
	        .mean = 0.5,
	        .min = 0,
	        .p50 = 0.25,
	        .p95 = 0.75,
	        .max = 0.75 },
};

static struct signal_thread threads[] = {
	{ .pid = 7,
	        .tid = 9,
	        .name = "decode",
	        .waits_for = "lock",
	        .waits_for_ratio = 0.75,
	        .cpu_ratio = 0.75,
	        .cpu_ratio_max = 1,
	        .run_queue_ratio = 0.125,
	        .voluntary_per_s = 3,
	        .involuntary_per_s = NAN,
	        .cpus = "0-3",
	        .state = 'R',
	        .n = 2 },
	{ .pid = 7, .tid = 7, .name = "main", .run_queue_ratio = NAN, .n = 2 },
};

static struct signal_symbol symbols[] = {
	{ .pid = 7, .symbol = "gemm", .module = "libblas.so", .n = 30, .ratio = 0.75 },
};

static struct signal page_signals[] = {
	{ .name = "server_requests_running",
	        .unit = "1",
	        .page = "http://x/metrics",
	        .state = SIGNAL_MEASURED,
	        .n = 2,
	        .delta = NAN,
	        .mean = 6,
	        .min = 4,
	        .p50 = NAN,
	        .p95 = NAN,
	        .max = 8,
	        .last = NAN },
};

static struct watch_process processes[] = {
	{ .pid = 7, .name = "llama-server", .ended_s = NAN },
	{ .pid = 8, .ended_s = 0.15 },
};

static struct watch_run whole(void)
{
	static struct signal_page pages[] = { { .url = "http://x/metrics",
		.software = "vllm",
		.n_read = 2,
		.signals = page_signals,
		.n_signals = 1,
		.from_s = 0,
		.to_s = 1 } };
	return (struct watch_run){
		.started_at = "2026-01-02T03:04:05Z",
		.duration_s = 0.2,
		.processes = processes,
		.n_processes = 2,
		.command_status = -1,
		.pages = pages,
		.n_pages = 1,
		.system = { .signals = signals,
		        .n_signals = ARRAY_LEN(signals),
		        .threads = threads,
		        .n_threads = 2,
		        .n_threads_seen = 5,
		        .symbols = symbols,
		        .n_symbols = 1,
		        .from_s = 0,
		        .to_s = 0.2,
		        .interval_s = 0.1,
		        .n_samples = 2 },
		.record = { .path = "w.jsonl", .n_samples = 2 },
	};
}

static json_t *signal_at(json_t *root, size_t i)
{
	return json_array_get(json_object_get(root, "signals"), i);
}

static double number(json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static void json_holds_signals_with_state_and_reason_and_no_zeros_for_what_is_absent(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	const struct watch_run r = whole();
	report_watch_json(&r, false, &out);
	json_t *root = json_loadb(out.s, out.len, JSON_REJECT_DUPLICATES, NULL);
	CHECK_STR(json_string_value(json_object_get(root, "schema")), "venturi.watch/1");
	CHECK_INT(json_array_size(json_object_get(root, "signals")), ARRAY_LEN(signals) + 1);
	json_t *cpu = signal_at(root, 0), *state = signal_at(root, 2), *gpu = signal_at(root, 4);
	CHECK_STR(json_string_value(json_object_get(cpu, "instance")), "7");
	CHECK_NEAR(number(cpu, "mean"), 1, 0);
	CHECK_NEAR(number(cpu, "p95"), 1.5, 0);
	CHECK_NEAR(number(cpu, "delta"), 0.2, 0);
	CHECK(!json_object_get(cpu, "series") && !json_object_get(cpu, "reason"));
	CHECK_STR(json_string_value(json_object_get(state, "text")), "S");
	CHECK(!json_object_get(state, "mean"));
	CHECK_STR(json_string_value(json_object_get(gpu, "state")), "not_supported");
	CHECK_STR(json_string_value(json_object_get(gpu, "reason")), "there is no device");
	CHECK(!json_object_get(gpu, "mean") && !json_object_get(gpu, "n"));
	CHECK_STR(
	        json_string_value(json_object_get(signal_at(root, 8), "page")), "http://x/metrics");
	CHECK_NEAR(number(json_object_get(root, "sampler"), "cpu_ratio"), 0.005, 0);
	CHECK_NEAR(number(json_object_get(root, "sampler"), "late_ms_p95"), 0.75, 0);
	json_t *thread = json_array_get(json_object_get(root, "threads"), 0);
	CHECK_NEAR(number(thread, "run_queue_ratio"), 0.125, 0);
	CHECK(json_is_null(json_object_get(thread, "involuntary_per_s")));
	json_t *process = json_array_get(json_object_get(root, "processes"), 0);
	CHECK(json_is_null(json_object_get(process, "ended_s")));
	json_decref(root);
}

static void a_part_of_another_schema_has_series_when_asked(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	const struct watch_run r = whole();
	struct json j;
	json_init(&j, &out, true);
	report_system_json(&j, &r.system, true);
	json_t *root = json_loadb(out.s, out.len, JSON_REJECT_DUPLICATES, NULL);
	json_t *series = json_object_get(signal_at(root, 0), "series");
	CHECK_INT(json_array_size(series), 2);
	CHECK_NEAR(json_number_value(json_array_get(json_array_get(series, 1), 1)), 1.5, 0);
	CHECK_NEAR(number(root, "interval_s"), 0.1, 0);
	CHECK_INT(json_array_size(json_object_get(root, "symbols")), 1);
	json_decref(root);
}

static bool has(const struct buf *text, const char *part)
{
	bool found = strstr(text->s, part) != NULL;
	if (!found)
		printf("# no '%s' in:\n%s\n", part, text->s);
	return found;
}

static void text_shows_figures_and_groups_what_is_missing_by_its_reason(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	const struct watch_run r = whole();
	report_watch_text(&r, &out);
	/* two processes: their CPU adds up, and there is no largest value of the sum */
	CHECK(has(&out, "1.25 cores"));
	CHECK(has(&out, "thread 'decode' (9 of process 7): 0.75 of a core (at most 1)"));
	CHECK(has(&out, "it waits for a lock in 75 % of the looks"));
	CHECK(has(&out, "CPUs 25 % busy (at most 25 %)"));
	CHECK(has(&out, "process 8 (?), which ended after 0.15 s"));
	CHECK(has(&out, "gpu_util_ratio, gpu_memory_used_ratio: there is no device"));
	CHECK(has(&out, "host_cpu_ratio: the tick is coarse"));
	CHECK(has(&out, "~0.25"));
	CHECK(has(&out, "http://x/metrics  vllm, read 2 times"));
	CHECK(has(&out, "took 0.5 % of a core; 95 % of its samples came at most 0.75 ms late"));
	CHECK(has(&out, "process_state  S"));
	CHECK(!strstr(out.s, "nan"));
}

static void of_many_instances_the_largest_are_shown(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	enum { N = 20 };
	struct signal cores[N];
	char names[N][8];
	struct watch_run r = whole();
	for (int i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "cpu%d", i);
		cores[i] = (struct signal){ .name = "core_busy_ratio",
			.unit = "ratio",
			.instance = names[i],
			.state = SIGNAL_MEASURED,
			.n = 1,
			.mean = i % 10,
			.p95 = NAN,
			.max = i + 1 };
	}
	r.system.signals = cores;
	r.system.n_signals = N;
	report_watch_text(&r, &out);
	/* means of 9 and 8, two of each */
	CHECK(has(&out, "cpu9 ") && has(&out, "cpu19 ") && has(&out, "cpu8 ") &&
	        has(&out, "cpu18 "));
	CHECK(has(&out, "and 16 more"));
	CHECK(!strstr(out.s, "cpu7 "));
}

static struct signal gauge_at(const char *name, const char *instance, double value,
        const struct signal_point *recent, int64_t n)
{
	return (struct signal){ .name = name,
		.instance = instance,
		.unit = "ratio",
		.state = SIGNAL_MEASURED,
		.n = n,
		.mean = value,
		.last = value,
		.total = NAN,
		.delta = NAN,
		.recent = recent,
		.n_recent = n };
}

static void a_line_has_means_since_the_line_before_and_columns_of_what_there_is(void)
{
	static const struct signal_point first[] = { { 0.5, 0.1 }, { 1.0, 0.2 }, { 1.5, 0.4 },
		{ 2.0, 0.6 }, { 2.5, 9 } };
	static const struct signal_point seldom[] = { { 0.5, 0.25 } };
	AUTO(auto_buf) struct buf out = { 0 };
	struct watch_lines lines = { 0 };
	struct signal now[] = {
		gauge_at("process_cpu_ratio", "7", 9, first, 5),
		gauge_at("process_cpu_ratio", "8", 0.25, seldom, 1),
		gauge_at("host_cpu_ratio", NULL, 0.25, seldom, 1),
		gauge_at("no_column", NULL, 1, seldom, 1),
		gauge_at("gpu_util_ratio", "0", 0.5, seldom, 0),
	};
	struct watch_run r = { .system = { .signals = now, .n_signals = 5 } };
	/* the point at 1.0 belongs to the line before, the one at 2.5 to the next */
	watch_lines_add(&lines, &r, 1, 2, &out);
	CHECK_STR(out.s, "  time s    CPU%  host%\n"
	                 "     2.0    75.0   25.0\n");
	buf_clear(&out);
	/* the process is gone, and a device has come */
	now[0].last = now[1].last = NAN;
	now[0].n_recent = 1;
	now[4] = gauge_at("gpu_util_ratio", "0", 0.5, seldom, 1);
	watch_lines_add(&lines, &r, 2, 3, &out);
	CHECK_STR(out.s, "  time s    CPU%  host%   GPU%\n"
	                 "     3.0       -   25.0   50.0\n");
	CHECK(watch_lines_wants("gpu_util_ratio") && !watch_lines_wants("no_column"));
}

static void a_head_comes_again_after_twenty_lines(void)
{
	static const struct signal_point point[] = { { 0.5, 0.25 } };
	AUTO(auto_buf) struct buf out = { 0 };
	struct watch_lines lines = { 0 };
	struct signal now[] = { gauge_at("host_cpu_ratio", NULL, 0.25, point, 1) };
	struct watch_run r = { .system = { .signals = now, .n_signals = 1 } };
	for (int i = 1; i <= 41; i++)
		watch_lines_add(&lines, &r, i - 1, i, &out);
	int heads = 0;
	for (const char *at = out.s; (at = strstr(at, "time s")); at++)
		heads++;
	CHECK_INT(heads, 3);
}

/* The value of a metric, and whether one of its labels has a value. */
struct wanted {
	const char *name, *label, *value;
	double got;
	enum prometheus_type type;
	int n;
};

static bool on_sample(void *ctx, const struct prometheus_sample *s)
{
	struct wanted *w = ctx;
	const struct str *label = w->label ? prometheus_label(s, str_of(w->label)) : NULL;
	if (!str_eq(s->name, str_of(w->name)) ||
	        (w->label && !(label && str_eq(*label, str_of(w->value)))))
		return true;
	w->got = s->value;
	w->type = s->type;
	w->n++;
	return true;
}

static void a_page_for_prometheus_has_base_units_types_and_escapes(void)
{
	static struct signal exported[] = {
		{ .name = "process_cpu_ratio",
		        .unit = "ratio",
		        .instance = "a\"\\\n",
		        .state = SIGNAL_MEASURED,
		        .n = 3,
		        .mean = 0.5,
		        .delta = 2,
		        .total = 2.5,
		        .last = 0.5 },
		{ .name = "disk_bytes_per_s",
		        .unit = "bytes/s",
		        .state = SIGNAL_MEASURED,
		        .n = 3,
		        .mean = 1,
		        .delta = 9,
		        .total = 4096,
		        .last = 1 },
		{ .name = "forks_per_s",
		        .unit = "1/s",
		        .state = SIGNAL_MEASURED,
		        .n = 3,
		        .mean = 1,
		        .delta = 9,
		        .total = 12,
		        .last = 1 },
		{ .name = "watch_late_ms",
		        .unit = "ms",
		        .state = SIGNAL_MEASURED,
		        .n = 3,
		        .mean = 1,
		        .delta = NAN,
		        .total = NAN,
		        .last = 2.5 },
		{ .name = "gpu_clock_mhz",
		        .unit = "MHz",
		        .state = SIGNAL_MEASURED,
		        .n = 3,
		        .mean = 1,
		        .delta = NAN,
		        .total = NAN,
		        .last = 1500 },
		{ .name = "governor",
		        .unit = "1",
		        .state = SIGNAL_MEASURED,
		        .n = 3,
		        .mean = NAN,
		        .delta = NAN,
		        .total = NAN,
		        .last = NAN,
		        .text = "powersave" },
		{ .name = "gone",
		        .unit = "1",
		        .state = SIGNAL_NOT_COUNTED,
		        .reason = "it ended",
		        .mean = NAN,
		        .delta = NAN,
		        .total = NAN,
		        .last = NAN },
	};
	static struct signal of_page[] = {
		{ .name = "server_ttft_ms",
		        .unit = "ms",
		        .page = "http://x/metrics",
		        .state = SIGNAL_ESTIMATED,
		        .reason = "buckets",
		        .n = 4,
		        .mean = 250,
		        .min = NAN,
		        .delta = NAN,
		        .total = NAN,
		        .last = NAN },
	};
	static struct signal_page page = {
		.url = "http://x/metrics", .signals = of_page, .n_signals = 1
	};
	struct wanted wanted[] = {
		{ "venturi_process_cpu_seconds_total", "of", "a\\\"\\\\\\n", 2.5,
		        PROMETHEUS_COUNTER, 1 },
		{ "venturi_disk_bytes_total", NULL, NULL, 4096, PROMETHEUS_COUNTER, 1 },
		{ "venturi_forks_total", NULL, NULL, 12, PROMETHEUS_COUNTER, 1 },
		{ "venturi_watch_late_seconds", NULL, NULL, 0.0025, PROMETHEUS_GAUGE, 1 },
		{ "venturi_gpu_clock_hertz", NULL, NULL, 1.5e9, PROMETHEUS_GAUGE, 1 },
		{ "venturi_governor_info", "text", "powersave", 1, PROMETHEUS_GAUGE, 1 },
		{ "venturi_gone", NULL, NULL, 0, 0, 0 },
		{ "venturi_signal_missing", "reason", "it ended", 1, PROMETHEUS_GAUGE, 1 },
		{ "venturi_server_ttft_seconds_sum", "page", "http://x/metrics", 1,
		        PROMETHEUS_SUMMARY, 1 },
		{ "venturi_server_ttft_seconds_count", NULL, NULL, 4, PROMETHEUS_SUMMARY, 1 },
	};
	const struct watch_run r = {
		.system = { .signals = exported, .n_signals = 7 }, .pages = &page, .n_pages = 1
	};
	AUTO(auto_buf) struct buf out = { 0 };
	struct prometheus_page read;
	report_watch_prometheus(&r, &out);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		struct wanted w = wanted[i];
		w.n = 0;
		CHECK(prometheus_read(buf_str(&out), on_sample, &w, &read));
		bool same = w.n == wanted[i].n && w.type == wanted[i].type &&
		            fabs(w.got - wanted[i].got) <= 1e-9 * fabs(w.got);
		if (!CHECK(same))
			printf("# %s\n%s", wanted[i].name, out.s);
	}
	CHECK_INT(read.n_broken, 0);
	CHECK_INT(read.n_samples, 9);
}

int main(void)
{
	TAP_RUN(json_holds_signals_with_state_and_reason_and_no_zeros_for_what_is_absent);
	TAP_RUN(a_part_of_another_schema_has_series_when_asked);
	TAP_RUN(text_shows_figures_and_groups_what_is_missing_by_its_reason);
	TAP_RUN(of_many_instances_the_largest_are_shown);
	TAP_RUN(a_line_has_means_since_the_line_before_and_columns_of_what_there_is);
	TAP_RUN(a_head_comes_again_after_twenty_lines);
	TAP_RUN(a_page_for_prometheus_has_base_units_types_and_escapes);
	return tap_done();
}
