/*
 * nsys_db.h - a SQLite database from outside, read table by table whatever its schema and damage.
 *
 * The file is opened read-only and immutable: neither it nor anything beside it is written. A
 * packed one is unpacked into memory. Nothing that the database brings along is run: only tables
 * that are stored are read (no views, no virtual tables), no function, trigger or extension is
 * reached, and an authorizer refuses all but reading. Pages that point in circles give no more rows
 * and text than the file has room for.
 *
 * Where a page is missing or broken the rows behind it are searched for; what is lost is counted.
 */
#ifndef VENTURI_TRACE_READERS_NSYS_DB_H
#define VENTURI_TRACE_READERS_NSYS_DB_H

#include "trace/input/source.h"
#include "trace/timeline/timeline.h"

#include <sqlite3.h>

enum {
	NSYS_MAX_COLUMNS = 64, /* of one scan */
	NSYS_MAX_TABLES = 4096,
};

struct nsys_db {
	sqlite3 *db;
	struct timeline *t; /* where losses are counted */
	struct buf image;   /* of a packed file */
	struct arena arena;
	struct str *tables; /* the names of those that can be read */
	size_t n_tables;
	int64_t rows_left, text_left; /* what the file can hold at most */
};

/* ERR_INPUT names the file. */
bool nsys_db_open(
        struct nsys_db *db, struct source *source, struct timeline *t, struct err *err) NODISCARD;
/* Accepts a zeroed struct. */
void nsys_db_close(struct nsys_db *db);
bool nsys_db_has(const struct nsys_db *db, const char *table);

/* The rows of one table, in the order in which they are stored. */
struct nsys_scan {
	struct nsys_db *db;
	sqlite3_stmt *stmt;
	int at[NSYS_MAX_COLUMNS]; /* where a column is in the result; -1: the table has none */
	int64_t rowid;            /* of the row */
	int64_t n_rows;           /* until now */
	bool has_rowid;
	int repairs;
};

/* False when there is no such table, or nothing of it can be read. A column may be missing. */
bool nsys_scan_open(struct nsys_scan *s, struct nsys_db *db, const char *table,
        const char *const *columns, size_t n_columns);
bool nsys_scan_next(struct nsys_scan *s);
void nsys_scan_close(struct nsys_scan *s);

bool nsys_scan_has(const struct nsys_scan *s, int column);
/*
 * A number, whole or not, or a text that is one. False where there is none.
 */
bool nsys_number(const struct nsys_scan *s, int column, int64_t *ret);
/* The same; otherwise what takes its place, and what is there but is no number is counted. */
int64_t nsys_int(const struct nsys_scan *s, int column, int64_t otherwise);
double nsys_double(const struct nsys_scan *s, int column, double otherwise);
/* Text, valid until the next row; s is NULL where there is none. */
struct str nsys_text(const struct nsys_scan *s, int column);

#endif
