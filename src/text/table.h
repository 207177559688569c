/*
 * table.h - columns that line up, also where a character is two columns wide.
 *
 * A cell is one line: line ends in it become spaces, other control characters '?', so that a name
 * that a service made up cannot steer the terminal. A last row with fewer cells than columns ends
 * early.
 */
#ifndef VENTURI_TEXT_TABLE_H
#define VENTURI_TEXT_TABLE_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

enum { TABLE_MAX_COLUMNS = 16 };

enum table_align { TABLE_LEFT, TABLE_RIGHT };

struct table {
	struct arena *tmp;
	int n_columns;
	enum table_align align[TABLE_MAX_COLUMNS];
	const char **cells; /* row by row */
	size_t n_cells, cap_cells;
	int indent;
};

/* align: one letter a column, 'l' or 'r': "lrrr". The first row is the head. */
void table_init(struct table *t, struct arena *tmp, const char *align);
/* The next cell, row by row; the text is copied. */
void table_cell(struct table *t, const char *fmt, ...) PRINTF(2, 3);
/* Terminal text; columns two spaces apart, no line longer than its content. */
void table_print(const struct table *t, struct buf *out);
/* The same as a Markdown table; what Markdown would read as a column is escaped. */
void table_markdown(const struct table *t, struct buf *out);

#endif
