#include "ledger/ledger.h"

#include "base/i18n.h"
#include "ledger/db.h"
#include "ledger/place.h"
#include "ledger/schema.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct ledger {
	struct db db;
	struct arena memory; /* of the path */
};

/* In the order of bind_run and fill_run. */
#define RUN_COLUMNS                                                                                \
	"kind, started_at, url, api, model, partial, verdict, requests_per_s, p50_ms, p99_ms, "    \
	"n_ok, n_failed"

/*
 * FULL: every commit reaches the disk before ledger_add returns. NORMAL would be faster by a few
 * ms a run, but a power cut could take all runs since the last checkpoint with it.
 */
static const char set_up[] = "PRAGMA foreign_keys = ON;"
                             "PRAGMA trusted_schema = OFF;"
                             "PRAGMA synchronous = FULL;";

/* false with err filled when something that is no ledger stands there; *ret_exists otherwise. */
static bool look_at(const char *path, bool *ret_exists, struct err *err)
{
	struct stat st;
	*ret_exists = stat(path, &st) == 0;
	if (!*ret_exists)
		return errno == ENOENT ||
		       err_set(err, ERR_SYSTEM, _("cannot use the ledger '%s': %s"), path,
		               strerror(errno));
	if (S_ISDIR(st.st_mode))
		return err_set(err, ERR_SYSTEM, _("'%s' is a folder, not a ledger file"), path);
	if (!S_ISREG(st.st_mode)) /* SQLite would hang on a pipe */
		return err_set(err, ERR_SYSTEM,
		        _("'%s' is not a regular file, so it cannot be a ledger"), path);
	return true;
}

static bool connect(struct ledger *l, const char *name, int flags, struct err *err)
{
	if (sqlite3_open_v2(name, &l->db.handle, flags, NULL) != SQLITE_OK)
		return db_fail(&l->db, err);
	sqlite3_extended_result_codes(l->db.handle, 1);
	sqlite3_busy_timeout(l->db.handle, LEDGER_WAIT_MS);
	sqlite3_limit(l->db.handle, SQLITE_LIMIT_LENGTH, LEDGER_JSON_MAX_BYTES);
	return db_exec(&l->db, set_up, err) && schema_upgrade(&l->db, err);
}

static bool open_for_writing(struct ledger *l, const char *name, struct err *err)
{
	if (!connect(l, name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err))
		return false;
	/* SQLite opens what it may not write for reading, and says so only here. */
	if (sqlite3_db_readonly(l->db.handle, "main") == 1)
		return err_set(err, ERR_SYSTEM, _("the ledger '%s' is read-only"), l->db.path);
	return true;
}

/* The name as a URI that tells SQLite to keep no lock and no file beside this one. */
static const char *frozen_uri(struct ledger *l, const char *name)
{
	AUTO(auto_buf) struct buf uri = { 0 };
	buf_add_c(&uri, "file:");
	for (const char *p = name; *p; p++)
		if (strchr("%?#", *p))
			buf_printf(&uri, "%%%02X", (unsigned)*p);
		else
			buf_add_char(&uri, *p);
	buf_add_c(&uri, "?immutable=1");
	return arena_strdup(&l->memory, uri.s);
}

/*
 * Even a reader of a WAL file keeps files beside it. In a folder that takes none, the file is read
 * as it stands; that is the whole truth when no log is waiting beside it.
 */
