#include "ledger/ledger.h"
#include "ledger/schema.h"

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A folder for one test and what is taken in it. */
struct place {
	struct arena run;
	char dir[64];
};

static void place_init(struct place *p)
{
	*p = (struct place){ .dir = "/tmp/venturi-ledger-XXXXXX" };
	if (!mkdtemp(p->dir))
		abort();
	chmod(p->dir, 0777);
}

static void place_release(struct place *p)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", p->dir);
	CHECK_INT(system(command), 0);
	arena_release(&p->run);
}

static const char *in(struct place *p, const char *name)
{
	return arena_printf(&p->run, "%s/%s", p->dir, name);
}

static struct ledger_run a_run(struct arena *run)
{
	struct ledger_run r = {
		.kind = "load",
		.started_at = "2026-01-02T03:04:05Z",
		.url = "http://127.0.0.1:8000/v1/completions",
		.api = "openai-completions",
		.model = "tales",
		.verdict = "ok",
		.requests_per_s = 12.5,
		.p50_ms = 80.25,
		.p99_ms = NAN,
		.n_ok = 1000,
		.n_failed = 3,
		.json = STR("{\"schema\": \"venturi.load/1\"}"),
	};
	fingerprint_set(&r.fingerprint, run, "load.concurrency", "8");
	fingerprint_set(&r.fingerprint, run, "host.cpu", "a 'quoted'; name");
	fingerprint_set(&r.fingerprint, run, "a.first", "%s", "");
	return r;
}

/* Opens, or fails the test and says why. */
static struct ledger *opened(const char *path)
{
	struct ledger *l = NULL;
	struct err err;
	if (!CHECK(ledger_open(path, &l, &err)))
		printf("#   %s\n", err.text);
	return l;
}

static int64_t added(struct ledger *l, const struct ledger_run *r)
{
	struct err err;
	int64_t id = -1;
	if (!CHECK(ledger_add(l, r, &id, &err)))
		printf("#   %s\n", err.text);
	return id;
}

static size_t count_runs(struct ledger *l, const struct ledger_query *q)
{
	struct arena run = { 0 };
	struct ledger_run *runs;
	struct err err;
	size_t n = 0;
	if (!CHECK(ledger_list(l, q, &run, &runs, &n, &err)))
		printf("#   %s\n", err.text);
	arena_release(&run);
	return n;
}

/* SQLite itself, beside the ledger's own code. */
static void raw(const char *path, const char *sql)
{
	sqlite3 *db;
	if (!CHECK(sqlite3_open(path, &db) == SQLITE_OK &&
	            sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK))
		printf("#   %s: %s\n", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static int raw_line(void *text, int n, char **values, char **names)
{
	(void)names;
	snprintf(text, 64, "%s", n && values[0] ? values[0] : "");
	return 0;
}

static void raw_says(const char *path, const char *sql, const char *want)
{
	char text[64] = "";
	sqlite3 *db;
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, sql, raw_line, text, NULL), SQLITE_OK);
	CHECK_STR(text, want);
	sqlite3_close(db);
}

static void write_file(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "we");
	CHECK(f && fwrite(text, 1, n, f) == n);
	if (f)
		fclose(f);
}

static void refused(const char *path, enum err_kind kind, const char *sentence)
{
	struct ledger *l = NULL;
	struct err err = { 0 };
	if (CHECK(!ledger_open(path, &l, &err))) {
		CHECK_INT(err.kind, kind);
		CHECK_STR(err.text, sentence);
	}
	CHECK(l == NULL);
	ledger_close(l);
}

static void a_run_comes_back_as_it_was_stored(void)
{
	struct place p;
	struct ledger_run got;
	struct err err;
	place_init(&p);
	struct ledger_run r = a_run(&p.run);
	struct ledger *l = opened(in(&p, "l.db"));
	int64_t id = added(l, &r);
	if (CHECK(ledger_get(l, id, &p.run, &got, &err))) {
		CHECK_INT(got.id, id);
		CHECK_STR(got.kind, r.kind);
		CHECK_STR(got.started_at, r.started_at);
		CHECK_STR(got.url, r.url);
		CHECK_STR(got.api, r.api);
		CHECK_STR(got.model, r.model);
		CHECK_STR(got.verdict, r.verdict);
		CHECK(!got.partial);
		CHECK_NEAR(got.requests_per_s, 12.5, 0);
		CHECK_NEAR(got.p50_ms, 80.25, 0);
		CHECK(isnan(got.p99_ms));
		CHECK_INT(got.n_ok, 1000);
		CHECK_INT(got.n_failed, 3);
		CHECK(str_eq(got.json, r.json));
		CHECK_INT(got.fingerprint.n, 3);
		for (size_t i = 0; i < 3; i++) {
			CHECK_STR(got.fingerprint.entries[i].name, r.fingerprint.entries[i].name);
			CHECK_STR(got.fingerprint.entries[i].value, r.fingerprint.entries[i].value);
		}
	}
	ledger_close(l);
	place_release(&p);
}

