/*
 * nsys_stats_columns.h - the columns of the reports of nsys stats, under whatever name and unit a
 * version gives them: "Start (ns)", "Start(nsec)", "Duration (us)", "Bytes (MB)".
 */
#ifndef VENTURI_TRACE_READERS_NSYS_STATS_COLUMNS_H
#define VENTURI_TRACE_READERS_NSYS_STATS_COLUMNS_H

#include "text/csv.h"

enum stats_column {
	STATS_START,
	STATS_DURATION,
	STATS_END,
	STATS_NAME,
	STATS_RANGE, /* the name of a range of NVTX */
	STATS_CORRELATION,
	STATS_GRID_X,
	STATS_GRID_Y,
	STATS_GRID_Z,
	STATS_BLOCK_X,
	STATS_BLOCK_Y,
	STATS_BLOCK_Z,
	STATS_REGISTERS,
	STATS_BYTES,
	STATS_FROM,
	STATS_TO,
	STATS_DEVICE,
	STATS_STREAM,
	STATS_PROCESS,
	STATS_THREAD,
	STATS_API_START,
	STATS_API_DURATION,
	STATS_API_NAME,
	STATS_KERNEL_START,
	STATS_KERNEL_DURATION,
	STATS_TOTAL_TIME,
	STATS_TOTAL_SIZE,
	STATS_COUNT,
	STATS_CALLS, /* a count of calls of the host */
	STATS_MAX,
	STATS_CATEGORY,
	N_STATS_COLUMNS,
};

struct stats_columns {
	ptrdiff_t at[N_STATS_COLUMNS]; /* -1: none */
	int64_t unit[N_STATS_COLUMNS]; /* ns, or bytes, in one; 1 without a unit that is known */
};

/* False unless the row is the header of some report. */
bool stats_columns_of(const struct csv_row *row, struct stats_columns *ret);
bool stats_has(const struct stats_columns *c, enum stats_column column);
struct str stats_text(
        const struct stats_columns *c, const struct csv_row *row, enum stats_column column);
/*
 * A decimal in ns or bytes, with or without commas between thousands; nothing passes through a
 * double. False where there is none, or it does not fit.
 */
bool stats_number(const struct stats_columns *c, const struct csv_row *row,
        enum stats_column column, int64_t *ret);

#endif
