/*
 * exporter_map.h - what node_exporter, dcgm-exporter, AMD's device-metrics-exporter, and Triton
 * beside its own, tell of a host and its devices, as the signals that the sources of this folder
 * make of a machine at hand: same names, same units, same meaning.
 *
 * A row is a signal, and the metrics that it is made of. What the exporters leave the unit open of
 * has no row: dcgm-exporter's violations (ns or us, by version) and its NVLink totals.
 *
 * The tables are constant; any thread may read.
 *
 * Source: node_exporter 1.5; dcgm-exporter, etc/dcp-metrics-included.csv; ROCm's
 * device-metrics-exporter, metricslist.md; NVML for the bits of what lowers clocks.
 */
#ifndef VENTURI_WATCH_EXPORTER_MAP_H
#define VENTURI_WATCH_EXPORTER_MAP_H

#include "watch/board.h"

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum exporter { EXPORTER_NODE, EXPORTER_DCGM, EXPORTER_AMD, EXPORTER_TRITON, EXPORTER_N };

/* "node_exporter", "dcgm-exporter", "amd-device-metrics-exporter", "triton" */
extern const char *const exporter_names[EXPORTER_N];

/* What a metric is to its signal. */
enum exporter_role {
	EXPORTER_VALUE,  /* of a gauge or a counter, or what a share is a part of: "part" */
	EXPORTER_WHOLE,  /* of a share */
	EXPORTER_SERIES, /* every series counts 1 */
	EXPORTER_BIT,    /* 1 when one of the bits in mask is set, else 0 */
};

struct exporter_feed {
	const char *metric; /* NULL: no more of them */
	enum exporter_role role;
	double times;       /* to what is counted: milliseconds of seconds; 0: 1 */
	unsigned mask;      /* of EXPORTER_BIT */
	const char *label;  /* only series where this label ... */
	const char *values; /* ... has one of these, "a|b"; NULL: all series */
	bool others;        /* ... or rather has none of these */
};

enum { EXPORTER_FEEDS_MAX = 4 };

/* Series of the same instance add up for a host; for a device, whose series may be told once for
 * each container, the largest counts. */
struct exporter_row {
	enum exporter exporter;
	struct watch_row row;
	const char *instance; /* label that tells instances apart; NULL: there is one */
	const char *before;   /* put before the label's value: "cpu"; NULL: nothing */
	struct exporter_feed feeds[EXPORTER_FEEDS_MAX];
};

extern const struct exporter_row exporter_rows[];
extern const size_t exporter_n_rows;

/* The label of a device that has one more when it is a part of the device (MIG). */
extern const char exporter_part_label[];

struct exporter_match {
	size_t row;
	const struct exporter_feed *feed;
};

enum { EXPORTER_MATCHES_MAX = 32 };

/* The rows that a metric feeds; returns how many. */
size_t exporter_lookup(struct str metric, struct exporter_match matches[EXPORTER_MATCHES_MAX]);

#endif
