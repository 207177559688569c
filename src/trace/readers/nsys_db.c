#include "trace/readers/nsys_db.h"

#include "base/i18n.h"

#include <math.h>
#include <string.h>

enum {
	MAX_REPAIRS = 10000, /* attempts to read on behind damage, for one table */
	MAX_VALUE_BYTES = 1 << 20,
	/* A row takes a pointer of its page, two sizes and the types of its columns at least. */
	MIN_ROW_BYTES = 6,
	/* Texts are stored, but a broken file may lead to the same one again and again. */
	TEXT_PER_BYTE = 4,
	SLACK = 1 << 16,
};
static const int64_t max_unpacked_bytes = INT64_C(4) << 30;

/* What a statement of ours may do: read columns, and ask which ones there are. */
static int authorize(
        void *ctx, int action, const char *a, const char *b, const char *c, const char *d)
{
	(void)ctx, (void)b, (void)c, (void)d;
	if (action == SQLITE_SELECT || action == SQLITE_READ)
		return SQLITE_OK;
	if (action == SQLITE_PRAGMA && a && strcmp(a, "table_info") == 0)
		return SQLITE_OK;
	return SQLITE_DENY;
}

struct limit {
	int id, value;
};

static const struct limit limits[] = {
	{ SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES },
	{ SQLITE_LIMIT_SQL_LENGTH, 1 << 18 },
	{ SQLITE_LIMIT_COLUMN, 1000 },
	{ SQLITE_LIMIT_EXPR_DEPTH, 50 },
	{ SQLITE_LIMIT_COMPOUND_SELECT, 2 },
	{ SQLITE_LIMIT_FUNCTION_ARG, 8 },
	{ SQLITE_LIMIT_ATTACHED, 0 },
	{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100 },
	{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
	{ SQLITE_LIMIT_WORKER_THREADS, 0 },
};

struct switch_value {
	int id, value;
};

/*
 * A schema that says it is writable is one whose damage SQLite puts up with: rows that it cannot
 * parse are left out, and a file shorter than its header says is read as far as it goes.
 */
static const struct switch_value switches[] = {
	{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
	{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
	{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
	{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
	{ SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1 },
};

static void harden(sqlite3 *db)
{
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		sqlite3_limit(db, limits[i].id, limits[i].value);
	for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
		sqlite3_db_config(db, switches[i].id, switches[i].value, NULL);
	sqlite3_exec(
	        db, "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
	sqlite3_set_authorizer(db, authorize, NULL);
}

/* The file as a URI, its name with nothing in it that a URI would understand. */
static void add_uri(struct buf *out, const char *path)
{
	buf_add_c(out, "file:");
	for (const char *p = path; *p; p++) {
		if (strchr("%?#", *p))
			buf_printf(out, "%%%02X", (unsigned char)*p);
		else
			buf_add_char(out, *p);
	}
	buf_add_c(out, "?mode=ro&immutable=1");
}

static int open_file(struct nsys_db *db, const char *path)
{
	AUTO(auto_buf) struct buf uri = { 0 };
	add_uri(&uri, path);
	return sqlite3_open_v2(
	        uri.s, &db->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
}

/* Bytes 18 and 19 of the header: 2 means that a log stands beside the file. */
enum { HEADER_BYTES = 100, AT_WRITE_VERSION = 18, AT_READ_VERSION = 19, VERSION_PLAIN = 1 };

static int open_image(struct nsys_db *db)
{
	if (db->image.len > HEADER_BYTES)
		db->image.s[AT_WRITE_VERSION] = db->image.s[AT_READ_VERSION] = VERSION_PLAIN;
	int rc = sqlite3_open_v2(
	        ":memory:", &db->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc != SQLITE_OK)
		return rc;
	return sqlite3_deserialize(db->db, "main", (unsigned char *)db->image.s,
	        (sqlite3_int64)db->image.len, (sqlite3_int64)db->image.len,
	        SQLITE_DESERIALIZE_READONLY);
}

/* Only what has pages of its own: views and virtual tables have none. */
static bool list_tables(struct nsys_db *db)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(
	        db->db, "SELECT name, rootpage, type FROM sqlite_master", -1, &stmt, NULL);
	if (rc != SQLITE_OK)
		return false;
	db->tables = arena_new_n(&db->arena, struct str, NSYS_MAX_TABLES);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && db->n_tables < NSYS_MAX_TABLES) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		const char *type = (const char *)sqlite3_column_text(stmt, 2);
		if (name && type && strcmp(type, "table") == 0 && sqlite3_column_int64(stmt, 1) > 0)
			db->tables[db->n_tables++] = str_dup(str_of(name), &db->arena);
	}
	sqlite3_finalize(stmt);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
		db->t->lost[LOST_BROKEN]++;
		db->t->truncated = true;
	}
	return db->n_tables > 0;
}

/* Into memory; for a packed file, and for one that has no name to open it by, such as a pipe's. */
static bool read_image(struct nsys_db *db, struct source *source, int *ret_rc, struct err *err)
{
	if (!source_read_all(source, max_unpacked_bytes, &db->image, err))
		return false;
	db->t->n_bytes = (int64_t)db->image.len;
	*ret_rc = open_image(db);
	return true;
}

bool nsys_db_open(struct nsys_db *db, struct source *source, struct timeline *t, struct err *err)
{
	*db = (struct nsys_db){ .t = t };
	t->n_bytes = source->size;
	int rc = source->packed ? SQLITE_CANTOPEN : open_file(db, source->path);
	if (rc == SQLITE_CANTOPEN) {
		sqlite3_close(db->db);
		db->db = NULL;
		if (!read_image(db, source, &rc, err))
			return false;
	}
	if (rc != SQLITE_OK)
		return err_set(err, ERR_INPUT, _("cannot open '%s' as a database: %s"),
		        source->path, sqlite3_errstr(rc));
	harden(db->db);
	db->rows_left = t->n_bytes / MIN_ROW_BYTES + SLACK;
	db->text_left = t->n_bytes * TEXT_PER_BYTE + SLACK;
	if (!list_tables(db))
		return err_set(err, ERR_INPUT, _("'%s' is a database without a readable table: %s"),
		        source->path, sqlite3_errmsg(db->db));
	return true;
}

void nsys_db_close(struct nsys_db *db)
{
	sqlite3_close(db->db);
	buf_release(&db->image);
	arena_release(&db->arena);
	*db = (struct nsys_db){ 0 };
}

bool nsys_db_has(const struct nsys_db *db, const char *table)
{
	for (size_t i = 0; i < db->n_tables; i++)
		if (str_eq_nocase(db->tables[i], str_of(table)))
			return true;
	return false;
}

/* Appends the columns that the table has; at says where each one is in the result. */
static void add_columns(struct nsys_scan *s, const char *table, const char *const *columns,
        size_t n_columns, struct buf *sql)
{
	AUTO(auto_buf) struct buf info = { 0 };
	sqlite3_stmt *stmt = NULL;
	int n = 1;
	buf_printf(&info, "PRAGMA table_info(\"%s\")", table);
	if (sqlite3_prepare_v2(s->db->db, info.s, -1, &stmt, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 1);
		for (size_t i = 0; name && i < n_columns; i++) {
			if (s->at[i] >= 0 || sqlite3_stricmp(name, columns[i]) != 0)
				continue;
			s->at[i] = n++;
			buf_printf(sql, ", \"%s\"", columns[i]);
		}
	}
	sqlite3_finalize(stmt);
}

/* Tables without row numbers cannot be entered in the middle. */
static bool prepare(struct nsys_scan *s, const char *table, struct str columns, bool by_rowid)
{
	AUTO(auto_buf) struct buf sql = { 0 };
	buf_printf(&sql, "SELECT %s%.*s FROM main.\"%s\"", by_rowid ? "rowid" : "0",
	        STR_ARG(columns), table);
	if (by_rowid)
		buf_add_c(&sql, " WHERE rowid >= ?1");
	if (sqlite3_prepare_v2(s->db->db, sql.s, (int)sql.len, &s->stmt, NULL) != SQLITE_OK)
		return false;
	if (by_rowid)
		sqlite3_bind_int64(s->stmt, 1, INT64_MIN);
	s->has_rowid = by_rowid;
	return true;
}

bool nsys_scan_open(struct nsys_scan *s, struct nsys_db *db, const char *table,
        const char *const *columns, size_t n_columns)
{
	*s = (struct nsys_scan){ .db = db, .rowid = INT64_MIN };
	for (size_t i = 0; i < NSYS_MAX_COLUMNS; i++)
		s->at[i] = -1;
	if (!nsys_db_has(db, table))
		return false;
	AUTO(auto_buf) struct buf list = { 0 };
	add_columns(s, table, columns, n_columns, &list);
	if (list.len && (prepare(s, table, buf_str(&list), true) ||
	                        prepare(s, table, buf_str(&list), false)))
		return true;
	db->t->lost[LOST_BROKEN]++;
	return false;
}

void nsys_scan_close(struct nsys_scan *s)
{
	sqlite3_finalize(s->stmt);
	s->stmt = NULL;
}

/* Whether there is a row at or behind this number that can be read; stands on it if so. */
static int seek(struct nsys_scan *s, int64_t rowid)
{
	s->repairs++;
	sqlite3_reset(s->stmt);
	sqlite3_bind_int64(s->stmt, 1, rowid);
	return sqlite3_step(s->stmt);
}

/*
 * Behind damage: steps of double width until something can be read, then halves for the first row
 * that can. Each attempt costs as much as the tree is deep.
 */
static int repair(struct nsys_scan *s)
{
	int64_t from = s->n_rows ? s->rowid : 0, bad = 0, good = 1;
	int rc = SQLITE_CORRUPT;
	for (; s->repairs < MAX_REPAIRS; good *= 2) {
		if (good > INT64_MAX / 4 || from > INT64_MAX - good)
			return SQLITE_DONE;
		rc = seek(s, from + good);
		if (rc == SQLITE_ROW || rc == SQLITE_DONE)
			break;
		bad = good;
	}
	while (good - bad > 1 && s->repairs < MAX_REPAIRS) {
		int64_t middle = bad + (good - bad) / 2;
		int there = seek(s, from + middle);
		*(there == SQLITE_ROW || there == SQLITE_DONE ? &good : &bad) = middle;
	}
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? seek(s, from + good) : SQLITE_DONE;
}

static bool stop_at_damage(struct nsys_scan *s)
{
	s->db->t->lost[LOST_BROKEN]++;
	s->db->t->truncated = true;
	return false;
}

bool nsys_scan_next(struct nsys_scan *s)
{
	int rc = sqlite3_step(s->stmt);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
		stop_at_damage(s);
		if (!s->has_rowid)
			return false;
		rc = repair(s);
	}
	if (rc != SQLITE_ROW)
		return false;
	int64_t rowid = sqlite3_column_int64(s->stmt, 0);
	bool in_order = !s->has_rowid || s->n_rows == 0 || rowid > s->rowid;
	if (!in_order || s->db->rows_left-- <= 0)
		return stop_at_damage(s);
	s->rowid = rowid;
	s->n_rows++;
	return true;
}

bool nsys_scan_has(const struct nsys_scan *s, int column)
{
	return s->at[column] >= 0;
}

static const double largest = 4.6e18; /* below 2^62 */

/* Counts the bytes that were read; false when they are more than the file can hold. */
static bool take_text(const struct nsys_scan *s, int at, struct str *ret)
{
	if (s->db->text_left < 0)
		return false;
	const char *text = (const char *)sqlite3_column_text(s->stmt, at);
	if (!text)
		return false;
	*ret = (struct str){ text, (size_t)sqlite3_column_bytes(s->stmt, at) };
	s->db->text_left -= (int64_t)ret->len;
	return true;
}

bool nsys_number(const struct nsys_scan *s, int column, int64_t *ret)
{
	int at = s->at[column];
	struct str text;
	double value;
	switch (at < 0 ? SQLITE_NULL : sqlite3_column_type(s->stmt, at)) {
	case SQLITE_INTEGER:
		*ret = sqlite3_column_int64(s->stmt, at);
		return true;
	case SQLITE_FLOAT:
		value = sqlite3_column_double(s->stmt, at);
		if (!(fabs(value) < largest))
			return false;
		*ret = llround(value);
		return true;
	case SQLITE_TEXT:
		return take_text(s, at, &text) && str_to_i64(text, ret);
	default:
		return false;
	}
}

static bool is_null(const struct nsys_scan *s, int column)
{
	int at = s->at[column];
	return at < 0 || sqlite3_column_type(s->stmt, at) == SQLITE_NULL;
}

int64_t nsys_int(const struct nsys_scan *s, int column, int64_t otherwise)
{
	int64_t value;
	if (nsys_number(s, column, &value))
		return value;
	s->db->t->lost[LOST_BAD_NUMBER] += !is_null(s, column);
	return otherwise;
}

double nsys_double(const struct nsys_scan *s, int column, double otherwise)
{
	int at = s->at[column];
	if (at >= 0 && sqlite3_column_type(s->stmt, at) == SQLITE_FLOAT)
		return sqlite3_column_double(s->stmt, at);
	int64_t value = nsys_int(s, column, INT64_MIN);
	return value == INT64_MIN ? otherwise : (double)value;
}

struct str nsys_text(const struct nsys_scan *s, int column)
{
	struct str text = { 0 };
	int at = s->at[column];
	if (at >= 0 && sqlite3_column_type(s->stmt, at) != SQLITE_NULL)
		take_text(s, at, &text);
	return text;
}
