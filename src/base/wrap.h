/*
 * wrap.h - paragraphs filled to a width, in English and in Chinese.
 *
 * A line may be broken at blanks and beside characters that are two columns wide, but no line
 * starts with a mark that closes or ends with one that opens, and "12 %" stays together.
 *
 * Source: Unicode annex 14, as far as these two languages need it.
 */
#ifndef VENTURI_BASE_WRAP_H
#define VENTURI_BASE_WRAP_H

#include "base/str.h"

/*
 * A paragraph and a newline. Runs of blanks count as one; no line ends in any.
 *
 * column   how many columns of the current line are taken already
 * indent   blanks before every further line, less than columns
 * columns  how many a line may have; what cannot be broken and is longer is cut to fit
 */
void wrap_text(struct buf *out, struct str text, int column, int indent, int columns);

#endif
