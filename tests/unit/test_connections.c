#include "tap.h"

#include "base/attr.h"
#include "base/clock.h"
#include "watch/sockets/flows.h"
#include "watch/sampler.h"
#include "watch/sockets/sockdiag.h"
#include "watch/sources.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <math.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel's way through a filter: net/ipv4/inet_diag.c, inet_diag_bc_run(). */
static bool passes(const uint8_t *filter, size_t size, int port)
{
	ptrdiff_t left = (ptrdiff_t)size;
	while (left > 0) {
		struct inet_diag_bc_op op[2] = { { 0 } };
		memcpy(op, filter + size - left,
		        (size_t)left < sizeof(op) ? (size_t)left : sizeof(op));
		bool yes = op[0].code == INET_DIAG_BC_S_GE   ? port >= op[1].no
		           : op[0].code == INET_DIAG_BC_S_LE ? port <= op[1].no
		                                             : false;
		left -= yes ? op[0].yes : op[0].no;
	}
	return left == 0;
}

static void the_filter_lets_the_named_ports_pass_and_no_other(void)
{
	static const int ports[SOCKDIAG_PORTS_MAX] = { 80, 8000, 8001, 1, 65535, 443, 22, 5000,
		5002, 9000, 9001, 9002, 30000, 40000, 50000, 60000 };
	uint8_t request[SOCKDIAG_REQUEST_MAX];
	const size_t head =
	        sizeof(struct nlmsghdr) + sizeof(struct inet_diag_req) + sizeof(struct nlattr);
	for (size_t n = 1; n <= ARRAY_LEN(ports); n++) {
		size_t len = sockdiag_request(ports, n, SOCKDIAG_ALL, 7, request);
		int n_wrong = 0;
		for (int port = 0; port <= 65535; port++) {
			bool want = false;
			for (size_t i = 0; i < n; i++)
				want |= ports[i] == port;
			n_wrong += passes(request + head, len - head, port) != want;
		}
		CHECK_INT(n_wrong, 0);
	}
	CHECK_INT(
	        sockdiag_request(NULL, 0, SOCKDIAG_ALL, 7, request), head - sizeof(struct nlattr));
}

struct seen {
	int n;
	struct sockdiag_socket last;
};

static void on_socket(void *ctx, const struct sockdiag_socket *s)
{
	struct seen *seen = ctx;
	seen->n++;
	seen->last = *s;
}

static void an_answer_that_is_none_is_refused(void)
{
	struct {
		struct nlmsghdr header;
		int32_t code;
	} failed = { { .nlmsg_len = sizeof(failed), .nlmsg_type = NLMSG_ERROR, .nlmsg_seq = 3 },
		-EACCES },
	  done = { { .nlmsg_len = sizeof(failed), .nlmsg_type = NLMSG_DONE, .nlmsg_seq = 3 }, 0 };
	struct seen seen = { 0 };
	int code = 0;
	CHECK_INT(sockdiag_read(&done, sizeof(done), 3, on_socket, &seen, &code), SOCKDIAG_DONE);
	/* an answer to an earlier question says nothing */
	CHECK_INT(sockdiag_read(&done, sizeof(done), 4, on_socket, &seen, &code), SOCKDIAG_MORE);
	CHECK_INT(sockdiag_read(&failed, sizeof(failed), 3, on_socket, &seen, &code),
	        SOCKDIAG_FAILED);
	CHECK_INT(code, EACCES);
	CHECK_INT(sockdiag_read(&done, 18, 3, on_socket, &seen, &code), SOCKDIAG_BROKEN);
	done.header.nlmsg_len = 3;
	CHECK_INT(sockdiag_read(&done, sizeof(done), 3, on_socket, &seen, &code), SOCKDIAG_BROKEN);
	done.header = (struct nlmsghdr){
		.nlmsg_len = sizeof(done), .nlmsg_type = TCPDIAG_GETSOCK, .nlmsg_seq = 3
	};
	CHECK_INT(sockdiag_read(&done, sizeof(done), 3, on_socket, &seen, &code), SOCKDIAG_BROKEN);
	CHECK_INT(seen.n, 0);
}

