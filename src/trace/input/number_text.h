/*
 * number_text.h - numbers as programs print them for people: with separators of thousands, and a
 * point or a comma before the fraction.
 *
 * "4,963" can be four thousand or five: which mark stands before the fraction is a matter of the
 * whole file, so that it is found by a vote of those numbers that can be read in one way only.
 */
#ifndef VENTURI_TRACE_NUMBER_TEXT_H
#define VENTURI_TRACE_NUMBER_TEXT_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>

/* Above 0 when the text can only be meant with a point, below 0 only with a comma. */
int number_text_vote(struct str text);
/*
 * The number, and how it is written without separators of thousands.
 *
 * mark     '.' or ',': what stands before the fraction
 * returns  NAN when the text is no number; then plain is the text itself
 */
double number_text_read(struct str text, char mark, struct arena *tmp, struct str *ret_plain);

#endif
