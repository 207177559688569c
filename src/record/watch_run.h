/*
 * watch_run.h - what one watch saw: filled by cmd/, read by report/.
 *
 * A double that is absent is NAN. All memory is the run's arena. Times are seconds since the first
 * sample.
 */
#ifndef VENTURI_RECORD_WATCH_RUN_H
#define VENTURI_RECORD_WATCH_RUN_H

#include "record/fingerprint.h"
#include "record/signal.h"

#include <stdbool.h>
#include <stdint.h>

/* A process that was asked for. */
struct watch_process {
	int pid;
	const char *name; /* NULL: unknown */
	double ended_s;   /* when it was seen to have ended; NAN: it lives */
};

/* The file that the samples went to. */
struct watch_record_info {
	const char *path;  /* NULL: none */
	int64_t n_samples; /* in it */
	int64_t n_dropped; /* samples that could not be written in time */
	int failed;        /* errno of the first write that failed; 0: none did */
};

struct watch_run {
	const char *started_at; /* UTC */
	double duration_s;
	struct fingerprint fingerprint;
	struct watch_process *processes;
	size_t n_processes;
	const char *command;  /* that was run and watched; NULL: none */
	int command_status;   /* its exit status, 128 and the signal that killed it; -1: none yet */
	const char *replayed; /* the file that this was read from; NULL: it was live */
	bool is_cut;          /* that file has no end */
	struct signal_system system;
	struct signal_page *pages;
	size_t n_pages;
	struct watch_record_info record;
};

#endif
