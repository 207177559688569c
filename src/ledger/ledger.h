/*
 * ledger.h - the memory of runs, in one SQLite file that several processes may write.
 *
 * A run is stored whole when it ends, in one transaction: its kind, its fingerprint entry by
 * entry, the figures that lists show, and its full JSON. A run that ledger_add returned is on the
 * disk: a kill or a power cut loses at most the run in progress. Schema versions are migrated
 * upwards; a newer schema and files of other programs are refused and left alone. Processes that
 * write at the same time wait for each other, at most LEDGER_WAIT_MS.
 *
 * A ledger belongs to one thread at a time. Ids rise and are never given twice.
 *
 * Errors name the file. ERR_INPUT: no SQLite file, one of another program, a newer schema, damaged.
 * ERR_SYSTEM: a folder, no permission, read-only, disk full, locked for too long.
 */
#ifndef VENTURI_LEDGER_LEDGER_H
#define VENTURI_LEDGER_LEDGER_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "record/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEDGER_WAIT_MS = 5000, LEDGER_JSON_MAX_BYTES = 64 * 1024 * 1024 };

struct ledger;

/*
 * Where the ledger is: path itself, else $VENTURI_LEDGER, else $XDG_DATA_HOME/venturi/ledger.db,
 * else ~/.local/share/venturi/ledger.db.
 *
 * path     as the user gave it, or NULL
 * errors   ERR_USAGE when it is empty or there is no home folder to look in
 */
bool ledger_find(
        const char *path, struct arena *run, const char **ret_path, struct err *err) NODISCARD;

/* For writing; path as ledger_find. Missing folders and the file are made. */
bool ledger_open(const char *path, struct ledger **ret_ledger, struct err *err) NODISCARD;

/*
 * For reading: makes no file, and takes one that may not be written.
 *
 * ret_ledger  NULL when there is no ledger yet
 */
bool ledger_open_existing(const char *path, struct ledger **ret_ledger, struct err *err) NODISCARD;

/* Accepts NULL. */
void ledger_close(struct ledger *ledger);
/* For AUTO(). */
void auto_ledger(struct ledger **ledger);
const char *ledger_path(const struct ledger *ledger);

struct ledger_run {
	int64_t id;             /* given by ledger_add */
	const char *kind;       /* "load" or "diagnose" */
	const char *started_at; /* UTC, ISO 8601 */
	const char *url;
	const char *api; /* may be NULL, as model and verdict */
	const char *model;
	bool partial;
	const char *verdict;   /* diagnose: its verdict; load: the client's */
	double requests_per_s; /* NAN: absent, as the next two */
	double p50_ms;
	double p99_ms;
	int64_t n_ok;
	int64_t n_failed;
	struct fingerprint fingerprint;
	struct str json; /* the whole result, schema venturi.load/1 or venturi.diagnosis/1 */
};

/* errors   also ERR_INPUT for JSON above LEDGER_JSON_MAX_BYTES */
bool ledger_add(struct ledger *ledger, const struct ledger_run *r, int64_t *ret_id,
        struct err *err) NODISCARD;

struct ledger_query {
	const char *kind; /* NULL: all */
	const char *url;  /* text that the URL holds; NULL: all */
	int64_t limit;    /* 0: all */
};

/* Newest first; json is not filled. */
bool ledger_list(struct ledger *ledger, const struct ledger_query *query, struct arena *run,
        struct ledger_run **ret_runs, size_t *ret_n, struct err *err) NODISCARD;

/* ERR_INPUT when there is no such run. */
bool ledger_get(struct ledger *ledger, int64_t id, struct arena *run, struct ledger_run *ret_run,
        struct err *err) NODISCARD;

#endif
