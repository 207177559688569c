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

#endif