static void what_connections_count_is_summed_though_they_come_and_go(void)
{
	struct flows f = { 0 };
	uint64_t sum = 0, growth[FLOW_N_COUNTS];
	int n_new = 0;
	/* 1000 connections; in look t those with t <= i < 600 + t are there, each at 10 * t. Of a
	   connection of the look before it is 10, of a new one all of its 10 * t. */
	for (uint64_t t = 0; t < 5; t++) {
		flows_look(&f);
		for (uint64_t i = t; i < 600 + t; i++) {
			const uint64_t counts[FLOW_N_COUNTS] = { [FLOW_SENT] = 10 * t };
			n_new += flows_add(&f, i + 1, counts, growth) == FLOW_NEW;
			sum += growth[FLOW_SENT];
		}
	}
	CHECK_INT(n_new, 4);
	CHECK_INT(flows_n_ended(&f), 1);
	CHECK_INT(sum, 4 * 599 * 10 + 10 + 20 + 30 + 40);
	/* told twice in one look it counts once, and a count that fell did not grow */
	const uint64_t less[FLOW_N_COUNTS] = { 0 };
	flows_look(&f);
	CHECK_INT(flows_add(&f, 5, less, growth), FLOW_OLD);
	CHECK_INT(growth[FLOW_SENT], 0);
	CHECK_INT(flows_add(&f, 9999, less, growth), FLOW_NEW);
	CHECK_INT(flows_add(&f, 9999, less, growth), FLOW_OLD);
	flows_release(&f);
}

/* ---- a server of this process, whose connections are known ---- */

enum { N_OPEN = 7, N_UNACCEPTED = 3, N_CLOSED = 2, BACKLOG_LIMIT = 16, UNREAD = 12345 };

static int listen_on(int family, int *ret_port)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *address =
	        family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	socklen_t size = family == AF_INET ? sizeof(v4) : sizeof(v6);
	if (fd < 0 || bind(fd, address, size) != 0 || listen(fd, BACKLOG_LIMIT) != 0 ||
	        getsockname(fd, address, &size) != 0) {
		close(fd);
		return -1;
	}
	*ret_port = ntohs(family == AF_INET ? v4.sin_port : v6.sin6_port);
	return fd;
}

static int connect_to(int family, int port)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
		.sin6_port = htons((uint16_t)port) };
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port) };
	int code = family == AF_INET ? connect(fd, (struct sockaddr *)&v4, sizeof(v4))
	                             : connect(fd, (struct sockaddr *)&v6, sizeof(v6));
	CHECK_INT(code, 0);
	return fd;
}

static const struct signal *find(const struct signal_system *s, const char *name, int port)
{
	char instance[16];
	snprintf(instance, sizeof(instance), "%d", port);
	for (size_t i = 0; i < s->n_signals; i++)
		if (strcmp(s->signals[i].name, name) == 0 && s->signals[i].instance &&
		        strcmp(s->signals[i].instance, instance) == 0)
			return &s->signals[i];
	printf("# no signal %s of %d\n", name, port);
	CHECK(!"the signal is there");
	static const struct signal none = { .name = "none" };
	return &none;
}

