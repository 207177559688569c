/*
 * fuzz_csv.c - any bytes as separated values: the rows cover the text in order, fields lie in the
 * text or are shorter than it, and what was not broken comes back the same when it is written out
 * with all fields quoted.
 */
#include "text/csv.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
	if (!ok)
		abort();
}

static void add_quoted(struct buf *out, struct str field)
{
	buf_add_char(out, '"');
	for (size_t i = 0; i < field.len; i++) {
		if (field.s[i] == '"')
			buf_add_char(out, '"');
		buf_add_char(out, field.s[i]);
	}
	buf_add_char(out, '"');
}

/* All rows with their fields quoted. */
static bool write_out(struct str text, char separator, struct buf *out)
{
	struct csv c = csv_of(text, separator);
	struct csv_row row = { 0 };
	const char *before = text.s;
	size_t bytes = 0;
	while (csv_next(&c, &row)) {
		need(row.n > 0 && row.n <= CSV_MAX_COLUMNS);
		need(row.raw.s >= before && row.raw.s + row.raw.len <= c.p);
		before = c.p;
		for (size_t i = 0; i < row.n; i++) {
			bytes += row.fields[i].len;
			if (i)
				buf_add_char(out, separator);
			add_quoted(out, row.fields[i]);
		}
		buf_add_char(out, '\n');
	}
	need(bytes <= text.len && c.p == c.end);
	bool whole = c.n_broken == 0 && c.n_dropped == 0 && !c.cut;
	csv_row_release(&row);
	csv_release(&c);
	return whole;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char separators[] = { ',', ';', '\t' };
	for (size_t i = 0; i < sizeof separators; i++) {
		struct buf once = { 0 }, twice = { 0 };
		write_out((struct str){ (const char *)data, size }, separators[i], &once);
		if (size < CSV_MAX_QUOTED / 4) {
			need(write_out(buf_str(&once), separators[i], &twice));
			need(str_eq(buf_str(&once), buf_str(&twice)));
		}
		buf_release(&once);
		buf_release(&twice);
	}
	return 0;
}