static void absent_texts_and_a_partial_run_come_back_as_such(void)
{
	struct place p;
	struct ledger_run got;
	struct err err;
	place_init(&p);
	struct ledger_run r = a_run(&p.run);
	r.api = r.model = r.verdict = NULL;
	r.partial = true;
	r.requests_per_s = r.p50_ms = NAN;
	r.fingerprint.n = 0;
	struct ledger *l = opened(in(&p, "l.db"));
	CHECK(ledger_get(l, added(l, &r), &p.run, &got, &err));
	CHECK(!got.api && !got.model && !got.verdict && got.partial);
	CHECK(isnan(got.requests_per_s) && isnan(got.p50_ms));
	CHECK_INT(got.fingerprint.n, 0);
	ledger_close(l);
	place_release(&p);
}

static void a_list_is_newest_first_and_filtered(void)
{
	struct place p;
	struct err err;
	struct ledger_run *runs;
	size_t n;
	place_init(&p);
	struct ledger_run r = a_run(&p.run);
	struct ledger *l = opened(in(&p, "l.db"));
	CHECK_INT(added(l, &r), 1);
	r.kind = "diagnose";
	CHECK_INT(added(l, &r), 2);
	r.url = "http://other:9/100%_sure";
	CHECK_INT(added(l, &r), 3);
	CHECK(ledger_list(l, &(struct ledger_query){ 0 }, &p.run, &runs, &n, &err));
	CHECK_INT(n, 3);
	for (size_t i = 0; i < n; i++)
		CHECK_INT(runs[i].id, 3 - (int64_t)i);
	CHECK_STR(fingerprint_get(&runs[0].fingerprint, "load.concurrency"), "8");
	static const struct {
		struct ledger_query query;
		size_t want;
	} cases[] = {
		{ { .kind = "diagnose" }, 2 },
		{ { .kind = "tune" }, 0 },
		{ { .url = "127.0.0.1:8000" }, 2 },
		{ { .url = "0%_s" }, 1 }, /* text, not a pattern */
		{ { .url = "o%r" }, 0 },
		{ { .kind = "diagnose", .url = "other" }, 1 },
		{ { .limit = 2 }, 2 },
		{ { .kind = "load", .limit = 2 }, 1 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_INT(count_runs(l, &cases[i].query), cases[i].want);
	ledger_close(l);
	place_release(&p);
}

static void an_unknown_run_is_named(void)
{
	struct place p;
	struct err err;
	struct ledger_run got;
	place_init(&p);
	struct ledger *l = opened(in(&p, "l.db"));
	CHECK(!ledger_get(l, 7, &p.run, &got, &err));
	CHECK_INT(err.kind, ERR_INPUT);
	CHECK_STR(
	        err.text, arena_printf(&p.run, "there is no run 7 in the ledger '%s/l.db'", p.dir));
	ledger_close(l);
	place_release(&p);
}

static void ids_are_never_given_twice(void)
{
	struct place p;
	place_init(&p);
	struct ledger_run r = a_run(&p.run);
	struct ledger *l = opened(in(&p, "l.db"));
	CHECK_INT(added(l, &r), 1);
	CHECK_INT(added(l, &r), 2);
	raw(in(&p, "l.db"), "PRAGMA foreign_keys = ON; DELETE FROM run WHERE id = 2");
	raw_says(in(&p, "l.db"), "SELECT count(*) FROM fingerprint", "3");
	CHECK_INT(added(l, &r), 3);
	ledger_close(l);
	place_release(&p);
}

static void the_file_is_marked_as_ours_and_in_wal_mode(void)
{
	struct place p;
	place_init(&p);
	ledger_close(opened(in(&p, "l.db")));
	raw_says(in(&p, "l.db"), "PRAGMA application_id", "1450079346"); /* 0x566e7472 */
	raw_says(in(&p, "l.db"), "PRAGMA user_version", "1");
	raw_says(in(&p, "l.db"), "PRAGMA journal_mode", "wal");
	place_release(&p);
}

static void a_run_is_stored_whole_or_not_at_all(void)
{
	struct place p;
	struct err err;
	int64_t id = -1;
	place_init(&p);
	struct ledger_run r = a_run(&p.run);
	struct ledger *l = opened(in(&p, "l.db"));
	/* the second entry of that name breaks a rule of the table after the run has gone in */
	r.fingerprint.entries[2].name = "host.cpu";
	CHECK(!ledger_add(l, &r, &id, &err));
	CHECK_INT(id, -1);
	CHECK_INT(count_runs(l, &(struct ledger_query){ 0 }), 0);
	raw_says(in(&p, "l.db"), "SELECT count(*) FROM fingerprint", "0");
	r.fingerprint.n = 2;
	CHECK(added(l, &r) > 0);
	ledger_close(l);
	place_release(&p);
}

static void json_over_the_limit_is_refused(void)
{
	struct place p;
	struct err err;
	int64_t id;
	place_init(&p);
	struct ledger_run r = a_run(&p.run);
	r.json = (struct str){ arena_alloc(&p.run, LEDGER_JSON_MAX_BYTES + 1),
		LEDGER_JSON_MAX_BYTES + 1 };
	struct ledger *l = opened(in(&p, "l.db"));
	CHECK(!ledger_add(l, &r, &id, &err));
	CHECK_INT(err.kind, ERR_INPUT);
	CHECK_INT(count_runs(l, &(struct ledger_query){ 0 }), 0);
	ledger_close(l);
	place_release(&p);
}

static void the_place_follows_option_variable_and_home(void)
{
	static const struct {
		const char *path, *ledger, *xdg, *home, *want; /* want NULL: ERR_USAGE */
	} cases[] = {
		{ "a.db", "/v.db", "/x", "/h", "a.db" },
		{ NULL, "/v.db", "/x", "/h", "/v.db" },
		{ NULL, NULL, "/x", "/h", "/x/venturi/ledger.db" },
		{ NULL, "", "/x", "/h", "/x/venturi/ledger.db" },
		{ NULL, NULL, NULL, "/h", "/h/.local/share/venturi/ledger.db" },
		{ NULL, NULL, "relative", "/h", "/h/.local/share/venturi/ledger.db" },
		{ NULL, NULL, NULL, NULL, NULL },
		{ "", "/v.db", "/x", "/h", NULL },
	};
	static const char *const names[] = { "VENTURI_LEDGER", "XDG_DATA_HOME", "HOME" };
	struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *values[] = { cases[i].ledger, cases[i].xdg, cases[i].home };
		const char *path = NULL;
		struct err err;
		for (size_t v = 0; v < ARRAY_LEN(names); v++) {
			unsetenv(names[v]);
			if (values[v])
				setenv(names[v], values[v], 1);
		}
		bool ok = ledger_find(cases[i].path, &run, &path, &err);
		CHECK_INT(ok, cases[i].want != NULL);
		if (ok)
			CHECK_STR(path, cases[i].want);
		else
			CHECK_INT(err.kind, ERR_USAGE);
	}
	arena_release(&run);
}

static void missing_folders_are_made(void)
{
	struct place p;
	place_init(&p);
	struct ledger *l = opened(in(&p, "a/b c/l.db"));
	CHECK_STR(ledger_path(l), in(&p, "a/b c/l.db"));
	ledger_close(l);
	place_release(&p);
}

static void names_that_sqlite_reads_otherwise_are_plain_files(void)
{
	static const char *const names[] = { ":memory:", "file:x?mode=memory" };
	struct place p;
	char *before = getcwd(NULL, 0);
	place_init(&p);
	CHECK_INT(chdir(p.dir), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		ledger_close(opened(names[i]));
		CHECK_INT(access(names[i], R_OK), 0);
	}
	CHECK_INT(chdir(before), 0);
	free(before);
	place_release(&p);
}

static void reading_makes_no_ledger(void)
{
	struct place p;
	struct err err;
	struct ledger *l = (struct ledger *)&p;
	place_init(&p);
	CHECK(ledger_open_existing(in(&p, "a/l.db"), &l, &err));
	CHECK(l == NULL);
	CHECK(access(in(&p, "a"), F_OK) != 0);
	ledger_close(opened(in(&p, "l.db")));
	CHECK(ledger_open_existing(in(&p, "l.db"), &l, &err));
	CHECK(l != NULL);
	auto_ledger(&l);
	place_release(&p);
}

static void what_is_no_ledger_is_refused_and_left_alone(void)
{
	static const char text[] =
	        "# notes\n\nnot a data base, but long enough to be looked at: "
	        "................................................................";
	struct place p;
	struct str after;
	struct err err;
	place_init(&p);
	const char *notes = in(&p, "notes.md"), *other = in(&p, "other.db");
	write_file(notes, text, sizeof(text) - 1);
	refused(notes, ERR_INPUT,
	        arena_printf(&p.run, "'%s' is not a ledger, nor any SQLite file", notes));
	CHECK(str_read_file(notes, 4096, &p.run, &after, &err) &&
	        str_eq(after, (struct str){ text, sizeof(text) - 1 }));

	raw(other, "CREATE TABLE bookmarks (x); INSERT INTO bookmarks VALUES (1)");
	refused(other, ERR_INPUT,
	        arena_printf(
	                &p.run, "'%s' is an SQLite file of another program, not a ledger", other));
	raw_says(other, "SELECT group_concat(name) FROM sqlite_master", "bookmarks");
	raw_says(other, "PRAGMA journal_mode", "delete");
	raw_says(other, "PRAGMA application_id", "0");
	place_release(&p);
}

static void a_newer_schema_is_refused_with_both_numbers_and_left_alone(void)
{
	struct place p;
	struct err err;
	struct str before, after;
	place_init(&p);
	const char *path = in(&p, "l.db");
	struct ledger_run r = a_run(&p.run);
	struct ledger *l = opened(path);
	added(l, &r);
	ledger_close(l);
	raw(path, "CREATE TABLE later (x); PRAGMA user_version = 99");
	CHECK(str_read_file(path, 1 << 20, &p.run, &before, &err));
	refused(path, ERR_INPUT,
	        arena_printf(&p.run,
	                "the ledger '%s' has schema 99, this program knows it up to %d", path,
	                schema_version()));
	CHECK(!ledger_open_existing(path, &l, &err));
	CHECK(str_read_file(path, 1 << 20, &p.run, &after, &err));
	CHECK(str_eq(before, after));
	place_release(&p);
}

static void an_empty_file_becomes_a_ledger(void)
{
	struct place p;
	place_init(&p);
	write_file(in(&p, "l.db"), "", 0);
	ledger_close(opened(in(&p, "l.db")));
	raw_says(in(&p, "l.db"), "PRAGMA user_version", "1");
	place_release(&p);
}

/* Pages are overwritten from the given one on; the first one keeps its head. */
static void damage(const char *path, off_t from)
{
	char junk[4096];
	memset(junk, 0xa5, sizeof(junk));
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	off_t end = lseek(fd, 0, SEEK_END);
	for (off_t at = from; at < end; at += (off_t)sizeof(junk))
		CHECK(pwrite(fd, junk, sizeof(junk), at) == (ssize_t)sizeof(junk));
	close(fd);
}

static void a_damaged_ledger_is_an_error_and_no_crash(void)
{
	static const off_t froms[] = { 120, 4096, 8192 };
	for (size_t i = 0; i < ARRAY_LEN(froms); i++) {
		struct place p;
		struct err err = { 0 };
		struct ledger_run *runs;
		struct ledger *l = NULL;
		size_t n;
		place_init(&p);
		const char *path = in(&p, "l.db");
		struct ledger_run r = a_run(&p.run);
		l = opened(path);
		for (int k = 0; k < 100; k++)
			added(l, &r);
		ledger_close(l);
		l = NULL;
		damage(path, froms[i]);
		CHECK(!ledger_open(path, &l, &err) ||
		        !ledger_list(l, &(struct ledger_query){ 0 }, &p.run, &runs, &n, &err));
		CHECK_INT(err.kind, ERR_INPUT);
		CHECK_STR(err.text, arena_printf(&p.run, "the ledger '%s' is damaged", path));
		CHECK(err.hint[0]);
		ledger_close(l);
		place_release(&p);
	}
}

static void a_folder_a_pipe_and_a_bad_parent_are_refused(void)
{
	struct place p;
	place_init(&p);
	refused(p.dir, ERR_SYSTEM,
	        arena_printf(&p.run, "'%s' is a folder, not a ledger file", p.dir));
	CHECK_INT(mkfifo(in(&p, "pipe"), 0600), 0);
	refused(in(&p, "pipe"), ERR_SYSTEM,
	        arena_printf(&p.run, "'%s/pipe' is not a regular file, so it cannot be a ledger",
	                p.dir));
	write_file(in(&p, "file"), "x", 1);
	refused(in(&p, "file/l.db"), ERR_SYSTEM,
	        arena_printf(
	                &p.run, "cannot use the ledger '%s/file/l.db': Not a directory", p.dir));
	refused("/proc/no/l.db", ERR_SYSTEM,
	        "cannot make the folder '/proc/no' for the ledger: No such file or directory");
	place_release(&p);
}

/*
 * Runs a part of a test in a process of its own; what it returns must be 0. What fails inside
 * prints, and its exit code carries the failure out.
 */
static void in_a_child(int (*part)(struct place *), struct place *p)
{
	int status = -1;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		_exit(part(p) || tap_current_failed);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
}

static bool give_up_root(void)
{
	return geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);
}

