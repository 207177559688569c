#include "net/http.h"

#include "base/i18n.h"

#include <string.h>

const char http_error_tls[] = N_("TLS record instead of HTTP");
const char http_error_http2[] = N_("HTTP/2 instead of HTTP/1.1");

enum { OPENING_BYTES = 5 };

/* How answers begin, so that a wrong port is told at its first bytes. */
static const struct opening {
	char bytes[OPENING_BYTES];
	size_t n;
	size_t any; /* index of a byte that may have any value; 0: none */
	const char *error;
} openings[] = {
	{ "HTTP/", 5, 0, NULL },
	{ "\x15\x03", 2, 0, http_error_tls }, /* alert */
	{ "\x16\x03", 2, 0, http_error_tls }, /* handshake */
	/* a SETTINGS frame: 24 bits of length, of which 16 are 0, then its type and no flags */
	{ { 0, 0, 0, 4, 0 }, 5, 2, http_error_http2 },
};

/* One call's input, and where its body goes. */
struct input {
	const char *data;
	const char *end;
	bool (*on_body)(void *ctx, struct str piece);
	void *ctx;
};

static bool fail(struct http *http, const char *error)
{
	http->state = HTTP_AT_ERROR;
	http->error = error;
	return false;
}

/* What a head says, back to what it means when nothing is said. */
static void forget_head(struct http *http)
{
	http->status = 0;
	http->keep_alive = false;
	http->chunked = false;
	http->event_stream = http->json_lines = false;
	http->content_length = http->input_tokens = -1;
	http->close = http->open = http->coded = false;
}

void http_reset(struct http *http, bool no_body)
{
	/* line[] is not cleared: only line_len bytes of it are ever read */
	forget_head(http);
	http->head_done = false;
	http->body_bytes = 0;
	http->error = NULL;
	http->on_header = NULL;
	http->state = HTTP_AT_STATUS;
	http->no_body = no_body;
	http->http_1_0 = false;
	http->left = 0;
	http->head_bytes = 0;
	http->line_len = 0;
}

static bool opening_fits(const struct opening *o, const char *start, size_t n)
{
	for (size_t i = 0; i < n && i < o->n; i++)
		if (start[i] != o->bytes[i] && !(o->any && i == o->any))
			return false;
	return true;
}

/*
 * Looks at the first bytes of an answer, in line[] when they came in earlier reads. Until they are
 * decided they are kept there and no line is looked for: a LF may be part of another protocol.
 */
static bool check_opening(struct http *http, struct input *in)
{
	size_t have = http->line_len, n = (size_t)(in->end - in->data);
	if (have >= OPENING_BYTES)
		return true;
	size_t more = n < OPENING_BYTES - have ? n : OPENING_BYTES - have;
	memcpy(http->line + have, in->data, more);
	for (size_t i = 0; i < ARRAY_LEN(openings); i++) {
		const struct opening *o = &openings[i];
		if (!opening_fits(o, http->line, have + more))
			continue;
		if (have + more >= o->n)
			return !o->error || fail(http, o->error);
		http->line_len += more;
		in->data += more;
		return false;
	}
	return fail(http, N_("not HTTP"));
}

/*
 * The next line, with its end, from the input or, when it began in an earlier read, from line[].
 *
 * returns  false when it does not end in the input or is too long
 */
static bool take_line(struct http *http, struct input *in, struct str *ret_line)
{
	size_t n = (size_t)(in->end - in->data), room = HTTP_LINE_MAX - http->line_len;
	const char *lf = memchr(in->data, '\n', n < room ? n : room);
	if (!lf && n >= room)
		return fail(http, N_("line too long"));
	size_t len = lf ? (size_t)(lf + 1 - in->data) : n;
	if (lf && http->line_len == 0) {
		*ret_line = (struct str){ in->data, len };
	} else {
		memcpy(http->line + http->line_len, in->data, len);
		http->line_len += len;
		*ret_line = (struct str){ http->line, http->line_len };
	}
	in->data += len;
	if (lf)
		http->line_len = 0;
	return lf != NULL;
}

