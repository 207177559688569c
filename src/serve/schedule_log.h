/*
 * schedule_log.h - the true times of every request, one line of JSON each, for those who measure
 * the service from outside.
 *
 * All times are ns of CLOCK_MONOTONIC, null where it never came to that. A line is one write(2),
 * so a killed service loses nothing that had ended. The manual page describes the members.
 */
#ifndef VENTURI_SERVE_SCHEDULE_LOG_H
#define VENTURI_SERVE_SCHEDULE_LOG_H

#include "base/attr.h"
#include "base/err.h"
#include "serve/job.h"

#include <pthread.h>
#include <stdbool.h>

struct schedule_log {
	int fd; /* -1: not wanted */
	pthread_mutex_t lock;
	int failed; /* errno of the first write that failed */
	void (*on_failure)(int failed);
};

/*
 * path        NULL: a log that takes nothing. An existing file is replaced.
 * on_failure  called with errno the first time that a line cannot be written, from any thread
 */
bool schedule_log_open(struct schedule_log *log, const char *path, void (*on_failure)(int failed),
        struct err *err) NODISCARD;

/* The job must have ended. */
void schedule_log_write(struct schedule_log *log, struct job *job);

/* False: some lines are missing, err says why. */
bool schedule_log_close(struct schedule_log *log, struct err *err) NODISCARD;

#endif