static int use_read_only(struct place *p)
{
	struct err err;
	struct ledger *l = NULL;
	struct ledger_run got;
	if (!give_up_root())
		return 1;
	refused(in(p, "ro.db"), ERR_SYSTEM,
	        arena_printf(&p->run, "the ledger '%s/ro.db' is read-only", p->dir));
	if (CHECK(ledger_open_existing(in(p, "ro.db"), &l, &err)))
		CHECK(ledger_get(l, 1, &p->run, &got, &err));
	else
		printf("#   %s\n", err.text);
	ledger_close(l);
	refused(in(p, "ro/new.db"), ERR_SYSTEM,
	        arena_printf(&p->run, "cannot make the ledger '%s/ro/new.db': Permission denied",
	                p->dir));
	refused(in(p, "ro/deep/new.db"), ERR_SYSTEM,
	        arena_printf(&p->run,
	                "cannot make the folder '%s/ro/deep' for the ledger: Permission denied",
	                p->dir));
	refused(in(p, "secret.db"), ERR_SYSTEM,
	        arena_printf(&p->run, "cannot use the ledger '%s/secret.db': Permission denied",
	                p->dir));
	/* the file may be written, but not what SQLite keeps beside it */
	refused(in(p, "ro/old #%41.db"), ERR_SYSTEM,
	        arena_printf(&p->run, "the ledger '%s/ro/old #%%41.db' is read-only", p->dir));
	l = NULL;
	if (CHECK(ledger_open_existing(in(p, "ro/old #%41.db"), &l, &err)))
		CHECK(ledger_get(l, 1, &p->run, &got, &err));
	ledger_close(l);
	fflush(stdout);
	return 0;
}