/* A line of the head without its end, counted against the limit of the head. */
static bool take_head_line(struct http *http, struct input *in, struct str *ret_line)
{
	if (!take_line(http, in, ret_line))
		return false;
	http->head_bytes += ret_line->len;
	if (http->head_bytes > HTTP_HEAD_MAX)
		return fail(http, N_("head too large"));
	ret_line->len--;
	if (ret_line->len && ret_line->s[ret_line->len - 1] == '\r')
		ret_line->len--;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "HTTP/1.1 200 OK"; the reason and the space before it may be missing. */
static bool parse_status(struct http *http, struct str line)
{
	enum { MINOR = 7, STATUS = 9, STATUS_END = 12 };
	if (line.len <= MINOR || memcmp(line.s, "HTTP/1.", MINOR) != 0 || !is_digit(line.s[MINOR]))
		return fail(http, N_("unknown version of HTTP"));
	if (line.len < STATUS_END || line.s[STATUS - 1] != ' ' ||
	        (line.len > STATUS_END && line.s[STATUS_END] != ' '))
		return fail(http, N_("no status line"));
	int status = 0;
	for (size_t i = STATUS; i < STATUS_END; i++) {
		if (!is_digit(line.s[i]))
			return fail(http, N_("no status line"));
		status = status * 10 + (line.s[i] - '0');
	}
	if (status < 100)
		return fail(http, N_("no status line"));
	http->http_1_0 = line.s[MINOR] == '0';
	http->status = status;
	http->state = HTTP_AT_HEADER;
	return true;
}

/* One number or, as merged duplicates, several equal ones. */
static bool on_content_length(struct http *http, struct str value)
{
	const char *end = value.s + value.len, *part_end;
	do {
		struct str number = str_cut(value, ',', &value);
		part_end = number.s + number.len;
		number = str_trim(number);
		int64_t length = 0;
		for (size_t i = 0; i < number.len; i++) {
			if (!is_digit(number.s[i]))
				return fail(http, N_("bad content-length"));
			length = length * 10 + (number.s[i] - '0');
			if (length > HTTP_BODY_MAX)
				return fail(http, N_("body too large"));
		}
		if (number.len == 0)
			return fail(http, N_("bad content-length"));
		if (http->content_length >= 0 && http->content_length != length)
			return fail(http, N_("two different content-lengths"));
		http->content_length = length;
	} while (part_end < end);
	return true;
}

static bool on_transfer_encoding(struct http *http, struct str value)
{
	http->coded = true;
	while (value.len) {
		struct str token = str_trim(str_cut(value, ',', &value));
		if (token.len == 0 || str_eq_nocase(token, STR("identity")))
			continue;
		if (http->chunked || !str_eq_nocase(token, STR("chunked")))
			return fail(http, N_("unknown transfer-encoding"));
		http->chunked = true;
	}
	return true;
}

static bool on_connection(struct http *http, struct str value)
{
	while (value.len) {
		struct str token = str_trim(str_cut(value, ',', &value));
		http->close |= str_eq_nocase(token, STR("close"));
		http->open |= str_eq_nocase(token, STR("keep-alive"));
	}
	return true;
}

/* Media types of a body that is a stream of events. No name of JSON lines is registered. */
static const struct stream_type {
	struct str name;
	bool json_lines;
} stream_types[] = {
	{ STR_INIT("text/event-stream"), false },
	{ STR_INIT("application/x-ndjson"), true },
	{ STR_INIT("application/ndjson"), true },
	{ STR_INIT("application/jsonl"), true },
};

static bool on_content_type(struct http *http, struct str value)
{
	struct str parameters;
	struct str type = str_trim(str_cut(value, ';', &parameters));
	http->event_stream = http->json_lines = false;
	for (size_t i = 0; i < ARRAY_LEN(stream_types); i++) {
		if (!str_eq_nocase(type, stream_types[i].name))
			continue;
		http->event_stream = true;
		http->json_lines = stream_types[i].json_lines;
	}
	return true;
}

/* What TEI and TGI say of a request in a header. A number that makes no sense is left out. */
static bool on_input_tokens(struct http *http, struct str value)
{
	int64_t tokens;
	if (str_to_i64(value, &tokens) && tokens >= 0)
		http->input_tokens = tokens;
	return true;
}

static const struct header {
	struct str name;
	bool (*on_value)(struct http *http, struct str value);
} headers[] = {
	{ { "connection", 10 }, on_connection },
	{ { "content-type", 12 }, on_content_type },
	{ { "content-length", 14 }, on_content_length },
	{ { "x-prompt-tokens", 15 }, on_input_tokens },
	{ { "x-compute-tokens", 16 }, on_input_tokens },
	{ { "transfer-encoding", 17 }, on_transfer_encoding },
};

/* Characters of a token: RFC 9110, section 5.6.2. */
static bool is_token_char(char c)
{
	char lower = c | 0x20;
	return (lower >= 'a' && lower <= 'z') || c == '-' || is_digit(c) ||
	       (c && strchr("!#$%&'*+.^_`|~", c));
}

/* The length of the name of a header line, which a colon follows; 0 when it is no header line. */
static size_t header_name(struct http *http, struct str line)
{
	size_t n = 0;
	while (n < line.len && line.s[n] != ':' && is_token_char(line.s[n]))
		n++;
	if (n && n < line.len && line.s[n] == ':')
		return n;
	fail(http, line.s[0] == ' ' || line.s[0] == '\t' ? N_("folded header line")
	                                                 : N_("bad header line"));
	return 0;
}

static bool parse_header(struct http *http, struct str line)
{
	size_t n = header_name(http, line);
	if (!n)
		return false;
	struct str name = { line.s, n };
	struct str value = str_trim((struct str){ line.s + n + 1, line.len - n - 1 });
	if (http->on_header && http->status >= 200)
		http->on_header(http->header_ctx, name, value);
	for (size_t i = 0; i < ARRAY_LEN(headers); i++)
		if (headers[i].name.len == n && str_eq_nocase(headers[i].name, name))
			return headers[i].on_value(http, value);
	return true;
}

/* The empty line: how the body is framed. Source: RFC 9112, section 6.3. */
static bool finish_head(struct http *http)
{
	if (http->status == 101)
		return fail(http, N_("changed the protocol unasked"));
	if (http->status < 200) {
		forget_head(http);
		http->state = HTTP_AT_STATUS;
		return true;
	}
	bool none = http->no_body || http->status == 204 || http->status == 304;
	http->keep_alive = !http->close && (http->open || !http->http_1_0);
	/* framing that is likely broken, or an attack: not worth another request */
	if (http->coded && (http->content_length >= 0 || http->http_1_0))
		http->keep_alive = false;
	if (none) {
		http->state = HTTP_AT_DONE;
	} else if (http->chunked) {
		http->state = HTTP_AT_CHUNK_SIZE;
	} else if (http->content_length >= 0 && !http->coded) {
		http->left = http->content_length;
		http->state = http->left ? HTTP_AT_BODY : HTTP_AT_DONE;
	} else {
		http->keep_alive = false;
		http->left = HTTP_BODY_MAX;
		http->state = HTTP_AT_BODY_CLOSE;
	}
	http->head_done = true;
	return true;
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "1a3f;name=value" and CR LF. */
static bool parse_chunk_size(struct http *http, struct str line)
{
	int64_t size = 0;
	size_t i = 0;
	for (int digit; i < line.len && (digit = hex_digit(line.s[i])) >= 0; i++) {
		size = size * 16 + digit;
		if (size > HTTP_BODY_MAX - http->body_bytes)
			return fail(http, N_("body too large"));
	}
	if (i == 0 || line.s[line.len - 2] != '\r')
		return fail(http, N_("bad chunk size"));
	while (line.s[i] == ' ' || line.s[i] == '\t')
		i++;
	if (line.s[i] != ';' && i != line.len - 2)
		return fail(http, N_("bad chunk size"));
	http->left = size;
	http->state = size ? HTTP_AT_CHUNK : HTTP_AT_TRAILER;
	return true;
}

static bool step_status(struct http *http, struct input *in)
{
	struct str line;
	return check_opening(http, in) && take_head_line(http, in, &line) &&
	       parse_status(http, line);
}

static bool step_header(struct http *http, struct input *in)
{
	struct str line;
	if (!take_head_line(http, in, &line))
		return false;
	return line.len ? parse_header(http, line) : finish_head(http);
}

/* Hands out what the input has of the body or chunk; true when that is all of it. */
static bool take_body(struct http *http, struct input *in)
{
	size_t n = (size_t)(in->end - in->data);
	if ((int64_t)n > http->left)
		n = (size_t)http->left;
	struct str piece = { in->data, n };
	in->data += n;
	http->left -= (int64_t)n;
	http->body_bytes += (int64_t)n;
	if (!in->on_body(in->ctx, piece))
		return fail(http, N_("stopped"));
	return http->left == 0;
}

static bool step_body(struct http *http, struct input *in)
{
	if (!take_body(http, in))
		return false;
	http->state = HTTP_AT_DONE;
	return true;
}

static bool step_body_close(struct http *http, struct input *in)
{
	return take_body(http, in) && fail(http, N_("body too large"));
}

static bool step_chunk_size(struct http *http, struct input *in)
{
	struct str line;
	return take_line(http, in, &line) && parse_chunk_size(http, line);
}

static bool step_chunk(struct http *http, struct input *in)
{
	if (!take_body(http, in))
		return false;
	http->state = HTTP_AT_CHUNK_END;
	return true;
}

/* Byte by byte: a wrong one is told at once, not when a line ends that may never end. */
static bool step_chunk_end(struct http *http, struct input *in)
{
	while (in->data < in->end) {
		if (*in->data != "\r\n"[http->line_len])
			return fail(http, N_("no line end after a chunk"));
		in->data++;
		if (++http->line_len == 2) {
			http->line_len = 0;
			http->state = HTTP_AT_CHUNK_SIZE;
			return true;
		}
	}
	return false;
}

static bool step_trailer(struct http *http, struct input *in)
{
	struct str line;
	if (!take_head_line(http, in, &line))
		return false;
	if (line.len)
		return header_name(http, line) > 0;
	http->state = HTTP_AT_DONE;
	return true;
}

/* Each takes what it can; false: it needs more input, or failed. */
static bool (*const steps[])(struct http *http, struct input *in) = {
	[HTTP_AT_STATUS] = step_status,
	[HTTP_AT_HEADER] = step_header,
	[HTTP_AT_BODY] = step_body,
	[HTTP_AT_BODY_CLOSE] = step_body_close,
	[HTTP_AT_CHUNK_SIZE] = step_chunk_size,
	[HTTP_AT_CHUNK] = step_chunk,
	[HTTP_AT_CHUNK_END] = step_chunk_end,
	[HTTP_AT_TRAILER] = step_trailer,
};

static enum http_result result_of(const struct http *http)
{
	if (http->state == HTTP_AT_ERROR)
		return HTTP_ERROR;
	return http->state == HTTP_AT_DONE ? HTTP_DONE : HTTP_MORE;
}

enum http_result http_feed(struct http *http, const char *data, size_t n, size_t *ret_used,
        bool (*on_body)(void *ctx, struct str piece), void *ctx)
{
	struct input in = { .data = data, .end = data + n, .on_body = on_body, .ctx = ctx };
	while (in.data < in.end && http->state < HTTP_AT_DONE)
		if (!steps[http->state](http, &in))
			break;
	*ret_used = (size_t)(in.data - data);
	return result_of(http);
}

enum http_result http_end(struct http *http)
{
	if (http->state == HTTP_AT_BODY_CLOSE)
		http->state = HTTP_AT_DONE;
	else if (http->state == HTTP_AT_STATUS && http->line_len == 0)
		fail(http, N_("the connection ended before the answer"));
	else if (http->state < HTTP_AT_DONE)
		fail(http, N_("the connection ended within the answer"));
	return result_of(http);
}
