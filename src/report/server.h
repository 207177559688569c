/*
 * server.h - the service's own side of a load, in the load's reports.
 */
#ifndef VENTURI_REPORT_SERVER_H
#define VENTURI_REPORT_SERVER_H

#include "base/str.h"
#include "record/load_run.h"

struct json;

/* The key "server" of an object that is open; nothing when the service told nothing. */
void report_server_json(struct json *j, const struct signal_server *server);
/* A blank line and a few fields, likewise. */
void report_server_text(const struct load_run *r, struct arena *tmp, struct buf *out);

#endif
