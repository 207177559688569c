/*
 * schema.h - the tables of the ledger, as the list of steps that made them.
 *
 * A step is never changed once released: a new version is a new step at the end. The number of
 * steps is the schema version (PRAGMA user_version); SCHEMA_APPLICATION_ID marks a file as ours.
 */
#ifndef VENTURI_LEDGER_SCHEMA_H
#define VENTURI_LEDGER_SCHEMA_H

#include "ledger/db.h"

enum { SCHEMA_APPLICATION_ID = 0x566e7472 }; /* "Vntr" */

/* The version that this program writes. */
int schema_version(void);

/*
 * Brings an open file to the present version; an empty one becomes a ledger. Nothing is written
 * when it is at that version already, newer, or another program's.
 */
bool schema_upgrade(const struct db *db, struct err *err) NODISCARD;

#endif
