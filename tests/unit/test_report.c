/*
 * Values are put in by hand and worked out by formula: n latencies of 1, 2, ... n ms have the mean
 * (n + 1) / 2, the deviation sqrt(n (n + 1) / 12), and by nearest rank the percentile q n.
 */
#include "report/layout.h"
#include "report/report.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "tap.h"

#include <ctype.h>
#include <jansson.h>

static struct arena arena;

static void fill_ms(struct hist *h, int64_t n)
{
	hist_init(h, &arena);
	for (int64_t i = 1; i <= n; i++)
		hist_record(h, i * NS_PER_MS);
}

/* A run of which nothing is known but where it went. */
static struct load_run empty_run(void)
{
	return (struct load_run){
		.started_at = "2026-01-02T03:04:05Z",
		.url = "http://127.0.0.1:8000/v1/completions",
		.api = "openai-completions",
		.arrival = "closed",
		.concurrency = 4,
		.rate_per_s = NAN,
		.throughput = { 0, NAN, NAN, NAN },
		.goodput = { NAN, NAN },
		.tokens_source = "none",
		.tokens_per_event = NAN,
		.client = { .cpu_us_per_request = NAN,
		        .offered_per_s = NAN,
		        .little_ratio = NAN,
		        .null_ceiling_per_s = NAN,
		        .verdict = LOAD_CLIENT_UNKNOWN },
	};
}

static struct load_second seconds[] = {
	{ 1, 400, 0, 3.9, 4.5, 9.5, 4000 },
	{ 2, 420, 1, 4, NAN, NAN, 4200 },
	{ 2.5, 180, 0, 4, 4.25, NAN, 1800 },
};

/* A run in which everything is known. */
static struct load_run full_run(void)
{
	struct load_run r = empty_run();
	for (int i = 0; i < LOAD_N_METRICS; i++)
		fill_ms(&r.metrics[i], 1000);
	fill_ms(&r.failed_latency, 3);
	fill_ms(&r.client.lateness, 100);
	fill_ms(&r.client.receive_delay, 10);
	fingerprint_set(&r.fingerprint, &arena, "host.cpu", "A \"fast\" one");
	r.model = "tales";
	r.concurrency = 0;
	r.rate_per_s = 400;
	r.arrival = "poisson";
	r.seed = 7;
	r.max_in_flight = 64;
	r.stream = true;
	r.input = "128 tokens";
	r.output = "uniform:16..64 tokens";
	r.timeout_s = 30;
	r.window = (struct load_window){ 25, 1.5, 2.5, true };
	r.requests = (struct load_requests){ 1006, 1000, 3, 3, 2, { 1, 0, 2, 0, 0, 0, 0 } };
	r.throughput = (struct load_throughput){ 400, 51200, 4000, 3999.5 };
	r.goodput = (struct load_goodput){ 350, 0.875 };
	r.tokens_source = "usage";
	r.tokens_per_event = 1.25;
	r.client.cpu_s = 0.125;
	r.client.cpu_us_per_request = 124.6;
	r.client.busiest_thread_ratio = 0.05;
	r.client.threads = 2;
	r.client.offered_per_s = 402.4;
	r.client.achieved_per_s = 400;
	r.client.little_ratio = 1.01;
	r.client.null_ceiling_per_s = 21000;
	r.client.verdict = LOAD_CLIENT_OK;
	r.client.why = "load threads had time to spare";
	r.series = seconds;
	r.n_series = ARRAY_LEN(seconds);
	r.first_error = "connection refused";
	return r;
}

static json_t *parse(const struct buf *b)
{
	json_error_t error;
	json_t *root = json_loadb(b->s, b->len, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		printf("# line %d: %s\n", error.line, error.text);
	return root;
}

static json_t *load_json(const struct load_run *r)
{
	AUTO(auto_buf) struct buf out = { 0 };
	report_load_json(r, &out);
	return parse(&out);
}

static json_t *diagnosis_json(const struct diagnosis *d)
{
	AUTO(auto_buf) struct buf out = { 0 };
	report_diagnosis_json(d, &out);
	return parse(&out);
}

/* "causes.0.facts.1.name"; NULL when there is no such thing. */
static json_t *at(json_t *root, const char *path)
{
	struct str rest = str_of(path);
	while (root && rest.len > 0) {
		struct str name = str_cut(rest, '.', &rest);
		root = isdigit((unsigned char)name.s[0])
		               ? json_array_get(root, strtoul(name.s, NULL, 10))
		               : json_object_getn(root, name.s, name.len);
	}
	return root;
}

static double number_at(json_t *root, const char *path)
{
	json_t *value = at(root, path);
	if (!json_is_number(value))
		printf("# no number at %s\n", path);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static void check_number(json_t *root, const char *path, double want, double tolerance)
{
	if (!CHECK_NEAR(number_at(root, path), want, tolerance))
		printf("#   at %s\n", path);
}

static void check_names(json_t *root, const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!CHECK(at(root, paths[i]) != NULL))
			printf("#   nothing at %s\n", paths[i]);
}

static void check_null(json_t *root, const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!CHECK(json_is_null(at(root, paths[i]))))
			printf("#   no null at %s\n", paths[i]);
}

static void check_absent(json_t *root, const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!CHECK(at(root, paths[i]) == NULL))
			printf("#   something at %s\n", paths[i]);
}

static int count_lines(const struct buf *b)
{
	int n = 0;
	for (size_t i = 0; i < b->len; i++)
		n += b->s[i] == '\n';
	return n;
}

static int widest_line(const struct buf *b)
{
	struct str rest = buf_str(b);
	int widest = 0;
	while (rest.len > 0) {
		struct str line = str_cut(rest, '\n', &rest);
		int width = utf8_width(line);
		widest = width > widest ? width : widest;
	}
	return widest;
}

static bool has(const struct buf *b, const char *part)
{
	if (b->s && strstr(b->s, part))
		return true;
	printf("# without '%s':\n%s\n", part, b->s ? b->s : "(nothing)");
	return false;
}

