/*
 * screen_cells.h - a grid of characters as a terminal shows them, with what each is: written by
 * the parts of report/screen, printed by nobody here.
 *
 * Always: no cell holds a control character or bytes that are no UTF-8; a character of two columns
 * has its right half inside the grid; nothing is written outside. With ascii there is nothing else.
 */
#ifndef VENTURI_REPORT_SCREEN_CELLS_H
#define VENTURI_REPORT_SCREEN_CELLS_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCREEN_CELL_BYTES = 14 };

/* What a cell is; how that looks is the terminal's business. */
enum screen_attr {
	SCREEN_PLAIN,
	SCREEN_DIM,
	SCREEN_STRONG,
	SCREEN_BAR, /* a line of its own ground: the head */
	SCREEN_SPARK,
	SCREEN_MARKED, /* past a threshold; there is a '!' as well */
	SCREEN_N_ATTRS,
};

struct screen_cell {
	char text[SCREEN_CELL_BYTES]; /* a character and what combines with it; "" : a blank */
	uint8_t width;                /* 1 or 2; 0: the right half of the one before */
	uint8_t attr;
};

struct screen {
	int rows, columns;
	bool ascii;
	struct screen_cell *cells; /* [rows, columns] */
	int scroll;                /* of the list: as asked for, or less where it ends */
	int list_rows;             /* of the list, that are shown at a time */
};

void screen_init(struct screen *s, int rows, int columns, bool ascii, struct arena *run);
const struct screen_cell *screen_at(const struct screen *s, int row, int column);

/*
 * Writes a text on one line; what does not fit into width columns, or the grid, is cut off, and an
 * ellipsis says so. Characters of no column that follow none are left out.
 *
 * returns  columns taken
 */
int screen_put(
        struct screen *s, int row, int column, int width, enum screen_attr attr, const char *text);
/* The same so that it ends before column + width. */
void screen_put_right(
        struct screen *s, int row, int column, int width, enum screen_attr attr, const char *text);

/* Gives cells that are there another look, or makes them blanks. */
void screen_paint(struct screen *s, int row, int column, int width, enum screen_attr attr);
void screen_clear(struct screen *s, int row, int column, int width, enum screen_attr attr);

/*
 * One bar for a share of full: from the lowest, which is 0, to the highest; what is above 0 is
 * never the lowest; NAN is a blank.
 */
void screen_put_bar(
        struct screen *s, int row, int column, enum screen_attr attr, double value, double full);

/* The lines, without blanks at their ends: for tests and documents. */
void screen_text(const struct screen *s, struct buf *out);

#endif