static void check_values(const struct signal_system *got, int port)
{
	static const struct {
		const char *name;
		double want;
	} wants[] = {
		{ "port_listeners", 1 },
		/* those of the clients that are not accepted yet are established, too */
		{ "port_established", N_OPEN + N_UNACCEPTED },
		{ "port_close_wait", N_CLOSED },
		{ "port_syn_recv", 0 },
		{ "port_time_wait", 0 },
		{ "port_closing", 0 },
		{ "port_backlog", N_UNACCEPTED },
		{ "port_backlog_limit", BACKLOG_LIMIT },
		{ "port_backlog_ratio", (double)N_UNACCEPTED / BACKLOG_LIMIT },
		{ "port_unread_bytes", UNREAD + 100 },
		{ "port_unread_max_bytes", UNREAD },
		{ "port_lost", 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
		const struct signal *s = find(got, wants[i].name, port);
		if (!CHECK(s->last == wants[i].want))
			printf("# %s: got %g, want %g\n", wants[i].name, s->last, wants[i].want);
	}
	CHECK(find(got, "port_rtt_ms", port)->last > 0);
	CHECK(find(got, "port_rtt_ms", port)->last < 1000);
	CHECK(find(got, "port_rtt_min_ms", port)->last <= find(got, "port_rtt_max_ms", port)->last);
	CHECK(find(got, "port_congestion", port)->text != NULL);
}

static bool opens_sampler(const int *ports, size_t n_ports, const int *pids, size_t n_pids,
        struct arena *run, struct sampler **ret_sampler)
{
	static const struct watch_source *const all[] = { &connections_source };
	const struct watch_config config = { .root = "",
		.ports = ports,
		.n_ports = n_ports,
		.pids = pids,
		.n_pids = n_pids,
		.interval_ns = 500 * NS_PER_MS,
		.sources = all,
		.n_sources = 1 };
	struct err err;
	return CHECK(sampler_open(&config, run, ret_sampler, &err));
}

/* Clients that are accepted, with UNREAD bytes at the first; some that nobody accepts, some that
   close, the first of them after 100 bytes. */
static void the_connections_of_a_server_are_counted_exactly(int family)
{
	struct arena memory = { 0 }, *run = &memory;
	int port, clients[N_OPEN + N_UNACCEPTED + N_CLOSED], accepted[N_OPEN + N_CLOSED];
	static char bytes[UNREAD];
	int server = listen_on(family, &port), me = getpid();
	struct signal_system got;
	struct sampler *s;
	if (server < 0) {
		tap_skip("this machine has no such addresses");
		return;
	}
	/* Asked for by its port, and found as the port that this process listens on. */
	if (!opens_sampler(&port, family == AF_INET, &me, 1, run, &s))
		return;
	sampler_step(s, 1 * NS_PER_S);
	for (int i = 0; i < N_OPEN + N_CLOSED; i++) {
		clients[i] = connect_to(family, port);
		accepted[i] = accept4(server, NULL, NULL, SOCK_CLOEXEC);
		/* a word from the server is what it measures its round trip by */
		CHECK(write(accepted[i], "hello", 5) == 5);
	}
	CHECK(write(clients[0], bytes, UNREAD) == UNREAD);
	CHECK(write(clients[N_OPEN], bytes, 100) == 100);
	for (int i = 0; i < N_CLOSED; i++)
		shutdown(clients[N_OPEN + i], SHUT_WR);
	for (int i = 0; i < N_UNACCEPTED; i++)
		clients[N_OPEN + N_CLOSED + i] = connect_to(family, port);
	sampler_step(s, 2 * NS_PER_S);
	sampler_report(s, INT64_MIN, run, &got);
	check_values(&got, port);
	CHECK_NEAR(
	        find(&got, "port_opened_per_s", port)->delta, N_OPEN + N_CLOSED + N_UNACCEPTED, 0);
	CHECK_INT(find(&got, "port_opened_per_s", port)->state, SIGNAL_ESTIMATED);
	/* Of a client's end the kernel counts one more, as RFC 9293 gives it a sequence number. */
	CHECK_NEAR(find(&got, "port_received_bytes_per_s", port)->delta, UNREAD + 100, N_CLOSED);
	CHECK_NEAR(find(&got, "port_sent_bytes_per_s", port)->delta, 5.0 * (N_OPEN + N_CLOSED), 0);
	CHECK(recv(accepted[0], bytes, UNREAD, MSG_WAITALL) == UNREAD);
	sampler_step(s, 3 * NS_PER_S);
	sampler_report(s, INT64_MIN, run, &got);
	CHECK_NEAR(find(&got, "port_unread_bytes", port)->last, 100, 0);
	CHECK_INT(find(&got, "port_sent_bytes_per_s", port)->state, SIGNAL_MEASURED);
	CHECK_NEAR(find(&got, "port_opened_per_s", port)->last, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(clients); i++)
		close(clients[i]);
	for (size_t i = 0; i < ARRAY_LEN(accepted); i++)
		close(accepted[i]);
	close(server);
	sampler_step(s, 4 * NS_PER_S);
	sampler_report(s, INT64_MIN, run, &got);
	CHECK_NEAR(find(&got, "port_established", port)->last, 0, 0);
	CHECK_INT(find(&got, "port_sent_bytes_per_s", port)->state, SIGNAL_ESTIMATED);
	CHECK(isnan(find(&got, "port_rtt_ms", port)->last));
	CHECK(strstr(find(&got, "port_backlog", port)->reason, "no socket listens") != NULL);
	sampler_close(s);
	arena_release(run);
}

static void the_connections_of_a_server_are_counted_exactly_by_ipv4(void)
{
	the_connections_of_a_server_are_counted_exactly(AF_INET);
}

static void the_connections_of_a_process_are_counted_exactly_by_ipv6(void)
{
	the_connections_of_a_server_are_counted_exactly(AF_INET6);
}

/* A client that reads nothing: the server's bytes fill its window and then the server's buffer. */
static void a_client_that_does_not_read_is_what_limits_sending(void)
{
	struct arena memory = { 0 }, *run = &memory;
	int port, server = listen_on(AF_INET, &port);
	struct signal_system got;
	struct sampler *s;
	static char bytes[64 * 1024];
	if (!CHECK(server >= 0) || !opens_sampler(&port, 1, NULL, 0, run, &s))
		return;
	int client = connect_to(AF_INET, port),
	    accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	sampler_step(s, 1 * NS_PER_S);
	int64_t n_written = 0;
	ssize_t n;
	while ((n = send(accepted, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		n_written += n;
	clock_sleep_until(clock_now_ns() + 300 * NS_PER_MS);
	while ((n = send(accepted, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		n_written += n;
	sampler_step(s, 2 * NS_PER_S);
	sampler_report(s, INT64_MIN, run, &got);
	/* what the client has acknowledged lies in its buffer: the rest is the server's */
	double sent = find(&got, "port_sent_bytes_per_s", port)->delta;
	CHECK_NEAR(sent + find(&got, "port_unacked_bytes", port)->last, (double)n_written, 0);
	CHECK(find(&got, "port_unacked_bytes", port)->last > 0);
	CHECK(find(&got, "port_sending", port)->delta > 0.2);
	CHECK(find(&got, "port_rwnd_limited_ratio", port)->last +
	                find(&got, "port_sndbuf_limited_ratio", port)->last >
	        0.5);
	close(client);
	close(accepted);
	close(server);
	sampler_close(s);
	arena_release(run);
}

/* A child in a namespace of its own, where it listens; it ends when its pipe does. */
static void child_in_another_namespace(int from_parent, int to_parent)
{
	int port = 0;
	char byte = 0;
	if (unshare(CLONE_NEWNET) == 0) {
		int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
		if (ioctl(control, SIOCSIFFLAGS, &lo) == 0 && listen_on(AF_INET, &port) >= 0)
			connect_to(AF_INET, port);
	}
	if (write(to_parent, &port, sizeof(port)) == sizeof(port))
		byte += read(from_parent, &byte, 1) == 1;
	_exit(byte);
}

static void a_process_in_another_network_namespace_is_looked_at_there(void)
{
	struct arena memory = { 0 }, *run = &memory;
	int there[2], back[2], port = 0;
	struct signal_system got;
	struct sampler *s;
	if (!CHECK(pipe(there) == 0 && pipe(back) == 0))
		return;
	int pid = fork();
	if (pid == 0) {
		close(there[1]);
		child_in_another_namespace(there[0], back[1]);
	}
	close(there[0]);
	CHECK(read(back[0], &port, sizeof(port)) == sizeof(port));
	if (port == 0) {
		tap_skip("network namespaces cannot be made here");
	} else if (opens_sampler(NULL, 0, &pid, 1, run, &s)) {
		sampler_step(s, 1 * NS_PER_S);
		sampler_report(s, INT64_MIN, run, &got);
		CHECK_NEAR(find(&got, "port_listeners", port)->last, 1, 0);
		CHECK_NEAR(find(&got, "port_backlog", port)->last, 1, 0);
		sampler_close(s);
	}
	close(there[1]);
	waitpid(pid, NULL, 0);
	close(back[0]);
	close(back[1]);
	arena_release(run);
}

static void without_a_port_or_a_kernel_the_reason_is_told(void)
{
	struct arena memory = { 0 }, *run = &memory;
	static const struct watch_source *const all[] = { &connections_source };
	static const int port = 80;
	const struct watch_config configs[] = {
		{ .root = "", .interval_ns = NS_PER_S, .sources = all, .n_sources = 1 },
		{ .root = "/tree",
		        .ports = &port,
		        .n_ports = 1,
		        .interval_ns = NS_PER_S,
		        .sources = all,
		        .n_sources = 1 },
	};
	static const char *const wants[] = { "neither a port", "tree of files" };
	for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
		struct signal_system got;
		struct sampler *s;
		struct err err;
		if (!CHECK(sampler_open(&configs[i], run, &s, &err)))
			continue;
		sampler_report(s, INT64_MIN, run, &got);
		CHECK(got.n_signals > 20 && got.signals[0].state == SIGNAL_NOT_SUPPORTED);
		CHECK(strstr(got.signals[0].reason, wants[i]) != NULL);
		sampler_close(s);
	}
	arena_release(run);
}

int main(void)
{
	TAP_RUN(the_filter_lets_the_named_ports_pass_and_no_other);
	TAP_RUN(an_answer_that_is_none_is_refused);
	TAP_RUN(what_connections_count_is_summed_though_they_come_and_go);
	TAP_RUN(the_connections_of_a_server_are_counted_exactly_by_ipv4);
	TAP_RUN(the_connections_of_a_process_are_counted_exactly_by_ipv6);
	TAP_RUN(a_client_that_does_not_read_is_what_limits_sending);
	TAP_RUN(a_process_in_another_network_namespace_is_looked_at_there);
	TAP_RUN(without_a_port_or_a_kernel_the_reason_is_told);
	return tap_done();
}
