/*
 * screen_strips.h - the strips of the screen: which signals each shows, which of them are shown
 * where there is little room, and what is missing.
 */
#ifndef VENTURI_REPORT_SCREEN_STRIPS_H
#define VENTURI_REPORT_SCREEN_STRIPS_H

#include "report/screen_cells.h"
#include "report/screen_series.h"

enum { SCREEN_NOTES_MAX = 8, SCREEN_RANKS = 6 };

/* What is told beside the sparkline of another signal. */
struct screen_note {
	const char *fmt;   /* N_() phrase with the value */
	const char *names; /* "a|b": the first that has values */
	enum screen_over over;
	bool always; /* also while it is 0 */
	double bad;  /* from here on it is marked; 0: never */
};

struct screen_strip {
	const char *label; /* N_() */
	const char *names; /* "a|b": the first that has values */
	enum screen_over over;
	const char *unit; /* in which it is shown; NULL: the signal's */
	int rank;         /* 1: also on the smallest screen; 1 and 2: named when missing */
	double top;       /* of the scale; 0: the largest value */
	const char *full; /* limits; the least that is told is the top instead */
	double bad;       /* share of the top, or value, from which on it is marked; 0: never */
	bool each;        /* a strip of its own for each of several instances, too */
	bool across;      /* the columns are instances, not time */
	const char *otherwise; /* N_() reason where no page is read; NULL: it is of no page */
	struct screen_note notes[SCREEN_NOTES_MAX];
};

/* In the order of the screen. */
extern const struct screen_strip screen_strip_table[];
extern const size_t screen_n_strips;

/* A strip, with all signals of its name or with one of them. */
struct screen_strip_shown {
	const struct screen_strip *strip;
	const struct screen_group *group;
	bool is_part;
};

struct screen_strips {
	struct screen_strip_shown *items;
	size_t n;
};

/* Those whose signals have values; the most important where not all find room. */
void screen_strips_choose(const struct screen_signals *signals, int rows, struct arena *run,
        struct screen_strips *ret_strips);

/* How time is shown. */
struct screen_time {
	const struct signal_system *system;
	double span_s;    /* of a sparkline; INFINITY: the whole window */
	const char *name; /* of that span, translated */
};

/* A line that names the columns, then a line for each strip, from row on. */
void screen_strips_draw(struct screen *s, int row, const struct screen_strips *strips,
        const struct screen_signals *signals, const struct screen_time *time, struct arena *tmp);

/* "GPU: there is no libnvidia-ml.so.1; ..." of the strips that have no values; NULL: none. */
const char *screen_strips_missing(const struct screen_signals *signals, struct arena *run);

/* Is a signal of this name drawn by a strip, or told beside one? */
bool screen_strips_want(const char *name);

#endif
