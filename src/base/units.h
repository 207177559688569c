/*
 * units.h - durations and sizes as people write them: 500ms, 1.5s, 10m; 64KiB, 4GiB, 1000.
 */
#ifndef VENTURI_BASE_UNITS_H
#define VENTURI_BASE_UNITS_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * ns us ms s m h; a unit is required, except after 0.
 *
 * returns  false when it is no duration, is negative, or exceeds 10,000 hours
 */
bool units_parse_duration(struct str text, int64_t *ret_ns) NODISCARD;

/* Plain bytes, or KiB MiB GiB TiB, or KB MB GB TB (powers of 1000). */
bool units_parse_size(struct str text, int64_t *ret_bytes) NODISCARD;

enum { UNITS_TEXT = 32 };

/* Three significant digits and a unit: "834 ns", "12.3 ms", "2.50 s"; from 600 s on "10.0 min". */
const char *units_duration(double ns, char out[UNITS_TEXT]);

/* "512 B", "64.0 KiB", "4.20 GiB". */
const char *units_size(double bytes, char out[UNITS_TEXT]);

#endif
