#include "text/prometheus.h"

#include "tap.h"

/* A page and what was read: "name{label=value,...}=number type;" for each sample. */
struct page {
	const char *input;
	const char *want;
	size_t n_broken;
};

static const char *const type_names[] = { "untyped", "counter", "gauge", "histogram", "summary" };

static bool add_sample(void *ctx, const struct prometheus_sample *s)
{
	struct buf *out = ctx;
	buf_add(out, s->name);
	for (size_t i = 0; i < s->n_labels; i++)
		buf_printf(out, "%s%.*s=%.*s", i ? "," : "{", STR_ARG(s->labels[i].name),
		        STR_ARG(s->labels[i].value));
	buf_printf(out, "%s=%g %s;", s->n_labels ? "}" : "", s->value, type_names[s->type]);
	return true;
}

static void check_page(const struct page *page)
{
	AUTO(auto_buf) struct buf got = { 0 };
	struct prometheus_page read;
	/* a copy without a NUL behind it, so that a sanitizer sees a read past the end */
	size_t n = strlen(page->input);
	char *text = malloc(n ? n : 1);
	memcpy(text, page->input, n);
	CHECK(prometheus_read((struct str){ text, n }, add_sample, &got, &read));
	CHECK_STR(got.s ? got.s : "", page->want);
	CHECK_INT(read.n_broken, page->n_broken);
	free(text);
}

/* The examples of the format's own description, with what it says of them. */
static void the_examples_of_the_format_are_read(void)
{
	static const struct page page = {
		"# HELP http_requests_total The total number of HTTP requests.\n"
		"# TYPE http_requests_total counter\n"
		"http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000\n"
		"http_requests_total{method=\"post\",code=\"400\"}    3 1395066363000\n"
		"\n"
		"# Escaping in label values:\n"
		"msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\FILE.TXT\",error=\"Cannot find "
		"file:\\n\\\"FILE.TXT\\\"\"} 1.458255915e9\n"
		"\n"
		"# Minimalistic line:\n"
		"metric_without_timestamp_and_labels 12.47\n"
		"\n"
		"something_weird{problem=\"division by zero\"} +Inf -3982045\n"
		"\n"
		"# TYPE http_request_duration_seconds histogram\n"
		"http_request_duration_seconds_bucket{le=\"0.05\"} 24054\n"
		"http_request_duration_seconds_bucket{le=\"+Inf\"} 144320\n"
		"http_request_duration_seconds_sum 53423\n"
		"http_request_duration_seconds_count 144320\n"
		"\n"
		"# TYPE rpc_duration_seconds summary\n"
		"rpc_duration_seconds{quantile=\"0.01\"} 3102\n"
		"rpc_duration_seconds_sum 1.7560473e+07\n",
		"http_requests_total{method=post,code=200}=1027 counter;"
		"http_requests_total{method=post,code=400}=3 counter;"
		"msdos_file_access_time_seconds{path=C:\\\\DIR\\\\FILE.TXT,error=Cannot find "
		"file:\\n\\\"FILE.TXT\\\"}=1.45826e+09 untyped;"
		"metric_without_timestamp_and_labels=12.47 untyped;"
		"something_weird{problem=division by zero}=inf untyped;"
		"http_request_duration_seconds_bucket{le=0.05}=24054 histogram;"
		"http_request_duration_seconds_bucket{le=+Inf}=144320 histogram;"
		"http_request_duration_seconds_sum=53423 histogram;"
		"http_request_duration_seconds_count=144320 histogram;"
		"rpc_duration_seconds{quantile=0.01}=3102 summary;"
		"rpc_duration_seconds_sum=1.75605e+07 summary;",
		0,
	};
	check_page(&page);
}

