/*
 * load_tables.h - the parts of a load test's text that are tables and charts.
 */
#ifndef VENTURI_REPORT_LOAD_TABLES_H
#define VENTURI_REPORT_LOAD_TABLES_H

#include "base/arena.h"
#include "base/str.h"
#include "record/load_run.h"

/* A row for each metric that has values; nothing when no request succeeded. */
void load_table_metrics(const struct load_run *r, struct arena *tmp, struct buf *out);

/* A row for each of several URLs; nothing with one. */
void load_table_targets(const struct load_run *r, struct arena *tmp, struct buf *out);

/* Latencies as bars. */
void load_table_histogram(const struct hist *h, struct arena *tmp, struct buf *out);

/* Requests a second over the window. */
void load_table_spark(const struct load_run *r, struct arena *tmp, struct buf *out);

#endif
