#include "ledger/db.h"

#include "base/i18n.h"

#include <string.h>

/* What the codes mean to the user; %s is the file. */
static const struct failure {
	int code;
	enum err_kind kind;
	const char *sentence;
	const char *hint;
} failures[] = {
	{ SQLITE_NOTADB, ERR_INPUT, N_("'%s' is not a ledger, nor any SQLite file"),
	        N_("give another file with --ledger") },
	{ SQLITE_CORRUPT, ERR_INPUT, N_("the ledger '%s' is damaged"),
	        N_("move it away and a new one is made; 'sqlite3 FILE .recover' can save what is "
	           "left") },
	{ SQLITE_FULL, ERR_SYSTEM, N_("the disk is full: nothing was stored in the ledger '%s'"),
	        N_("make room, or give a file on another disk with --ledger") },
	{ SQLITE_READONLY, ERR_SYSTEM, N_("the ledger '%s' is read-only"),
	        N_("give a file that may be written with --ledger") },
	{ SQLITE_PERM, ERR_SYSTEM, N_("no permission to open the ledger '%s'"), NULL },
	{ SQLITE_BUSY, ERR_SYSTEM,
	        N_("the ledger '%s' has been locked by another process for too long"),
	        N_("try again when the other process has ended, or give another file with "
	           "--ledger") },
	{ SQLITE_TOOBIG, ERR_INPUT, N_("an entry of the ledger '%s' is larger than its limit"),
	        NULL },
};

bool db_fail(const struct db *db, struct err *err)
{
	int code =
	        sqlite3_errcode(db->handle) & 0xff; /* extended codes keep the kind in one byte */
	int system = sqlite3_system_errno(db->handle);
	for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
		const struct failure *f = &failures[i];
		if (f->code != code)
			continue;
		err_set(err, f->kind, _(f->sentence), db->path);
		return f->hint ? err_hint(err, "%s", _(f->hint)) : false;
	}
	if ((code == SQLITE_CANTOPEN || code == SQLITE_IOERR) && system)
		return err_set(err, ERR_SYSTEM, _("cannot use the ledger '%s': %s"), db->path,
		        strerror(system));
	return err_set(err, ERR_SYSTEM, _("cannot use the ledger '%s': %s"), db->path,
	        sqlite3_errmsg(db->handle));
}

bool db_exec(const struct db *db, const char *sql, struct err *err)
{
	return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK || db_fail(db, err);
}

bool db_prepare(const struct db *db, const char *sql, sqlite3_stmt **ret_statement, struct err *err)
{
	return sqlite3_prepare_v2(db->handle, sql, -1, ret_statement, NULL) == SQLITE_OK ||
	       db_fail(db, err);
}

void auto_statement(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

bool db_step(const struct db *db, sqlite3_stmt *statement, bool *ret_row, struct err *err)
{
	int code = sqlite3_step(statement);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return db_fail(db, err);
	*ret_row = code == SQLITE_ROW;
	return true;
}

bool db_begin(const struct db *db, struct err *err)
{
	return db_exec(db, "BEGIN IMMEDIATE", err);
}

bool db_commit(const struct db *db, struct err *err)
{
	return db_exec(db, "COMMIT", err);
}

void db_rollback(const struct db *db)
{
	/* Some failures have rolled back already; then there is nothing left to do. */
	if (!sqlite3_get_autocommit(db->handle))
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}
