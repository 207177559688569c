/*
 * records_sample.h - a file of records with everything in it, for the tests and for the corpus of
 * the fuzz target.
 */
#ifndef VENTURI_TESTS_RECORDS_SAMPLE_H
#define VENTURI_TESTS_RECORDS_SAMPLE_H

#include "record/records.h"

#include <stdlib.h>
#include <string.h>

/* The reader takes numbers, and differences of stamps, up to a quarter of what fits. */
#define SAMPLE_LARGEST (INT64_MAX / 4 - 5)

enum { SAMPLE_BLOCKS = 3, SAMPLE_ENTRIES = 6, SAMPLE_BLOCK_BYTES = 65536 };

struct sample {
	struct buf file;
	struct records_entry entries[SAMPLE_ENTRIES];
	uint8_t gaps[SAMPLE_ENTRIES][RECORDS_GAPS_BYTES];
	size_t head_end;                 /* where the header ends */
	size_t block_end[SAMPLE_BLOCKS]; /* where each block of entries ends: two entries each */
	struct records_done done;
};

/* Gaps of 0, 1, 2 ... times step; from_ns is where the first of them begins. */
static inline struct records_gaps sample_gaps(
        uint8_t *bytes, int64_t n_before, int64_t n, int64_t step, int64_t from_ns)
{
	struct records_gaps gaps = {
		.bytes = bytes, .n = n, .n_before = n_before, .from_ns = from_ns
	};
	for (int64_t i = 0; i < n; i++)
		gaps.len += records_put_varint(bytes + gaps.len, (uint64_t)(i * step));
	return gaps;
}

static inline int64_t sample_gaps_sum(int64_t n, int64_t step)
{
	return n * (n - 1) / 2 * step;
}

static inline struct records_entry sample_request(struct records_request r)
{
	return (struct records_entry){ .kind = RECORDS_REQUEST, .request = r };
}

static inline void sample_fill(struct sample *s)
{
	const int64_t step = 1000003, none = RECORDS_NONE;
	int64_t last = 2000 + sample_gaps_sum(100, step);
	/* An answer without tokens; a stream; */
	s->entries[0] = sample_request((struct records_request){ .ticket = 7,
	        .worker = 0,
	        .connection = 3,
	        .status = 200,
	        .in_window = true,
	        .planned_ns = 5,
	        .sent_ns = 10,
	        .first_byte_ns = 900,
	        .first_token_ns = none,
	        .first_visible_ns = none,
	        .last_token_ns = none,
	        .end_ns = 1000,
	        .input_tokens = none,
	        .output_tokens = none,
	        .gaps = { .bytes = NULL } });
	s->entries[1] = sample_request((struct records_request){ .ticket = 2,
	        .worker = 0,
	        .connection = 300,
	        .target = 1,
	        .status = 200,
	        .in_window = true,
	        .retried = true,
	        .stream = true,
	        .planned_ns = 10,
	        .sent_ns = 11,
	        .first_byte_ns = 500,
	        .first_token_ns = 2000,
	        .first_visible_ns = 2000 + step,
	        .last_token_ns = last,
	        .end_ns = last + 50,
	        .worst_gap_ns = 99 * step,
	        .token_events = 101,
	        .first_tokens = 2,
	        .input_tokens = 0,
	        .output_tokens = 205,
	        .source = LOAD_TOKENS_IDS,
	        .gaps = sample_gaps(s->gaps[1], 0, 100, step, 2000) });
	/* a piece and the request that it was ahead of, of another thread; */
	s->entries[2] = (struct records_entry){ .kind = RECORDS_PIECE,
		.piece = { .ticket = INT64_C(1) << 40,
		        .worker = 63,
		        .in_window = false,
		        .gaps = sample_gaps(s->gaps[2], 0, 40, 7, 100) } };
	int64_t from = 100 + sample_gaps_sum(40, 7);
	last = from + sample_gaps_sum(3, 7);
	s->entries[3] = sample_request((struct records_request){ .ticket = INT64_C(1) << 40,
	        .worker = 63,
	        .outcome = RECORDS_CENSORED,
	        .status = 200,
	        .stream = true,
	        .planned_ns = 1,
	        .sent_ns = 2,
	        .first_byte_ns = 3,
	        .first_token_ns = 100,
	        .first_visible_ns = none,
	        .last_token_ns = last,
	        .end_ns = last + 9,
	        .worst_gap_ns = 273,
	        .token_events = 44,
	        .first_tokens = 1,
	        .input_tokens = none,
	        .output_tokens = 44,
	        .source = LOAD_TOKENS_EVENTS,
	        .gaps = sample_gaps(s->gaps[3], 40, 3, 7, from) });
	/* a failure before the start of all stamps, which a kernel's stamp may be; the largest. */
	s->entries[4] = sample_request((struct records_request){ .worker = 1,
	        .outcome = RECORDS_FAILED + LOAD_FAIL_TIMEOUT,
	        .planned_ns = -20,
	        .sent_ns = -10,
	        .first_byte_ns = none,
	        .first_token_ns = none,
	        .first_visible_ns = none,
	        .last_token_ns = none,
	        .end_ns = -5,
	        .input_tokens = none,
	        .output_tokens = none });
	s->entries[5] = sample_request((struct records_request){ .ticket = SAMPLE_LARGEST,
	        .worker = 1,
	        .outcome = RECORDS_OK,
	        .status = 999,
	        .planned_ns = 0,
	        .sent_ns = 0,
	        .first_byte_ns = 1,
	        .first_token_ns = none,
	        .first_visible_ns = none,
	        .last_token_ns = none,
	        .end_ns = SAMPLE_LARGEST,
	        .input_tokens = SAMPLE_LARGEST,
	        .output_tokens = 1,
	        .source = LOAD_TOKENS_USAGE });
	s->done = (struct records_done){ .window_start_ns = 4,
		.window_end_ns = 4000000000,
		.partial = true,
		.requests = 5,
		.lost_requests = 2,
		.lost_gaps = 300 };
}

static inline void sample_block(struct sample *s, int block)
{
	struct records_block b = { .bytes = mem_realloc(NULL, SAMPLE_BLOCK_BYTES) };
	const struct records_entry *entries = &s->entries[2 * block];
	records_block_begin(&b,
	        entries->kind == RECORDS_PIECE ? entries->piece.worker : entries->request.worker);
	for (int i = 0; i < 2; i++)
		if (entries[i].kind == RECORDS_PIECE)
			records_put_piece(&b, &entries[i].piece);
		else
			records_put_request(&b, &entries[i].request);
	records_block_seal(&b);
	buf_add(&s->file, (struct str){ (const char *)b.bytes, b.len });
	s->block_end[block] = s->file.len;
	free(b.bytes);
}

/* The whole file; buf_release(&s->file) gives it back. */
static inline void sample_build(struct sample *s)
{
	static struct load_run run = { .started_at = "2026-01-02T03:04:05Z",
		.url = "http://h/\xc3\xa9\"" };
	const struct records_start start = { 123, 1767323045000000123, 2 };
	*s = (struct sample){ 0 };
	run.fingerprint = (struct fingerprint){ .entries = { { "target.api", "http" } }, .n = 1 };
	sample_fill(s);
	records_put_magic(&s->file);
	records_put_head(&s->file, &run, &start);
	s->head_end = s->file.len;
	for (int i = 0; i < SAMPLE_BLOCKS; i++)
		sample_block(s, i);
	records_put_done(&s->file, &s->done);
}

#endif