static void a_read_only_file_or_folder_is_refused_for_writing(void)
{
	struct place p;
	place_init(&p);
	struct ledger_run r = a_run(&p.run);
	struct ledger *l = opened(in(&p, "ro.db"));
	added(l, &r);
	ledger_close(l);
	CHECK_INT(chmod(in(&p, "ro.db"), 0444), 0);
	ledger_close(opened(in(&p, "secret.db")));
	CHECK_INT(chmod(in(&p, "secret.db"), 0000), 0);
	l = opened(in(&p, "ro/old #%41.db"));
	added(l, &r);
	ledger_close(l);
	CHECK_INT(chmod(in(&p, "ro/old #%41.db"), 0666), 0);
	CHECK_INT(chmod(in(&p, "ro"), 0555), 0);
	in_a_child(use_read_only, &p);
	place_release(&p);
}

/* Adds until it fails; then what was there before must still be. */
static int fill_up(struct place *p, const char *sentence)
{
	struct err err = { 0 };
	struct ledger_run r = a_run(&p->run);
	const char *path = in(p, "l.db");
	struct ledger *l = opened(path);
	int64_t id = 0;
	size_t n = 0;
	r.json = (struct str){ arena_alloc(&p->run, 10000), 10000 };
	while (n < 1000 && ledger_add(l, &r, &id, &err))
		n++;
	CHECK(n > 0 && n < 1000);
	CHECK_INT(err.kind, ERR_SYSTEM);
	/* the system's own words may follow */
	if (!CHECK(str_starts(str_of(err.text), str_of(arena_printf(&p->run, sentence, path)))))
		printf("#   %s\n", err.text);
	CHECK_INT(count_runs(l, &(struct ledger_query){ 0 }), n);
	ledger_close(l);
	l = opened(path);
	CHECK_INT(count_runs(l, &(struct ledger_query){ 0 }), n);
	ledger_close(l);
	raw_says(path, "PRAGMA integrity_check", "ok");
	fflush(stdout);
	return 0;
}

