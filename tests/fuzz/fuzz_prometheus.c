/*
 * fuzz_prometheus.c - any bytes as a page of metrics: views stay inside the text, a broken line
 * hides no other, and two looks at pages that are cut from the input make signals whose figures
 * are numbers or absent, never infinite.
 */
#include "text/prometheus.h"
#include "watch/pages/metrics_window.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct inside {
	struct str text;
	size_t n;
};

static void check_inside(const struct inside *in, struct str part)
{
	if (part.s < in->text.s || part.s + part.len > in->text.s + in->text.len)
		abort();
}

static bool on_sample(void *ctx, const struct prometheus_sample *s)
{
	struct inside *in = ctx;
	AUTO(auto_buf) struct buf value = { 0 };
	in->n++;
	check_inside(in, s->name);
	if (s->name.len == 0 || s->n_labels > PROMETHEUS_LABELS_MAX)
		abort();
	for (size_t i = 0; i < s->n_labels; i++) {
		check_inside(in, s->labels[i].name);
		check_inside(in, s->labels[i].value);
		prometheus_unescape(s->labels[i].value, &value);
	}
	return true;
}

/* Line by line it is the same as the whole, up to "# EOF". */
static void check_lines(struct str text, const struct prometheus_page *whole)
{
	size_t n = 0, n_broken = 0;
	bool ended = false;
	while (text.len && !ended) {
		struct prometheus_page page;
		struct str line = str_cut(text, '\n', &text);
		struct inside in = { .text = line };
		if (!prometheus_read(line, on_sample, &in, &page))
			abort();
		n += page.n_samples;
		n_broken += page.n_broken;
		ended = page.ended;
	}
	if (n != whole->n_samples || n_broken != whole->n_broken || ended != whole->ended)
		abort();
}

static void check_signals(const struct signal_page *page)
{
	for (size_t i = 0; i < page->n_signals; i++) {
		const struct signal *s = &page->signals[i];
		if (s->state > SIGNAL_ESTIMATED && !s->reason)
			abort();
		if (s->n < 0 || isinf(s->p50) || isinf(s->p95) || s->max < s->min)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	struct inside in = { .text = text };
	struct prometheus_page page;
	struct err err;
	struct arena run = { 0 };
	struct signal_page signals = { 0 };
	if (!prometheus_read(text, on_sample, &in, &page) || in.n != page.n_samples)
		abort();
	check_lines(text, &page);
	struct metrics_window *w = metrics_window_new();
	metrics_window_begin(w);
	for (int i = 0; i < 3; i++) {
		/* whole, the first half, whole again: series go and come */
		struct str part = { text.s, i == 1 ? size / 2 : size };
		if (!metrics_window_add(w, part, i * NS_PER_S, &err) && err.kind != ERR_INPUT)
			abort();
	}
	metrics_window_report(w, "", 0, 2 * NS_PER_S, &run, &signals);
	check_signals(&signals);
	metrics_window_free(w);
	arena_release(&run);
	return 0;
}
