/*
 * records_format.h - what the writer and the reader of records agree on: docs/records.md in C.
 */
#ifndef VENTURI_RECORD_RECORDS_FORMAT_H
#define VENTURI_RECORD_RECORDS_FORMAT_H

#include "record/records.h"

#include <string.h>
#include <zlib.h>

/* As PNG's: a transfer as text, or of 7 bits, breaks it. */
#define RECORDS_MAGIC "\x89VREC\r\n\x1a"

enum { RECORDS_MAGIC_BYTES = 8, RECORDS_PREFIX_BYTES = RECORDS_MAGIC_BYTES + 4 };

#define RECORDS_KIND_HEAD "HEAD"
#define RECORDS_KIND_ENTRIES "RECS"
#define RECORDS_KIND_DONE "DONE"

/* The first number of an entry. */
enum records_flag {
	RECORDS_IS_PIECE = 1 << 0,
	RECORDS_IN_WINDOW = 1 << 1,
	/* of requests only */
	RECORDS_RETRIED = 1 << 2,
	RECORDS_STREAM = 1 << 3,
	RECORDS_HAS_BYTE = 1 << 4,
	RECORDS_HAS_TOKEN = 1 << 5,
	RECORDS_HAS_VISIBLE = 1 << 6,
	RECORDS_HAS_INPUT = 1 << 7,
	RECORDS_HAS_OUTPUT = 1 << 8,
	RECORDS_SOURCE_SHIFT = 9, /* 2 bits: enum load_token_source */
	RECORDS_OUTCOME_SHIFT = 11,
};

static inline void records_put_u32(uint8_t *p, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(value >> (8 * i));
}

static inline uint32_t records_get_u32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Of kind, length and content, which stand around the place of the sum itself. */
static inline uint32_t records_crc(const uint8_t *frame, size_t content_bytes)
{
	uLong crc = crc32(0, frame, 8);
	return (uint32_t)crc32(crc, frame + RECORDS_FRAME_BYTES, (uInt)content_bytes);
}

/* Small numbers of either sign become small numbers: 0, -1, 1, -2 are 0, 1, 2, 3. */
static inline uint64_t records_zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t records_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