static bool lacks(const struct buf *b, const char *part)
{
	return !b->s || !strstr(b->s, part);
}

static bool starts(const struct buf *b, const char *part)
{
	if (str_starts(buf_str(b), str_of(part)))
		return true;
	printf("# does not start with '%s':\n%s\n", part, b->s ? b->s : "(nothing)");
	return false;
}

static void load_json_has_every_name_of_its_schema(void)
{
	static const char *const names[] = {
		"schema",
		"partial",
		"target.url",
		"target.api",
		"target.model",
		"config.rate",
		"config.arrival",
		"config.seed",
		"window.warmup_requests",
		"window.warmup_s",
		"window.duration_s",
		"window.steady",
		"requests.attempted",
		"requests.ok",
		"requests.failed",
		"requests.censored",
		"requests.retried",
		"requests.failures.connect",
		"requests.failures.tls",
		"requests.failures.status",
		"requests.failures.stream_cut",
		"requests.failures.error_event",
		"requests.failures.empty",
		"requests.failures.timeout",
		"requests.failures.client",
		"latency_ms",
		"response_ms",
		"ttfb_ms",
		"ttft_ms",
		"itl_ms",
		"tpot_ms",
		"latency_ms.n",
		"latency_ms.mean",
		"latency_ms.sd",
		"latency_ms.min",
		"latency_ms.p50",
		"latency_ms.p90",
		"latency_ms.p95",
		"latency_ms.p99",
		"latency_ms.p999",
		"latency_ms.max",
		"latency_ms.ci.p50.1",
		"latency_ms.ci.p99.1",
		"throughput.requests_per_s",
		"throughput.input_tokens_per_s",
		"throughput.output_tokens_per_s",
		"throughput.events_per_s",
		"goodput.requests_per_s",
		"goodput.attainment",
		"tokens_source",
		"client.cpu_s",
		"client.cpu_us_per_request",
		"client.lateness_ms.p50",
		"client.receive_delay_ms.p50",
		"client.offered_per_s",
		"client.achieved_per_s",
		"client.little_ratio",
		"client.null_ceiling_per_s",
		"client.verdict",
		"client.why",
		"client.waiting_ratio",
		"client.steal_ratio",
		"series.2.t_s",
		"series.0.requests",
		"series.0.errors",
		"series.0.in_flight",
		"series.0.p50_ms",
		"series.0.p99_ms",
		"series.0.output_tokens",
		"histogram.latency_ms.0.1",
		"histogram.response_ms",
		"histogram.ttfb_ms",
		"histogram.ttft_ms",
		"histogram.itl_ms",
		"histogram.tpot_ms",
	};
	struct load_run r = full_run();
	json_t *root = load_json(&r);
	check_names(root, names, ARRAY_LEN(names));
	CHECK_STR(json_string_value(
	                  json_object_get(json_object_get(root, "fingerprint"), "host.cpu")),
	        "A \"fast\" one");
	CHECK_STR(json_string_value(at(root, "schema")), "venturi.load/1");
	CHECK_STR(json_string_value(at(root, "client.verdict")), "ok");
	CHECK_STR(json_string_value(at(root, "target.model")), "tales");
	CHECK(json_is_false(at(root, "partial")) && json_is_true(at(root, "window.steady")));
	CHECK(at(root, "config.concurrency") == NULL);
	json_decref(root);
}

static void load_json_carries_the_values(void)
{
	/* percentiles are within 0.2 % (hist.h); ranks of the intervals: the binomial's quantiles
	 * 0.025 and 0.975, n = 1000 */
	static const struct {
		const char *path;
		double want;
		double tolerance;
	} cases[] = {
		{ "latency_ms.n", 1000, 0 },
		{ "latency_ms.mean", 500.5, 1e-9 },
		{ "latency_ms.sd", 288.8194361, 1e-6 },
		{ "latency_ms.min", 1, 0 },
		{ "latency_ms.p50", 500, 500 * 0.002 },
		{ "latency_ms.p90", 900, 900 * 0.002 },
		{ "latency_ms.p95", 950, 950 * 0.002 },
		{ "latency_ms.p99", 990, 990 * 0.002 },
		{ "latency_ms.max", 1000, 0 },
		{ "latency_ms.ci.p50.0", 469, 1 + 469 * 0.002 },
		{ "latency_ms.ci.p50.1", 532, 1 + 532 * 0.002 },
		{ "latency_ms.ci.p99.0", 984, 1 + 984 * 0.002 },
		{ "latency_ms.ci.p99.1", 996, 1 + 996 * 0.002 },
		{ "failed_latency_ms.max", 3, 0 },
		{ "client.lateness_ms.n", 100, 0 },
		{ "client.receive_delay_ms.mean", 5.5, 1e-9 },
		{ "config.rate", 400, 0 },
		{ "config.seed", 7, 0 },
		{ "window.warmup_requests", 25, 0 },
		{ "window.duration_s", 2.5, 0 },
		{ "requests.attempted", 1006, 0 },
		{ "requests.censored", 3, 0 },
		{ "requests.retried", 2, 0 },
		{ "requests.failures.connect", 1, 0 },
		{ "requests.failures.status", 2, 0 },
		{ "requests.failures.timeout", 0, 0 },
		{ "throughput.input_tokens_per_s", 51200, 0 },
		{ "throughput.events_per_s", 3999.5, 1e-9 },
		{ "goodput.attainment", 0.875, 0 },
		{ "client.cpu_us_per_request", 124.6, 1e-9 },
		{ "client.null_ceiling_per_s", 21000, 0 },
		{ "series.1.requests", 420, 0 },
		{ "series.1.errors", 1, 0 },
		{ "series.2.t_s", 2.5, 0 },
		{ "series.2.p50_ms", 4.25, 0 },
	};
	static const char *const nulls[] = { "series.1.p50_ms", "series.2.p99_ms" };
	struct load_run r = full_run();
	json_t *root = load_json(&r);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_number(root, cases[i].path, cases[i].want, cases[i].tolerance);
	check_null(root, nulls, ARRAY_LEN(nulls));
	json_decref(root);
}

