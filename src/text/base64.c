#include "text/base64.h"

#include <stdint.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_group(char *to, uint32_t group)
{
	to[0] = digits[group >> 18];
	to[1] = digits[group >> 12 & 63];
	to[2] = digits[group >> 6 & 63];
	to[3] = digits[group & 63];
}

void base64_add(struct buf *out, const void *bytes, size_t n)
{
	const unsigned char *from = bytes;
	buf_reserve(out, n / 3 * 4 + 4);
	char *to = out->s + out->len;
	for (; n >= 3; n -= 3, from += 3, to += 4)
		put_group(to, (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2]);
	if (n > 0) {
		put_group(to, (uint32_t)from[0] << 16 | (n > 1 ? (uint32_t)from[1] << 8 : 0));
		to[3] = '=';
		if (n == 1)
			to[2] = '=';
		to += 4;
	}
	*to = '\0';
	out->len = (size_t)(to - out->s);
}
