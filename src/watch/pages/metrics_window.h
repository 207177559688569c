/*
 * metrics_window.h - looks at one page of metrics, one after the other, become signals: gauges as
 * they were seen, counters and histograms as differences since the look that began the window.
 *
 * A look is the text of the page and its moment. Series are told apart by name and labels; one that
 * appears after the first look counts from 0, as counters do that their service makes when they are
 * first needed. A counter that went back has been reset: what it shows is what it counted since.
 * That is decided for each family and label set as a whole, so that the buckets of a histogram stay
 * together, and for the whole page when process_start_time_seconds moved.
 *
 * Always: memory does not grow with the number of looks. After METRICS_LOOKS_MAX of them every
 * second one is forgotten, and metrics_window_period_ns doubles. One thread at a time.
 */
#ifndef VENTURI_WATCH_METRICS_WINDOW_H
#define VENTURI_WATCH_METRICS_WINDOW_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "record/signal.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	METRICS_SERIES_MAX = 64 * 1024, /* of one page, that feed a signal */
	METRICS_LOOKS_MAX = 512,
	METRICS_RECENT = 128, /* newest looks that are kept besides, none left out */
};

struct metrics_window;

struct metrics_window *metrics_window_new(void);
void metrics_window_free(struct metrics_window *w);

/*
 * One look.
 *
 * at_ns    on the monotonic clock, later than the look before
 * errors   ERR_INPUT: no page of metrics, more series than METRICS_SERIES_MAX; the look is then as
 *          if it had not been
 */
bool metrics_window_add(
        struct metrics_window *w, struct str text, int64_t at_ns, struct err *err) NODISCARD;

/* Differences count from the newest look on. */
void metrics_window_begin(struct metrics_window *w);

/* How far apart looks should be, given how many there were. */
int64_t metrics_window_period_ns(const struct metrics_window *w);

/* Is there a metric of a software or an exporter that is known? */
bool metrics_window_knows(const struct metrics_window *w);

/*
 * The signals of a window, at any moment: every one of metrics_signals when the page is a
 * service's, with its reason where there is nothing to show, then those of exporters that the page
 * has. Gauges count when they were seen inside it; from and to of counters are the looks. Newest
 * and recent values are there also before the window. Fills software, reason, n_broken, from_s,
 * to_s and signals of the page.
 *
 * url      of the page
 */
void metrics_window_report(const struct metrics_window *w, const char *url, int64_t start_ns,
        int64_t end_ns, struct arena *run, struct signal_page *page);

/*
 * A quantile of a histogram that is only known in buckets.
 *
 * edges    n upper edges, ascending, the last may be infinite
 * below    how many values lie at or below each; what falls is taken as the largest before
 * returns  by linear interpolation inside the bucket; NAN above the last finite edge, and without
 *          values
 * source   Prometheus, histogram_quantile(), but for what lies above the last finite edge
 */
double metrics_quantile(const double *edges, const double *below, size_t n, double q);

#endif