static void what_was_not_measured_is_null_or_left_out_and_never_0(void)
{
	static const char *const nulls[] = { "target.model", "throughput.input_tokens_per_s",
		"throughput.output_tokens_per_s", "throughput.events_per_s",
		"client.cpu_us_per_request", "client.offered_per_s", "client.little_ratio",
		"client.null_ceiling_per_s", "client.why" };
	static const char *const absent[] = { "latency_ms", "response_ms", "ttfb_ms", "ttft_ms",
		"itl_ms", "tpot_ms", "failed_latency_ms", "goodput", "client.lateness_ms",
		"client.receive_delay_ms", "config.rate", "histogram.latency_ms" };
	struct load_run r = empty_run();
	json_t *root = load_json(&r);
	check_null(root, nulls, ARRAY_LEN(nulls));
	check_absent(root, absent, ARRAY_LEN(absent));
	check_number(root, "config.concurrency", 4, 0);
	CHECK_INT(json_array_size(at(root, "series")), 0);
	CHECK_STR(json_string_value(at(root, "client.verdict")), "unknown");
	json_decref(root);
}

static void a_percentile_with_too_few_samples_is_null(void)
{
	/* the floors of the binomial rule, and one below each */
	static const struct {
		int64_t n;
		int n_present;
	} cases[] = {
		{ 1, 0 },
		{ 10, 0 },
		{ 11, 1 },
		{ 63, 1 },
		{ 64, 2 },
		{ 129, 2 },
		{ 130, 3 },
		{ 661, 3 },
		{ 662, 4 },
		{ 6635, 4 },
		{ 6636, 5 },
		{ 66380, 5 },
		{ 66381, 6 },
	};
	static const char *const names[] = { "p50", "p90", "p95", "p99", "p999", "p9999" };
	static const int64_t floors[] = { 11, 64, 130, 662, 6636, 66381 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct load_run r = empty_run();
		fill_ms(&r.metrics[LOAD_LATENCY], cases[i].n);
		json_t *root = load_json(&r), *latency = at(root, "latency_ms");
		for (int k = 0; k < (int)ARRAY_LEN(names); k++) {
			bool given = k < cases[i].n_present;
			json_t *value = json_object_get(latency, names[k]);
			json_t *interval = json_object_get(at(latency, "ci"), names[k]);
			json_t *needs = json_object_get(at(latency, "needs"), names[k]);
			CHECK(given ? json_is_number(value) : json_is_null(value));
			CHECK(given ? json_is_array(interval) : json_is_null(interval));
			CHECK(given ? !needs : json_integer_value(needs) == floors[k]);
		}
		CHECK(json_is_null(json_object_get(latency, "sd")) == (cases[i].n == 1));
		check_number(latency, "mean", (double)(cases[i].n + 1) / 2, 1e-6);
		json_decref(root);
	}
}

/*
 * 1000 values of 1 to 1000 ms that are worth 100: the 40th and 61st of 100 hold the median at 95 %,
 * and stand for the 391st and the 610th. P99 needs 368 independent ones.
 */
static void an_interval_is_as_wide_as_the_values_are_worth(void)
{
	static const double worth[LOAD_N_PERCENTILES] = { 100, 100, 100, 100, 100, 100 };
	static const double unknown[LOAD_N_PERCENTILES] = { NAN, NAN, NAN, NAN, NAN, NAN };
	AUTO(auto_buf) struct buf text = { 0 };
	AUTO(auto_buf) struct buf short_run = { 0 };
	struct load_run r = full_run();
	r.n_eff[LOAD_LATENCY] = worth;
	json_t *root = load_json(&r);
	check_number(root, "latency_ms.ci.p50.0", 391, 391 * 0.002);
	check_number(root, "latency_ms.ci.p50.1", 610, 610 * 0.002);
	CHECK(json_is_null(at(root, "latency_ms.ci.p99")));
	check_number(root, "latency_ms.p99", 990, 990 * 0.002);
	check_number(root, "latency_ms.n_eff.p50", 100, 0);
	check_number(root, "latency_ms.n_eff.p99", 100, 0);
	static const char *const absent[] = { "latency_ms.n_eff.p999", "response_ms.n_eff" };
	check_absent(root, absent, ARRAY_LEN(absent));
	json_decref(root);
	report_load_text(&r, &text);
	CHECK(has(&text, "resemble their neighbours (n_eff"));
	r.n_eff[LOAD_LATENCY] = unknown;
	root = load_json(&r);
	check_number(root, "latency_ms.ci.p99.0", 984, 1 + 984 * 0.002);
	CHECK(at(root, "latency_ms.n_eff") == NULL);
	json_decref(root);
	report_load_text(&r, &short_run);
	CHECK(has(&short_run, "too short to tell"));
}

/* Counts are exact, edges rise, and no value lies above the last of them. */
static void check_buckets(const struct hist *h)
{
	struct load_run r = empty_run();
	r.metrics[LOAD_LATENCY] = *h;
	json_t *root = load_json(&r), *buckets = at(root, "histogram.latency_ms");
	double edge = -1;
	int64_t n = 0;
	CHECK(json_array_size(buckets) >= 1 && json_array_size(buckets) <= 128);
	for (size_t i = 0; i < json_array_size(buckets); i++) {
		json_t *bucket = json_array_get(buckets, i);
		double upper = json_number_value(json_array_get(bucket, 0));
		int64_t count = json_integer_value(json_array_get(bucket, 1));
		CHECK_INT(json_array_size(bucket), 2);
		CHECK(upper > edge && count > 0);
		/* what lies at or below an edge is what the buckets up to it hold */
		n += count;
		if (i + 1 < json_array_size(buckets))
			CHECK_INT(n, hist_count_at_or_below(h, llround(upper * NS_PER_MS)));
		edge = upper;
	}
	CHECK_INT(n, h->n);
	CHECK_NEAR(edge, (double)h->max / NS_PER_MS, 1e-8 * edge);
	json_decref(root);
}

