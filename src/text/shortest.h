/*
 * shortest.h - a float as the shortest decimal that reads back as the same float.
 *
 * For hot paths: an embedding is a thousand of them. Whatever the locale, the point is a dot; the
 * text is a number of JSON. Pure, for any thread.
 *
 * Source: Giulietti 2020, The Schubfach way to render doubles, for 32 bits.
 */
#ifndef VENTURI_TEXT_SHORTEST_H
#define VENTURI_TEXT_SHORTEST_H

#include "base/str.h"

#include <stddef.h>

enum { SHORTEST_F32_MAX = 24 }; /* bytes that the longest text needs, and some to spare */

/*
 * value    finite
 * out      [SHORTEST_F32_MAX]; no NUL is added
 * returns  bytes written: "0.1", "-17", "1.5e-12"
 */
size_t shortest_f32(float value, char *out);

/* A JSON array of n values; what is no finite number becomes null. */
void shortest_add_array(struct buf *out, const float *values, size_t n);

#endif
