/*
 * exchange.h - one request and its answer: the stamps, the bytes as they arrive, and the judgement
 * at the end. Knows nothing of sockets; whoever has them feeds it.
 *
 * A success is a 2xx status, no error inside, the protocol's finish marker and at least one token
 * (where the protocol has such things).
 */
#ifndef VENTURI_LOAD_EXCHANGE_H
#define VENTURI_LOAD_EXCHANGE_H

#include "load/endpoint.h"
#include "load/recorder.h"
#include "net/http.h"
#include "net/ndjson.h"
#include "net/sse.h"
#include "record/load_run.h"
#include "stats/hist.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	EXCHANGE_BODY_MAX = 64 * 1024 * 1024, /* kept of an answer that is read whole */
	EXCHANGE_ERROR_BODY_MAX = 512,        /* kept of an answer with a bad status */
};

struct exchange {
	const struct endpoint *endpoint;
	struct http http;
	struct sse sse;
	struct ndjson lines; /* where the stream is one of JSON lines */
	struct buf body;
	struct reply reply;
	struct buf text;          /* of the answer, where it is kept */
	bool keeps_text;
	int target;               /* which of the URLs */
	int64_t ticket;           /* number of the request since the start */
	int64_t prompt_tokens;    /* that the prompt was made of; 0: not known */
	bool blocked;             /* was due while as many were under way as may be */
	bool in_window;           /* sent inside the window: its times count */
	int64_t planned_ns;
	int64_t sent_ns;
	int64_t first_byte_ns;    /* 0: none yet */
	int64_t first_token_ns;   /* likewise */
	int64_t first_visible_ns; /* likewise; the first token that is not reasoning alone */
	int64_t last_token_ns;
	int64_t worst_gap_ns;     /* the longest between two token events */
	int64_t first_tokens;     /* in the first event: as told by then, else 1 */
	int64_t now_ns;           /* when the bytes under way arrived */
	struct hist *gaps;        /* where gaps between token events go; NULL: not recorded */
	struct recorder_lane *lane;     /* with --records: the worker's own, else NULL */
	struct recorder_gaps *recorded; /* the gaps for its record, released with the exchange */
};

enum exchange_result {
	EXCHANGE_MORE,
	EXCHANGE_DONE,  /* the answer is complete: exchange_judge says whether it is good */
	EXCHANGE_BROKEN, /* not HTTP, or cut off */
};

void exchange_release(struct exchange *x);

/* A new request on a connection; keeps_text, ticket, in_window and the stamps are the caller's. */
void exchange_begin(struct exchange *x, const struct endpoint *endpoint, int64_t planned_ns,
	int64_t sent_ns, struct hist *gaps);

/* Bytes that arrived at now_ns; ret_used as http_feed. */
enum exchange_result exchange_feed(struct exchange *x, struct str bytes, int64_t now_ns,
	size_t *ret_used);

/* The connection ended at now_ns. */
enum exchange_result exchange_end(struct exchange *x);

/* Whether an answer is broken because an event of its stream was larger than SSE_EVENT_MAX. */
bool exchange_too_large(const struct exchange *x);

/*
 * What a complete answer was worth.
 *
 * returns  true for a success; else *ret_failure and a sentence in why
 */
bool exchange_judge(struct exchange *x, enum load_failure *ret_failure, char *why, size_t why_size);

#endif
