/*
 * fuzz_sockdiag.c - any bytes as the kernel's answer to a list of sockets: what is told of a socket
 * lies inside them, and the same sockets are found wherever the datagram ends between two messages.
 */
#include "watch/sockets/sockdiag.h"

#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEQUENCE = 1 };

struct seen {
	const char *begin;
	size_t size;
	size_t n;
	uint64_t sum; /* of what was told, so that none of it is left unread */
};

static void on_socket(void *ctx, const struct sockdiag_socket *s)
{
	struct seen *seen = ctx;
	if (s->congestion.len &&
	        (s->congestion.s < seen->begin ||
	                s->congestion.s + s->congestion.len > seen->begin + seen->size))
		abort();
	if (s->port < 0 || s->port > 65535 || s->state < 0 || s->state > 255 ||
	        s->info_bytes > sizeof(s->info) || (!s->has_drops && s->drops))
		abort();
	seen->n++;
	seen->sum += s->cookie ^ s->inode ^ s->receive_queue ^ s->send_queue;
	for (size_t i = 0; i < sizeof(s->info); i++)
		seen->sum += ((const uint8_t *)&s->info)[i];
	for (size_t i = 0; i < s->congestion.len; i++)
		seen->sum += (uint8_t)s->congestion.s[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole = { (const char *)data, size, 0, 0 }, parts = whole;
	int code = 0;
	enum sockdiag_end end = sockdiag_read(data, size, SEQUENCE, on_socket, &whole, &code);
	if ((end == SOCKDIAG_FAILED) != (code > 0))
		abort();
	/* Message by message. */
	size_t at = 0;
	enum sockdiag_end last = SOCKDIAG_MORE;
	while (at + sizeof(struct nlmsghdr) <= size && last == SOCKDIAG_MORE) {
		struct nlmsghdr header;
		memcpy(&header, data + at, sizeof(header));
		size_t left = size - at, len = left;
		if (header.nlmsg_len >= sizeof(header) && header.nlmsg_len <= left)
			len = NLMSG_ALIGN(header.nlmsg_len) < left ? NLMSG_ALIGN(header.nlmsg_len)
			                                           : left;
		last = sockdiag_read(data + at, len, SEQUENCE, on_socket, &parts, &code);
		at += len;
	}
	if (parts.n != whole.n || parts.sum != whole.sum)
		abort();
	return 0;
}
