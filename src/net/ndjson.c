#include "net/ndjson.h"

#include <string.h>

void ndjson_reset(struct ndjson *n)
{
	buf_clear(&n->line);
	n->failed = false;
}

void ndjson_release(struct ndjson *n)
{
	buf_release(&n->line);
	*n = (struct ndjson){ 0 };
}

static bool hand_out(struct str line, ndjson_on_line on_line, void *ctx)
{
	line = str_trim(line);
	return line.len == 0 || on_line(ctx, line);
}

/* A line, or what there is of it, that ends in the input or with it. */
static bool add_line(
        struct ndjson *n, struct str piece, bool ends, ndjson_on_line on_line, void *ctx)
{
	if (n->line.len + piece.len > NDJSON_LINE_MAX)
		return false;
	if (ends && n->line.len == 0)
		return hand_out(piece, on_line, ctx);
	buf_add(&n->line, piece);
	if (!ends)
		return true;
	bool go_on = hand_out(buf_str(&n->line), on_line, ctx);
	buf_clear(&n->line);
	return go_on;
}

bool ndjson_feed(struct ndjson *n, struct str bytes, ndjson_on_line on_line, void *ctx)
{
	while (bytes.len && !n->failed) {
		const char *lf = memchr(bytes.s, '\n', bytes.len);
		size_t len = lf ? (size_t)(lf - bytes.s) : bytes.len;
		n->failed = !add_line(n, (struct str){ bytes.s, len }, lf != NULL, on_line, ctx);
		len += lf != NULL;
		bytes = (struct str){ bytes.s + len, bytes.len - len };
	}
	return !n->failed;
}

bool ndjson_end(struct ndjson *n, ndjson_on_line on_line, void *ctx)
{
	if (!n->failed)
		n->failed = !add_line(n, (struct str){ 0 }, true, on_line, ctx);
	return !n->failed;
}
