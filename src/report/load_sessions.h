/*
 * load_sessions.h - the part of a run's reports that tells of its sessions. For the files of
 * report/ only.
 */
#ifndef VENTURI_REPORT_LOAD_SESSIONS_H
#define VENTURI_REPORT_LOAD_SESSIONS_H

#include "record/load_run.h"
#include "report/layout.h"

/* "sessions": {...}, where there are any. */
void load_sessions_json(struct json *j, const struct load_run *r);

/* The same as fields, where there are any. */
void load_sessions_fields(struct fields *f, const struct load_run *r);

/* A histogram of times in ns as an object in ms; nothing where it is empty (load_json.c). */
void load_json_hist(struct json *j, const char *name, const struct hist *h);

#endif
