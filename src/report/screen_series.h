/*
 * screen_series.h - what a strip of the screen shows of the signals of one name: their values in
 * columns of equal time, what they are now, and the largest.
 *
 * A signal is looked for among those of the system, then among those of the pages. Where there are
 * several of a name (devices, cores, pages of services), they are put together.
 */
#ifndef VENTURI_REPORT_SCREEN_SERIES_H
#define VENTURI_REPORT_SCREEN_SERIES_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"
#include "record/signal.h"

#include <stdbool.h>
#include <stddef.h>

/* All signals; those of a name beside each other, but pages' apart from the system's. */
struct screen_signals {
	const struct signal **all;
	size_t n;
	const struct screen_group *groups;
	size_t n_groups;
	bool has_pages;
	const char *page_reason; /* why one of the pages tells nothing; NULL: none says so */
};

struct screen_group {
	const char *name;
	const struct signal *const *items; /* never none */
	size_t n;
	bool has_data; /* one of them has values */
};

void screen_signals_init(struct screen_signals *s, const struct signal_system *system,
        const struct signal_server *server, struct arena *run);

/* The signals of a name: the system's, unless only pages have values; NULL: none. */
const struct screen_group *screen_find_one(const struct screen_signals *s, struct str name);

/*
 * The first of alternative names that has values; else the first that is there; else NULL.
 *
 * names  "a|b|c"
 */
const struct screen_group *screen_find(const struct screen_signals *s, const char *names);

/* How values of several signals of a name make one. */
enum screen_over { SCREEN_SUM, SCREEN_MEAN, SCREEN_MAX };

/* What lies in the columns of a sparkline. */
struct screen_axis {
	double end_s;    /* right edge, on the axis of the signals */
	double column_s; /* time of one column */
	int n;           /* columns */
};

/*
 * The axis that ends with the newest sample. Its columns lie at multiples of their time, so that
 * they move by whole columns from one drawing to the next.
 *
 * span_s  of all columns; INFINITY: from the begin of the window
 */
struct screen_axis screen_axis_of(const struct signal_system *system, double span_s, int n);

/*
 * The means of what lies in each column. A column between two samples that follow each other shows
 * the later one, which tells of the time before it; NAN where there was none.
 *
 * ret_columns  [axis->n]
 */
void screen_columns(const struct screen_group *g, enum screen_over over,
        const struct screen_axis *axis, struct arena *tmp, double *ret_columns);
void screen_columns_of(const struct signal *s, const struct screen_axis *axis, double *ret_columns);

/* The mean of the newest second, or the newest value; NAN: there is none now. */
double screen_now(const struct screen_group *g, enum screen_over over);
double screen_now_of(const struct signal *s);

/* The largest of the window where there is one signal, else the largest of the columns. */
double screen_max(const struct screen_group *g, const double *columns, int n);

/* The largest of values that are numbers; NAN: none is. */
double screen_largest(const double *values, int n);

enum { SCREEN_VALUE = 40 };

/*
 * Three digits and the unit: "95 %", "1.85", "12.3 MiB/s", "2.41 GHz", "-" for NAN.
 *
 * unit  as signals have it
 */
const char *screen_value(double value, const char *unit, char out[SCREEN_VALUE]);

#endif
