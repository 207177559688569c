/*
 * http.h - HTTP/1.1 responses, parsed as they arrive: bytes in, callbacks out, nothing copied.
 *
 * Knows content-length, chunked (with trailers and extensions), bodies that end with the
 * connection, interim 1xx answers, and answers without a body. The body comes in the pieces in
 * which it arrived. The parser never blocks and allocates nothing; it is one struct that is reset
 * between answers, used by one thread at a time.
 *
 * Always: the outcome is the same for every split of the input into reads. What is not HTTP is
 * refused at its first wrong byte of the first five. Of the headers only six are read: those of the
 * body's framing and type, connection and the two that count tokens; of the others only the names
 * are checked. Who wants them all sets on_header.
 *
 * Limits: HTTP_LINE_MAX bytes of a line, HTTP_HEAD_MAX of status line, headers, trailers and
 * interim answers together, HTTP_BODY_MAX of body.
 *
 * Source: RFC 9112. Where it leaves a choice: a bare LF ends a line of the head but not one of the
 * chunked coding, a folded header line is refused, transfer-encoding beats content-length and then
 * the connection is not used again.
 */
#ifndef VENTURI_NET_HTTP_H
#define VENTURI_NET_HTTP_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_HEAD_MAX = 64 * 1024, HTTP_LINE_MAX = 16 * 1024 };
#define HTTP_BODY_MAX (INT64_C(1) << 40)

enum http_result {
	HTTP_MORE,  /* all input was used, the answer goes on */
	HTTP_DONE,  /* the answer is complete; bytes after it were not used */
	HTTP_ERROR, /* not HTTP; http->error says what */
};

/* Inside: what the next byte belongs to. */
enum http_state {
	HTTP_AT_STATUS,
	HTTP_AT_HEADER,
	HTTP_AT_BODY,       /* of content_length bytes */
	HTTP_AT_BODY_CLOSE, /* until the connection ends */
	HTTP_AT_CHUNK_SIZE,
	HTTP_AT_CHUNK,
	HTTP_AT_CHUNK_END,
	HTTP_AT_TRAILER,
	HTTP_AT_DONE,
	HTTP_AT_ERROR,
};

/* Two of the errors, for callers that know a hint: compare the pointers. */
extern const char http_error_tls[];   /* "TLS record instead of HTTP" */
extern const char http_error_http2[]; /* "HTTP/2 instead of HTTP/1.1" */

struct http {
	/* known once head_done, also inside on_body */
	int status;
	bool head_done;
	bool keep_alive; /* the server will take another request on this connection */
	bool chunked;
	bool event_stream;      /* content-type: text/event-stream, or one of JSON lines */
	bool json_lines;        /* content-type: application/x-ndjson or another of its names */
	int64_t content_length; /* -1: not given */
	int64_t input_tokens;   /* x-compute-tokens or x-prompt-tokens; -1: not given */
	int64_t body_bytes;     /* handed out so far */
	const char *error;      /* N_() phrase for an error sentence: "not HTTP"; NULL: none */
	/*
	 * Set after http_reset: gets each header of the final answer, blanks around the value
	 * taken off; not those of interim answers and trailers. NULL: nobody does.
	 */
	void (*on_header)(void *ctx, struct str name, struct str value);
	void *header_ctx;
	/* inside */
	enum http_state state;
	bool no_body; /* the request was HEAD */
	bool http_1_0;
	bool close, open; /* tokens of connection: */
	bool coded;       /* there was a transfer-encoding */
	int64_t left;     /* bytes left of the body or chunk */
	size_t head_bytes;
	size_t line_len;
	char line[HTTP_LINE_MAX]; /* a line that goes on in the next read */
};

/* Ready for the next answer. no_body: the request was HEAD. */
void http_reset(struct http *http, bool no_body);

/*
 * Feeds n bytes.
 *
 * ret_used  bytes taken; fewer than n only with HTTP_DONE or HTTP_ERROR
 * on_body   called for every piece of the body, possibly several times per call; a false return
 *           stops the parser with HTTP_ERROR and error "stopped"
 *
 * After HTTP_DONE and HTTP_ERROR it takes nothing and returns the same until http_reset.
 */
enum http_result http_feed(struct http *http, const char *data, size_t n, size_t *ret_used,
        bool (*on_body)(void *ctx, struct str piece), void *ctx) NODISCARD;

/* The connection ended: HTTP_DONE when that ends the answer rightly, else HTTP_ERROR. */
enum http_result http_end(struct http *http) NODISCARD;

#endif