static bool open_for_reading(struct ledger *l, const char *name, struct err *err)
{
	if (connect(l, name, SQLITE_OPEN_READWRITE, err))
		return true;
	int code = sqlite3_errcode(l->db.handle) & 0xff;
	if ((code != SQLITE_READONLY && code != SQLITE_CANTOPEN) ||
	        access(arena_printf(&l->memory, "%s-wal", name), F_OK) == 0)
		return false;
	sqlite3_close(l->db.handle);
	return connect(l, frozen_uri(l, name), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
}

static bool open_at(const char *path, bool writing, struct ledger **ret_ledger, struct err *err)
{
	struct ledger *l = mem_realloc(NULL, sizeof(*l));
	*l = (struct ledger){ 0 };
	l->db.path = arena_strdup(&l->memory, path);
	/* SQLite has other uses for names such as ":memory:" and "file:x?mode=ro". */
	const char *name = arena_printf(&l->memory, "%s%s", path[0] == '/' ? "" : "./", path);
	if (writing ? !open_for_writing(l, name, err) : !open_for_reading(l, name, err)) {
		ledger_close(l);
		return false;
	}
	*ret_ledger = l;
	return true;
}

bool ledger_open(const char *path, struct ledger **ret_ledger, struct err *err)
{
	struct arena tmp = { 0 };
	bool exists;
	bool ok = ledger_find(path, &tmp, &path, err) && look_at(path, &exists, err) &&
	          (exists || place_prepare(path, err)) && open_at(path, true, ret_ledger, err);
	arena_release(&tmp);
	return ok;
}

bool ledger_open_existing(const char *path, struct ledger **ret_ledger, struct err *err)
{
	struct arena tmp = { 0 };
	bool exists;
	bool ok = ledger_find(path, &tmp, &path, err) && look_at(path, &exists, err);
	if (ok && exists)
		ok = open_at(path, false, ret_ledger, err);
	else if (ok)
		*ret_ledger = NULL;
	arena_release(&tmp);
	return ok;
}

void ledger_close(struct ledger *ledger)
{
	if (!ledger)
		return;
	sqlite3_close(ledger->db.handle);
	arena_release(&ledger->memory);
	free(ledger);
}

void auto_ledger(struct ledger **ledger)
{
	ledger_close(*ledger);
}

const char *ledger_path(const struct ledger *ledger)
{
	return ledger->db.path;
}

/*
 * Binding can only fail for want of memory or by a length over the limit; the step that follows
 * would store NULL then, so the failures are counted and looked at once.
 */
struct binder {
	sqlite3_stmt *statement;
	int column;
	bool failed;
};

static void bind_text(struct binder *b, struct str text)
{
	b->failed |= sqlite3_bind_text64(b->statement, ++b->column, text.s, text.len, SQLITE_STATIC,
	                     SQLITE_UTF8) != SQLITE_OK;
}

/* NULL becomes NULL. */
static void bind_c(struct binder *b, const char *text)
{
	bind_text(b, str_of(text));
}

static void bind_int(struct binder *b, int64_t value)
{
	b->failed |= sqlite3_bind_int64(b->statement, ++b->column, value) != SQLITE_OK;
}

/* SQLite stores NAN as NULL. */
static void bind_double(struct binder *b, double value)
{
	b->failed |= sqlite3_bind_double(b->statement, ++b->column, value) != SQLITE_OK;
}

static void bind_run(struct binder *b, const struct ledger_run *r)
{
	bind_c(b, r->kind);
	bind_c(b, r->started_at);
	bind_c(b, r->url);
	bind_c(b, r->api);
	bind_c(b, r->model);
	bind_int(b, r->partial);
	bind_c(b, r->verdict);
	bind_double(b, r->requests_per_s);
	bind_double(b, r->p50_ms);
	bind_double(b, r->p99_ms);
	bind_int(b, r->n_ok);
	bind_int(b, r->n_failed);
	bind_text(b, r->json);
}

static bool finish(const struct db *db, const struct binder *b, struct err *err)
{
	bool row;
	return b->failed ? db_fail(db, err) : db_step(db, b->statement, &row, err);
}

static bool add_run(
        const struct db *db, const struct ledger_run *r, int64_t *ret_id, struct err *err)
{
	AUTO(auto_statement) sqlite3_stmt *statement = NULL;
	if (!db_prepare(db,
	            "INSERT INTO run (" RUN_COLUMNS ", json) "
	            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	            &statement, err))
		return false;
	struct binder b = { .statement = statement };
	bind_run(&b, r);
	if (!finish(db, &b, err))
		return false;
	*ret_id = sqlite3_last_insert_rowid(db->handle);
	return true;
}

static bool add_fingerprint(
        const struct db *db, int64_t id, const struct fingerprint *fp, struct err *err)
{
	AUTO(auto_statement) sqlite3_stmt *statement = NULL;
	if (!db_prepare(db,
	            "INSERT INTO fingerprint (run_id, position, name, value) VALUES (?, ?, ?, ?)",
	            &statement, err))
		return false;
	for (size_t i = 0; i < fp->n; i++) {
		struct binder b = { .statement = statement };
		sqlite3_reset(statement);
		bind_int(&b, id);
		bind_int(&b, (int64_t)i);
		bind_c(&b, fp->entries[i].name);
		bind_c(&b, fp->entries[i].value);
		if (!finish(db, &b, err))
			return false;
	}
	return true;
}

bool ledger_add(struct ledger *ledger, const struct ledger_run *r, int64_t *ret_id, struct err *err)
{
	const struct db *db = &ledger->db;
	int64_t id;
	assert(r->kind && r->started_at && r->url && r->json.s);
	if (!db_begin(db, err))
		return false;
	if (add_run(db, r, &id, err) && add_fingerprint(db, id, &r->fingerprint, err) &&
	        db_commit(db, err)) {
		*ret_id = id;
		return true;
	}
	db_rollback(db);
	return false;
}

/* The columns of a row, from the first on. */
struct reader {
	sqlite3_stmt *statement;
	int column;
	struct arena *run;
};

static struct str read_str(struct reader *r)
{
	const char *text = (const char *)sqlite3_column_text(r->statement, r->column);
	int bytes = sqlite3_column_bytes(r->statement, r->column++);
	return text ? str_dup((struct str){ text, (size_t)bytes }, r->run) : (struct str){ 0 };
}

/* NULL for NULL. */
static const char *read_c(struct reader *r)
{
	return read_str(r).s;
}

/* Empty for NULL, which the schema forbids but a hand-made file may hold. */
static const char *read_c_not_null(struct reader *r)
{
	const char *text = read_c(r);
	return text ? text : "";
}

static int64_t read_int(struct reader *r)
{
	return sqlite3_column_int64(r->statement, r->column++);
}

static double read_double(struct reader *r)
{
	int column = r->column++;
	if (sqlite3_column_type(r->statement, column) == SQLITE_NULL)
		return NAN;
	return sqlite3_column_double(r->statement, column);
}

static void read_run(struct reader *r, struct ledger_run *ret_run)
{
	*ret_run = (struct ledger_run){ .id = read_int(r) };
	ret_run->kind = read_c_not_null(r);
	ret_run->started_at = read_c_not_null(r);
	ret_run->url = read_c_not_null(r);
	ret_run->api = read_c(r);
	ret_run->model = read_c(r);
	ret_run->partial = read_int(r) != 0;
	ret_run->verdict = read_c(r);
	ret_run->requests_per_s = read_double(r);
	ret_run->p50_ms = read_double(r);
	ret_run->p99_ms = read_double(r);
	ret_run->n_ok = read_int(r);
	ret_run->n_failed = read_int(r);
}

static bool read_fingerprint(
        const struct db *db, int64_t id, struct arena *run, struct fingerprint *fp, struct err *err)
{
	AUTO(auto_statement) sqlite3_stmt *statement = NULL;
	bool row;
	if (!db_prepare(db,
	            "SELECT name, value FROM fingerprint WHERE run_id = ? ORDER BY position",
	            &statement, err))
		return false;
	struct binder b = { .statement = statement };
	bind_int(&b, id);
	for (;;) {
		if (b.failed ? !db_fail(db, err) : !db_step(db, statement, &row, err))
			return false;
		if (!row)
			return true;
		struct reader r = { .statement = statement, .run = run };
		const char *name = read_c_not_null(&r), *value = read_c_not_null(&r);
		/* More than fits was written by a later program: what fits is still true. */
		if (!fingerprint_set(fp, run, name, "%s", value))
			return true;
	}
}

static bool prepare_list(const struct db *db, const struct ledger_query *q,
        sqlite3_stmt **ret_statement, struct err *err)
{
	if (!db_prepare(db,
	            "SELECT id, " RUN_COLUMNS " FROM run "
	            "WHERE (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR instr(url, ?2) > 0) "
	            "ORDER BY id DESC LIMIT ?3",
	            ret_statement, err))
		return false;
	struct binder b = { .statement = *ret_statement };
	bind_c(&b, q->kind);
	bind_c(&b, q->url);
	bind_int(&b, q->limit > 0 ? q->limit : -1);
	return !b.failed || db_fail(db, err);
}

bool ledger_list(struct ledger *ledger, const struct ledger_query *query, struct arena *run,
        struct ledger_run **ret_runs, size_t *ret_n, struct err *err)
{
	AUTO(auto_statement) sqlite3_stmt *statement = NULL;
	AUTO(auto_buf) struct buf runs = { 0 };
	struct ledger_run one;
	bool row;
	if (!prepare_list(&ledger->db, query, &statement, err))
		return false;
	for (;;) {
		if (!db_step(&ledger->db, statement, &row, err))
			return false;
		if (!row)
			break;
		struct reader r = { .statement = statement, .run = run };
		read_run(&r, &one);
		if (!read_fingerprint(&ledger->db, one.id, run, &one.fingerprint, err))
			return false;
		buf_add(&runs, (struct str){ (const char *)&one, sizeof(one) });
	}
	*ret_n = runs.len / sizeof(one);
	*ret_runs = arena_new_n(run, struct ledger_run, *ret_n);
	if (*ret_n)
		memcpy(*ret_runs, runs.s, runs.len);
	return true;
}

bool ledger_get(struct ledger *ledger, int64_t id, struct arena *run, struct ledger_run *ret_run,
        struct err *err)
{
	AUTO(auto_statement) sqlite3_stmt *statement = NULL;
	bool row;
	if (!db_prepare(&ledger->db, "SELECT id, " RUN_COLUMNS ", json FROM run WHERE id = ?",
	            &statement, err))
		return false;
	struct binder b = { .statement = statement };
	bind_int(&b, id);
	if (b.failed ? !db_fail(&ledger->db, err) : !db_step(&ledger->db, statement, &row, err))
		return false;
	if (!row)
		return err_set(err, ERR_INPUT, _("there is no run %lld in the ledger '%s'"),
		        (long long)id, ledger_path(ledger));
	struct reader r = { .statement = statement, .run = run };
	read_run(&r, ret_run);
	ret_run->json = read_str(&r);
	if (!ret_run->json.s)
		return err_set(
		        err, ERR_INPUT, _("the ledger '%s' is damaged"), ledger_path(ledger));
	return read_fingerprint(&ledger->db, id, run, &ret_run->fingerprint, err);
}
