/*
 * sse_server.c - a service of chat streams whose true times are known: all streams get their next
 * event in the same tick, as the slots of one decode step do, at absolute moments.
 *
 *	sse_server PORT TOKENS TICK_US FIRST_US LOG
 *
 * A request gets its first token at the first tick that is FIRST_US after its arrival, then one a
 * tick, TOKENS in all, then the end of the stream; each event is one chunk and one write of about
 * 210 bytes. At SIGTERM the log gets a line for each complete answer: the moment when the request
 * arrived, by the kernel's receive stamp, and the moment right before each token was written, all
 * in ns of CLOCK_MONOTONIC. What a client reports can be held against these.
 *
 * It is for benchmarks: it trusts its one client, and a socket that is full ends it.
 */
#include "chunks.h"

#include "base/clock.h"

#include <errno.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STREAMS_MAX = 4096, REQUEST_MAX = 64 * 1024, EVENTS = 256, TOKENS_MAX = 1 << 20 };

/* One connection and the request on it. */
struct stream {
	int fd;
	char request[REQUEST_MAX];
	size_t n_request;
	int64_t arrival_ns;
	int64_t *times; /* [n_tokens] of the answer under way; NULL: none */
	int64_t n_sent;
};

struct answer_log {
	int64_t arrival_ns;
	int64_t *times;
};

struct server {
	int epoll_fd, listen_fd;
	int64_t n_tokens, tick_ns, first_ns;
	struct buf *events; /* [n_tokens + 1], each a chunk; the last one is the end */
	struct stream *streams[STREAMS_MAX];
	int64_t n_streams;
	struct answer_log *log;
	int64_t n_log;
};

static const struct str head = STR_INIT("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; "
                                        "charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n");

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void add_chunk(struct buf *out, struct str body)
{
	buf_printf(out, "%zx\r\n", body.len);
	buf_add(out, body);
	buf_add(out, STR("\r\n"));
}

static void write_events(struct server *s)
{
	struct buf body = { 0 };
	s->events = mem_realloc(NULL, (size_t)(s->n_tokens + 1) * sizeof(*s->events));
	memset(s->events, 0, (size_t)(s->n_tokens + 1) * sizeof(*s->events));
	for (int64_t i = 0; i <= s->n_tokens; i++) {
		buf_clear(&body);
		if (i == 0)
			buf_add(&s->events[0], head);
		if (i < s->n_tokens)
			chunks_token(&body, CHUNKS_VLLM, 1, i);
		else
			chunks_end(&body, CHUNKS_VLLM, 1, s->n_tokens);
		add_chunk(&s->events[i], buf_str(&body));
	}
	buf_add(&s->events[s->n_tokens], STR("0\r\n\r\n"));
	buf_release(&body);
}

static void watch(const struct server *s, int fd, void *ptr)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = ptr };
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		die("epoll_ctl");
}

static void open_server(struct server *s, int port)
{
	int on = 1;
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(s->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(s->listen_fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	        listen(s->listen_fd, STREAMS_MAX) != 0)
		die("listen");
	watch(s, s->listen_fd, NULL);
}

static void accept_all(struct server *s)
{
	int fd, on = 1, stamps = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	while ((fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		if (s->n_streams == STREAMS_MAX)
			die("too many streams");
		struct stream *stream = mem_realloc(NULL, sizeof(*stream));
		*stream = (struct stream){ .fd = fd };
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof(stamps));
		s->streams[s->n_streams++] = stream;
		watch(s, fd, stream);
	}
}

/* On the monotonic clock. */
static int64_t stamp_of(struct msghdr *message)
{
	int64_t offset = clock_read_ns(CLOCK_REALTIME) - clock_now_ns();
	for (struct cmsghdr *m = CMSG_FIRSTHDR(message); m; m = CMSG_NXTHDR(message, m)) {
		struct timespec ts;
		if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_TIMESTAMPING)
			continue;
		memcpy(&ts, CMSG_DATA(m), sizeof(ts));
		return clock_of_timespec(ts) - offset;
	}
	return clock_now_ns();
}

