/*
 * pages_window.h - a window of metrics from pages that a test writes by hand.
 */
#ifndef VENTURI_TESTS_PAGES_WINDOW_H
#define VENTURI_TESTS_PAGES_WINDOW_H

#include "tap.h"

#include "base/clock.h"
#include "watch/pages/metrics_window.h"

/* Looks a second apart, from 100 s on; the window begins at the first and ends at the last. */
static inline struct signal_page window_of(const char *const *pages, size_t n, struct arena *run)
{
	struct metrics_window *w = metrics_window_new();
	struct signal_page page = { 0 };
	struct err err;
	for (size_t i = 0; i < n; i++) {
		CHECK(metrics_window_add(w, str_of(pages[i]), (int64_t)(100 + i) * NS_PER_S, &err));
		if (i == 0)
			metrics_window_begin(w);
	}
	metrics_window_report(
	        w, "http://host/metrics", 100 * NS_PER_S, (int64_t)(99 + n) * NS_PER_S, run, &page);
	metrics_window_free(w);
	return page;
}

#endif
