/*
 * sse.h - server-sent events, parsed as they arrive; the same events for every split of the input.
 *
 * LF, CRLF and CR end lines, also mixed and across reads; a byte-order mark at the start,
 * comments, "data:" with and without a space, several data lines (joined by LF), event, id and
 * retry fields are understood as the HTML standard says. An event is handed out at its empty line.
 * Data that lie whole in the input are handed out without a copy. Limit: SSE_EVENT_MAX per event;
 * a longer one is an error.
 *
 * Source: WHATWG HTML, section 9.2.6.
 */
#ifndef VENTURI_NET_SSE_H
#define VENTURI_NET_SSE_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>

enum { SSE_EVENT_MAX = 16 * 1024 * 1024 };

struct sse {
	struct buf data; /* of an event that goes on */
	struct buf line; /* of a line that goes on */
	struct buf type; /* "event:" of the event under way; empty for "message" */
	bool has_data;
	bool after_cr;
	bool started;
	bool failed;
};

struct sse_event {
	struct str type; /* empty: message */
	struct str data;
};

void sse_reset(struct sse *sse);
void sse_release(struct sse *sse);

/*
 * Feeds bytes; on_event is called for each event that has data, and may stop the parser by
 * returning false.
 *
 * returns  false when an event was larger than the limit or on_event stopped it
 */
bool sse_feed(struct sse *sse, struct str bytes, bool (*on_event)(void *ctx, struct sse_event event),
	void *ctx) NODISCARD;

#endif
