/*
 * fuzz_events.c - any bytes as an event or a body of every protocol, and as the description of a
 * model: what a reader counts makes sense, is the same when it reads again, and what is sent after
 * a description is JSON.
 */
#include "load/endpoint.h"
#include "text/json_scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DIGITS_MAX = 2 };

static void need(bool ok)
{
	if (!ok)
		abort();
}

static void check_reply(const struct reply *r)
{
	enum load_token_source source;
	need(r->input_tokens >= -1 && r->output_tokens >= -1);
	need(r->usage_events >= 0 && r->visible_events >= 0 && r->id_events >= 0);
	need(r->visible_events <= r->token_events && r->id_events <= r->token_events);
	need(r->id_tokens >= r->id_events && (r->id_events > 0 || r->id_tokens == 0));
	need(memchr(r->error_text, '\0', sizeof(r->error_text)) != NULL);
	int64_t tokens = reply_output_tokens(r, &source);
	need(tokens >= 0 && (source != LOAD_TOKENS_USAGE || r->output_tokens == tokens));
}

static void read_with(void (*read)(struct reply *reply, struct str data), struct str text)
{
	struct reply once, twice;
	if (!read)
		return;
	reply_reset(&once);
	read(&once, text);
	check_reply(&once);
	if (once.error)
		return;
	twice = once;
	read(&twice, text);
	check_reply(&twice);
	need(twice.token_events == 2 * once.token_events);
	need(twice.id_tokens == 2 * once.id_tokens &&
	        twice.visible_events == 2 * once.visible_events);
	need(twice.finished == once.finished && !twice.error);
	need(twice.output_tokens == once.output_tokens);
}

/* The lines of text as the events of one stream, each of them twice: frames do not show. */
static void read_stream(void (*read)(struct reply *reply, struct str data), struct str text)
{
	struct reply kept, fresh;
	struct str line;
	if (!read)
		return;
	reply_reset(&kept);
	reply_reset(&fresh);
	while (text.len) {
		line = str_cut(text, '\n', &text);
		for (int i = 0; i < 2; i++) {
			read(&kept, line);
			frame_reset(&fresh.frame);
			read(&fresh, line);
			need(memcmp(&kept, &fresh, offsetof(struct reply, frame)) == 0);
		}
	}
}

/* Long numbers would make tensors that take long to write; their limits are checked elsewhere. */
static bool has_long_number(struct str text)
{
	size_t digits = 0;
	for (size_t i = 0; i < text.len && digits <= DIGITS_MAX; i++) {
		bool goes_on = isdigit((unsigned char)text.s[i]) || strchr("eE+.", text.s[i]);
		digits = goes_on ? digits + 1 : 0;
	}
	return digits > DIGITS_MAX;
}

static void send_after(const struct endpoint *e, struct str text)
{
	struct arena run = { 0 };
	struct err err;
	struct endpoint_options options = { .model = "m" };
	const struct prompt p = { .text = STR_INIT("a b"), .input_tokens = 2 };
	if (!e->prepare(text, &run, &options.prepared, &err)) {
		arena_release(&run);
		return;
	}
	for (int binary = 0; binary < 2; binary++) {
		options.binary = binary;
		struct buf body = { 0 }, head = { 0 };
		if (!has_long_number(text) && e->check(&p, &options, &err)) {
			e->write_body(&body, &p, &options);
			e->write_head(&head, buf_str(&body));
			struct json_scan s = json_scan_of(buf_str(&body));
			json_scan_skip(&s);
			need(!s.failed && (binary || s.p == s.end));
		}
		buf_release(&body);
		buf_release(&head);
	}
	arena_release(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	for (size_t i = 0; endpoint_table[i]; i++) {
		const struct endpoint *e = endpoint_table[i];
		read_with(e->read_event, text);
		read_stream(e->read_event, text);
		read_with(e->read_body, text);
		if (e->prepare)
			send_after(e, text);
	}
	return 0;
}
