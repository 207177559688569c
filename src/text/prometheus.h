/*
 * prometheus.h - reads a page of metrics in Prometheus's text format, one pass, nothing copied.
 *
 * Every sample goes to a callback as views into the text. What is not understood is counted and
 * passed over line by line, so that one broken exporter behind a page does not hide the rest. Of
 * OpenMetrics it understands what differs: "# EOF" ends the page, time stamps may have fractions,
 * exemplars after a '#' are passed over.
 *
 * Always: the text decides the outcome, nothing recurses, nothing is allocated.
 *
 * Limits: PROMETHEUS_LINE_MAX bytes of a line, PROMETHEUS_LABELS_MAX labels of a sample,
 * PROMETHEUS_VALUE_MAX bytes of a number; a line beyond them is a broken one.
 *
 * Source: Prometheus, "Text-based format" 0.0.4; OpenMetrics 1.0.
 */
#ifndef VENTURI_TEXT_PROMETHEUS_H
#define VENTURI_TEXT_PROMETHEUS_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	PROMETHEUS_LINE_MAX = 64 * 1024,
	PROMETHEUS_LABELS_MAX = 64,
	PROMETHEUS_VALUE_MAX = 63,
};

enum prometheus_type {
	PROMETHEUS_UNTYPED,
	PROMETHEUS_COUNTER,
	PROMETHEUS_GAUGE,
	PROMETHEUS_HISTOGRAM,
	PROMETHEUS_SUMMARY,
};

struct prometheus_label {
	struct str name;
	struct str value; /* between its quotes, escapes not resolved */
};

struct prometheus_sample {
	struct str name;           /* with its suffix: "x_bucket" */
	enum prometheus_type type; /* of its family, as the last "# TYPE" said */
	const struct prometheus_label *labels;
	size_t n_labels;
	double value; /* may be NAN or infinite */
};

struct prometheus_page {
	size_t n_samples;
	size_t n_broken; /* lines that are neither a sample nor a comment nor empty */
	bool ended;      /* "# EOF" was there */
};

/*
 * Reads a whole page.
 *
 * on_sample  called in the order of the page; a false return ends the reading
 * returns    false when on_sample did; the page counts what was read until then
 */
bool prometheus_read(struct str text,
        bool (*on_sample)(void *ctx, const struct prometheus_sample *s), void *ctx,
        struct prometheus_page *ret_page) NODISCARD;

/* The value of a label of this name, or NULL. */
const struct str *prometheus_label(const struct prometheus_sample *s, struct str name);

/* A sample's number: decimals, NaN, Inf, +Inf, -Inf and Infinity in any case. */
bool prometheus_number(struct str text, double *ret_value) NODISCARD;

/* Appends a label's value with \\, \" and \n resolved; other escapes stay as they are. */
void prometheus_unescape(struct str raw, struct buf *out);

#endif
