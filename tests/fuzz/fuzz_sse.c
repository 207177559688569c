/*
 * fuzz_sse.c - any bytes as an event stream: every way to read them gives the events that a plain
 * reading of the standard's text gives.
 */
#include "net/sse.h"

#include "reads.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool add_event(void *ctx, struct sse_event event)
{
	struct buf *log = ctx;
	buf_printf(log, "%zu ", event.type.len);
	buf_add(log, event.type);
	buf_printf(log, " %zu ", event.data.len);
	buf_add(log, event.data);
	buf_add_char(log, '\n');
	return true;
}

static void read_stream(enum reads_way way, const uint8_t *data, size_t size, struct buf *log)
{
	struct sse sse = { 0 };
	struct reads reads = reads_of(way, data, size);
	for (size_t at = 0, n; at < size; at += n) {
		n = reads_next(&reads, size - at);
		char *read = malloc(n);
		memcpy(read, data + at, n);
		if (!sse_feed(&sse, (struct str){ read, n }, add_event, log))
			abort();
		free(read);
	}
	sse_release(&sse);
}

/* The buffers of WHATWG HTML, section 9.2.6. */
struct plain {
	struct buf data, type;
};

static void plain_line(struct plain *p, struct str line, struct buf *log)
{
	if (line.len == 0) {
		if (p->data.len) {
			struct str data = { p->data.s, p->data.len - 1 };
			add_event(log, (struct sse_event){ buf_str(&p->type), data });
		}
		buf_clear(&p->data);
		buf_clear(&p->type);
		return;
	}
	struct str value, field = str_cut(line, ':', &value);
	if (str_starts(value, STR(" ")))
		value = (struct str){ value.s + 1, value.len - 1 };
	if (str_eq(field, STR("data"))) {
		buf_add(&p->data, value);
		buf_add_char(&p->data, '\n');
	} else if (str_eq(field, STR("event"))) {
		buf_clear(&p->type);
		buf_add(&p->type, value);
	}
}

/* All bytes are there, so a line end is one look ahead. */
static void plain_stream(struct str text, struct buf *log)
{
	struct plain p = { 0 };
	if (str_starts(text, STR("\xEF\xBB\xBF")))
		text = (struct str){ text.s + 3, text.len - 3 };
	for (size_t start = 0, i = 0; i < text.len; i++) {
		if (text.s[i] != '\n' && text.s[i] != '\r')
			continue;
		plain_line(&p, (struct str){ text.s + start, i - start }, log);
		if (text.s[i] == '\r' && i + 1 < text.len && text.s[i + 1] == '\n')
			i++;
		start = i + 1;
	}
	buf_release(&p.data);
	buf_release(&p.type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf want = { 0 };
	plain_stream((struct str){ (const char *)data, size }, &want);
	for (enum reads_way way = READS_ONE; way < READS_N_WAYS; way++) {
		struct buf got = { 0 };
		read_stream(way, data, size, &got);
		if (!str_eq(buf_str(&got), buf_str(&want)))
			abort();
		buf_release(&got);
	}
	buf_release(&want);
	return 0;
}
