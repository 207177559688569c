#include "tap.h"

#include "base/utf8.h"
#include "report/trace.h"
#include "trace/trace.h"

#include <sys/mman.h>
#include <unistd.h>

/* 60 us with work in the first 10 (a kernel), the third 10 (a copy) and the last 20 (both). */
static const char trace_text[] =
        "{\"schemaVersion\":1,\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"<script>\\\"a&b\\\" '\\u0001\\xff\","
        "\"pid\":0,\"tid\":7,\"ts\":100,\"dur\":10,\"args\":{\"device\":0,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pageable -> Device)\","
        "\"pid\":0,\"tid\":7,\"ts\":120,\"dur\":10,\"args\":{\"device\":0,\"stream\":7,"
        "\"bytes\":4096}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":140,"
        "\"dur\":20,\"args\":{\"device\":0,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pageable -> Device)\","
        "\"pid\":0,\"tid\":8,\"ts\":140,\"dur\":20,\"args\":{\"device\":0,\"stream\":8,"
        "\"bytes\":4096}}]}";

struct analysed {
	struct trace trace;
	struct arena run;
	struct trace_run r;
};

static bool analyse(struct analysed *a)
{
	static char path[64];
	const char *const paths[] = { path };
	struct trace_options options = {
		.top = 5, .from_ns = TRACE_NONE, .to_ns = TRACE_NONE, .step = -1, .by = "name"
	};
	struct err err = { .text = "" };
	int fd = memfd_create("trace", MFD_CLOEXEC);
	size_t size = strlen(trace_text);
	if (fd < 0 || write(fd, trace_text, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	*a = (struct analysed){ .r = { 0 } };
	bool ok = trace_open(&a->trace, paths, 1, NULL, &err) &&
	          trace_analyse(&a->trace, &options, &a->run, &a->r, &err);
	close(fd);
	if (!ok)
		printf("# %s\n", err.text);
	return CHECK(ok);
}

static void release(struct analysed *a)
{
	trace_close(&a->trace);
	arena_release(&a->run);
}

static void a_strip_tells_what_ran_in_each_piece_of_time(void)
{
	struct analysed a;
	if (!analyse(&a))
		return;
	const struct trace_strip *s = &a.r.devices[0].strip;
	CHECK_INT(s->bucket_ns, 250); /* 60 us / 240 */
	CHECK_INT(s->n, 240);
	double compute = 0, copy = 0;
	for (size_t i = 0; i < s->n; i++) {
		size_t us = i * 250 / 1000;
		bool has_kernel = us < 10 || us >= 40, has_copy = us >= 20 && us < 30;
		CHECK_NEAR(s->buckets[i].compute_ratio, has_kernel, 1e-9);
		CHECK_NEAR(s->buckets[i].copy_ratio, has_copy, 1e-9);
		compute += s->buckets[i].compute_ratio * 250;
		copy += s->buckets[i].copy_ratio * 250;
	}
	CHECK_NEAR(compute, (double)a.r.devices[0].kernel_busy_ns, 1e-6);
	CHECK_NEAR(compute + copy, (double)a.r.devices[0].busy_ns, 1e-6);
	release(&a);
}

static void names_from_outside_stay_text_on_the_page(void)
{
	const struct report_trace_options options = { .by = "name" };
	AUTO(auto_buf) struct buf page = { 0 };
	struct analysed a;
	if (!analyse(&a))
		return;
	report_trace_html(&a.r, &options, &page);
	CHECK(strstr(page.s, "<script") == NULL);
	CHECK(strstr(page.s, "&lt;script&gt;&quot;a&amp;b&quot; &#39;") != NULL);
	CHECK(strchr(page.s, 1) == NULL);
	CHECK(utf8_valid(page.s, page.len));
	/* It loads nothing. */
	CHECK(strstr(page.s, "src=") == NULL);
	CHECK(strstr(page.s, "href=") == NULL);
	CHECK(strstr(page.s, "url(") == NULL);
	release(&a);
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;
	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		n++;
	return n;
}

static void the_page_has_a_picture_for_each_device_and_closes_what_it_opens(void)
{
	static const char *const tags[] = { "table", "tr", "td", "th", "svg", "h2", "h3", "p", "ul",
		"li", "div", "pre", "text" };
	const struct report_trace_options options = { .by = "name" };
	AUTO(auto_buf) struct buf page = { 0 };
	struct analysed a;
	if (!analyse(&a))
		return;
	report_trace_html(&a.r, &options, &page);
	CHECK_INT(count(page.s, "<svg "), a.r.n_devices);
	CHECK(count(page.s, "class=\"compute\"") >= 120);
	CHECK_INT(count(page.s, "class=\"copy\""), 40);
	for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
		char open[16], with[16], close[16];
		snprintf(open, sizeof open, "<%s>", tags[i]);
		snprintf(with, sizeof with, "<%s ", tags[i]);
		snprintf(close, sizeof close, "</%s>", tags[i]);
		if (!CHECK(count(page.s, open) + count(page.s, with) == count(page.s, close)))
			printf("#   %s\n", tags[i]);
	}
	release(&a);
}

int main(void)
{
	TAP_RUN(a_strip_tells_what_ran_in_each_piece_of_time);
	TAP_RUN(names_from_outside_stay_text_on_the_page);
	TAP_RUN(the_page_has_a_picture_for_each_device_and_closes_what_it_opens);
	return tap_done();
}
