#include "net/http.h"

#include "splits.h"
#include "tap.h"

#define HEAD "HTTP/1.1 200 OK\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"
#define INPUT(literal)                                                                             \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}

enum { OUTCOME_MAX = 512 };

/* An answer and what it comes to: "200 keep 'body'", or "error: phrase 'body so far'". */
struct answer {
	struct str input;
	const char *want;
	bool no_body;
	bool stays_open; /* the connection does not end after the input */
};

static bool add_piece(void *ctx, struct str piece)
{
	buf_add(ctx, piece);
	return true;
}

static void describe(const struct http *http, enum http_result result, const struct buf *body,
        size_t n_left, char out[OUTCOME_MAX])
{
	struct buf text = { 0 };
	if (result == HTTP_ERROR)
		buf_printf(&text, "error: %s", http->error);
	else if (!http->head_done)
		buf_add_c(&text, "in the head");
	else
		buf_printf(&text, "%d %s%s%s", http->status, http->keep_alive ? "keep" : "close",
		        http->json_lines ? " lines" : http->event_stream ? " events" : "",
		        result == HTTP_MORE ? " more" : "");
	if (body->len || (result != HTTP_ERROR && http->head_done))
		buf_printf(&text, " '%.*s'", STR_ARG(buf_str(body)));
	if (n_left && result == HTTP_DONE)
		buf_printf(&text, " left %zu", n_left);
	snprintf(out, OUTCOME_MAX, "%s", buf_str(&text).s);
	buf_release(&text);
}

static bool feed_answer(void *ctx, const size_t *ends, size_t n_ends)
{
	static struct http http;
	const struct answer *a = ctx;
	struct buf body = { 0 };
	size_t at = 0;
	enum http_result result = HTTP_MORE;
	http_reset(&http, a->no_body);
	for (size_t i = 0; i < n_ends && result == HTTP_MORE; i++) {
		/* a copy of its own, so that a sanitizer sees a read past its end */
		size_t n = ends[i] - at, used;
		char *read = malloc(n ? n : 1);
		memcpy(read, a->input.s + at, n);
		result = http_feed(&http, read, n, &used, add_piece, &body);
		free(read);
		CHECK(used == n || result != HTTP_MORE);
		at += used;
	}
	if (result == HTTP_MORE && !a->stays_open)
		result = http_end(&http);
	CHECK_INT(body.len, http.body_bytes);
	char got[OUTCOME_MAX];
	describe(&http, result, &body, a->input.len - at, got);
	buf_release(&body);
	return CHECK_STR(got, a->want);
}

/* Every split of every answer. */
static void run_answers(const struct answer *answers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct answer a = answers[i];
		if (!splits_each(a.input.len, feed_answer, &a)) {
			printf("#   in answer %zu: %.60s...\n", i, a.input.s);
			return;
		}
	}
}

#define RUN_ANSWERS(...)                                                                           \
	do {                                                                                       \
		static const struct answer answers[] = { __VA_ARGS__ };                            \
		run_answers(answers, ARRAY_LEN(answers));                                          \
	} while (0)

static void the_status_line_may_lack_its_reason_and_be_of_either_version(void)
{
	RUN_ANSWERS({ INPUT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "200 keep ''" },
	        { INPUT("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"), "200 keep ''" },
	        { INPUT("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"), "200 keep ''" },
	        { INPUT("HTTP/1.1 503 Out of  slots\r\nContent-Length: 0\r\n\r\n"), "503 keep ''" },
	        { INPUT("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"), "200 close ''" },
	        { INPUT("HTTP/1.1 200 OK\nContent-Length: 1\n\nx"), "200 keep 'x'" },
	        { INPUT("HTTP/1.1 999 \xE5\xA5\xBD\r\nContent-Length: 0\r\n\r\n"), "999 keep ''" });
}