static int fill_small_disk(struct place *p)
{
	if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) != 0 ||
	        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	        mount("none", p->dir, "tmpfs", 0, "size=512k") != 0)
		return 77;
	return fill_up(p, "the disk is full: nothing was stored in the ledger '%s'");
}

static void a_full_disk_loses_nothing_that_was_stored(void)
{
	struct place p;
	int status = -1;
	place_init(&p);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		int code = fill_small_disk(&p);
		_exit(code ? code : tap_current_failed);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		tap_skip("no permission to mount a small file system");
	else
		CHECK_INT(status, 0);
	place_release(&p);
}

static int fill_allowance(struct place *p)
{
	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 300000, 300000 }) != 0)
		return 1;
	return fill_up(p, "cannot use the ledger '%s': ");
}

static void a_file_that_may_not_grow_loses_nothing_that_was_stored(void)
{
	struct place p;
	place_init(&p);
	in_a_child(fill_allowance, &p);
	place_release(&p);
}

static void a_lock_held_for_too_long_is_said(void)
{
	struct place p;
	struct err err;
	sqlite3 *other;
	int64_t id;
	place_init(&p);
	struct ledger_run r = a_run(&p.run);
	struct ledger *l = opened(in(&p, "l.db"));
	CHECK_INT(sqlite3_open(in(&p, "l.db"), &other), SQLITE_OK);
	CHECK_INT(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	CHECK(!ledger_add(l, &r, &id, &err));
	CHECK_INT(err.kind, ERR_SYSTEM);
	CHECK_STR(err.text,
	        arena_printf(&p.run,
	                "the ledger '%s/l.db' has been locked by another process for too long",
	                p.dir));
	CHECK_INT(count_runs(l, &(struct ledger_query){ 0 }), 0); /* reading goes on meanwhile */
	CHECK_INT(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	CHECK(added(l, &r) > 0);
	sqlite3_close(other);
	ledger_close(l);
	place_release(&p);
}

enum { N_WRITERS = 4, RUNS_EACH = 15 };

static int write_some(struct place *p)
{
	struct ledger_run r = a_run(&p->run);
	for (int i = 0; i < RUNS_EACH; i++) {
		struct ledger *l = opened(in(p, "l.db"));
		added(l, &r);
		ledger_close(l);
	}
	return 0;
}

static void processes_that_make_and_write_a_ledger_at_once_all_succeed(void)
{
	struct place p;
	pid_t pids[N_WRITERS];
	place_init(&p);
	fflush(stdout);
	for (int i = 0; i < N_WRITERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			int code = write_some(&p);
			fflush(stdout);
			_exit(code || tap_current_failed);
		}
	}
	for (int i = 0; i < N_WRITERS; i++) {
		int status = -1;
		CHECK(waitpid(pids[i], &status, 0) == pids[i]);
		CHECK_INT(status, 0);
	}
	struct ledger *l = opened(in(&p, "l.db"));
	CHECK_INT(count_runs(l, &(struct ledger_query){ 0 }), N_WRITERS * RUNS_EACH);
	ledger_close(l);
	raw_says(in(&p, "l.db"), "PRAGMA integrity_check", "ok");
	place_release(&p);
}

/* All wait at one pipe, so that they come to the missing file at the same moment. */
static void processes_that_make_the_same_ledger_at_the_same_moment_all_succeed(void)
{
	enum { N_ROUNDS = 12, N_PROCESSES = 8 };
	struct place p;
	place_init(&p);
	fflush(stdout);
	for (int round = 0; round < N_ROUNDS; round++) {
		const char *path = in(&p, arena_printf(&p.run, "%d.db", round));
		int gate[2], status = -1;
		char nothing;
		CHECK_INT(pipe2(gate, O_CLOEXEC), 0);
		for (int i = 0; i < N_PROCESSES; i++) {
			if (fork() != 0)
				continue;
			close(gate[1]);
			if (read(gate[0], &nothing, 1) != 0)
				_exit(1);
			ledger_close(opened(path));
			fflush(stdout);
			_exit(tap_current_failed);
		}
		close(gate[0]);
		close(gate[1]);
		for (int i = 0; i < N_PROCESSES; i++) {
			CHECK(wait(&status) > 0);
			CHECK_INT(status, 0);
		}
	}
	place_release(&p);
}

/* Adds without end, and reports every id that ledger_add has returned. */
static void write_until_killed(struct place *p, int report)
{
	struct ledger_run r = a_run(&p->run);
	struct err err;
	struct ledger *l = NULL;
	int64_t id;
	r.json = (struct str){ arena_alloc(&p->run, 30000), 30000 };
	while (ledger_open(in(p, "l.db"), &l, &err)) {
		for (int i = 0; i < 5; i++)
			if (!ledger_add(l, &r, &id, &err) ||
			        write(report, &id, sizeof(id)) != (ssize_t)sizeof(id))
				_exit(1);
		ledger_close(l);
	}
	_exit(1);
}

static void a_kill_at_any_moment_loses_no_stored_run(void)
{
	struct place p;
	place_init(&p);
	for (int round = 0; round < 20; round++) {
		struct err err;
		struct ledger_run got;
		int ends[2], status;
		int64_t id, last = 0;
		CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
		fflush(stdout);
		pid_t pid = fork();
		if (pid == 0)
			write_until_killed(&p, ends[1]);
		close(ends[1]);
		usleep((useconds_t)(3000 + round * 4700)); /* a different point each time */
		kill(pid, SIGKILL);
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		while (read(ends[0], &id, sizeof(id)) == (ssize_t)sizeof(id))
			last = id;
		close(ends[0]);
		struct ledger *l = opened(in(&p, "l.db"));
		CHECK(last == 0 || ledger_get(l, last, &p.run, &got, &err));
		CHECK(last == 0 || (got.json.len == 30000 && got.fingerprint.n == 3));
		ledger_close(l);
		raw_says(in(&p, "l.db"), "PRAGMA integrity_check", "ok");
		raw_says(in(&p, "l.db"), "PRAGMA foreign_key_check", "");
	}
	struct ledger *l = opened(in(&p, "l.db"));
	CHECK(count_runs(l, &(struct ledger_query){ 0 }) > 0);
	ledger_close(l);
	place_release(&p);
}

int main(void)
{
	TAP_RUN(a_run_comes_back_as_it_was_stored);
	TAP_RUN(absent_texts_and_a_partial_run_come_back_as_such);
	TAP_RUN(a_list_is_newest_first_and_filtered);
	TAP_RUN(an_unknown_run_is_named);
	TAP_RUN(ids_are_never_given_twice);
	TAP_RUN(the_file_is_marked_as_ours_and_in_wal_mode);
	TAP_RUN(a_run_is_stored_whole_or_not_at_all);
	TAP_RUN(json_over_the_limit_is_refused);
	TAP_RUN(the_place_follows_option_variable_and_home);
	TAP_RUN(missing_folders_are_made);
	TAP_RUN(names_that_sqlite_reads_otherwise_are_plain_files);
	TAP_RUN(reading_makes_no_ledger);
	TAP_RUN(what_is_no_ledger_is_refused_and_left_alone);
	TAP_RUN(a_newer_schema_is_refused_with_both_numbers_and_left_alone);
	TAP_RUN(an_empty_file_becomes_a_ledger);
	TAP_RUN(a_damaged_ledger_is_an_error_and_no_crash);
	TAP_RUN(a_folder_a_pipe_and_a_bad_parent_are_refused);
	TAP_RUN(a_read_only_file_or_folder_is_refused_for_writing);
	TAP_RUN(a_full_disk_loses_nothing_that_was_stored);
	TAP_RUN(a_file_that_may_not_grow_loses_nothing_that_was_stored);
	TAP_RUN(a_lock_held_for_too_long_is_said);
	TAP_RUN(processes_that_make_and_write_a_ledger_at_once_all_succeed);
	TAP_RUN(processes_that_make_the_same_ledger_at_the_same_moment_all_succeed);
	TAP_RUN(a_kill_at_any_moment_loses_no_stored_run);
	return tap_done();
}
