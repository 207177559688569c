/*
 * db.h - SQLite with the project's manners: errors are sentences, statements close themselves.
 */
#ifndef VENTURI_LEDGER_DB_H
#define VENTURI_LEDGER_DB_H

#include "base/attr.h"
#include "base/err.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct db {
	sqlite3 *handle;
	const char *path; /* for messages */
};

/* Turns SQLite's last failure on this handle into a sentence that names the file; false. */
bool db_fail(const struct db *db, struct err *err);

/* One or more statements whose rows do not matter. */
bool db_exec(const struct db *db, const char *sql, struct err *err) NODISCARD;

/* ret_statement is finalized by the caller, or by AUTO(auto_statement). */
bool db_prepare(const struct db *db, const char *sql, sqlite3_stmt **ret_statement,
        struct err *err) NODISCARD;
void auto_statement(sqlite3_stmt **statement);

/* The next row: *ret_row is false when there is none. */
bool db_step(
        const struct db *db, sqlite3_stmt *statement, bool *ret_row, struct err *err) NODISCARD;

/*
 * Takes the only place of a writer, waiting for it; db_commit ends it well. Whoever fails in
 * between calls db_rollback, which leaves err alone.
 */
bool db_begin(const struct db *db, struct err *err) NODISCARD;
bool db_commit(const struct db *db, struct err *err) NODISCARD;
void db_rollback(const struct db *db);

#endif
