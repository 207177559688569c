/*
 * fuzz_http.c - any bytes as the answers of a connection: every way to read them gives the same
 * statuses, bodies and errors.
 */
#include "net/http.h"

#include "reads.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool add_piece(void *ctx, struct str piece)
{
	if (piece.len == 0)
		abort();
	buf_add(ctx, piece);
	return true;
}

static void add_answer(struct buf *log, const struct http *http, enum http_result result)
{
	if (result == HTTP_ERROR)
		buf_printf(log, " error %s\n", http->error);
	else
		buf_printf(log, " %d %d %d %d %d %lld %lld\n", result, http->status,
		        http->keep_alive, http->chunked, http->event_stream,
		        (long long)http->content_length, (long long)http->body_bytes);
}

/* Feeds one answer; returns the bytes that it took. */
static size_t feed_answer(struct http *http, struct reads *reads, const char *data, size_t size,
        struct buf *log, enum http_result *ret_result)
{
	size_t at = 0;
	*ret_result = HTTP_MORE;
	while (at < size && *ret_result == HTTP_MORE) {
		size_t used, n = reads_next(reads, size - at);
		/* a copy of its own, so that a sanitizer sees a read past its end */
		char *read = malloc(n);
		memcpy(read, data + at, n);
		*ret_result = http_feed(http, read, n, &used, add_piece, log);
		free(read);
		if (used > n || (*ret_result == HTTP_MORE && used != n))
			abort();
		at += used;
	}
	return at;
}

/* All answers of a connection, one after the other, as a log. */
static void read_connection(
        enum reads_way way, bool no_body, const uint8_t *data, size_t size, struct buf *log)
{
	static struct http http;
	struct reads reads = reads_of(way, data, size);
	size_t at = 0;
	enum http_result result = HTTP_DONE;
	while (at < size && result == HTTP_DONE) {
		http_reset(&http, no_body);
		at += feed_answer(&http, &reads, (const char *)data + at, size - at, log, &result);
		if (result == HTTP_MORE)
			result = http_end(&http);
		add_answer(log, &http, result);
	}
	if (result == HTTP_DONE)
		buf_printf(log, " used %zu\n", at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int no_body = 0; no_body < 2; no_body++) {
		struct buf want = { 0 };
		read_connection(READS_ONE, no_body, data, size, &want);
		for (enum reads_way way = READS_ONE + 1; way < READS_N_WAYS; way++) {
			struct buf got = { 0 };
			read_connection(way, no_body, data, size, &got);
			if (!str_eq(buf_str(&got), buf_str(&want)))
				abort();
			buf_release(&got);
		}
		buf_release(&want);
	}
	return 0;
}
