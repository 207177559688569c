/*
 * stop.h - finds stop sequences in text that arrives piece by piece.
 */
#ifndef VENTURI_SERVE_STOP_H
#define VENTURI_SERVE_STOP_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* The first place at or after from where one of the stops stands. */
bool stop_find(
        struct str text, size_t from, const struct str *stops, size_t n_stops, size_t *ret_at);

/* How many bytes at the end of text may be the beginning of a stop, and must wait. */
size_t stop_held(struct str text, const struct str *stops, size_t n_stops);

#endif
