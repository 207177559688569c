/*
 * profile_table.h - samples counted by process and address, in fixed memory, and shown by symbol.
 */
#ifndef VENTURI_WATCH_PROFILE_TABLE_H
#define VENTURI_WATCH_PROFILE_TABLE_H

#include "base/arena.h"
#include "record/signal.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	PROFILE_PROCESSES_MAX = 512,
	PROFILE_SPOTS_MAX = 24576, /* addresses; further ones are counted without a place */
	PROFILE_SYMBOLS_MAX = 48,  /* that are reported */
};

struct profile_table;

struct profile_table *profile_table_new(void);
void profile_table_free(struct profile_table *t);

/*
 * The place of a process, the same again when it is asked for again.
 *
 * watched  is kept for the caller
 * returns  -1: there are too many
 */
int profile_table_process(struct profile_table *t, int pid, int watched);
int profile_table_pid(const struct profile_table *t, int process);
int profile_table_watched(const struct profile_table *t, int process);

/* A sample. Of an address that is new its mapping is looked up, so that it is known later on. */
void profile_table_count(struct profile_table *t, int process, uint64_t address, bool in_kernel);
/* All rings have been read: mappings may be looked at anew from now on. */
void profile_table_drained(struct profile_table *t);

/* Counts start from 0. */
void profile_table_begin(struct profile_table *t);
/* The next report finds all names. Else one that follows another in less than 2 s does but a part
 * of the work, since somebody waits for each of many. */
void profile_table_thorough(struct profile_table *t);

/* Adds to->symbols. */
void profile_table_report(struct profile_table *t, struct arena *run, struct signal_system *to);

#endif
