/*
 * gateway_client.h - the gateway's calls to upstreams: HTTP/1.1 over connections that are kept and
 * used again, on one event loop, never blocking.
 *
 * A call is embedded in what it is for. Between client_start and its on_end it is the client's; no
 * callback comes after client_cancel. All from the loop's thread. A callback may start other calls
 * and cancel its own.
 */
#ifndef VENTURI_SERVE_GATEWAY_CLIENT_H
#define VENTURI_SERVE_GATEWAY_CLIENT_H

#include "base/str.h"
#include "net/http.h"
#include "net/loop.h"
#include "serve/gateway_upstream.h"

#include <stdbool.h>
#include <stdint.h>

struct client_slot;

enum client_end {
	CLIENT_DONE,
	CLIENT_UNREACHED, /* nothing of it was sent */
	CLIENT_LOST,      /* sent, and not a byte came back */
	CLIENT_CUT,       /* the answer broke off, or is not HTTP */
	CLIENT_TIMEOUT,   /* not a byte for too long */
};

struct client_call {
	/* set by who starts it */
	struct str request; /* all bytes; stays until the end */
	bool no_body;       /* the method is HEAD */
	enum upstream_kind kind;
	void (*on_header)(struct client_call *call, struct str name, struct str value);
	void (*on_head)(struct client_call *call, const struct http *http);
	void (*on_body)(struct client_call *call, struct str piece);
	/* why: a phrase for people, of CLIENT_DONE "" */
	void (*on_end)(struct client_call *call, enum client_end end, const char *why);
	/* of the client */
	struct upstream *upstream;
	struct client_slot *slot; /* NULL: not under way */
	int64_t sent_ns;
};

struct client {
	struct loop loop;
	int64_t timeout_ns;
	int64_t check_ns; /* when the next call or idle connection may be over its time */
	struct client_slot *busy, *busy_last; /* longest silent first */
	struct client_slot *spare, *dead;
	char *input;
};

bool client_open(struct client *c, int64_t timeout_ns, struct err *err) NODISCARD;
void client_close(struct client *c, struct upstreams *u);

/* on_end may come before it returns. */
void client_start(struct client *c, struct client_call *call, struct upstream *up);

/* Gives up, and with it the connection. */
void client_cancel(struct client *c, struct client_call *call);

/* One that is under way; NULL: none is. */
struct client_call *client_first(const struct client *c);

/* Stops reading, so that the upstream has to wait; and goes on. */
void client_pause(struct client_call *call);
void client_resume(struct client *c, struct client_call *call);

/* An event of the loop whose data.ptr is a slot. */
void client_on_event(struct client *c, void *slot, uint32_t events);

/* Ends what took too long. Returns when to come again. */
int64_t client_expire(struct client *c, struct upstreams *u, int64_t now_ns);

/* After all events of a turn: slots that they may still have named are free now. */
void client_turn(struct client *c);

#endif
