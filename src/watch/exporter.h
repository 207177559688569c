/*
 * exporter.h - serves one page of metrics over HTTP, for Prometheus: GET and HEAD of /metrics,
 * nothing else. What the page says is the caller's.
 *
 * One thread serves all connections; a client that sends nothing is dropped.
 */
#ifndef VENTURI_WATCH_EXPORTER_H
#define VENTURI_WATCH_EXPORTER_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

enum { EXPORTER_CONNECTIONS_MAX = 128, EXPORTER_IDLE_S = 30 };

struct exporter_config {
	const char *address; /* HOST:PORT, or PORT alone on loopback; port 0 takes a free one */
	/* Writes the page, by the exporter's thread. */
	void (*write)(void *ctx, struct buf *out);
	void *ctx;
};

struct exporter;

/* errors   ERR_USAGE for an address that is none, ERR_SYSTEM when it cannot be had */
bool exporter_open(const struct exporter_config *config, struct arena *run,
        struct exporter **ret_exporter, struct err *err) NODISCARD;
/* "http://127.0.0.1:9100/metrics" */
const char *exporter_url(const struct exporter *e);
/* NULL is allowed. */
void exporter_close(struct exporter *e);

#endif
