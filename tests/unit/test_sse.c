#include "net/sse.h"

#include "splits.h"
#include "tap.h"

#define STREAM(literal)                                                                            \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}
#define MARK "\xEF\xBB\xBF"

/* A stream and its events: "[data]" or "[type|data]" each, then "pending" or "failed". */
struct stream {
	struct str input;
	const char *want;
};

static bool add_event(void *ctx, struct sse_event event)
{
	struct buf *out = ctx;
	buf_add_char(out, '[');
	buf_add(out, event.type);
	if (event.type.len)
		buf_add_char(out, '|');
	buf_add(out, event.data);
	buf_add_char(out, ']');
	return true;
}

static bool feed_stream(void *ctx, const size_t *ends, size_t n_ends)
{
	const struct stream *stream = ctx;
	struct sse sse = { 0 };
	struct buf got = { 0 };
	bool good = true;
	for (size_t i = 0, at = 0; i < n_ends && good; at = ends[i++]) {
		/* a copy of its own, so that a sanitizer sees a read past its end */
		size_t n = ends[i] - at;
		char *read = malloc(n ? n : 1);
		memcpy(read, stream->input.s + at, n);
		good = sse_feed(&sse, (struct str){ read, n }, add_event, &got);
		free(read);
	}
	if (!good)
		buf_add_c(&got, "failed");
	else if (sse_pending(&sse))
		buf_add_c(&got, "pending");
	good = CHECK_STR(buf_str(&got).s, stream->want);
	buf_release(&got);
	sse_release(&sse);
	return good;
}

#define RUN_STREAMS(...)                                                                           \
	do {                                                                                       \
		static const struct stream streams[] = { __VA_ARGS__ };                            \
		for (size_t i = 0; i < ARRAY_LEN(streams); i++) {                                  \
			struct stream s = streams[i];                                              \
			if (!splits_each(s.input.len, feed_stream, &s))                            \
				printf("#   in stream %zu\n", i);                                  \
		}                                                                                  \
	} while (0)

static void the_examples_of_the_standard_give_the_events_it_names(void)
{
	RUN_STREAMS({ STREAM("data: YHOO\ndata: +2\ndata: 10\n\n"), "[YHOO\n+2\n10]" },
	        { STREAM(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
	                 "data:  third event\n\n"),
	                "[first event][second event][ third event]" },
	        { STREAM("data\n\ndata\ndata\n\ndata:"), "[][\n]pending" },
	        { STREAM("data:test\n\ndata: test\n\n"), "[test][test]" });
}

static void lines_end_in_lf_cr_or_both_however_mixed(void)
{
	RUN_STREAMS({ STREAM("data: a\r\n\r\ndata: b\r\n\r\n"), "[a][b]" },
	        { STREAM("data: a\r\rdata: b\r\r"), "[a][b]" },
	        { STREAM("data: a\r\ndata: b\rdata: c\ndata: d\n\r"), "[a\nb\nc\nd]" },
	        { STREAM("data: a\n\r\ndata: b\r\n\ndata: c\r\n\r"), "[a][b][c]" },
	        { STREAM("\r\r\n\n\rdata: a\r\n\r\n"), "[a]" },
	        /* CR LF LF are two line ends, CR LF is one */
	        { STREAM("data: a\r\n\n"), "[a]" }, { STREAM("data: a\r\n"), "pending" },
	        { STREAM("data: a\n\ndata: b\r\n\ndata: c\r\r\ndata: d"), "[a][b][c]pending" });
}

static void only_a_leading_byte_order_mark_is_dropped(void)
{
	RUN_STREAMS({ STREAM(MARK "data: a\n\n"), "[a]" },
	        { STREAM(MARK "\n" MARK "data: a\n\n"), "" },
	        { STREAM(MARK MARK "data: a\n\n"), "" },
	        { STREAM("\xEF\xBB"
	                 "data: a\n\n"),
	                "" },
	        { STREAM("data: " MARK "\n\n"), "[" MARK "]" },
	        { STREAM(MARK "\r\ndata:a\r\n\r\n"), "[a]" });
}

static void fields_are_told_apart_exactly(void)
{
	RUN_STREAMS({ STREAM("event: delta\ndata: a\n\ndata: b\n\n"), "[delta|a][b]" },
	        { STREAM("event: x\n\ndata: b\n\n"), "[b]" },
	        { STREAM("event: x\nevent:  y\ndata: b\n\n"), "[ y|b]" },
	        { STREAM("event: x\nevent\ndata: b\n\n"), "[b]" },
	        { STREAM("data: a\nevent: late\n\n"), "[late|a]" },
	        { STREAM("Data: a\ndata : b\n data: c\ndatum: d\ndat\ndata2: e\n\n"), "" },
	        { STREAM("id: 1\nretry: 10000\nunknown: x\n:data: c\n: keep-alive\ndata: a:b: "
	                 "c\n\n"),
	                "[a:b: c]" },
	        { STREAM("data:a\ndata:\ndata: \ndata:  \n\n"), "[a\n\n\n ]" },
	        { STREAM("data:\ta\n\n"), "[\ta]" });
}

static void what_the_end_cuts_off_is_no_event_but_pending(void)
{
	RUN_STREAMS({ STREAM("data: a\n\ndata: b\n"), "[a]pending" },
	        { STREAM("data: a\n\ndata: b"), "[a]pending" },
	        { STREAM("data: a\n\nd"), "[a]pending" }, { STREAM("data: a\n\n\n"), "[a]" },
	        { STREAM("data: a\n\nevent: x\n"), "[a]" }, { STREAM("data: a\n\n: bye\n"), "[a]" },
	        { STREAM(""), "" });
}

