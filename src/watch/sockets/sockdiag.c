#include "watch/sockets/sockdiag.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>

/* Each port is "at least p" and "at most p", and a jump to the end where both hold. */
enum { OPS_OF_PORT = 5, OP = sizeof(struct inet_diag_bc_op) };

static_assert(SOCKDIAG_REQUEST_MAX >= sizeof(struct nlmsghdr) + sizeof(struct inet_diag_req) +
                                              sizeof(struct nlattr) +
                                              SOCKDIAG_PORTS_MAX * OPS_OF_PORT * OP,
        "a request with a filter of all ports has room");

static struct inet_diag_bc_op operation(int code, size_t yes, size_t no)
{
	return (struct inet_diag_bc_op){ (unsigned char)code, (unsigned char)yes,
		(unsigned short)no };
}

/*
 * The filter: bytes until its end are a yes, four bytes further a no. A comparison takes two
 * operations, the second only for its port.
 */
static size_t write_filter(const int *ports, size_t n, uint8_t *to)
{
	struct inet_diag_bc_op ops[SOCKDIAG_PORTS_MAX * OPS_OF_PORT];
	size_t n_ops = n * OPS_OF_PORT - 1, at = 0;
	for (size_t i = 0; i < n; i++) {
		bool last = i + 1 == n;
		/* From the first comparison to the next port, from the second, from the jump. */
		size_t next = last ? (n_ops - at + 1) * OP : OPS_OF_PORT * OP;
		ops[at++] = operation(INET_DIAG_BC_S_GE, 2 * (size_t)OP, next);
		ops[at++] = operation(0, 0, (size_t)ports[i]);
		ops[at++] = operation(INET_DIAG_BC_S_LE, 2 * (size_t)OP, next - 2 * (size_t)OP);
		ops[at++] = operation(0, 0, (size_t)ports[i]);
		if (!last) {
			ops[at] = operation(INET_DIAG_BC_JMP, OP, (n_ops - at) * OP);
			at++;
		}
	}
	memcpy(to, ops, n_ops * OP);
	return n_ops * OP;
}

size_t sockdiag_request(const int *ports, size_t n_ports, uint32_t states, uint32_t sequence,
        uint8_t buf[SOCKDIAG_REQUEST_MAX])
{
	struct nlmsghdr header = {
		.nlmsg_type = TCPDIAG_GETSOCK,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		.nlmsg_seq = sequence,
	};
	const struct inet_diag_req request = {
		.idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1) |
		             1 << (INET_DIAG_SKMEMINFO - 1),
		.idiag_states = states,
	};
	size_t len = sizeof(header) + sizeof(request);
	assert(n_ports <= SOCKDIAG_PORTS_MAX);
	memcpy(buf + sizeof(header), &request, sizeof(request));
	if (n_ports > 0) {
		struct nlattr filter = { .nla_type = INET_DIAG_REQ_BYTECODE };
		size_t size = write_filter(ports, n_ports, buf + len + sizeof(filter));
		filter.nla_len = (unsigned short)(sizeof(filter) + size);
		memcpy(buf + len, &filter, sizeof(filter));
		len += filter.nla_len;
	}
	header.nlmsg_len = (uint32_t)len;
	memcpy(buf, &header, sizeof(header));
	return len;
}

static void read_attribute(struct sockdiag_socket *s, int type, const uint8_t *value, size_t len)
{
	const size_t drops_at = SK_MEMINFO_DROPS * sizeof(uint32_t);
	switch (type) {
	case INET_DIAG_INFO:
		s->info_bytes = len < sizeof(s->info) ? len : sizeof(s->info);
		memcpy(&s->info, value, s->info_bytes);
		break;
	case INET_DIAG_CONG:
		s->congestion =
		        (struct str){ (const char *)value, strnlen((const char *)value, len) };
		break;
	case INET_DIAG_SKMEMINFO:
		s->has_drops = len >= drops_at + sizeof(s->drops);
		if (s->has_drops)
			memcpy(&s->drops, value + drops_at, sizeof(s->drops));
		break;
	default:
		break;
	}
}

static bool read_socket(const uint8_t *data, size_t len, struct sockdiag_socket *s)
{
	struct inet_diag_msg msg;
	if (len < sizeof(msg))
		return false;
	memcpy(&msg, data, sizeof(msg));
	*s = (struct sockdiag_socket){
		.cookie = (uint64_t)msg.id.idiag_cookie[1] << 32 | msg.id.idiag_cookie[0],
		.inode = msg.idiag_inode,
		.state = msg.idiag_state,
		.port = ntohs(msg.id.idiag_sport),
		.receive_queue = msg.idiag_rqueue,
		.send_queue = msg.idiag_wqueue,
	};
	size_t at = NLMSG_ALIGN(sizeof(msg));
	while (at + sizeof(struct nlattr) <= len) {
		struct nlattr attribute;
		memcpy(&attribute, data + at, sizeof(attribute));
		if (attribute.nla_len < sizeof(attribute) || attribute.nla_len > len - at)
			return false;
		read_attribute(s, attribute.nla_type & NLA_TYPE_MASK, data + at + sizeof(attribute),
		        attribute.nla_len - sizeof(attribute));
		at += NLMSG_ALIGN(attribute.nla_len);
	}
	return true;
}

/* The number that ends a list, or says why there is none: 0, or an errno below it. */
static enum sockdiag_end read_code(
        const uint8_t *data, size_t len, enum sockdiag_end end, int *ret_errno)
{
	int32_t code = 0;
	if (len >= sizeof(code))
		memcpy(&code, data, sizeof(code));
	if (code >= 0)
		return end;
	*ret_errno = code == INT32_MIN ? EPROTO : -code;
	return SOCKDIAG_FAILED;
}

enum sockdiag_end sockdiag_read(const void *data, size_t size, uint32_t sequence,
        void (*on_socket)(void *ctx, const struct sockdiag_socket *s), void *ctx, int *ret_errno)
{
	const uint8_t *bytes = data;
	size_t at = 0;
	while (at + sizeof(struct nlmsghdr) <= size) {
		struct nlmsghdr header;
		struct sockdiag_socket s;
		memcpy(&header, bytes + at, sizeof(header));
		if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > size - at)
			return SOCKDIAG_BROKEN;
		const uint8_t *body = bytes + at + sizeof(header);
		size_t len = header.nlmsg_len - sizeof(header);
		at += NLMSG_ALIGN(header.nlmsg_len);
		if (header.nlmsg_seq != sequence)
			continue;
		if (header.nlmsg_type == NLMSG_DONE)
			return read_code(body, len, SOCKDIAG_DONE, ret_errno);
		if (header.nlmsg_type == NLMSG_ERROR)
			return read_code(body, len, SOCKDIAG_BROKEN, ret_errno);
		if (header.nlmsg_type < NLMSG_MIN_TYPE)
			continue;
		if (!read_socket(body, len, &s))
			return SOCKDIAG_BROKEN;
		on_socket(ctx, &s);
	}
	return at >= size ? SOCKDIAG_MORE : SOCKDIAG_BROKEN;
}