static void the_histogram_is_small_and_its_counts_are_exact(void)
{
	struct hist h;
	for (int64_t n = 1; n <= 10000; n *= 10) {
		fill_ms(&h, n);
		check_buckets(&h);
	}
	/* one value from each of many octaves, many times; and values beyond the top */
	hist_init(&h, &arena);
	for (int shift = 0; shift < 60; shift++)
		hist_record_n(&h, INT64_C(1) << shift, 1000000000);
	CHECK(h.n_clipped > 0);
	struct load_run r = empty_run();
	r.metrics[LOAD_LATENCY] = h;
	json_t *root = load_json(&r), *buckets = at(root, "histogram.latency_ms");
	int64_t n = 0;
	for (size_t i = 0; i < json_array_size(buckets); i++)
		n += json_integer_value(json_array_get(json_array_get(buckets, i), 1));
	CHECK_INT(n, INT64_C(60) * 1000000000);
	CHECK(json_array_size(buckets) <= 128);
	json_decref(root);
}

static void load_text_fits_on_a_screen_and_says_all(void)
{
	static const char *const parts[] = {
		"http://127.0.0.1:8000/v1/completions (openai-completions, model tales, streamed)",
		"400 requests a second",
		"poisson",
		"seed 7",
		"2.5 s, steady",
		"25 requests in 1.5 s",
		"1006 attempted: 1000 ok, 3 failed, 3 censored",
		"connect 1, status 2",
		"connection refused",
		"400 req/s",
		"51200 input tokens/s",
		"4000 output tokens/s",
		"350 req/s within the objectives: 87.5 %",
		"latency, ms",
		"response, ms",
		"ttft, ms",
		"itl, ms",
		"tpot, ms",
		"500.5",
		"1000",
		"Little",
		"1.01",
		"21000 req/s",
		"5 % of a core",
	};
	AUTO(auto_buf) struct buf out = { 0 };
	struct load_run r = full_run();
	report_load_text(&r, &out);
	CHECK(starts(&out, "Measurement ok: load threads had time to spare\n"));
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		CHECK(has(&out, parts[i]));
	CHECK(widest_line(&out) <= LAYOUT_COLUMNS);
	if (!CHECK(count_lines(&out) <= 46))
		printf("%s", out.s);
}

/* What a service said of itself during full_run: a gauge, a counter, a distribution, and nothing. */
static struct signal server_signals[] = {
	{ .name = "server_requests_running", .unit = "1", .source = "vllm:num_requests_running",
	        .page = "http://x/metrics", .state = SIGNAL_MEASURED, .n = 2, .delta = NAN, .mean = 6,
	        .min = 4, .p50 = NAN, .p95 = NAN, .max = 8,
	        .series = (const struct signal_point[]){ { 0.5, 4 }, { 1.5, 8 } }, .n_series = 2 },
	{ .name = "server_preemptions_per_s", .unit = "1/s", .source = "vllm:num_preemptions_total",
	        .page = "http://x/metrics", .state = SIGNAL_MEASURED, .n = 3, .delta = 30, .mean = 12,
	        .min = 0, .p50 = NAN, .p95 = NAN, .max = 20 },
	{ .name = "server_ttft_ms", .unit = "ms", .source = "vllm:time_to_first_token_seconds",
	        .page = "http://x/metrics", .state = SIGNAL_ESTIMATED, .reason = "interpolated",
	        .n = 1000, .delta = NAN, .mean = 480.5, .min = NAN, .p50 = 470, .p95 = 950, .max = NAN },
	{ .name = "server_queue_ms", .unit = "ms", .page = "http://x/metrics",
	        .state = SIGNAL_NOT_SUPPORTED, .reason = "not on the page", .mean = NAN },
};

static struct signal_page server_pages[] = {
	{ .url = "http://x/metrics", .software = "vllm", .n_read = 5, .from_s = 0.004, .to_s = 2.51,
	        .signals = server_signals, .n_signals = ARRAY_LEN(server_signals) },
	{ .url = "http://y/metrics", .reason = "no answer", .n_failed = 1, .from_s = NAN, .to_s = NAN },
};

static const struct signal_server server = { .pages = server_pages, .n_pages = 2,
	.ttft_beyond_ms = 20, .warning = "a warm cache" };

static void load_json_holds_what_the_service_said(void)
{
	static const char *const names[] = { "server.warning", "server.pages.0.software",
		"server.pages.0.from_s", "server.pages.1.reason", "server.signals.0.source",
		"server.signals.2.reason", "server.signals.3.reason" };
	static const char *const nulls[] = { "server.pages.1.software", "server.pages.1.from_s",
		"server.signals.0.p95", "server.signals.2.max", "server.signals.3.source" };
	static const char *const absent[] = { "server.signals.0.delta", "server.signals.0.reason",
		"server.signals.3.mean", "server.signals.3.n", "server.signals.1.series",
		"server.pages.0.reason" };
	struct load_run r = full_run();
	r.server = &server;
	json_t *root = load_json(&r);
	check_names(root, names, ARRAY_LEN(names));
	check_null(root, nulls, ARRAY_LEN(nulls));
	check_absent(root, absent, ARRAY_LEN(absent));
	check_number(root, "server.ttft_beyond_ms", 20, 0);
	check_number(root, "server.pages.0.read", 5, 0);
	check_number(root, "server.pages.1.failed", 1, 0);
	check_number(root, "server.signals.0.series.1.0", 1.5, 0);
	check_number(root, "server.signals.0.series.1.1", 8, 0);
	check_number(root, "server.signals.1.delta", 30, 0);
	check_number(root, "server.signals.2.p95", 950, 0);
	CHECK_STR(json_string_value(at(root, "server.signals.3.state")), "not_supported");
	json_decref(root);
	r.server = NULL;
	root = load_json(&r);
	CHECK(!at(root, "server"));
	json_decref(root);
}