static bool is_complete(const struct stream *stream)
{
	static const char name[] = "content-length:";
	const char *end = strstr(stream->request, "\r\n\r\n");
	const char *length = strcasestr(stream->request, name);
	if (!end || !length)
		return false;
	size_t body = strtoul(length + strlen(name), NULL, 10);
	return stream->n_request >= (size_t)(end + 4 - stream->request) + body;
}

static void close_stream(struct server *s, struct stream *stream)
{
	for (int64_t i = 0; i < s->n_streams; i++)
		if (s->streams[i] == stream)
			s->streams[i] = s->streams[--s->n_streams];
	close(stream->fd);
	free(stream->times);
	free(stream);
}

static void read_request(struct server *s, struct stream *stream)
{
	char control[256];
	struct iovec iov = { .iov_base = stream->request + stream->n_request,
		.iov_len = REQUEST_MAX - 1 - stream->n_request };
	struct msghdr message = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(stream->fd, &message, 0);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		close_stream(s, stream);
		return;
	}
	stream->n_request += (size_t)n;
	stream->request[stream->n_request] = '\0';
	if (!is_complete(stream))
		return;
	stream->n_request = 0;
	stream->arrival_ns = stamp_of(&message);
	stream->times = mem_realloc(NULL, (size_t)s->n_tokens * sizeof(*stream->times));
	stream->n_sent = 0;
}

static void finish(struct server *s, struct stream *stream)
{
	if ((s->n_log & (s->n_log - 1)) == 0)
		s->log = mem_realloc(
		        s->log, (size_t)(s->n_log ? 2 * s->n_log : 1) * sizeof(*s->log));
	s->log[s->n_log++] =
	        (struct answer_log){ .arrival_ns = stream->arrival_ns, .times = stream->times };
	stream->times = NULL;
}

static void send_events(struct server *s, int64_t tick_ns)
{
	for (int64_t i = 0; i < s->n_streams; i++) {
		struct stream *stream = s->streams[i];
		if (!stream->times || tick_ns - stream->arrival_ns < s->first_ns)
			continue;
		const struct buf *event = &s->events[stream->n_sent];
		if (stream->n_sent < s->n_tokens)
			stream->times[stream->n_sent] = clock_now_ns();
		if (send(stream->fd, event->s, event->len, MSG_NOSIGNAL) != (ssize_t)event->len)
			die("send");
		if (stream->n_sent++ == s->n_tokens)
			finish(s, stream);
	}
}

static void serve(struct server *s)
{
	struct epoll_event events[EVENTS];
	int64_t tick = clock_now_ns() + s->tick_ns;
	while (!stopped) {
		int64_t left = tick - clock_now_ns();
		if (left <= 0) {
			send_events(s, tick);
			tick += s->tick_ns;
			continue;
		}
		struct timespec wait = clock_to_timespec(left);
		int n = epoll_pwait2(s->epoll_fd, events, EVENTS, &wait, NULL);
		for (int i = 0; i < n; i++)
			if (events[i].data.ptr)
				read_request(s, events[i].data.ptr);
			else
				accept_all(s);
	}
}

static void write_log(const struct server *s, const char *path)
{
	FILE *f = fopen(path, "we");
	if (!f)
		die(path);
	for (int64_t i = 0; i < s->n_log; i++) {
		fprintf(f, "%lld", (long long)s->log[i].arrival_ns);
		for (int64_t k = 0; k < s->n_tokens; k++)
			fprintf(f, " %lld", (long long)s->log[i].times[k]);
		fputc('\n', f);
	}
	if (fclose(f) != 0)
		die(path);
}

int main(int argc, char **argv)
{
	static struct server s;
	struct sigaction action = { .sa_handler = stop };
	if (argc != 6)
		return 2;
	s.n_tokens = atoll(argv[2]);
	s.tick_ns = atoll(argv[3]) * NS_PER_US;
	s.first_ns = atoll(argv[4]) * NS_PER_US;
	if (s.n_tokens < 1 || s.n_tokens > TOKENS_MAX || s.tick_ns < 1)
		return 2;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	prctl(PR_SET_TIMERSLACK, 1UL);
	write_events(&s);
	open_server(&s, atoi(argv[1]));
	serve(&s);
	write_log(&s, argv[5]);
	return 0;
}
