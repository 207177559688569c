#include "token/byte_level.h"

#include "base/utf8.h"

/* The byte of a character, or -1. */
static int byte_of(uint32_t c)
{
	/* Bytes that are no printable character of Latin-1 are U+0100 and on, in their order. */
	if ((c >= '!' && c <= '~') || (c >= 0xA1 && c <= 0xAC) || (c >= 0xAE && c <= 0xFF))
		return (int)c;
	if (c >= 0x100 && c <= 0x120)
		return (int)c - 0x100; /* 0 to space */
	if (c >= 0x121 && c <= 0x142)
		return (int)c - 0x121 + 0x7F; /* delete to no-break space */
	return c == 0x143 ? 0xAD : -1;
}

bool byte_level_read(struct str key, struct arena *run, struct str *ret_bytes)
{
	char *bytes = arena_alloc(run, key.len + 1);
	size_t n = 0;
	while (key.len > 0) {
		uint32_t c;
		size_t step = utf8_decode(key, &c);
		int byte = step > 0 ? byte_of(c) : -1;
		if (byte < 0)
			return false;
		bytes[n++] = (char)byte;
		key.s += step;
		key.len -= step;
	}
	*ret_bytes = (struct str){ bytes, n };
	return true;
}
