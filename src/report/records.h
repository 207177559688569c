/*
 * records.h - what the records of a run say: row by row, or as figures. The figures are counted
 * and sorted anew from the records alone, so they check the histograms of the run.
 */
#ifndef VENTURI_REPORT_RECORDS_H
#define VENTURI_REPORT_RECORDS_H

#include "base/str.h"
#include "record/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which rows, and how they are written. */
struct report_rows {
	bool jsonl;  /* else CSV */
	bool tokens; /* one row for each token event, else for each request */
};

/* The first line of CSV; nothing of JSONL. */
void report_records_head(const struct report_rows *rows, struct buf *out);
/* The rows of one entry: none, one, or as many as it has token events. */
void report_records_rows(
        const struct report_rows *rows, const struct records_entry *entry, struct buf *out);

/* Of one metric; 8 bytes a value. Beyond it percentiles are not given. */
enum { REPORT_RECORDS_VALUES_MAX = 100 * 1000 * 1000 };

struct records_values {
	int64_t *ns;
	size_t n, cap;
	int64_t n_all; /* also those that are not kept */
	double sum;
	int64_t max;
};

/* A zeroed struct is empty. Requests as in a load_run: those sent inside the window. */
struct records_summary {
	int64_t warmup_requests, n_requests;
	int64_t outcomes[RECORDS_N_OUTCOMES];
	int64_t retried;
	struct records_values metrics[LOAD_N_METRICS];
	struct records_values failed_latency;
};

void records_summary_add(struct records_summary *s, const struct records_entry *entry);
void records_summary_release(struct records_summary *s);

/*
 * Both after the last entry of the reader. Schema venturi.records/1: requests and metrics have the
 * names of venturi.load/1.
 */
void report_records_json(
        struct records_summary *s, const struct records_reader *reader, struct buf *out);
void report_records_text(
        struct records_summary *s, const struct records_reader *reader, struct buf *out);

#endif
