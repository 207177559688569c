/*
 * fuzz_ndjson.c - any bytes as JSON lines: every way to read them gives the lines that cutting the
 * whole text at its line feeds gives.
 */
#include "net/ndjson.h"

#include "reads.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool add_line(void *ctx, struct str line)
{
	struct buf *log = ctx;
	buf_printf(log, "%zu ", line.len);
	buf_add(log, line);
	buf_add_char(log, '\n');
	return true;
}

static void read_stream(enum reads_way way, const uint8_t *data, size_t size, struct buf *log)
{
	struct ndjson lines = { 0 };
	struct reads reads = reads_of(way, data, size);
	for (size_t at = 0, n; at < size; at += n) {
		n = reads_next(&reads, size - at);
		char *read = malloc(n);
		memcpy(read, data + at, n);
		if (!ndjson_feed(&lines, (struct str){ read, n }, add_line, log))
			abort();
		free(read);
	}
	if (!ndjson_end(&lines, add_line, log))
		abort();
	ndjson_release(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf want = { 0 };
	struct str text = { (const char *)data, size };
	while (text.len) {
		struct str line = str_trim(str_cut(text, '\n', &text));
		if (line.len)
			add_line(&want, line);
	}
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
