/*
 * http.h - HTTP/1.1 responses, parsed as they arrive: bytes in, callbacks out, nothing copied.
 *
 * Knows content-length, chunked (with trailers and extensions), bodies that end with the
 * connection, interim 1xx answers, and answers without a body. The body comes in the pieces in
 * which it arrived. The parser never blocks and allocates nothing; it is one struct that is reset
 * between answers. Limits: HTTP_HEAD_MAX bytes of status line and headers, 2^40 of body.
 *
 * Source: RFC 9112.
 */
#ifndef VENTURI_NET_HTTP_H
#define VENTURI_NET_HTTP_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_HEAD_MAX = 64 * 1024, HTTP_LINE_MAX = 16 * 1024 };

enum http_result {
	HTTP_MORE,  /* all input was used, the answer goes on */
	HTTP_DONE,  /* the answer is complete; bytes after it were not used */
	HTTP_ERROR, /* not HTTP; http->error says what */
};

struct http {
	/* known once head_done */
	int status;
	bool head_done;
	bool keep_alive; /* the server will take another request on this connection */
	bool chunked;
	bool event_stream; /* content-type: text/event-stream */
	int64_t content_length; /* -1: not given */
	const char *error; /* untranslated short phrase: "no status line" */
	/* inside */
	int state;
	int64_t left; /* bytes left of the body or chunk */
	size_t head_bytes;
	size_t line_len;
	char line[HTTP_LINE_MAX];
};

/* Ready for the next answer. no_body: the request was HEAD. */
void http_reset(struct http *http, bool no_body);

/*
 * Feeds n bytes.
 *
 * ret_used  bytes taken; fewer than n only with HTTP_DONE or HTTP_ERROR
 * on_body   called for every piece of the body, possibly several times per call; a false return
 *           stops the parser with HTTP_ERROR and error "stopped"
 */
enum http_result http_feed(struct http *http, const char *data, size_t n, size_t *ret_used,
	bool (*on_body)(void *ctx, struct str piece), void *ctx) NODISCARD;

/* The connection ended: HTTP_DONE when that ends the answer rightly, else HTTP_ERROR. */
enum http_result http_end(struct http *http) NODISCARD;

#endif
