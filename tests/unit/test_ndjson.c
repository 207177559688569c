#include "net/ndjson.h"

#include "splits.h"
#include "tap.h"

/* A stream and its lines, "[line]" each, then "failed". */
struct stream {
	const char *input;
	const char *want;
};

static bool add_line(void *ctx, struct str line)
{
	struct buf *out = ctx;
	buf_add_char(out, '[');
	buf_add(out, line);
	buf_add_char(out, ']');
	return true;
}

static bool feed_stream(void *ctx, const size_t *ends, size_t n_ends)
{
	const struct stream *stream = ctx;
	struct ndjson lines = { 0 };
	AUTO(auto_buf) struct buf got = { 0 };
	for (size_t i = 0, at = 0; i < n_ends; at = ends[i++]) {
		/* a copy of its own, so that a sanitizer sees a read past its end */
		size_t n = ends[i] - at;
		char *read = malloc(n ? n : 1);
		memcpy(read, stream->input + at, n);
		CHECK(ndjson_feed(&lines, (struct str){ read, n }, add_line, &got));
		free(read);
	}
	CHECK(ndjson_end(&lines, add_line, &got));
	ndjson_release(&lines);
	return CHECK_STR(got.s ? got.s : "", stream->want);
}

static void lines_are_the_same_for_every_split(void)
{
	static const struct stream streams[] = {
		{ "", "" },
		{ "{\"a\":1}\n{\"b\":2}\n", "[{\"a\":1}][{\"b\":2}]" },
		{ "{\"a\":1}\r\n{\"b\":2}\r\n", "[{\"a\":1}][{\"b\":2}]" },
		{ "\n\r\n  \n1\n\n2\n", "[1][2]" },
		{ "  1\t\n 2", "[1][2]" },
		{ "{\"done\":true}", "[{\"done\":true}]" },
		/* a CR alone ends no line, and is white space of JSON */
		{ "1\r2\n", "[1\r2]" },
		{ "\"\xE4\xBD\xA0\"\n\"\xF0\x9F\x98\x80\"\n",
		        "[\"\xE4\xBD\xA0\"][\"\xF0\x9F\x98\x80\"]" },
	};
	for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
		struct stream stream = streams[i];
		if (!splits_each(strlen(stream.input), feed_stream, &stream))
			printf("# in stream %zu\n", i);
	}
}

static bool keep_line(void *ctx, struct str line)
{
	*(struct str *)ctx = line;
	return true;
}

static void a_line_within_a_read_is_not_copied(void)
{
	struct ndjson lines = { 0 };
	struct str line = { 0 };
	const struct str input = STR("{\"a\":1}\n");
	CHECK(ndjson_feed(&lines, input, keep_line, &line));
	CHECK(line.s == input.s);
	CHECK_INT(line.len, 7);
	CHECK_INT(lines.line.cap, 0);
	ndjson_release(&lines);
}

static bool stop_at_second(void *ctx, struct str line)
{
	(void)line;
	return ++*(int *)ctx < 2;
}

static void a_callback_stops_the_splitter_until_a_reset(void)
{
	struct ndjson lines = { 0 };
	int n = 0;
	CHECK(!ndjson_feed(&lines, STR("1\n2\n3\n4"), stop_at_second, &n));
	CHECK(!ndjson_feed(&lines, STR("5\n"), stop_at_second, &n));
	CHECK(!ndjson_end(&lines, stop_at_second, &n));
	CHECK_INT(n, 2);
	ndjson_reset(&lines);
	n = -10;
	CHECK(ndjson_feed(&lines, STR("1\n2\n"), stop_at_second, &n));
	CHECK_INT(n, -8);
	ndjson_release(&lines);
}

static void a_reset_forgets_the_line_under_way(void)
{
	struct ndjson lines = { 0 };
	AUTO(auto_buf) struct buf got = { 0 };
	CHECK(ndjson_feed(&lines, STR("12"), add_line, &got));
	ndjson_reset(&lines);
	CHECK(ndjson_feed(&lines, STR("34\n"), add_line, &got));
	CHECK_STR(buf_str(&got).s, "[34]");
	ndjson_release(&lines);
}

static bool add_length(void *ctx, struct str line)
{
	*(size_t *)ctx += line.len;
	return true;
}

/* A line of n bytes in reads of so many; what came out, or SIZE_MAX for failure. */
static size_t feed_large(size_t n, size_t read)
{
	struct ndjson lines = { 0 };
	AUTO(auto_buf) struct buf text = { 0 };
	size_t got = 0;
	buf_reserve(&text, n + 1);
	memset(text.s, 'x', n);
	text.s[n] = '\n';
	bool good = true;
	for (size_t at = 0; at <= n && good; at += read) {
		size_t part = n + 1 - at < read ? n + 1 - at : read;
		good = ndjson_feed(&lines, (struct str){ text.s + at, part }, add_length, &got);
	}
	ndjson_release(&lines);
	return good ? got : SIZE_MAX;
}

static void a_line_has_a_limit(void)
{
	static const size_t reads[] = { SIZE_MAX / 2, 65536, 4093 };
	for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
		CHECK_INT(feed_large(NDJSON_LINE_MAX, reads[i]), NDJSON_LINE_MAX);
		CHECK_INT(feed_large(NDJSON_LINE_MAX + 1, reads[i]), SIZE_MAX);
	}
}

int main(void)
{
	TAP_RUN(lines_are_the_same_for_every_split);
	TAP_RUN(a_line_within_a_read_is_not_copied);
	TAP_RUN(a_callback_stops_the_splitter_until_a_reset);
	TAP_RUN(a_reset_forgets_the_line_under_way);
	TAP_RUN(a_line_has_a_limit);
	return tap_done();
}
