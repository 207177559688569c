/*
 * sockdiag.h - the kernel's list of TCP sockets, asked for and read as netlink messages: bytes in,
 * bytes out, no socket of its own.
 *
 * The request is TCPDIAG_GETSOCK, the older of two: it alone lists both families in one walk over
 * the kernel's table of connections, and that walk is what an answer costs. Only sockets of the
 * named ports leave the kernel, by a filter in inet_diag's bytecode.
 *
 * Source: linux/inet_diag.h, linux/sock_diag.h, net/ipv4/inet_diag.c; RFC 4898 for what tcp_info
 * counts.
 */
#ifndef VENTURI_WATCH_SOCKDIAG_H
#define VENTURI_WATCH_SOCKDIAG_H

#include "base/attr.h"
#include "base/str.h"

#include <linux/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Source: include/net/tcp_states.h; the same numbers as in /proc/net/tcp. */
enum sockdiag_state {
	SOCKDIAG_ESTABLISHED = 1,
	SOCKDIAG_SYN_SENT,
	SOCKDIAG_SYN_RECV,
	SOCKDIAG_FIN_WAIT1,
	SOCKDIAG_FIN_WAIT2,
	SOCKDIAG_TIME_WAIT,
	SOCKDIAG_CLOSE,
	SOCKDIAG_CLOSE_WAIT,
	SOCKDIAG_LAST_ACK,
	SOCKDIAG_LISTEN,
	SOCKDIAG_CLOSING,
};

enum {
	SOCKDIAG_PORTS_MAX = 16,
	SOCKDIAG_REQUEST_MAX = 512, /* bytes, with a filter of SOCKDIAG_PORTS_MAX ports */
	SOCKDIAG_ALL = 0xfff,       /* states, one bit each: 1 << SOCKDIAG_LISTEN ... */
};

struct sockdiag_socket {
	uint64_t cookie; /* its own as long as it lives; 0: none yet */
	uint32_t inode;  /* 0: no process holds it */
	int state;       /* enum sockdiag_state */
	int port;        /* the local one */
	/* Bytes that nobody read, and that nobody acknowledged; of a listener: connections that
	 * nobody accepted, and how many of them there may be. */
	uint32_t receive_queue, send_queue;
	bool has_drops;
	uint32_t drops;        /* of a listener: connections that it had no room for */
	struct str congestion; /* "cubic"; empty: not told */
	size_t info_bytes;     /* of info that this kernel told; what follows is 0 */
	struct tcp_info info;
};

/* Did the kernel tell this field of info? */
#define SOCKDIAG_TOLD(socket, field)                                                               \
	((socket)->info_bytes >= offsetof(struct tcp_info, field) + sizeof((socket)->info.field))

/*
 * Writes the request for a list.
 *
 * ports     n of them, at most SOCKDIAG_PORTS_MAX; none: all
 * states    bits
 * sequence  by which the answer is known
 * returns   bytes
 */
size_t sockdiag_request(const int *ports, size_t n_ports, uint32_t states, uint32_t sequence,
        uint8_t buf[SOCKDIAG_REQUEST_MAX]);

enum sockdiag_end {
	SOCKDIAG_MORE,   /* the list goes on in another datagram */
	SOCKDIAG_DONE,   /* it was the last */
	SOCKDIAG_FAILED, /* the kernel refused: *ret_errno */
	SOCKDIAG_BROKEN, /* that is no answer */
};

/*
 * Reads one datagram of the answer. Messages of another sequence are passed over.
 *
 * on_socket  called for each socket; its views last as long as data
 */
enum sockdiag_end sockdiag_read(const void *data, size_t size, uint32_t sequence,
        void (*on_socket)(void *ctx, const struct sockdiag_socket *s), void *ctx, int *ret_errno);

#endif
