/*
 * csv.h - rows of separated values, read in place one after the other: RFC 4180, and what is about
 * besides: any line ends, a last line without one, quotes that nobody closed or doubled.
 *
 * A field is a view into the text, or, where quotes had to be undoubled, into memory of the reader;
 * both stay as they are until csv_release. Rows belong to the caller, so that a header can be kept
 * while the rows behind it are read into another one. Lines without anything are skipped.
 *
 *	struct csv c = csv_of(text, ',');
 *	struct csv_row header = { 0 }, row = { 0 };
 *	if (csv_next(&c, &header)) {
 *		ptrdiff_t name = csv_column(&header, STR("Name"));
 *		while (csv_next(&c, &row))
 *			... csv_field(&row, name) ...
 *	}
 *
 * What cannot be meant: a quote inside a quoted field that is neither doubled nor at its end stands
 * for itself. An opening quote without a closing one within CSV_MAX_QUOTED stands for itself too,
 * and the field is read as one without quotes; in a last line without end the file was cut, and the
 * field is all that is left.
 *
 * Time and memory are linear in the text, also where all quotes are broken.
 */
#ifndef VENTURI_TEXT_CSV_H
#define VENTURI_TEXT_CSV_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CSV_MAX_COLUMNS = 16384, /* fields of a row beyond these are counted, not kept */
	CSV_MAX_QUOTED = 1 << 20,
};

struct csv {
	const char *p, *end;
	char separator;
	bool cut;               /* the text ended inside a quoted field */
	int64_t n_broken;       /* quotes taken for text */
	int64_t n_dropped;      /* fields beyond CSV_MAX_COLUMNS */
	const char *none_until; /* no quoted field can end before here */
	struct arena plain;     /* fields whose quotes were undoubled */
};

struct csv_row {
	struct str *fields; /* [n] */
	size_t n, cap;
	struct str raw; /* the whole row as it stands, without its line end */
};

/* A reader of text, which must stay. */
struct csv csv_of(struct str text, char separator);
void csv_release(struct csv *c);
/* The next row that is not empty, at least one field; false at the end of the text. */
bool csv_next(struct csv *c, struct csv_row *row);
void csv_row_release(struct csv_row *row);
/* The number of the first column of this name (blanks around it do not count), -1 for none. */
ptrdiff_t csv_column(const struct csv_row *header, struct str name);
/* The field of a column; empty where the row is shorter or the column is -1. */
struct str csv_field(const struct csv_row *row, ptrdiff_t column);

#endif
