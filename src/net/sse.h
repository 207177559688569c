/*
 * sse.h - server-sent events, parsed as they arrive; the same events for every split of the input.
 *
 * LF, CRLF and CR end lines, also mixed and across reads; a byte-order mark at the start,
 * comments, "data:" with and without a space, several data lines (joined by LF) and event fields
 * are understood as the HTML standard says; id, retry and unknown fields are passed over. An event
 * is handed out at its empty line, and one that the stream's end cuts off is not. Data of one line
 * that lie whole in the input are handed out without a copy. A zeroed struct is ready for use.
 *
 * Limit: SSE_EVENT_MAX bytes per line and per event; a longer one is an error.
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
	bool after_cr; /* an LF that comes next belongs to the line before */
	bool started;  /* the first line, which may begin with a byte-order mark, has passed */
	bool failed;
};

/* Valid during on_event. */
struct sse_event {
	struct str type; /* empty: message */
	struct str data;
};

/* Ready for the next stream; keeps the memory. */
void sse_reset(struct sse *sse);
void sse_release(struct sse *sse);

/*
 * Feeds bytes; on_event is called for each event that has data, and may stop the parser by
 * returning false.
 *
 * returns  false when an event was larger than the limit or on_event stopped it, and from then on
 */
bool sse_feed(struct sse *sse, struct str bytes,
        bool (*on_event)(void *ctx, struct sse_event event), void *ctx) NODISCARD;

/* Whether an event or a line is under way: one that is lost if the stream ends here. */
bool sse_pending(const struct sse *sse);

#endif
