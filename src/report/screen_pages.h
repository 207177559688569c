/*
 * screen_pages.h - the lists below the strips: what each of them lists, and one of its rows.
 */
#ifndef VENTURI_REPORT_SCREEN_PAGES_H
#define VENTURI_REPORT_SCREEN_PAGES_H

#include "report/screen.h"
#include "report/screen_series.h"

/* What the pages are made of, and a list when it has been made. */
struct screen_list {
	const struct signal_system *system;
	const struct screen_signals *signals;
	const struct screen_view *view;
	struct arena *tmp;

	size_t n;            /* rows */
	const char *nothing; /* where there are none: why, translated */
	const char *said;    /* beside the title, translated; NULL: nothing */
	const void *items;   /* the page's own */
};

struct screen_page_row {
	const char *title; /* N_() */
	void (*make)(struct screen_list *l);
	/* NULL: the list has no heads of its own */
	void (*heads)(const struct screen_list *l, struct screen *s, int row);
	void (*draw)(const struct screen_list *l, size_t i, struct screen *s, int row);
};

extern const struct screen_page_row screen_page_rows[SCREEN_N_PAGES];

extern const char *const screen_sort_names[SCREEN_N_SORTS]; /* N_() */

/* Are the points of signals of this name drawn in a list? */
bool screen_pages_want(const char *name);

/* A column of a list. */
struct screen_column {
	const char *head; /* N_() */
	int width;
	bool right;
	int from_columns; /* of the screen: left out where it is narrower */
};

/*
 * Where column i begins; the columns shown before it have their widths, a blank after each.
 *
 * returns  -1: it is left out
 */
int screen_column_at(const struct screen_column *columns, size_t i, int screen_columns);
void screen_column_heads(const struct screen_column *columns, size_t n, struct screen *s, int row);
/* Writes a text into column i, when that is shown. */
void screen_column_put(const struct screen_column *columns, size_t i, struct screen *s, int row,
        enum screen_attr attr, const char *text);

#endif
