/*
 * keyed.h - files of the kernel that tell many numbers by name, and the channels that show them.
 *
 * A table of rows and a table of names of the same length belong together: keys[i] is the name
 * under which the file tells what rows[i] shows. Counters and gauges alike: the row's kind says
 * which; a gauge is multiplied by the row's scale. What the file does not tell says so.
 */
#ifndef VENTURI_WATCH_KEYED_H
#define VENTURI_WATCH_KEYED_H

#include "watch/board.h"

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keyed_name {
	const char *name;
	bool begins; /* all names that begin so are meant, and their sum */
};

struct keyed_value {
	uint64_t value;
	bool found;
	const char *why; /* it is not there; NULL: the file does not have it */
};

struct keyed {
	const struct watch_row *rows;  /* [n] */
	const struct keyed_name *keys; /* [n] */
	size_t n;
	struct channel **channels;  /* [n] */
	struct keyed_value *values; /* [n], of the text that is being read */
};

/* Takes the channels of all rows for an instance, or for the only one there is (NULL). */
void keyed_init(struct keyed *f, const struct watch_row *rows, const struct keyed_name *keys,
        size_t n, struct board *board, const char *instance, struct arena *run);

/* Forgets the values; then one of the three below, perhaps several times, then keyed_write. */
void keyed_clear(struct keyed *f);
/* "name value" or "name: value", a line each; the unit behind it is not looked at. */
void keyed_lines(struct keyed *f, struct str text);
/* A line "head name name ..." and below it "head value value ...". */
void keyed_columns(struct keyed *f, struct str text, const char *head);
/* A line "head name value name value ..."; names are looked for as "head name". */
void keyed_pairs(struct keyed *f, struct str text);

/* Writes what was found; path: where what is missing is missing, for its reason. */
void keyed_write(struct keyed *f, const char *path);
void keyed_absent(struct keyed *f, enum signal_state state, const char *reason);

/* The kernel did not give a file: not supported, or, when its thing is gone, not counted. */
void channel_unreadable(struct channel *c, const char *path, int code);
void keyed_unreadable(struct keyed *f, const char *path, int code);

/* A number as the row wants it: a counter, or a gauge times the row's scale. */
void channel_number(struct channel *c, const struct watch_row *row, uint64_t number);

#endif