static void a_wrong_status_line_is_an_error(void)
{
	RUN_ANSWERS({ INPUT("HTTP/2 200\r\n\r\n"), "error: unknown version of HTTP" },
	        { INPUT("HTTP/1.x 200 OK\r\n\r\n"), "error: unknown version of HTTP" },
	        { INPUT("HTTP/\r\n"), "error: unknown version of HTTP" },
	        { INPUT("HTTP/1.1\r\n\r\n"), "error: no status line" },
	        { INPUT("HTTP/1.1 20 OK\r\n\r\n"), "error: no status line" },
	        { INPUT("HTTP/1.1 2000 OK\r\n\r\n"), "error: no status line" },
	        { INPUT("HTTP/1.1 -20 OK\r\n\r\n"), "error: no status line" },
	        { INPUT("HTTP/1.1 099 OK\r\n\r\n"), "error: no status line" },
	        { INPUT("HTTP/1.1\t200 OK\r\n\r\n"), "error: no status line" },
	        { INPUT("HTTP/1.1  200 OK\r\n\r\n"), "error: no status line" });
}

static void what_is_not_http_is_told_at_its_first_bytes(void)
{
	RUN_ANSWERS({ INPUT("S"), "error: not HTTP", .stays_open = true },
	        { INPUT("HTTPX"), "error: not HTTP", .stays_open = true },
	        { INPUT("\r\nHTTP/1.1 200 OK\r\n"), "error: not HTTP", .stays_open = true },
	        { INPUT("http/1.1 200 OK\r\n"), "error: not HTTP", .stays_open = true },
	        { INPUT("SSH-2.0-OpenSSH_9.2\r\n"), "error: not HTTP", .stays_open = true },
	        { INPUT("{\"error\":1}"), "error: not HTTP", .stays_open = true },
	        { INPUT("\x16\n"), "error: not HTTP", .stays_open = true },
	        { INPUT("\0\0\1\0"), "error: not HTTP", .stays_open = true },
	        { INPUT("\0\0\na"), "error: not HTTP", .stays_open = true },
	        { INPUT("HT"), "in the head", .stays_open = true },
	        { INPUT("\x15"), "in the head", .stays_open = true });
}

static void other_protocols_are_told_by_name(void)
{
	/* RFC 8446, section 5.1: type, version, length; the alert is what OpenSSL sends to HTTP */
	RUN_ANSWERS({ INPUT("\x15\x03\x01\x00\x02\x02\x46"), "error: TLS record instead of HTTP",
	                    .stays_open = true },
	        { INPUT("\x16\x03"), "error: TLS record instead of HTTP", .stays_open = true },
	        /* RFC 9113, section 4.1: an empty SETTINGS frame, then one of 18 bytes */
	        { INPUT("\0\0\0\4\0\0\0\0\0"), "error: HTTP/2 instead of HTTP/1.1",
	                .stays_open = true },
	        { INPUT("\0\0\x12\4\0"), "error: HTTP/2 instead of HTTP/1.1", .stays_open = true });
	static struct http http;
	size_t used;
	http_reset(&http, false);
	CHECK_INT(http_feed(&http, "\x15\x03", 2, &used, add_piece, NULL), HTTP_ERROR);
	CHECK(http.error == http_error_tls);
}

static void header_names_and_tokens_do_not_depend_on_case_or_spaces(void)
{
	RUN_ANSWERS({ INPUT(HEAD "cOnTeNt-LeNgTh:\t 3 \t\r\n\r\nabc"), "200 keep 'abc'" },
	        { INPUT(HEAD "content-length:3\r\nCONNECTION:CLOSE\r\n\r\nabc"),
	                "200 close 'abc'" },
	        { INPUT(HEAD "Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n"), "200 keep ''" },
	        { INPUT(HEAD
	                  "X-Empty:\r\nX!#$%&'*+-.^_`|~9: \x80\xFF\r\nContent-Length: 0\r\n\r\n"),
	                "200 keep ''" });
}

static void a_broken_header_line_is_an_error(void)
{
	RUN_ANSWERS({ INPUT(HEAD "A: b\r\n folded\r\n\r\n"), "error: folded header line" },
	        { INPUT(HEAD "A: b\r\n\tfolded\r\n\r\n"), "error: folded header line" },
	        { INPUT(HEAD "no colon\r\n\r\n"), "error: bad header line" },
	        { INPUT(HEAD "Content-Length\r\n\r\n"), "error: bad header line" },
	        { INPUT(HEAD "Content-Length : 3\r\n\r\nabc"), "error: bad header line" },
	        { INPUT(HEAD ": empty name\r\n\r\n"), "error: bad header line" },
	        { INPUT(HEAD "A\0B: c\r\n\r\n"), "error: bad header line" },
	        { INPUT(HEAD "A\rB: c\r\n\r\n"), "error: bad header line" },
	        { INPUT(HEAD "\xE5\xA5\xBD: c\r\n\r\n"), "error: bad header line" });
}

