/*
 * metrics_looks.h - what metrics_window.c gathers and metrics_report.c makes signals of.
 */
#ifndef VENTURI_WATCH_METRICS_LOOKS_H
#define VENTURI_WATCH_METRICS_LOOKS_H

#include "watch/pages/exporters.h"
#include "watch/pages/metrics_map.h"
#include "watch/pages/metrics_window.h"

enum { METRICS_N_PARTS = METRICS_PART_COUNT + 1 };

/* The name under which a row was found on the page, for each part of it; NULL: not found. */
struct row_seen {
	const char *name[METRICS_N_PARTS];
	int alternative; /* which of the row's names that is */
	bool seen;
	bool no_number; /* what the page had there was none, or too large for one */
};

/* A sample of the page at hand, for one row that it feeds. */
struct reading {
	uint64_t key;   /* of row, name and labels */
	uint64_t group; /* the same without the name and the label 'le' */
	struct metrics_match match;
	double le; /* NAN: no bucket */
	double value;
};

/* A counter over all looks. */
struct series {
	struct metrics_match match;
	double le;
	double value; /* at the newest look */
	double grown; /* since the window began */
	int64_t look; /* the newest that it was in; -1: none yet */
};

/* Series that are reset together. */
struct group {
	int64_t reset_at; /* the newest look with a reset; -1: none */
	int n_resets;
};

struct key_place {
	uint64_t key;
	uint32_t number;
	bool used;
};

/* Open addressing; cap is a power of two. */
struct key_index {
	struct key_place *places;
	size_t cap, n;
};

/* A gauge's value; a counter's growth; a distribution's sum, in our unit, and its count. */
struct look_value {
	double value, count;
};

struct signal_now {
	double value, count;           /* since the window began */
	double value_ever, count_ever; /* of what is counted: since the first look */
	int n_resets;
};

struct look {
	int64_t at_ns;
	struct look_value signals[METRICS_N_SIGNALS];
};

struct metrics_window {
	struct arena memory;
	enum metrics_software software; /* METRICS_N_SOFTWARE: not known yet */
	size_t n_known;                 /* looks that had a known name, until it was settled */
	struct row_seen *rows;          /* [metrics_n_rows] */
	double start_time;              /* process_start_time_seconds; NAN: the page has none */
	size_t n_samples, n_broken;     /* of the newest look */
	struct reading *now;
	size_t n_now, cap_now;
	struct series *series;
	size_t n_series, cap_series;
	struct key_index series_index;
	struct group *groups;
	size_t cap_groups;
	struct key_index group_index;
	struct signal_now signals[METRICS_N_SIGNALS];
	int64_t n_looks, last_ns;
	bool begun;
	struct look *looks; /* [METRICS_LOOKS_MAX], since the window began */
	size_t n_kept;
	int64_t period_ns;
	struct look recent[METRICS_RECENT]; /* a ring; of what is counted: since the first look */
	size_t n_recent, recent_at;
	struct exporters exporters; /* what is not of a service */
};

#endif
