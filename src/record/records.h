/*
 * records.h - the file of `venturi load --records`: one entry for each request, with every token
 * event of its stream, in blocks that can be read alone.
 *
 * The format is docs/records.md: a magic, then blocks with their length and CRC-32; the first block
 * is a header in JSON, the last says how the run ended. A file that was cut short is readable up to
 * its last whole block, and its reader says where that was.
 *
 * Stamps are ns since the start of the run. Writing allocates nothing; a block belongs to one
 * thread at a time. What a reader gives lives until its next call.
 */
#ifndef VENTURI_RECORD_RECORDS_H
#define VENTURI_RECORD_RECORDS_H

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "record/load_run.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	RECORDS_VERSION = 1,
	RECORDS_FRAME_BYTES = 12, /* before the content of a block: kind, length, CRC-32 */
	RECORDS_GAPS_BYTES =
	        4096, /* of gaps that a request keeps; when full they go ahead as a piece */
	RECORDS_ENTRY_MAX = RECORDS_GAPS_BYTES + 256, /* the most bytes that one entry takes */
	RECORDS_BLOCK_MAX = 1 << 20,                  /* content of a block that a reader takes */
	RECORDS_VARINT_MAX = 10,                      /* bytes of a number of 64 bits */
};

/* A stamp or number that a request has not got. */
#define RECORDS_NONE INT64_MIN

/* How a request ended, as the file holds it; a failure is RECORDS_FAILED + enum load_failure. */
enum records_outcome { RECORDS_OK, RECORDS_CENSORED, RECORDS_FAILED };
enum { RECORDS_N_OUTCOMES = RECORDS_FAILED + LOAD_N_FAILURES };

/* "ok", "censored", else the name of the failure. */
const char *records_outcome_name(int outcome);

/* Gaps between token events that follow each other, as the file holds them. */
struct records_gaps {
	const uint8_t *bytes;
	size_t len;
	int64_t n;
	int64_t n_before; /* gaps of the same request that stand in earlier entries */
	int64_t from_ns;  /* the token event before the first of them */
};

struct records_request {
	int64_t ticket;     /* number of the request since the start */
	int64_t worker;     /* load thread */
	int64_t connection; /* of that thread, from 1; 0: it never came to one */
	int64_t target;     /* index into the header's targets */
	int outcome;
	int64_t status; /* of HTTP; 0: none came */
	bool in_window;
	bool retried;
	bool stream;
	int64_t planned_ns;
	int64_t sent_ns;
	int64_t first_byte_ns;         /* this and the next three may be RECORDS_NONE */
	int64_t first_token_ns;        /* of a stream */
	int64_t first_visible_ns;      /* likewise */
	int64_t last_token_ns;         /* likewise */
	int64_t end_ns;                /* of a censored request: when it was last seen under way */
	int64_t worst_gap_ns;          /* 0 with fewer than two token events */
	int64_t token_events;          /* of the stream */
	int64_t first_tokens;          /* tokens that its first event is taken to bear */
	int64_t input_tokens;          /* RECORDS_NONE: not said */
	int64_t output_tokens;         /* likewise */
	enum load_token_source source; /* of output_tokens */
	struct records_gaps gaps;
};

/* Gaps of a stream that is longer than a request keeps, ahead of the request itself. */
struct records_piece {
	int64_t ticket;
	int64_t worker;
	bool in_window;
	struct records_gaps gaps;
};

/* What the last block says. */
struct records_done {
	int64_t window_start_ns;
	int64_t window_end_ns;
	bool partial;
	int64_t requests;      /* entries in the file */
	int64_t lost_requests; /* that could not be written in time, or at all */
	int64_t lost_gaps;     /* likewise, of pieces and of those requests */
};

/* ---- writing ---- */

/* 7 bits a byte, least first, the top bit on all but the last; value >= 0. Returns the bytes. */
static inline size_t records_put_varint(uint8_t *p, uint64_t value)
{
	size_t n = 0;
	while (value >= 0x80) {
		p[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	p[n++] = (uint8_t)value;
	return n;
}

/* A block under way: the frame, then entries; bytes holds at least RECORDS_FRAME_BYTES + 16. */
struct records_block {
	uint8_t *bytes;
	size_t len;
	int64_t n_requests, n_gaps;
	/* inside: what the next entry is told against */
	int64_t ticket, ns;
};

/* Empties the block; worker is that of all its entries. */
void records_block_begin(struct records_block *b, int64_t worker);
/* Both need RECORDS_ENTRY_MAX bytes of room; gaps take at most RECORDS_GAPS_BYTES. */
void records_put_request(struct records_block *b, const struct records_request *r);
void records_put_piece(struct records_block *b, const struct records_piece *p);
/* Fills the frame; the block may then be written. Cost: one pass of CRC-32. */
void records_block_seal(struct records_block *b);

/* What a file begins with. */
void records_put_magic(struct buf *out);

/*
 * The header, the first block.
 *
 * r        addresses and fingerprint of the run, and when it started
 * start    the same moment on both clocks, ns; all stamps count from there
 */
struct records_start {
	int64_t monotonic_ns;
	int64_t realtime_ns;
	int threads;
};
void records_put_head(struct buf *out, const struct load_run *r, const struct records_start *start);
void records_put_done(struct buf *out, const struct records_done *done);

/* ---- reading ---- */

struct records_head {
	struct str json; /* the whole header */
	struct str url;
	struct str started_at; /* both empty when the header does not say them */
	int64_t monotonic_ns;
	int64_t realtime_ns; /* both RECORDS_NONE likewise */
};

struct records_reader {
	const char *name; /* of the file, for errors */
	struct records_head head;
	struct records_done done; /* of a file that is whole */
	bool is_whole;            /* the last block was read */
	int64_t whole_bytes;      /* of the file, up to its last whole block */
	/* inside */
	FILE *file;
	struct buf head_text, url, started_at, block;
	size_t at; /* in the block */
	int64_t block_offset, worker, ticket, ns;
};

enum records_kind { RECORDS_REQUEST, RECORDS_PIECE };

struct records_entry {
	enum records_kind kind;
	struct records_request request; /* of the one that kind says */
	struct records_piece piece;
};

/*
 * Reads the header.
 *
 * file     is read on, not closed
 * errors   ERR_INPUT for what is no file of records, is of a later version, or ends before its
 *          first entry could stand; with the name and the offset. The reader is released then.
 */
bool records_open(
        struct records_reader *r, FILE *file, const char *name, struct err *err) NODISCARD;
void records_close(struct records_reader *r);

enum records_result {
	RECORDS_ENTRY,
	RECORDS_END,     /* of the last whole block; is_whole tells whether more should have come */
	RECORDS_DAMAGED, /* err says what and where; what came before is good */
};

enum records_result records_next(
        struct records_reader *r, struct records_entry *ret_entry, struct err *err) NODISCARD;

/* The next gap, from 0 on; false after the last. What the reader gave is known to be well formed.
 */
bool records_gap_next(struct records_gaps *gaps, int64_t *ret_gap_ns);

/*
 * A metric of one request in ns, as the histograms of a run count it; false where it has none.
 * LOAD_ITL is no metric of a request.
 */
bool records_metric_ns(const struct records_request *r, enum load_metric metric, int64_t *ret_ns);

#endif
