/*
 * screen.h - the live view of 'venturi watch' as a grid of characters: a strip for each resource
 * with its last minute, its value and its largest, then a list (threads, symbols, devices, all
 * signals, missing ones).
 *
 * Pure: what was seen and how it shall be shown go in, cells come out; no terminal, no clock.
 * Always: a strip whose signals have no values is not shown as zeros but named on one line with
 * the reason; a value past its threshold has a '!' beside it, whatever the colours.
 */
#ifndef VENTURI_REPORT_SCREEN_H
#define VENTURI_REPORT_SCREEN_H

#include "base/arena.h"
#include "record/signal.h"
#include "report/screen_cells.h"

#include <stdbool.h>

/* A smaller grid only says that it is too small; a larger one is filled up to this. */
enum {
	SCREEN_MIN_ROWS = 12,
	SCREEN_MIN_COLUMNS = 50,
	SCREEN_MAX_ROWS = 500,
	SCREEN_MAX_COLUMNS = 1000,
};

enum screen_page {
	SCREEN_THREADS,
	SCREEN_SYMBOLS,
	SCREEN_DEVICES,
	SCREEN_SIGNALS,
	SCREEN_MISSING,
	SCREEN_N_PAGES,
};

/* Of the threads. */
enum screen_sort {
	SCREEN_BY_CPU,
	SCREEN_BY_RUN_QUEUE,
	SCREEN_BY_SWITCHES,
	SCREEN_BY_NAME,
	SCREEN_N_SORTS,
};

enum { SCREEN_N_ZOOMS = 7, SCREEN_ZOOM_DEFAULT = 2 };

struct screen_view {
	int rows, columns;
	bool ascii;        /* no characters beyond ASCII */
	bool paused, help; /* help: the keys, over everything */
	int zoom;          /* 0 the shortest time .. SCREEN_N_ZOOMS - 1 the whole window */
	enum screen_page page;
	enum screen_sort sort;
	int scroll;        /* the first row of the list that is shown */
	const char *title; /* what is watched */
};

/*
 * Lays the view out.
 *
 * server       what services say; NULL: nothing
 * ret_screen   its scroll is the view's, or less where the list ends
 */
void screen_draw(const struct signal_system *system, const struct signal_server *server,
        const struct screen_view *view, struct arena *run, struct screen *ret_screen);

/* Whether the points of signals of a name are drawn: see sampler_glance. */
bool screen_wants(const char *name);

#endif
