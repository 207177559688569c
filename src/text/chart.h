/*
 * chart.h - small pictures for a terminal, in UTF-8 blocks or plain ASCII.
 */
#ifndef VENTURI_TEXT_CHART_H
#define VENTURI_TEXT_CHART_H

#include "base/str.h"

#include <stddef.h>

/* One line of n bars, scaled from 0 to the largest value; NAN is a blank. */
void chart_spark(struct buf *out, const double *values, size_t n);

struct chart_bar {
	const char *label;
	double value;
	const char *note; /* after the bar; may be NULL */
};

/* Horizontal bars, labels aligned right, the longest bar width columns; indent spaces before. */
void chart_bars(struct buf *out, const struct chart_bar *bars, size_t n, int width, int indent);

#endif