static void content_length_frames_the_body_and_may_repeat_only_itself(void)
{
	RUN_ANSWERS({ INPUT(HEAD "Content-Length: 3\r\n\r\nabcHTTP"), "200 keep 'abc' left 4" },
	        { INPUT(HEAD "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
	                "200 keep 'abc'" },
	        { INPUT(HEAD "Content-Length: 3, 3 ,03\r\n\r\nabc"), "200 keep 'abc'" },
	        { INPUT(HEAD "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc"),
	                "error: two different content-lengths" },
	        { INPUT(HEAD "Content-Length: 3,4\r\n\r\nabc"),
	                "error: two different content-lengths" },
	        { INPUT(HEAD "Content-Length: 3\r\n\r\nab"),
	                "error: the connection ended within the answer 'ab'" });
}

static void a_wrong_content_length_is_an_error(void)
{
	RUN_ANSWERS({ INPUT(HEAD "Content-Length: -1\r\n\r\n"), "error: bad content-length" },
	        { INPUT(HEAD "Content-Length: +1\r\n\r\n"), "error: bad content-length" },
	        { INPUT(HEAD "Content-Length: 0x10\r\n\r\n"), "error: bad content-length" },
	        { INPUT(HEAD "Content-Length: 1 2\r\n\r\n"), "error: bad content-length" },
	        { INPUT(HEAD "Content-Length:\r\n\r\n"), "error: bad content-length" },
	        { INPUT(HEAD "Content-Length: 1,\r\n\r\n"), "error: bad content-length" },
	        { INPUT(HEAD "Content-Length: ,1\r\n\r\n"), "error: bad content-length" },
	        { INPUT(HEAD "Content-Length: 1e3\r\n\r\n"), "error: bad content-length" },
	        /* 2^40 is allowed, one more is not; then 2^63, 2^64 and 2^64 + 1 */
	        { INPUT(HEAD "Content-Length: 1099511627776\r\n\r\n"), "200 keep more ''",
	                .stays_open = true },
	        { INPUT(HEAD "Content-Length: 1099511627777\r\n\r\n"), "error: body too large" },
	        { INPUT(HEAD "Content-Length: 9223372036854775808\r\n\r\n"),
	                "error: body too large" },
	        { INPUT(HEAD "Content-Length: 18446744073709551616\r\n\r\n"),
	                "error: body too large" },
	        { INPUT(HEAD "Content-Length: 18446744073709551617\r\n\r\n"),
	                "error: body too large" });
}

static void chunks_are_joined_and_extensions_and_trailers_passed_over(void)
{
	RUN_ANSWERS({ INPUT(CHUNKED "3\r\nabc\r\n0\r\n\r\n"), "200 keep 'abc'" },
	        { INPUT(CHUNKED "3\r\nabc\r\n0A\r\n0123456789\r\n000\r\n\r\nX"),
	                "200 keep 'abc0123456789' left 1" },
	        { INPUT(CHUNKED "3;a=b\r\nabc\r\n0;c=\"d;e\"\r\n\r\n"), "200 keep 'abc'" },
	        { INPUT(CHUNKED "3 \t;a\r\nabc\r\n0 \r\n\r\n"), "200 keep 'abc'" },
	        { INPUT(CHUNKED "1\r\n\n\r\n0\r\nContent-Length: 9\r\nX-Sum: 1\r\n\r\n"),
	                "200 keep '\n'" });
}

static void a_wrong_chunk_is_an_error(void)
{
	RUN_ANSWERS({ INPUT(CHUNKED "\r\n"), "error: bad chunk size" },
	        { INPUT(CHUNKED "x\r\n"), "error: bad chunk size" },
	        { INPUT(CHUNKED "-3\r\n"), "error: bad chunk size" },
	        { INPUT(CHUNKED "0x3\r\nabc\r\n"), "error: bad chunk size" },
	        { INPUT(CHUNKED " 3\r\nabc\r\n"), "error: bad chunk size" },
	        { INPUT(CHUNKED ";a\r\n"), "error: bad chunk size" },
	        { INPUT(CHUNKED "3 3\r\nabc\r\n"), "error: bad chunk size" },
	        { INPUT(CHUNKED "3\nabc\r\n0\r\n\r\n"), "error: bad chunk size" },
	        { INPUT(CHUNKED "3\r\nabcd\r\n"), "error: no line end after a chunk 'abc'" },
	        { INPUT(CHUNKED "3\r\nabc\n0\r\n\r\n"), "error: no line end after a chunk 'abc'" },
	        { INPUT(CHUNKED "3\r\nabc\r0\r\n\r\n"), "error: no line end after a chunk 'abc'" },
	        /* 2^40 + 1, 2^63, 2^64 and 2^64 + 3 */
	        { INPUT(CHUNKED "10000000001\r\n"), "error: body too large" },
	        { INPUT(CHUNKED "8000000000000000\r\n"), "error: body too large" },
	        { INPUT(CHUNKED "10000000000000000\r\n"), "error: body too large" },
	        { INPUT(CHUNKED "10000000000000003\r\nabc\r\n"), "error: body too large" },
	        /* the sum counts: 1 and 2^40 */
	        { INPUT(CHUNKED "1\r\na\r\n10000000000\r\n"), "error: body too large 'a'" },
	        { INPUT(CHUNKED "0\r\nno colon\r\n\r\n"), "error: bad header line" },
	        { INPUT(CHUNKED "3\r\nab"), "error: the connection ended within the answer 'ab'" },
	        { INPUT(CHUNKED "3\r\nabc\r\n"),
	                "error: the connection ended within the answer 'abc'" },
	        { INPUT(CHUNKED "3\r\nabc\r\n0\r\n"),
	                "error: the connection ended within the answer 'abc'" });
}

static void transfer_encoding_beats_content_length_and_ends_the_connection(void)
{
	RUN_ANSWERS({ INPUT(HEAD "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
	                         "1\r\na\r\n0\r\n\r\n"),
	                    "200 close 'a'" },
	        { INPUT(HEAD "Transfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n"
	                     "1\r\na\r\n0\r\n\r\n"),
	                "200 close 'a'" },
	        { INPUT("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"
	                "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"),
	                "200 close 'a'" },
	        { INPUT(HEAD "Transfer-Encoding: identity\r\nContent-Length: 1\r\n\r\nabc"),
	                "200 close 'abc'" },
	        { INPUT(HEAD "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n"),
	                "200 keep ''" },
	        { INPUT(HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
	                "error: unknown transfer-encoding" },
	        { INPUT(HEAD "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
	                "error: unknown transfer-encoding" },
	        { INPUT(HEAD "Transfer-Encoding: chunkedx\r\n\r\n0\r\n\r\n"),
	                "error: unknown transfer-encoding" });
}

static void the_connection_stays_as_version_and_tokens_say(void)
{
	RUN_ANSWERS(
	        { INPUT(HEAD "Content-Length: 0\r\nConnection: close\r\n\r\n"), "200 close ''" },
	        { INPUT(HEAD "Content-Length: 0\r\nConnection: Upgrade, Close\r\n\r\n"),
	                "200 close ''" },
	        { INPUT(HEAD
	                  "Content-Length: 0\r\nConnection: upgrade\r\nConnection: close\r\n\r\n"),
	                "200 close ''" },
	        { INPUT(HEAD "Content-Length: 0\r\nConnection: keep-alive, close\r\n\r\n"),
	                "200 close ''" },
	        { INPUT(HEAD "Content-Length: 0\r\nConnection: closed\r\n\r\n"), "200 keep ''" },
	        { INPUT("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n"),
	                "200 keep ''" });
}

static void interim_answers_are_passed_over(void)
{
	RUN_ANSWERS({ INPUT("HTTP/1.1 100 Continue\r\n\r\n" HEAD "Content-Length: 1\r\n\r\na"),
	                    "200 keep 'a'" },
	        { INPUT("HTTP/1.1 103 Early Hints\r\nConnection: close\r\nContent-Length: 7\r\n\r\n"
	                "HTTP/1.1 100\r\n\r\n" HEAD "Content-Length: 1\r\n\r\na"),
	                "200 keep 'a'" },
	        { INPUT("HTTP/1.1 100 Continue\r\n\r\nnot"), "error: not HTTP",
	                .stays_open = true },
	        { INPUT("HTTP/1.1 100 Continue\r\n\r\n"),
	                "error: the connection ended before the answer" },
	        { INPUT("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
	                "error: changed the protocol unasked" });
}

static void some_answers_have_no_body_whatever_they_say(void)
{
	RUN_ANSWERS({ INPUT("HTTP/1.1 204 No Content\r\n\r\nX"), "204 keep '' left 1" },
	        { INPUT("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"), "304 keep ''" },
	        { INPUT("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"),
	                "204 keep ''" },
	        { INPUT(HEAD "Content-Length: 9\r\n\r\n"), "200 keep ''", .no_body = true },
	        { INPUT(HEAD "Content-Length: 0\r\n\r\n"), "200 keep ''" });
}

static void a_body_without_a_length_ends_with_the_connection(void)
{
	RUN_ANSWERS({ INPUT(HEAD "\r\nabc"), "200 close 'abc'" },
	        { INPUT(HEAD "\r\n"), "200 close ''" },
	        { INPUT(HEAD "Connection: keep-alive\r\n\r\nabc"), "200 close 'abc'" },
	        { INPUT(HEAD "\r\nabc"), "200 close more 'abc'", .stays_open = true });
}

static void event_streams_are_told_by_their_media_type(void)
{
	RUN_ANSWERS(
	        { INPUT(HEAD "Content-Type: text/event-stream\r\n\r\n"), "200 close events ''" },
	        { INPUT(HEAD "Content-Type: Text/Event-Stream ; charset=utf-8\r\n\r\n"),
	                "200 close events ''" },
	        { INPUT(HEAD "Content-Type: text/event-streams\r\n\r\n"), "200 close ''" },
	        { INPUT(HEAD "Content-Type: text/plain; x=text/event-stream\r\n\r\n"),
	                "200 close ''" },
	        { INPUT(HEAD "Content-Type: application/x-ndjson\r\n\r\n"),
	                "200 close lines ''" },
	        { INPUT(HEAD "Content-Type: application/ndjson; charset=utf-8\r\n\r\n"),
	                "200 close lines ''" },
	        { INPUT(HEAD "Content-Type: application/jsonl\r\n\r\n"), "200 close lines ''" },
	        { INPUT(HEAD "Content-Type: application/json\r\n\r\n"), "200 close ''" });
}

static void an_answer_that_breaks_off_in_its_head_is_an_error(void)
{
	RUN_ANSWERS({ INPUT("HTTP/1.1 2"), "error: the connection ended within the answer" },
	        { INPUT(HEAD "Content-Le"), "error: the connection ended within the answer" },
	        { INPUT(HEAD), "error: the connection ended within the answer" });
	static struct http http;
	http_reset(&http, false);
	CHECK_INT(http_end(&http), HTTP_ERROR);
	CHECK_STR(http.error, "the connection ended before the answer");
}

/* head, then n times fill, then tail: read in one go, and in reads of 17 and 4096 bytes. */
static void check_large(
        const char *head, const char *fill, size_t n, const char *tail, const char *want)
{
	struct buf text = { 0 };
	buf_add_c(&text, head);
	for (size_t i = 0; i < n; i++)
		buf_add_c(&text, fill);
	buf_add_c(&text, tail);
	struct answer a = { buf_str(&text), want, .stays_open = true };
	static const size_t sizes[] = { SIZE_MAX / 2, 4096, 37 };
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		splits_by(text.len, sizes[i], feed_answer, &a);
	buf_release(&text);
}

static void lines_and_heads_have_limits(void)
{
	const char *end = "\r\nContent-Length: 0\r\n\r\n";
	/* "X:", the value and CR LF */
	check_large(HEAD "X:", "v", HTTP_LINE_MAX - 4, end, "200 keep ''");
	check_large(HEAD "X:", "v", HTTP_LINE_MAX - 3, end, "error: line too long");
	check_large(HEAD "X:", "v", HTTP_LINE_MAX * 2, "", "error: line too long");
	check_large(CHUNKED "3;", "x", HTTP_LINE_MAX - 4, "\r\nabc", "200 keep more 'abc'");
	check_large(CHUNKED "3;", "x", HTTP_LINE_MAX - 3, "\r\nabc", "error: line too long");
	/* 16 bytes a line; the status line has 17, "Content-Length: 0" and the empty line have 21
	 */
	const char *line = "X-Header: 12345\n";
	size_t n_most = (HTTP_HEAD_MAX - 17 - 21) / 16;
	const char *tail = "Content-Length: 0\r\n\r\n";
	check_large(HEAD, line, n_most, tail, "200 keep ''");
	check_large(HEAD, line, n_most + 1, tail, "error: head too large");
	check_large(CHUNKED "0\r\n", line, HTTP_HEAD_MAX / 16, "", "error: head too large");
	check_large("", "HTTP/1.1 100 Continue\r\n\r\n", HTTP_HEAD_MAX / 25 + 1, "",
	        "error: head too large");
}

static bool refuse(void *ctx, struct str piece)
{
	*(struct str *)ctx = piece;
	return false;
}

static void a_callback_stops_the_parser_for_good(void)
{
	static struct http http;
	const struct str input = STR(CHUNKED "3\r\nabc\r\n0\r\n\r\n");
	struct str piece = { 0 };
	size_t used;
	http_reset(&http, false);
	CHECK_INT(http_feed(&http, input.s, input.len, &used, refuse, &piece), HTTP_ERROR);
	CHECK_STR(http.error, "stopped");
	CHECK(piece.len == 3 && piece.s == input.s + str_find(input, STR("abc")));
	CHECK_INT(http_feed(&http, input.s, input.len, &used, refuse, &piece), HTTP_ERROR);
	CHECK_INT(used, 0);
	CHECK_INT(http_end(&http), HTTP_ERROR);
}

static void pipelined_answers_follow_each_other_after_a_reset(void)
{
	static struct http http;
	const struct str input = STR(HEAD "Content-Length: 1\r\nContent-Type: text/event-stream"
	                                  "\r\n\r\na" CHUNKED "2\r\nbc\r\n0\r\n\r\n"
	                                  "HTTP/1.1 204\r\n\r\n");
	static const int statuses[] = { 200, 200, 204 };
	struct buf body = { 0 };
	size_t at = 0, used;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		http_reset(&http, false);
		enum http_result result =
		        http_feed(&http, input.s + at, input.len - at, &used, add_piece, &body);
		CHECK_INT(result, HTTP_DONE);
		CHECK_INT(http.status, statuses[i]);
		CHECK(http.event_stream == (i == 0));
		at += used;
	}
	CHECK_INT(at, input.len);
	CHECK_STR(buf_str(&body).s, "abc");
	buf_release(&body);
}

int main(void)
{
	TAP_RUN(the_status_line_may_lack_its_reason_and_be_of_either_version);
	TAP_RUN(a_wrong_status_line_is_an_error);
	TAP_RUN(what_is_not_http_is_told_at_its_first_bytes);
	TAP_RUN(other_protocols_are_told_by_name);
	TAP_RUN(header_names_and_tokens_do_not_depend_on_case_or_spaces);
	TAP_RUN(a_broken_header_line_is_an_error);
	TAP_RUN(content_length_frames_the_body_and_may_repeat_only_itself);
	TAP_RUN(a_wrong_content_length_is_an_error);
	TAP_RUN(chunks_are_joined_and_extensions_and_trailers_passed_over);
	TAP_RUN(a_wrong_chunk_is_an_error);
	TAP_RUN(transfer_encoding_beats_content_length_and_ends_the_connection);
	TAP_RUN(the_connection_stays_as_version_and_tokens_say);
	TAP_RUN(interim_answers_are_passed_over);
	TAP_RUN(some_answers_have_no_body_whatever_they_say);
	TAP_RUN(a_body_without_a_length_ends_with_the_connection);
	TAP_RUN(event_streams_are_told_by_their_media_type);
	TAP_RUN(an_answer_that_breaks_off_in_its_head_is_an_error);
	TAP_RUN(lines_and_heads_have_limits);
	TAP_RUN(a_callback_stops_the_parser_for_good);
	TAP_RUN(pipelined_answers_follow_each_other_after_a_reset);
	return tap_done();
}
