/*
 * ledger.h - the memory of runs, in one SQLite file that several processes may write.
 *
 * A run is stored whole when it ends: its kind, its fingerprint entry by entry, the figures that
 * lists show, and its full JSON. WAL mode, foreign keys on, one transaction per run: a kill at any
 * moment loses at most the run in progress. Schema versions are migrated upwards; a newer schema
 * is refused and left alone.
 */
#ifndef VENTURI_LEDGER_LEDGER_H
#define VENTURI_LEDGER_LEDGER_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "record/fingerprint.h"

#include <stdbool.h>
#include <stdint.h>

struct ledger;

/*
 * path     NULL: $VENTURI_LEDGER, else $XDG_DATA_HOME/venturi/ledger.db, else
 *          ~/.local/share/venturi/ledger.db; missing folders are made
 * errors   ERR_SYSTEM that names the file: unreadable, read-only, no database, newer schema, full
 */
bool ledger_open(const char *path, struct ledger **ret_ledger, struct err *err) NODISCARD;
void ledger_close(struct ledger *ledger);
/* For AUTO(). */
void auto_ledger(struct ledger **ledger);
const char *ledger_path(const struct ledger *ledger);

struct ledger_run {
	int64_t id; /* given by ledger_add */
	const char *kind; /* "load" or "diagnose" */
	const char *started_at; /* UTC, ISO 8601 */
	const char *url;
	const char *api;
	const char *model; /* may be NULL */
	bool partial;
	const char *verdict; /* diagnose: its verdict; load: the client's; may be NULL */
	double requests_per_s; /* NAN: absent */
	double p50_ms, p99_ms;
	int64_t n_ok, n_failed;
	struct fingerprint fingerprint;
	struct str json; /* the whole result, schema venturi.load/1 or venturi.diagnosis/1 */
};

bool ledger_add(struct ledger *ledger, const struct ledger_run *r, int64_t *ret_id,
	struct err *err) NODISCARD;

struct ledger_query {
	const char *kind; /* NULL: all */
	const char *url;  /* NULL: all */
	int64_t limit;    /* 0: all; newest first */
};

/* fingerprint and json are not filled. */
bool ledger_list(struct ledger *ledger, const struct ledger_query *query, struct arena *run,
	struct ledger_run **ret_runs, size_t *ret_n, struct err *err) NODISCARD;

/* ERR_INPUT when there is no such run. */
bool ledger_get(struct ledger *ledger, int64_t id, struct arena *run, struct ledger_run *ret_run,
	struct err *err) NODISCARD;

#endif
