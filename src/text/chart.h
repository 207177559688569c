/*
 * chart.h - small pictures for a terminal, in UTF-8 blocks.
 */
#ifndef VENTURI_TEXT_CHART_H
#define VENTURI_TEXT_CHART_H

#include "base/str.h"

#include <stddef.h>

/*
 * n bars of one column in eight heights, without a line end, scaled from 0 to the largest value.
 * 0 and less are the lowest bar, NAN is a blank.
 */
void chart_spark(struct buf *out, const double *values, size_t n);

struct chart_bar {
	const char *label;
	double value;
	const char *note; /* after the bar; may be NULL */
};

/*
 * Horizontal bars, a line each: labels aligned right, the longest bar width columns, to an eighth
 * of a column; indent spaces before. A value above 0 shows at least an eighth, so that a rare
 * thing does not look absent; NAN and what is not above 0 show none.
 */
void chart_bars(struct buf *out, const struct chart_bar *bars, size_t n, int width, int indent);

#endif
