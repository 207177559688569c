#include "load/exchange.h"

#include "base/i18n.h"

#include <stdio.h>
#include <stdlib.h>

void exchange_release(struct exchange *x)
{
	sse_release(&x->sse);
	ndjson_release(&x->lines);
	buf_release(&x->body);
	buf_release(&x->text);
	free(x->recorded);
	x->recorded = NULL;
}

void exchange_begin(struct exchange *x, const struct endpoint *endpoint, int64_t planned_ns,
	int64_t sent_ns, struct hist *gaps)
{
	x->endpoint = endpoint;
	http_reset(&x->http, false);
	sse_reset(&x->sse);
	ndjson_reset(&x->lines);
	buf_clear(&x->body);
	reply_reset(&x->reply);
	if (x->keeps_text)
		reply_keep_text(&x->reply, &x->text);
	x->planned_ns = planned_ns;
	x->sent_ns = sent_ns;
	x->first_byte_ns = x->first_token_ns = x->first_visible_ns = x->last_token_ns = 0;
	x->worst_gap_ns = 0;
	x->first_tokens = 1;
	x->gaps = gaps;
	if (x->recorded)
		recorder_gaps_clear(x->recorded);
}

static bool is_good_status(const struct exchange *x)
{
	return x->http.status >= 200 && x->http.status < 300;
}

static bool is_event_stream(const struct exchange *x)
{
	return is_good_status(x) && x->http.event_stream && x->endpoint->read_event;
}

static void first_token(struct exchange *x)
{
	enum load_token_source source;
	int64_t tokens = reply_output_tokens(&x->reply, &source);
	x->first_token_ns = x->now_ns;
	if (tokens > 1)
		x->first_tokens = tokens;
}

static void later_token(struct exchange *x)
{
	int64_t gap = x->now_ns - x->last_token_ns;
	if (gap > x->worst_gap_ns)
		x->worst_gap_ns = gap;
	if (x->gaps)
		hist_record(x->gaps, gap);
	if (x->recorded)
		recorder_gap(x, x->recorded, x->last_token_ns, gap);
}

static bool on_data(void *ctx, struct str data)
{
	struct exchange *x = ctx;
	int64_t before = x->reply.token_events;
	x->endpoint->read_event(&x->reply, data);
	if (x->reply.token_events == before)
		return true;
	if (x->first_token_ns)
		later_token(x);
	else
		first_token(x);
	if (!x->first_visible_ns && x->reply.visible_events > 0)
		x->first_visible_ns = x->now_ns;
	x->last_token_ns = x->now_ns;
	return true;
}

static bool on_event(void *ctx, struct sse_event event)
{
	struct exchange *x = ctx;
	if (!str_eq(event.type, STR("error")) || x->reply.error)
		return on_data(x, event.data);
	reply_fail(&x->reply, event.data);
	return true;
}

/* How much of this answer's body is worth keeping. */
static size_t body_limit(const struct exchange *x)
{
	if (!is_good_status(x))
		return EXCHANGE_ERROR_BODY_MAX;
	return x->endpoint->read_body ? EXCHANGE_BODY_MAX : 0;
}

static bool on_body(void *ctx, struct str piece)
{
	struct exchange *x = ctx;
	if (is_event_stream(x))
		return x->http.json_lines ? ndjson_feed(&x->lines, piece, on_data, x) :
					    sse_feed(&x->sse, piece, on_event, x);
	size_t limit = body_limit(x);
	size_t room = limit > x->body.len ? limit - x->body.len : 0;
	buf_add(&x->body, (struct str){ piece.s, piece.len < room ? piece.len : room });
	return true;
}

/* The last of the JSON lines may lack its end. */
static enum exchange_result result_of(struct exchange *x, enum http_result r)
{
	static const enum exchange_result results[] = {
		[HTTP_MORE] = EXCHANGE_MORE,
		[HTTP_DONE] = EXCHANGE_DONE,
		[HTTP_ERROR] = EXCHANGE_BROKEN,
	};
	if (r == HTTP_DONE && is_event_stream(x) && x->http.json_lines &&
		!ndjson_end(&x->lines, on_data, x))
		return EXCHANGE_BROKEN;
	return results[r];
}

enum exchange_result exchange_feed(struct exchange *x, struct str bytes, int64_t now_ns,
	size_t *ret_used)
{
	x->now_ns = now_ns;
	if (!x->first_byte_ns)
		x->first_byte_ns = now_ns;
	return result_of(x, http_feed(&x->http, bytes.s, bytes.len, ret_used, on_body, x));
}

enum exchange_result exchange_end(struct exchange *x)
{
	return result_of(x, http_end(&x->http));
}

bool exchange_too_large(const struct exchange *x)
{
	return x->sse.failed || x->lines.failed;
}

/* The beginning of a body on one line, for an error message. */
static const char *one_line(struct str body, char *out, size_t size)
{
	size_t n = 0;
	for (size_t i = 0; i < body.len && n + 1 < size; i++) {
		bool blank = (unsigned char)body.s[i] <= ' ';
		if (!blank || (n && out[n - 1] != ' '))
			out[n++] = blank ? ' ' : body.s[i];
	}
	out[n] = '\0';
	return out;
}

bool exchange_judge(struct exchange *x, enum load_failure *ret_failure, char *why, size_t why_size)
{
	const struct endpoint *e = x->endpoint;
	char line[160];
	if (!is_good_status(x)) {
		*ret_failure = LOAD_FAIL_STATUS;
		if (x->body.len)
			snprintf(why, why_size, _("HTTP status %d: %s"), x->http.status,
				one_line(buf_str(&x->body), line, sizeof(line)));
		else
			snprintf(why, why_size, _("HTTP status %d"), x->http.status);
		return false;
	}
	if (e->makes_tokens && x->http.body_bytes == 0) {
		*ret_failure = LOAD_FAIL_EMPTY;
		snprintf(why, why_size, _("the answer is empty"));
		return false;
	}
	if (!is_event_stream(x) && e->read_body)
		e->read_body(&x->reply, buf_str(&x->body));
	if (x->reply.input_tokens < 0)
		x->reply.input_tokens = x->http.input_tokens;
	if (x->reply.error) {
		*ret_failure = LOAD_FAIL_ERROR_EVENT;
		snprintf(why, why_size, _("error inside the answer: %s"), x->reply.error_text);
		return false;
	}
	if (e->makes_tokens && !x->reply.finished) {
		*ret_failure = LOAD_FAIL_STREAM_CUT;
		snprintf(why, why_size, _("the answer ended without its finish marker"));
		return false;
	}
	if (e->makes_tokens && x->reply.token_events == 0) {
		*ret_failure = LOAD_FAIL_EMPTY;
		snprintf(why, why_size, _("the answer holds no token"));
		return false;
	}
	return true;
}
