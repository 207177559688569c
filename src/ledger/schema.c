#include "ledger/schema.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "ledger/ledger.h"

#include <stdio.h>

static const char *const steps[] = {
	/* 1: AUTOINCREMENT, so that "run 12" in a report never means another run. json stands last:
	 * a list reads the columns before it without touching its pages. */
	"CREATE TABLE run ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  kind TEXT NOT NULL,"
	"  started_at TEXT NOT NULL,"
	"  url TEXT NOT NULL,"
	"  api TEXT,"
	"  model TEXT,"
	"  partial INTEGER NOT NULL,"
	"  verdict TEXT,"
	"  requests_per_s REAL,"
	"  p50_ms REAL,"
	"  p99_ms REAL,"
	"  n_ok INTEGER NOT NULL,"
	"  n_failed INTEGER NOT NULL,"
	"  json TEXT NOT NULL"
	");"
	"CREATE TABLE fingerprint ("
	"  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
	"  position INTEGER NOT NULL,"
	"  name TEXT NOT NULL,"
	"  value TEXT NOT NULL,"
	"  PRIMARY KEY (run_id, position),"
	"  UNIQUE (run_id, name)"
	") WITHOUT ROWID;",
};

int schema_version(void)
{
	return (int)ARRAY_LEN(steps);
}

/*
 * The version of the file; 0 when it is empty. Fails when it is not ours or newer. One statement
 * reads all three marks, so that it sees them before or after another process makes the ledger,
 * never half of each.
 */
static bool read_version(const struct db *db, int64_t *ret_version, struct err *err)
{
	AUTO(auto_statement) sqlite3_stmt *statement = NULL;
	bool row;
	if (!db_prepare(db,
	            "SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_master) "
	            "FROM pragma_application_id AS a, pragma_user_version AS v",
	            &statement, err) ||
	        !db_step(db, statement, &row, err))
		return false;
	int64_t application = sqlite3_column_int64(statement, 0);
	int64_t version = sqlite3_column_int64(statement, 1);
	int64_t objects = sqlite3_column_int64(statement, 2);
	bool empty = application == 0 && version == 0 && objects == 0;
	if ((application != SCHEMA_APPLICATION_ID && !empty) || version < 0) {
		err_set(err, ERR_INPUT,
		        _("'%s' is an SQLite file of another program, not a ledger"), db->path);
		return err_hint(err, _("give another file with --ledger"));
	}
	if (version > schema_version()) {
		err_set(err, ERR_INPUT,
		        _("the ledger '%s' has schema %lld, this program knows it up to %d"),
		        db->path, (long long)version, schema_version());
		return err_hint(
		        err, _("use the newer venturi, or give another file with --ledger"));
	}
	*ret_version = version;
	return true;
}

/*
 * The mode stays in the file. Changing it wants the file alone and, unlike other statements, does
 * not wait for that, so two processes that make the same ledger meet here.
 */
static bool use_wal(const struct db *db, struct err *err)
{
	int64_t deadline_ns = clock_now_ns() + LEDGER_WAIT_MS * NS_PER_MS;
	while (!db_exec(db, "PRAGMA journal_mode = WAL", err)) {
		if (sqlite3_errcode(db->handle) != SQLITE_BUSY || clock_now_ns() > deadline_ns)
			return false;
		clock_sleep_until(clock_now_ns() + 5 * NS_PER_MS);
	}
	return true;
}

/* Inside the transaction. */
static bool apply_steps(const struct db *db, struct err *err)
{
	char marks[96];
	int64_t version;
	if (!read_version(db, &version, err)) /* again: another process may have been first */
		return false;
	for (; version < schema_version(); version++)
		if (!db_exec(db, steps[version], err))
			return false;
	snprintf(marks, sizeof(marks), "PRAGMA application_id = %d; PRAGMA user_version = %d",
	        SCHEMA_APPLICATION_ID, schema_version());
	return db_exec(db, marks, err);
}

bool schema_upgrade(const struct db *db, struct err *err)
{
	int64_t version;
	if (!read_version(db, &version, err))
		return false;
	if (version == schema_version())
		return true;
	if (!use_wal(db, err) || !db_begin(db, err))
		return false;
	if (apply_steps(db, err) && db_commit(db, err))
		return true;
	db_rollback(db);
	return false;
}