static void what_openmetrics_adds_is_understood(void)
{
	static const struct page pages[] = {
		{ "# TYPE foo counter\nfoo_total 17.0 1520879607.789 # {trace_id=\"a b\"} 0.67\n"
		  "# EOF\nafter 1\n",
		        "foo_total=17 counter;", 0 },
		{ "foo_bucket{le=\"0.1\"} 8 # {} 0.054\n", "foo_bucket{le=0.1}=8 untyped;", 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(pages); i++)
		check_page(&pages[i]);
}

static void lines_may_be_laid_out_freely(void)
{
	static const struct page pages[] = {
		{ "", "", 0 },
		{ "\n\n#\n# \n", "", 0 },
		{ "a 1", "a=1 untyped;", 0 },
		{ "a 1\r\nb 2\r\n", "a=1 untyped;b=2 untyped;", 0 },
		{ "  a\t1\n", "a=1 untyped;", 0 },
		{ "a{} 1\n", "a=1 untyped;", 0 },
		{ "a{x=\"1\",} 1\n", "a{x=1}=1 untyped;", 0 },
		{ "a { x = \"1\" , y=\"2\" } 1\n", "a{x=1,y=2}=1 untyped;", 0 },
		{ "a{x=\"}\"}1\n", "a{x=}}=1 untyped;", 0 },
		{ "a:b_c 1\n", "a:b_c=1 untyped;", 0 },
		{ "a NaN\nb -Inf\nc nan\nd +inf\n",
		        "a=nan untyped;b=-inf untyped;c=nan untyped;d=inf untyped;", 0 },
		{ "a{x=\"\xE4\xBD\xA0\"} 1\n", "a{x=\xE4\xBD\xA0}=1 untyped;", 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(pages); i++)
		check_page(&pages[i]);
}

static void a_broken_line_hides_no_other(void)
{
	static const char *const lines[] = { "<html>", "{\"a\": 1}", "a", "a b", "a 1 2 3", "a 1 x",
		"1a 1", "a{x} 1", "a{x=1} 1", "a{x=\"1\" 1", "a{x=\"1} 1", "a{x=\"\\\"} 1",
		"a{=\"1\"} 1", "a{x=\"1\"y=\"2\"} 1", "a{x=\"1\"", "a{", "a 0x10", "a 1_0",
		"a Nano", "a{a:b=\"1\"} 1", "a 1e999", "\x01" };
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		AUTO(auto_buf) struct buf input = { 0 };
		buf_printf(&input, "a 1\n%s\nb 2\n", lines[i]);
		const struct page page = { input.s, "a=1 untyped;b=2 untyped;", 1 };
		check_page(&page);
	}
}

static bool count(void *ctx, const struct prometheus_sample *s)
{
	(void)s;
	return ++*(int *)ctx < 2;
}

static void the_callback_ends_the_reading(void)
{
	struct prometheus_page page;
	int n = 0;
	CHECK(!prometheus_read(STR("a 1\nb 2\nc 3\n"), count, &n, &page));
	CHECK_INT(page.n_samples, 2);
}

/* A line of labels, and one that is n bytes long. */
static size_t samples_of(size_t n_labels, size_t n_bytes)
{
	AUTO(auto_buf) struct buf text = { 0 };
	struct prometheus_page page;
	int n = -10;
	buf_add_c(&text, "a{");
	for (size_t i = 0; i < n_labels; i++)
		buf_printf(&text, "x%zu=\"\",", i);
	buf_add_c(&text, "y=\"");
	while (text.len + 4 < n_bytes)
		buf_add_char(&text, '.');
	buf_add_c(&text, "\"} 1");
	CHECK(prometheus_read(buf_str(&text), count, &n, &page));
	CHECK_INT(page.n_samples + page.n_broken, 1);
	return page.n_samples;
}

static void lines_and_labels_have_limits(void)
{
	CHECK_INT(samples_of(PROMETHEUS_LABELS_MAX - 1, 0), 1);
	CHECK_INT(samples_of(PROMETHEUS_LABELS_MAX, 0), 0);
	CHECK_INT(samples_of(0, PROMETHEUS_LINE_MAX), 1);
	CHECK_INT(samples_of(0, PROMETHEUS_LINE_MAX + 1), 0);
}

static void escapes_of_labels_are_resolved(void)
{
	static const char *const cases[][2] = { { "", "" }, { "plain", "plain" },
		{ "C:\\\\DIR", "C:\\DIR" }, { "a\\nb", "a\nb" }, { "\\\"q\\\"", "\"q\"" },
		{ "\\x", "\\x" } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(auto_buf) struct buf got = { 0 };
		prometheus_unescape(str_of(cases[i][0]), &got);
		CHECK_STR(got.s ? got.s : "", cases[i][1]);
	}
}

int main(void)
{
	TAP_RUN(the_examples_of_the_format_are_read);
	TAP_RUN(what_openmetrics_adds_is_understood);
	TAP_RUN(lines_may_be_laid_out_freely);
	TAP_RUN(a_broken_line_hides_no_other);
	TAP_RUN(the_callback_ends_the_reading);
	TAP_RUN(lines_and_labels_have_limits);
	TAP_RUN(escapes_of_labels_are_resolved);
	return tap_done();
}
