/*
 * server.h - the service's own side of a load, in the load's reports.
 */
#ifndef VENTURI_REPORT_SERVER_H
#define VENTURI_REPORT_SERVER_H

#include "base/str.h"
#include "record/load_run.h"

struct fields;
struct json;

/* The key "server" of an object that is open; nothing when the service told nothing. */
void report_server_json(struct json *j, const struct signal_server *server);
/* What one page told. */
void report_server_fields(const struct signal_page *page, struct fields *f);
/* A blank line and those fields for each page, likewise. */
void report_server_text(const struct load_run *r, struct arena *tmp, struct buf *out);

#endif
