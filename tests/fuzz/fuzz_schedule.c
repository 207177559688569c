/*
 * fuzz_schedule.c - any bytes as a schedule: what is taken is in order, within its limits, and
 * comes back the same from its own CSV.
 */
#include "load/arrival.h"
#include "load/schedule.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
	if (!ok)
		abort();
}

static void check_rows(const struct schedule *s)
{
	need(s->n > 0 && s->n <= SCHEDULE_ROWS_MAX && s->format);
	for (size_t i = 0; i < s->n; i++) {
		const struct schedule_row *r = &s->rows[i];
		need(r->at_ns >= (i ? s->rows[i - 1].at_ns : 0));
		need(r->input_tokens >= 1 && r->input_tokens <= SCHEDULE_TOKENS_MAX);
		need(r->output_tokens >= 1 && r->output_tokens <= SCHEDULE_TOKENS_MAX);
		need(r->first_block + r->n_blocks <= s->n_blocks);
		need(r->n_blocks == 0 || r->n_blocks * s->block_tokens >= r->input_tokens);
	}
}

static void check_again(const struct schedule *s, struct arena *run)
{
	struct arrival_law law = { .kind = ARRIVAL_SCHEDULE, .schedule = s };
	const struct schedule *again;
	struct buf csv = { 0 };
	struct err err;
	need(arrival_export(&law, 1, 1, 0, (int64_t)s->n, &csv, &err));
	need(schedule_parse(buf_str(&csv), "again", 1, run, &again, &err));
	need(again->n == s->n && again->has_lengths == s->has_lengths);
	for (size_t i = 0; i < s->n; i++) {
		/* A double of seconds has its steps, too. */
		need(llabs(again->rows[i].at_ns - s->rows[i].at_ns) <= 8);
		need(again->rows[i].input_tokens == s->rows[i].input_tokens);
	}
	buf_release(&csv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena run = { 0 };
	const struct schedule *s;
	struct err err = { 0 };
	if (schedule_parse((struct str){ (const char *)data, size }, "fuzz", 1, &run, &s, &err)) {
		check_rows(s);
		check_again(s, &run);
	} else {
		need(err.kind == ERR_INPUT && err.text[0]);
	}
	arena_release(&run);
	return 0;
}
