/*
 * watch.h - what a watch saw, as JSON and as text; for whole watches, and for the part of a load or
 * a diagnosis that was one.
 */
#ifndef VENTURI_REPORT_WATCH_H
#define VENTURI_REPORT_WATCH_H

#include "base/arena.h"
#include "base/str.h"
#include "record/watch_run.h"

#include <stdbool.h>

struct fields;
struct json;

/* Schema venturi.watch/1. series: with the points of every signal. */
void report_watch_json(const struct watch_run *r, bool series, struct buf *out);

/* The same keys, from "window" to "symbols", as an object of their own: for another schema. */
void report_system_json(struct json *j, const struct signal_system *system, bool series);

/*
 * The figures that say most, in a few lines of two columns: process, threads, memory, host, control
 * group, network, device; nothing of what there is not.
 */
void report_system_fields(const struct signal_system *system, struct fields *f);

/* The end of a watch: the same lines, then a table of every signal, then what is missing and why.
 */
void report_watch_text(const struct watch_run *r, struct buf *out);

/* ---- lines ---- */

enum { WATCH_LINES_COLUMNS = 18 };

/* Zeroed before the first line. */
struct watch_lines {
	bool shown[WATCH_LINES_COLUMNS]; /* columns of what there has been */
	int n_lines;                     /* since the head */
};

/* Whether a signal has a column: its points have to be there. */
bool watch_lines_wants(const char *name);

/*
 * One line, under a head when one is due or a column is new: means of what was seen since the line
 * before. What has no value now is a dash; what never had one has no column.
 *
 * from_s, to_s  on the axis of the points; the points at from_s are those of the line before
 */
void watch_lines_add(struct watch_lines *l, const struct watch_run *now, double from_s, double to_s,
        struct buf *out);

/* ---- an exporter's page ---- */

/* Prometheus's text format, version 0.0.4. */
void report_watch_prometheus(const struct watch_run *r, struct buf *out);

#endif
