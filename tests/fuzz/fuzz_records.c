/*
 * fuzz_records.c - any bytes as a file of records: what is read is inside its limits, and so are
 * the figures and rows made of it.
 */
#include "record/records.h"
#include "report/records.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
	if (!ok)
		abort();
}

static void check_request(const struct records_request *r)
{
	need(r->outcome >= 0 && r->outcome < RECORDS_N_OUTCOMES &&
	        records_outcome_name(r->outcome));
	need(r->source < LOAD_N_TOKEN_SOURCES);
	need(r->status >= 0 && r->connection >= 0 && r->target >= 0 && r->worst_gap_ns >= 0);
}

static void check_gaps(struct records_gaps gaps)
{
	int64_t gap, n = gaps.n;
	while (records_gap_next(&gaps, &gap)) {
		need(gap >= 0);
		n--;
	}
	need(n == 0 && gaps.len == 0);
}

static void check_entry(const struct records_entry *e, struct buf *out)
{
	for (int kind = 0; kind < 4; kind++) {
		const struct report_rows rows = { .jsonl = kind & 1, .tokens = kind & 2 };
		report_records_rows(&rows, e, out);
		buf_clear(out);
	}
	if (e->kind == RECORDS_REQUEST)
		check_request(&e->request);
	check_gaps(e->kind == RECORDS_REQUEST ? e->request.gaps : e->piece.gaps);
}

static void read_all(struct records_reader *r)
{
	struct records_summary summary = { 0 };
	struct records_entry entry;
	struct buf out = { 0 };
	struct err err = { 0 };
	enum records_result result;
	while ((result = records_next(r, &entry, &err)) == RECORDS_ENTRY) {
		check_entry(&entry, &out);
		records_summary_add(&summary, &entry);
	}
	need(result == RECORDS_END || (err.kind == ERR_INPUT && err.text[0]));
	report_records_json(&summary, r, &out);
	report_records_text(&summary, r, &out);
	records_summary_release(&summary);
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct records_reader r;
	struct err err = { 0 };
	if (size == 0)
		return 0;
	FILE *f = fmemopen((void *)data, size, "r");
	if (records_open(&r, f, "fuzz", &err)) {
		read_all(&r);
		records_close(&r);
	} else {
		need(err.kind == ERR_INPUT && err.text[0]);
	}
	fclose(f);
	return 0;
}
