#include "trace/input/protobuf.h"

#include <string.h>

/* A varint has at most this many bytes. */
enum { VARINT_BYTES = 10 };

struct pb pb_of(struct str message)
{
	/* An empty message may have no place. */
	return (struct pb){ .at = message.s,
		.end = message.len ? message.s + message.len : message.s };
}

static bool fail(struct pb *r, bool *why)
{
	*why = true;
	r->at = r->end;
	return false;
}

static bool varint(struct pb *r, uint64_t *ret_value)
{
	uint64_t value = 0;
	for (int i = 0; i < VARINT_BYTES; i++) {
		if (r->at == r->end)
			return fail(r, &r->cut);
		uint64_t byte = (unsigned char)*r->at++;
		/* Bits beyond the 64th are dropped, as protobuf's own readers do. */
		value |= (byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			*ret_value = value;
			return true;
		}
	}
	return fail(r, &r->broken);
}

static bool fixed(struct pb *r, size_t n, uint64_t *ret_value)
{
	if ((size_t)(r->end - r->at) < n)
		return fail(r, &r->cut);
	*ret_value = 0;
	for (size_t i = 0; i < n; i++)
		*ret_value |= (uint64_t)(unsigned char)r->at[i] << (8 * i);
	r->at += n;
	return true;
}

static bool bytes(struct pb *r, struct str *ret_bytes)
{
	uint64_t n;
	if (!varint(r, &n))
		return false;
	size_t left = (size_t)(r->end - r->at);
	if (n > left) {
		r->cut = true;
		n = left;
	}
	*ret_bytes = (struct str){ r->at, (size_t)n };
	r->at += n;
	return true;
}

bool pb_next(struct pb *r, struct pb_field *ret_field)
{
	uint64_t tag;
	if (r->at == r->end || !varint(r, &tag))
		return false;
	*ret_field = (struct pb_field){ .number = tag >> 3, .wire = (enum pb_wire)(tag & 7) };
	if (ret_field->number == 0)
		return fail(r, &r->broken);
	switch (tag & 7) {
	case PB_VARINT:
		return varint(r, &ret_field->value);
	case PB_FIXED64:
		return fixed(r, 8, &ret_field->value);
	case PB_FIXED32:
		return fixed(r, 4, &ret_field->value);
	case PB_BYTES:
		return bytes(r, &ret_field->bytes);
	default:
		return fail(r, &r->broken);
	}
}

int64_t pb_i64(const struct pb_field *f)
{
	return (int64_t)f->value;
}

double pb_double(const struct pb_field *f)
{
	double value;
	memcpy(&value, &f->value, sizeof value);
	return value;
}