static void load_text_shows_what_the_service_said(void)
{
	static const char *const parts[] = {
		"vllm at http://x/metrics, read 5 times; counters from 0.004 s to 2.51 s",
		"6 running (at most 8)",
		"12 preemptions/s (30 in all)",
		"TTFT 480.5 ms (P95 ~950)",
		"500.5 ms for the client - 480.5 ms in the service = 20 ms network and client",
		"http://y/metrics: nothing counted: no answer",
	};
	AUTO(auto_buf) struct buf out = { 0 };
	struct load_run r = full_run();
	r.server = &server;
	report_load_text(&r, &out);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (!CHECK(has(&out, parts[i])))
			printf("# %s\n", parts[i]);
	CHECK(!strstr(out.s, "queue"));
	CHECK(widest_line(&out) <= LAYOUT_COLUMNS);
}

static void the_first_line_says_whether_to_trust_the_run(void)
{
	static const struct {
		bool partial;
		int64_t ok;
		enum load_client_verdict verdict;
		const char *why;
		const char *want;
	} cases[] = {
		{ true, 10, LOAD_CLIENT_OK, "it kept up", "Partial: " },
		{ false, 10, LOAD_CLIENT_OK, "it kept up", "Measurement ok: it kept up" },
		{ false, 10, LOAD_CLIENT_LIMITED, "a thread was full",
		        "Measurement limited by the client: a thread was full" },
		{ false, 10, LOAD_CLIENT_UNKNOWN, "too few requests",
		        "Measurement of unknown quality: too few requests" },
		{ false, 10, LOAD_CLIENT_UNKNOWN, NULL, "Measurement of unknown quality" },
		{ false, 0, LOAD_CLIENT_OK, "it kept up",
		        "Measurement invalid: none of the 7 requests succeeded." },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		struct load_run r = empty_run();
		r.partial = cases[i].partial;
		r.requests.attempted = cases[i].ok > 0 ? cases[i].ok : 7;
		r.requests.ok = cases[i].ok;
		r.client.verdict = cases[i].verdict;
		r.client.why = cases[i].why;
		fill_ms(&r.metrics[LOAD_LATENCY], cases[i].ok);
		report_load_text(&r, &out);
		CHECK(starts(&out, cases[i].want));
	}
}

/* The words of the line that begins with the given one, apart by one space. */
static bool row_is(const struct buf *b, const char *first, const char *want)
{
	struct str rest = buf_str(b);
	char got[256] = "";
	while (rest.len > 0) {
		struct str line = str_cut(rest, '\n', &rest);
		if (!str_starts(line, str_of(first)))
			continue;
		size_t n = 0;
		for (size_t i = 0; i < line.len && n + 1 < sizeof(got); i++)
			if (line.s[i] != ' ' || (i > 0 && line.s[i - 1] != ' '))
				got[n++] = line.s[i];
		got[n] = '\0';
		return CHECK_STR(got, want);
	}
	printf("# no line starts with '%s'\n%s", first, b->s);
	return false;
}

static void a_row_shows_a_dash_where_samples_are_too_few_and_says_why(void)
{
	AUTO(auto_buf) struct buf one = { 0 };
	AUTO(auto_buf) struct buf eleven = { 0 };
	struct load_run r = empty_run();
	r.requests = (struct load_requests){ .attempted = 1, .ok = 1 };
	fill_ms(&r.metrics[LOAD_LATENCY], 1);
	report_load_text(&r, &one);
	CHECK(row_is(&one, "latency", "latency, ms 1 1.000 - - - - - - 1.000"));
	CHECK(has(&one, "- too few samples"));
	/*
	 * n = 11: P50 is the 6th, and the 2nd to the 10th hold the median with 1 - 24/2048. Shown is
	 * the middle of the bucket: for 2 ms, 4096 ns from 488 * 4096; for 6 ms, 16384 ns from 366 *
	 * 16384; for 10 ms, 32768 ns from 305 * 32768.
	 */
	fill_ms(&r.metrics[LOAD_LATENCY], 11);
	r.requests.ok = r.requests.attempted = 11;
	report_load_text(&r, &eleven);
	CHECK(row_is(
	        &eleven, "latency", "latency, ms 11 6.000 6.005 2.001..10.01 - - - - 11.00"));
	CHECK(has(&eleven, "P50 needs 11, P90 64, P99 662, P99.9 6636"));
}