static void the_streams_of_services_come_out_as_sent(void)
{
	RUN_STREAMS(
	        { STREAM("data: {\"choices\":[{\"delta\":{\"content\":\"\xE4\xBD\xA0\"}}]}\n\n"
	                 ": ping\n\ndata: [DONE]\n\n"),
	                "[{\"choices\":[{\"delta\":{\"content\":\"\xE4\xBD\xA0\"}}]}][[DONE]]" },
	        { STREAM("event: message_start\ndata: {\"type\":\"message_start\"}\n\n"
	                 "event: ping\ndata: {}\n\n"),
	                "[message_start|{\"type\":\"message_start\"}][ping|{}]" });
}

static bool keep_event(void *ctx, struct sse_event event)
{
	*(struct sse_event *)ctx = event;
	return true;
}

static void one_line_of_data_within_a_read_is_not_copied(void)
{
	struct sse sse = { 0 };
	struct sse_event event = { 0 };
	const struct str input = STR("event: x\ndata: abc\n\n");
	CHECK(sse_feed(&sse, input, keep_event, &event));
	CHECK(event.data.s == input.s + str_find(input, STR("abc")));
	CHECK_INT(event.data.len, 3);
	CHECK(sse.data.cap == 0 && sse.line.cap == 0);
	sse_release(&sse);
}

static void a_nul_byte_is_data_like_any_other(void)
{
	struct sse sse = { 0 };
	struct buf got = { 0 };
	CHECK(sse_feed(&sse, STR("data: a\0b\n\n"), add_event, &got));
	CHECK(str_eq(buf_str(&got), STR("[a\0b]")));
	buf_release(&got);
	sse_release(&sse);
}

static bool stop_at_second(void *ctx, struct sse_event event)
{
	(void)event;
	return ++*(int *)ctx < 2;
}

static void a_callback_stops_the_parser_until_a_reset(void)
{
	struct sse sse = { 0 };
	int n = 0;
	const struct str input = STR("data: 1\n\ndata: 2\n\ndata: 3\n\n");
	CHECK(!sse_feed(&sse, input, stop_at_second, &n));
	CHECK(!sse_feed(&sse, input, stop_at_second, &n));
	CHECK_INT(n, 2);
	sse_reset(&sse);
	n = -10;
	CHECK(sse_feed(&sse, input, stop_at_second, &n));
	CHECK_INT(n, -7);
	sse_release(&sse);
}

static void a_reset_forgets_the_event_under_way(void)
{
	struct sse sse = { 0 };
	struct buf got = { 0 };
	CHECK(sse_feed(&sse, STR("event: x\ndata: a\ndata: b\r"), add_event, &got));
	CHECK(sse_pending(&sse));
	sse_reset(&sse);
	CHECK(!sse_pending(&sse));
	CHECK(sse_feed(&sse, STR("\n" MARK "\n\ndata: c\n\n"), add_event, &got));
	CHECK_STR(buf_str(&got).s, "[c]");
	buf_release(&got);
	sse_release(&sse);
}

static bool add_length(void *ctx, struct sse_event event)
{
	*(size_t *)ctx += event.data.len;
	return true;
}

/* Feeds n_lines of "data:" and len bytes each; returns what came out, or SIZE_MAX for failure. */
static size_t feed_large(size_t n_lines, size_t len, size_t read)
{
	struct sse sse = { 0 };
	struct buf text = { 0 };
	size_t got = 0;
	for (size_t i = 0; i < n_lines; i++) {
		buf_add_c(&text, "data:");
		buf_reserve(&text, len);
		memset(text.s + text.len, 'x', len);
		text.len += len;
		buf_add_char(&text, '\n');
	}
	buf_add_char(&text, '\n');
	bool good = true;
	for (size_t at = 0; at < text.len && good; at += read) {
		size_t n = text.len - at < read ? text.len - at : read;
		good = sse_feed(&sse, (struct str){ text.s + at, n }, add_length, &got);
	}
	buf_release(&text);
	sse_release(&sse);
	return good ? got : SIZE_MAX;
}

static void an_event_has_a_limit(void)
{
	static const size_t reads[] = { SIZE_MAX / 2, 65536, 4093 };
	const size_t line_most = SSE_EVENT_MAX - 5; /* "data:" counts for a line */
	for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
		CHECK_INT(feed_large(1, line_most, reads[i]), line_most);
		CHECK_INT(feed_large(1, line_most + 1, reads[i]), SIZE_MAX);
		/* two halves and the LF that joins them */
		CHECK_INT(feed_large(2, SSE_EVENT_MAX / 2 - 1, reads[i]), SSE_EVENT_MAX - 1);
		CHECK_INT(feed_large(2, SSE_EVENT_MAX / 2, reads[i]), SIZE_MAX);
	}
}

int main(void)
{
	TAP_RUN(the_examples_of_the_standard_give_the_events_it_names);
	TAP_RUN(lines_end_in_lf_cr_or_both_however_mixed);
	TAP_RUN(only_a_leading_byte_order_mark_is_dropped);
	TAP_RUN(fields_are_told_apart_exactly);
	TAP_RUN(what_the_end_cuts_off_is_no_event_but_pending);
	TAP_RUN(the_streams_of_services_come_out_as_sent);
	TAP_RUN(one_line_of_data_within_a_read_is_not_copied);
	TAP_RUN(a_nul_byte_is_data_like_any_other);
	TAP_RUN(a_callback_stops_the_parser_until_a_reset);
	TAP_RUN(a_reset_forgets_the_event_under_way);
	TAP_RUN(an_event_has_a_limit);
	return tap_done();
}
