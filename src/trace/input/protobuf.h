/*
 * protobuf.h - the wire format of protocol buffers, field by field, without a schema.
 *
 * A reader is a view into bytes that the caller keeps. Nothing is allocated and nothing is
 * followed: a message inside is the bytes of a field, read by another reader.
 *
 * Source: protobuf.dev, "Encoding": a field is a varint tag (number << 3 | wire type) and a
 * value: 0 varint, 1 eight bytes, 2 a length and so many bytes, 5 four bytes.
 */
#ifndef VENTURI_TRACE_PROTOBUF_H
#define VENTURI_TRACE_PROTOBUF_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct pb {
	const char *at, *end;
	bool cut;    /* the bytes end inside a field */
	bool broken; /* what stands here is no field: nothing behind it can be read */
};

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_field {
	uint64_t number;
	enum pb_wire wire;
	uint64_t value;   /* of numbers, as they are stored: fixed ones little-endian */
	struct str bytes; /* of PB_BYTES; what there is of them where the message is cut */
};

struct pb pb_of(struct str message);
/*
 * The next field; false at the end, with cut or broken set when it came too early. A field of
 * bytes that is cut is given once with what there is of it, and cut is set.
 */
bool pb_next(struct pb *r, struct pb_field *ret_field);

/* The value as what the schema says it is. */
int64_t pb_i64(const struct pb_field *f);
double pb_double(const struct pb_field *f);

#endif
