/*
 * ndjson.h - a stream of JSON values, one a line, cut into its lines as they arrive; the same lines
 * for every split of the input.
 *
 * LF or CRLF ends a line; blank lines are passed over, as is white space around a value. Whether a
 * line is JSON is for its reader to say. A line that lies whole in the input is handed out without
 * a copy. A zeroed struct is ready for use.
 *
 * Limit: NDJSON_LINE_MAX bytes per line; a longer one is an error.
 *
 * Source: ndjson-spec, section 3; jsonlines.org, which lets the last line go without its end.
 */
#ifndef VENTURI_NET_NDJSON_H
#define VENTURI_NET_NDJSON_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>

enum { NDJSON_LINE_MAX = 16 * 1024 * 1024 };

struct ndjson {
	struct buf line; /* that goes on */
	bool failed;
};

/* Gets a line that is not blank; may stop the splitter by returning false. */
typedef bool (*ndjson_on_line)(void *ctx, struct str line);

/* Ready for the next stream; keeps the memory. */
void ndjson_reset(struct ndjson *n);
void ndjson_release(struct ndjson *n);

/*
 * Feeds bytes.
 *
 * returns  false when a line was larger than the limit or on_line stopped it, and from then on
 */
bool ndjson_feed(struct ndjson *n, struct str bytes, ndjson_on_line on_line, void *ctx) NODISCARD;

/* The stream ended: hands out a last line that has no end. Returns as ndjson_feed. */
bool ndjson_end(struct ndjson *n, ndjson_on_line on_line, void *ctx) NODISCARD;

#endif