static void each_row_has_the_unit_that_suits_it(void)
{
	static const struct {
		int64_t ns;
		const char *first;
		const char *want;
	} cases[] = {
		{ 500, "latency", "latency, ms 1 <.001 - - - - - - <.001" },
		{ 123456, "latency", "latency, ms 1 0.123 - - - - - - 0.123" },
		{ 99999 * NS_PER_MS, "latency", "latency, ms 1 99999 - - - - - - 99999" },
		{ 100 * NS_PER_S, "latency", "latency, s 1 100.0 - - - - - - 100.0" },
		{ 0, "latency", "latency, ms 1 0.000 - - - - - - 0.000" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		struct load_run r = empty_run();
		r.requests.ok = 1;
		hist_init(&r.metrics[LOAD_LATENCY], &arena);
		hist_record(&r.metrics[LOAD_LATENCY], cases[i].ns);
		report_load_text(&r, &out);
		CHECK(row_is(&out, cases[i].first, cases[i].want));
	}
}

static void a_closed_loop_does_not_show_the_same_row_twice(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	struct load_run r = full_run();
	r.concurrency = 8;
	r.rate_per_s = NAN;
	report_load_text(&r, &out);
	CHECK(lacks(&out, "response, ms"));
	CHECK(has(&out, "closed loop, 8 requests at a time"));
}

static void nothing_measured_prints_no_figures(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	struct load_run r = empty_run();
	report_load_text(&r, &out);
	CHECK(starts(&out, "Measurement invalid: none of the 0 requests succeeded."));
	CHECK(lacks(&out, "nan") && lacks(&out, "P50") && lacks(&out, "tokens/s"));
	CHECK(lacks(&out, "Goodput") && lacks(&out, "Ceiling") && lacks(&out, "Little"));
}

static void huge_values_keep_the_text_within_its_columns(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	struct load_run r = full_run();
	char url[400];
	memset(url, 'u', sizeof(url) - 1);
	url[sizeof(url) - 1] = '\0';
	r.url = r.model = r.first_error = r.input = url;
	for (int i = 0; i < LOAD_N_METRICS; i++) {
		hist_record_n(&r.metrics[i], INT64_MAX / 2, 1000000000);
		hist_record_n(&r.metrics[i], 1, 1000000000);
	}
	r.requests.attempted = r.requests.ok = INT64_MAX;
	r.throughput.requests_per_s = 1e300;
	r.client.little_ratio = INFINITY;
	report_load_text(&r, &out);
	if (!CHECK(widest_line(&out) <= LAYOUT_COLUMNS))
		printf("%s", out.s);
	json_t *root = load_json(&r);
	CHECK(json_is_null(at(root, "client.little_ratio")));
	check_number(root, "latency_ms.n", 2000001000, 0);
	json_decref(root);
}

static void the_text_of_a_service_cannot_drive_the_terminal(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	struct load_run r = full_run();
	r.model = "\x1b[2Jm\x07\xc2\x9b"
	          "31m\xff";
	r.first_error = "two\r\nlines\tof \x1b]0;title\x07";
	report_load_text(&r, &out);
	for (size_t i = 0; i < out.len; i++)
		CHECK((unsigned char)out.s[i] >= 0x20 || out.s[i] == '\n');
	CHECK(lacks(&out, "\xc2\x9b") && lacks(&out, "\xff"));
	CHECK(has(&out, "two lines of ?]0;title?"));
	json_t *root = load_json(&r);
	CHECK_STR(json_string_value(at(root, "requests.first_error")), r.first_error);
	json_decref(root);
}

static struct curve_point points[] = {
	{ 1, 10, 100, 99, NAN, 110, NAN, 20, 5, 0.9, 1, NAN, 200, 0 },
	{ 2, 10.5, 105, 190, NAN, 220, NAN, 110, 5, 0.95, 1.01, NAN, 210, 0 },
	{ 4, 10.25, 102, 390, NAN, 420.5, NAN, 300, 5, 0.96, 0.99, NAN, 205, 1 },
};

static struct cause_finding findings[] = {
	{ .id = "too_few_slots",
	        .name = "too few slots",
	        .layer = "framework",
	        .state = CAUSE_CONFIRMED,
	        .facts = { { "streams_active_mean", 0.96, "1", 1, "load, concurrency 4, 20 s", 205,
	                           FACT_MEASURED, NULL },
	                { "slots", 1, "1", NAN, "the curve", 0, FACT_ESTIMATED, NULL },
	                { "device_ratio", NAN, "ratio", NAN, NULL, 0, FACT_NOT_COUNTED,
	                        "no --metrics was given" } },
	        .n_facts = 3,
	        .why = "one request is served at a time",
	        .predicted = { true, "requests_per_s", 1.8, 3.5, "ratio", "G3" },
	        .fix = "raise the number of slots",
	        .experiment = "double the slots" },
	{ .id = "no_batching",
	        .name = "no batching",
	        .layer = "framework",
	        .state = CAUSE_PROBABLE,
	        .why = "throughput does not rise",
	        .n_facts = 1,
	        .facts = { { "throughput_ratio", 1.05, "ratio", 1.5, "load", 415, FACT_MEASURED,
	                NULL } },
	        .predicted = { true, "latency_ms_p50", -50, -20, "ms", NULL } },
	{ .id = "stream_buffering", .layer = "system", .state = CAUSE_PROBABLE, .why = "third" },
	{ .id = "queue_saturation",
	        .layer = "framework",
	        .state = CAUSE_PROBABLE,
	        .why = "fourth" },
	{ .id = "no_keepalive",
	        .layer = "client",
	        .state = CAUSE_EXCLUDED,
	        .n_facts = 1,
	        .facts = { { "connections_per_request", 0.01, "1", 0.5, "load", 205, FACT_MEASURED,
	                NULL } },
	        .why = "connections were kept" },
	{ .id = "launch_bound",
	        .name = "launch-bound kernels",
	        .layer = "operator",
	        .state = CAUSE_NOT_EXAMINED,
	        .needs = "a device trace | with launches" },
	{ .id = "numa_remote", .layer = "system", .state = CAUSE_NOT_EXAMINED, .needs = "a pid" },
};

static const char *warnings[] = { "the client used 97 % of a core" };

static struct diagnosis full_diagnosis(void)
{
	struct diagnosis d = {
		.started_at = "2026-01-02T03:04:05Z",
		.url = "http://127.0.0.1:8000/v1/completions",
		.api = "openai-completions",
		.model = "tales",
		.verdict = VERDICT_BOTTLENECK,
		.kind = SLOW_THROUGHPUT_STUCK,
		.summary = "throughput stays at 10 req/s while latency grows",
		.sla = { true, "p99", 150, 420.5, false, 205, 4 },
		.curve = points,
		.n_curve = ARRAY_LEN(points),
		.causes = findings,
		.n_causes = ARRAY_LEN(findings),
		.next = { true, "serve two requests at a time", "slots", "1", "2",
		        "twice the req/s" },
		.warnings = warnings,
		.n_warnings = 1,
	};
	fingerprint_set(&d.fingerprint, &arena, "target.model", "ta|les <b>");
	return d;
}

static void diagnosis_json_has_every_name_of_its_schema(void)
{
	static const char *const names[] = { "schema", "verdict", "kind", "sla.metric",
		"sla.target", "sla.measured", "sla.met", "curve.0.concurrency",
		"curve.0.requests_per_s", "curve.0.p50_ms", "curve.0.p99_ms",
		"curve.0.device_ratio", "causes.0.id", "causes.0.layer", "causes.0.state",
		"causes.0.facts.0.name", "causes.0.facts.0.value", "causes.0.facts.0.unit",
		"causes.0.facts.0.threshold", "causes.0.facts.0.source", "causes.0.why",
		"causes.5.needs", "causes.0.predicted.metric", "causes.0.predicted.low",
		"causes.0.predicted.high", "causes.0.fix", "causes.0.experiment", "next.change",
		"next.variable", "next.from", "next.to", "next.expect", "target.url", "fingerprint",
		"warnings.0" };
	static const struct {
		const char *path;
		const char *want;
	} texts[] = {
		{ "schema", "venturi.diagnosis/1" },
		{ "verdict", "bottleneck" },
		{ "kind", "throughput_stuck" },
		{ "sla.metric", "p99" },
		{ "causes.0.state", "confirmed" },
		{ "causes.1.state", "probable" },
		{ "causes.4.state", "excluded" },
		{ "causes.5.state", "not_examined" },
		{ "causes.5.needs", "a device trace | with launches" },
		{ "causes.0.facts.1.state", "estimated" },
		{ "causes.0.facts.2.reason", "no --metrics was given" },
		{ "next.to", "2" },
	};
	struct diagnosis d = full_diagnosis();
	json_t *root = diagnosis_json(&d);
	check_names(root, names, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		CHECK_STR(json_string_value(at(root, texts[i].path)), texts[i].want);
	CHECK(json_is_false(at(root, "sla.met")));
	check_number(root, "sla.measured", 420.5, 0);
	check_number(root, "curve.2.p99_ms", 420.5, 0);
	check_number(root, "causes.0.facts.0.value", 0.96, 1e-12);
	check_number(root, "causes.0.predicted.high", 3.5, 0);
	CHECK_INT(json_array_size(at(root, "causes")), ARRAY_LEN(findings));
	json_decref(root);
}

static void what_a_diagnosis_does_not_know_is_null_or_left_out(void)
{
	static const char *const nulls[] = { "curve.0.device_ratio", "curve.0.p999_ms",
		"causes.0.facts.1.threshold", "causes.0.facts.2.value" };
	static const char *const absent[] = { "causes.1.fix", "causes.1.needs",
		"causes.2.predicted", "causes.2.experiment", "causes.0.facts.1.n" };
	static const char *const nothing[] = { "kind", "summary", "target.model" };
	static const char *const left_out[] = { "sla", "next", "curve.0", "causes.0",
		"warnings.0" };
	struct diagnosis d = full_diagnosis();
	json_t *root = diagnosis_json(&d);
	check_null(root, nulls, ARRAY_LEN(nulls));
	check_absent(root, absent, ARRAY_LEN(absent));
	json_decref(root);

	struct diagnosis empty = { .verdict = VERDICT_INCONCLUSIVE, .kind = SLOW_UNKNOWN };
	root = diagnosis_json(&empty);
	check_null(root, nothing, ARRAY_LEN(nothing));
	check_absent(root, left_out, ARRAY_LEN(left_out));
	json_decref(root);
}

static void a_target_is_met_or_missed_or_not_judged(void)
{
	static const struct {
		double measured_ms;
		bool met;
		int64_t n;
		const char *text;
		json_type json_met;
	} cases[] = {
		{ 120.5, true, 205, "p99 at most 150 ms: met, 120.5 ms measured (n 205)",
		        JSON_TRUE },
		{ 420.5, false, 205, "p99 at most 150 ms: missed, 420.5 ms measured (n 205)",
		        JSON_FALSE },
		{ NAN, false, 205,
		        "p99 at most 150 ms: missed, it falls among the failed requests (n 205)",
		        JSON_FALSE },
		{ INFINITY, false, 205,
		        "p99 at most 150 ms: missed, it falls among the failed requests (n 205)",
		        JSON_FALSE },
		{ NAN, false, 0, "p99 at most 150 ms: not judged, the load in use was not measured",
		        JSON_NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf out = { 0 };
		struct diagnosis d = full_diagnosis();
		d.sla.measured_ms = cases[i].measured_ms;
		d.sla.met = cases[i].met;
		d.sla.n = cases[i].n;
		report_diagnosis_text(&d, &out);
		CHECK(has(&out, cases[i].text));
		json_t *root = diagnosis_json(&d);
		CHECK_INT(json_typeof(at(root, "sla.met")), cases[i].json_met);
		CHECK(json_is_null(at(root, "sla.measured")) == !isfinite(cases[i].measured_ms));
		json_decref(root);
	}
}

static void diagnosis_text_is_one_screen_with_the_first_three_causes(void)
{
	static const char *const parts[] = {
		"bottleneck",
		"throughput stays at 10 req/s",
		"throughput stuck",
		"p99 at most 150 ms: missed, 420.5 ms measured (n 205)",
		"concurrency 4",
		"1. confirmed: too few slots (too_few_slots, layer: framework)",
		"streams_active_mean = 0.96, anchor 1 (load, concurrency 4, 20 s; n 205)",
		"slots = ~1 (the curve)",
		"device_ratio: not counted this time: no --metrics was given",
		"requests_per_s becomes 1.8 to 3.5 times what it is",
		"if the experiment confirms it, latency_ms_p50 changes by -50 ms to -20 ms",
		"2. probable: no batching",
		"3. probable: stream_buffering",
		"One more cause is probable",
		"no_keepalive: connections_per_request = 0.01, anchor 0.5 (load; n 205)",
		"2 causes of 7",
		"serve two requests at a time",
		"slots, from 1 to 2",
		"twice the req/s",
		"the client used 97 % of a core",
	};
	AUTO(auto_buf) struct buf out = { 0 };
	struct diagnosis d = full_diagnosis();
	report_diagnosis_text(&d, &out);
	CHECK(starts(&out, "Verdict"));
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		CHECK(has(&out, parts[i]));
	CHECK(lacks(&out, "fourth") && lacks(&out, "launch_bound") && lacks(&out, "nan"));
	/* nothing was known of the device, so there is no column for it */
	CHECK(lacks(&out, "device ratio") && lacks(&out, "P99.9"));
	CHECK(widest_line(&out) <= LAYOUT_COLUMNS);
	CHECK(count_lines(&out) <= 60);
}

static void an_empty_diagnosis_has_a_text_too(void)
{
	AUTO(auto_buf) struct buf text = { 0 };
	AUTO(auto_buf) struct buf markdown = { 0 };
	struct diagnosis d = {
		.partial = true, .verdict = VERDICT_INCONCLUSIVE, .kind = SLOW_UNKNOWN
	};
	report_diagnosis_text(&d, &text);
	CHECK(starts(&text, "Partial: "));
	CHECK(has(&text, "inconclusive") && has(&text, "No cause is confirmed or probable."));
	report_diagnosis_markdown(&d, &markdown);
	CHECK(starts(&markdown, "# ") && has(&markdown, "Partial: ") && lacks(&markdown, "null"));
}

static void markdown_holds_every_cause_the_tool_and_the_fingerprint(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	struct diagnosis d = full_diagnosis();
	report_diagnosis_markdown(&d, &out);
	for (size_t i = 0; i < ARRAY_LEN(findings); i++)
		CHECK(has(&out, findings[i].id));
	CHECK(has(&out, "venturi " VENTURI_VERSION) && has(&out, "2026-01-02T03:04:05Z"));
	CHECK(has(&out, "target.model") && has(&out, "| 420.5"));
	CHECK(has(&out, "**Gain rule**: G3"));
	/* what a service calls itself breaks no table and opens no tag */
	CHECK(has(&out, "| `target.model` | `ta\\|les <b>` |"));
	CHECK(has(&out, "a device trace \\| with launches"));
}

static void numbers_have_four_digits_that_matter(void)
{
	static const struct {
		double value;
		const char *want;
	} cases[] = {
		{ 0, "0" },
		{ 1, "1" },
		{ 12.345, "12.35" },
		{ 0.0012344, "0.001234" },
		{ 999.96, "1000" },
		{ 41234.4, "41234" },
		{ -3.5, "-3.5" },
		{ NAN, "-" },
		{ 0.5, "0.5" },
		{ 1e-9, "1.000e-09" },
		{ 2.5e20, "2.500e+20" },
		{ INFINITY, "inf" },
	};
	char text[LAYOUT_NUMBER];
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(layout_number(cases[i].value, text), cases[i].want);
	CHECK_STR(layout_quantity(1.5, "ms", text), "1.5 ms");
	CHECK_STR(layout_quantity(1.5, "ratio", text), "1.5");
	CHECK_STR(layout_quantity(1.5, "1", text), "1.5");
}

static void paragraphs_break_between_words_and_between_chinese_characters(void)
{
	static const char *const chinese = "吞吐停滞：请求越多等待越久，吞吐却不再上升。";
	AUTO(auto_buf) struct buf text = { 0 };
	AUTO(auto_buf) struct buf out = { 0 };
	for (int i = 0; i < 20; i++)
		buf_printf(&text, "%s with words ", chinese);
	for (int indent = 0; indent < 50; indent++) {
		buf_clear(&out);
		buf_add_blanks(&out, indent);
		layout_wrap(&out, text.s, indent, indent);
		CHECK(widest_line(&out) <= LAYOUT_COLUMNS);
		/* lines are filled: the next piece, a word or two characters, would not have fitted
		 */
		CHECK(count_lines(&out) <= 20 * 56 / (LAYOUT_COLUMNS - indent - 6) + 1);
		CHECK(lacks(&out, "\n。") && lacks(&out, "\n，") && lacks(&out, " 。"));
	}
	buf_clear(&out);
	layout_wrap(&out, "  a  b\nc ", 0, 0);
	CHECK_STR(out.s, "a b c\n");
}

static void fields_line_up_in_both_languages(void)
{
	AUTO(auto_buf) struct buf out = { 0 };
	AUTO(auto_buf) struct buf markdown = { 0 };
	struct fields f = { .tmp = &arena };
	fields_add(&f, "目标", "%s", "http://h");
	fields_add(&f, "Load", "%d at a time", 8);
	fields_add_present(&f, "吞吐量", "1 req/s *");
	fields_add_present(&f, "nothing", NULL);
	fields_print(&f, 1, &out);
	CHECK_STR(out.s, " 目标    http://h\n Load    8 at a time\n 吞吐量  1 req/s *\n");
	fields_markdown(&f, &markdown);
	CHECK(has(&markdown, "- **Load**: 8 at a time\n- **吞吐量**: 1 req/s \\*\n"));
}

int main(void)
{
	TAP_RUN(load_json_has_every_name_of_its_schema);
	TAP_RUN(load_json_carries_the_values);
	TAP_RUN(what_was_not_measured_is_null_or_left_out_and_never_0);
	TAP_RUN(a_percentile_with_too_few_samples_is_null);
	TAP_RUN(an_interval_is_as_wide_as_the_values_are_worth);
	TAP_RUN(the_histogram_is_small_and_its_counts_are_exact);
	TAP_RUN(load_text_fits_on_a_screen_and_says_all);
	TAP_RUN(load_json_holds_what_the_service_said);
	TAP_RUN(load_text_shows_what_the_service_said);
	TAP_RUN(the_first_line_says_whether_to_trust_the_run);
	TAP_RUN(a_row_shows_a_dash_where_samples_are_too_few_and_says_why);
	TAP_RUN(each_row_has_the_unit_that_suits_it);
	TAP_RUN(a_closed_loop_does_not_show_the_same_row_twice);
	TAP_RUN(nothing_measured_prints_no_figures);
	TAP_RUN(huge_values_keep_the_text_within_its_columns);
	TAP_RUN(the_text_of_a_service_cannot_drive_the_terminal);
	TAP_RUN(diagnosis_json_has_every_name_of_its_schema);
	TAP_RUN(what_a_diagnosis_does_not_know_is_null_or_left_out);
	TAP_RUN(a_target_is_met_or_missed_or_not_judged);
	TAP_RUN(diagnosis_text_is_one_screen_with_the_first_three_causes);
	TAP_RUN(an_empty_diagnosis_has_a_text_too);
	TAP_RUN(markdown_holds_every_cause_the_tool_and_the_fingerprint);
	TAP_RUN(numbers_have_four_digits_that_matter);
	TAP_RUN(paragraphs_break_between_words_and_between_chinese_characters);
	TAP_RUN(fields_line_up_in_both_languages);
	arena_release(&arena);
	return tap_done();
}
