/*
 * connections.c - the TCP connections of the watched ports, from the kernel's list of sockets.
 *
 * Every look is a list of all sockets of these ports in all namespaces of the watched processes. A
 * look costs a walk over the kernel's table of connections, a millisecond where it has a quarter of
 * a million places, whatever few are taken: hence the period.
 */
#include "watch/sockets/flows.h"
#include "watch/sockets/listening.h"
#include "watch/sockets/netns.h"
#include "watch/sockets/sockdiag.h"
#include "watch/sources.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	PERIOD_MS = 500,
	ANSWER_BYTES = 64 * 1024, /* of one datagram: the kernel makes none larger than 32 KiB */
	CONGESTION_MAX = 4,       /* algorithms that are told */
	LOOK_FOR_PORTS_LOOKS =
	        10, /* looks between two tries to find a port that somebody listens on */
};

enum row {
	LISTENERS,
	ESTABLISHED,
	SYN_RECV,
	CLOSE_WAIT,
	TIME_WAIT,
	CLOSING,
	OPENED,
	BACKLOG,
	BACKLOG_LIMIT,
	BACKLOG_RATIO,
	BACKLOG_DROPPED,
	UNREAD,
	UNREAD_MAX,
	UNACKED,
	UNACKED_MAX,
	RTT,
	RTT_MAX,
	RTT_MIN,
	RTT_VAR,
	RETRANSMITS,
	LOST,
	SENT,
	RECEIVED,
	DELIVERY,
	SENDING,
	CWND_FULL,
	RWND_RATIO,
	SNDBUF_RATIO,
	CONGESTION,
	N_ROWS,
};

#define PORT_GAUGE(id, name_, unit_, from_, help_)                                                 \
	[id] = { .name = (name_),                                                                  \
		.unit = (unit_),                                                                   \
		.kind = WATCH_GAUGE,                                                               \
		.from = (from_),                                                                   \
		.help = (help_) }
#define PORT_SHARE(id, name_, from_, help_)                                                        \
	[id] = { .name = (name_),                                                                  \
		.unit = "ratio",                                                                   \
		.kind = WATCH_SHARE,                                                               \
		.from = (from_),                                                                   \
		.help = (help_) }
#define PORT_RATE(id, name_, unit_, scale_, bits_, from_, help_)                                   \
	[id] = { .name = (name_),                                                                  \
		.unit = (unit_),                                                                   \
		.kind = WATCH_RATE,                                                                \
		.scale = (scale_),                                                                 \
		.bits = (bits_),                                                                   \
		.from = (from_),                                                                   \
		.help = (help_) }

static const struct watch_row rows[] = {
	PORT_GAUGE(LISTENERS, "port_listeners", "1", "inet_diag, idiag_state",
	        N_("sockets that listen on the port")),
	PORT_GAUGE(ESTABLISHED, "port_established", "1", "inet_diag, idiag_state",
	        N_("open connections")),
	PORT_GAUGE(SYN_RECV, "port_syn_recv", "1", "inet_diag, idiag_state",
	        N_("connections whose handshake is not over")),
	PORT_GAUGE(CLOSE_WAIT, "port_close_wait", "1", "inet_diag, idiag_state",
	        N_("connections that the client has closed and the service has not")),
	PORT_GAUGE(TIME_WAIT, "port_time_wait", "1", "inet_diag, idiag_state",
	        N_("connections that the service closed first, remembered for a minute")),
	PORT_GAUGE(CLOSING, "port_closing", "1", "inet_diag, idiag_state",
	        N_("connections on their way to be closed")),
	PORT_RATE(OPENED, "port_opened_per_s", "1/s", 0, 0, "inet_diag, idiag_cookie",
	        N_("connections that were not there the look before")),
	PORT_GAUGE(BACKLOG, "port_backlog", "1", "inet_diag, idiag_rqueue of listeners",
	        N_("connections that the service has not accepted yet")),
	PORT_GAUGE(BACKLOG_LIMIT, "port_backlog_limit", "1", "inet_diag, idiag_wqueue of listeners",
	        N_("how many connections may wait to be accepted")),
	PORT_GAUGE(BACKLOG_RATIO, "port_backlog_ratio", "ratio",
	        "inet_diag, idiag_rqueue / idiag_wqueue",
	        N_("how full the fullest listener's queue is")),
	PORT_RATE(BACKLOG_DROPPED, "port_backlog_dropped_per_s", "1/s", 0, 32,
	        "inet_diag, SK_MEMINFO_DROPS of listeners",
	        N_("connections that were dropped since nobody accepted them")),
	PORT_GAUGE(UNREAD, "port_unread_bytes", "bytes", "inet_diag, idiag_rqueue",
	        N_("bytes that have come and that the service has not read")),
	PORT_GAUGE(UNREAD_MAX, "port_unread_max_bytes", "bytes", "inet_diag, idiag_rqueue",
	        N_("unread bytes of the connection with most of them")),
	PORT_GAUGE(UNACKED, "port_unacked_bytes", "bytes", "inet_diag, idiag_wqueue",
	        N_("bytes that the service has written and the client has not acknowledged")),
	PORT_GAUGE(UNACKED_MAX, "port_unacked_max_bytes", "bytes", "inet_diag, idiag_wqueue",
	        N_("unacknowledged bytes of the connection with most of them")),
	PORT_GAUGE(RTT, "port_rtt_ms", "ms", "inet_diag, tcpi_rtt",
	        N_("round trip time, smoothed by the kernel, mean of the open connections")),
	PORT_GAUGE(RTT_MAX, "port_rtt_max_ms", "ms", "inet_diag, tcpi_rtt",
	        N_("round trip time of the slowest open connection")),
	PORT_GAUGE(RTT_MIN, "port_rtt_min_ms", "ms", "inet_diag, tcpi_min_rtt",
	        N_("least round trip time that any open connection has seen")),
	PORT_GAUGE(RTT_VAR, "port_rtt_var_ms", "ms", "inet_diag, tcpi_rttvar",
	        N_("mean deviation of the round trip time, mean of the open connections")),
	PORT_RATE(RETRANSMITS, "port_retransmits_per_s", "1/s", 0, 0,
	        "inet_diag, tcpi_total_retrans", N_("segments sent again")),
	PORT_GAUGE(LOST, "port_lost", "1", "inet_diag, tcpi_lost",
	        N_("segments on the way that count as lost")),
	PORT_RATE(SENT, "port_sent_bytes_per_s", "bytes/s", 0, 0, "inet_diag, tcpi_bytes_acked",
	        N_("bytes that the clients acknowledged")),
	PORT_RATE(RECEIVED, "port_received_bytes_per_s", "bytes/s", 0, 0,
	        "inet_diag, tcpi_bytes_received", N_("bytes that came from the clients")),
	PORT_GAUGE(DELIVERY, "port_delivery_bytes_per_s", "bytes/s",
	        "inet_diag, tcpi_delivery_rate",
	        N_("how fast a connection delivers while it sends, mean of the open connections")),
	PORT_RATE(SENDING, "port_sending", "1", 1e-6, 0, "inet_diag, tcpi_busy_time",
	        N_("connections with data on the way, mean over time")),
	PORT_GAUGE(CWND_FULL, "port_cwnd_full", "1", "inet_diag, tcpi_unacked and tcpi_snd_cwnd",
	        N_("connections that may not send more until something is acknowledged")),
	PORT_SHARE(RWND_RATIO, "port_rwnd_limited_ratio",
	        "inet_diag, tcpi_rwnd_limited / tcpi_busy_time",
	        N_("share of the sending time in which the client had no room")),
	PORT_SHARE(SNDBUF_RATIO, "port_sndbuf_limited_ratio",
	        "inet_diag, tcpi_sndbuf_limited / tcpi_busy_time",
	        N_("share of the sending time in which the service's send buffer was full")),
	[CONGESTION] = { .name = "port_congestion",
	        .unit = "1",
	        .kind = WATCH_TEXT,
	        .from = "inet_diag, INET_DIAG_CONG",
	        .help = N_("congestion control of the open connections") },
};

/* A mean that is being made. */
struct mean {
	double n, sum, max;
};

/* What one look sees of a port. */
struct tally {
	double of_state[SOCKDIAG_CLOSING + 1];
	double backlog, backlog_limit, backlog_ratio;
	bool has_drops;
	uint64_t drops;
	struct mean unread, unacked, rtt, rtt_var, delivery;
	double rtt_min, lost, cwnd_full;
	char congestion[CONGESTION_MAX][16]; /* TCP_CA_NAME_MAX */
};

struct port {
	int number;
	struct channel *channels[N_ROWS];
	struct tally now;
	uint64_t grown[FLOW_N_COUNTS], opened; /* since the watch began */
};

struct connections {
	struct board *board;
	struct tasks tasks;
	int fds[NETNS_MAX];
	size_t n_fds, fd_at; /* the namespace at hand */
	uint32_t sequence;
	struct flows flows;
	bool too_many;
	struct port ports[SOCKDIAG_PORTS_MAX];
	int numbers[SOCKDIAG_PORTS_MAX];
	size_t n_ports;
	int64_t n_looks;
	uint8_t answer[ANSWER_BYTES];
};

static void watch_ports(struct connections *c, const int *numbers, size_t n)
{
	c->n_ports = n < SOCKDIAG_PORTS_MAX ? n : SOCKDIAG_PORTS_MAX;
	for (size_t i = 0; i < c->n_ports; i++) {
		struct port *p = &c->ports[i];
		char instance[16];
		p->number = c->numbers[i] = numbers[i];
		snprintf(instance, sizeof(instance), "%d", numbers[i]);
		for (int r = 0; r < N_ROWS; r++)
			p->channels[r] = board_channel(c->board, &rows[r], instance);
		channel_estimated(p->channels[OPENED],
		        _("connections that came and went between two samples are missing"));
	}
}

static void add_to(struct mean *m, double value)
{
	m->n++;
	m->sum += value;
	m->max = fmax(m->max, value);
}

static void note_congestion(struct tally *t, struct str name)
{
	for (int i = 0; i < CONGESTION_MAX && name.len > 0; i++) {
		char *known = t->congestion[i];
		if (!known[0])
			snprintf(known, sizeof(t->congestion[i]), "%.*s", STR_ARG(name));
		if (str_eq(str_of(known), name))
			return;
	}
}

static void tally_listener(struct tally *t, const struct sockdiag_socket *s)
{
	t->backlog += s->receive_queue;
	t->backlog_limit += s->send_queue;
	if (s->send_queue > 0)
		t->backlog_ratio = fmax(t->backlog_ratio, (double)s->receive_queue / s->send_queue);
	t->has_drops |= s->has_drops;
	t->drops += s->drops;
}

/* An end of the client that was not read yet is counted as a byte by the kernel. */
static double unread_bytes(const struct sockdiag_socket *s)
{
	bool ended = s->state == SOCKDIAG_CLOSE_WAIT && s->receive_queue > 0;
	return (double)s->receive_queue - ended;
}

static void tally_open(struct tally *t, const struct sockdiag_socket *s)
{
	const struct tcp_info *info = &s->info;
	add_to(&t->unread, unread_bytes(s));
	add_to(&t->unacked, s->send_queue);
	note_congestion(t, s->congestion);
	if (!SOCKDIAG_TOLD(s, tcpi_total_retrans))
		return;
	if (info->tcpi_rtt > 0) {
		add_to(&t->rtt, info->tcpi_rtt / 1e3);
		add_to(&t->rtt_var, info->tcpi_rttvar / 1e3);
	}
	/* Before anything was measured the least is the greatest number there is. */
	if (SOCKDIAG_TOLD(s, tcpi_min_rtt) && info->tcpi_min_rtt != UINT32_MAX)
		t->rtt_min = fmin(t->rtt_min, info->tcpi_min_rtt / 1e3);
	if (SOCKDIAG_TOLD(s, tcpi_delivery_rate) && info->tcpi_delivery_rate > 0)
		add_to(&t->delivery, (double)info->tcpi_delivery_rate);
	t->lost += info->tcpi_lost;
	t->cwnd_full += info->tcpi_unacked > 0 && info->tcpi_unacked >= info->tcpi_snd_cwnd;
}

/* What the connection counted since the look before goes to its port. */
static void count_growth(struct connections *c, struct port *p, const struct sockdiag_socket *s)
{
	const struct tcp_info *info = &s->info;
	const uint64_t counts[FLOW_N_COUNTS] = {
		[FLOW_RETRANSMITS] = info->tcpi_total_retrans,
		[FLOW_SENT] = info->tcpi_bytes_acked,
		[FLOW_RECEIVED] = info->tcpi_bytes_received,
		[FLOW_BUSY_US] = info->tcpi_busy_time,
		[FLOW_RWND_US] = info->tcpi_rwnd_limited,
		[FLOW_SNDBUF_US] = info->tcpi_sndbuf_limited,
	};
	uint64_t growth[FLOW_N_COUNTS];
	/* Cookies are counted from 1 in each namespace. */
	uint64_t key = s->cookie ^ (uint64_t)c->fd_at << 56;
	enum flow_news news = flows_add(&c->flows, key, counts, growth);
	c->too_many |= news == FLOW_TOO_MANY;
	p->opened += news == FLOW_NEW;
	for (int i = 0; i < FLOW_N_COUNTS; i++)
		p->grown[i] += growth[i];
}

static bool is_connection(int state)
{
	return state != SOCKDIAG_LISTEN && state != SOCKDIAG_SYN_RECV &&
	       state != SOCKDIAG_SYN_SENT && state != SOCKDIAG_TIME_WAIT && state != SOCKDIAG_CLOSE;
}

static void on_socket(void *ctx, const struct sockdiag_socket *s)
{
	struct connections *c = ctx;
	size_t i = 0;
	while (i < c->n_ports && c->numbers[i] != s->port)
		i++;
	if (i == c->n_ports || s->state < SOCKDIAG_ESTABLISHED || s->state > SOCKDIAG_CLOSING)
		return;
	struct port *p = &c->ports[i];
	p->now.of_state[s->state]++;
	if (s->state == SOCKDIAG_LISTEN)
		tally_listener(&p->now, s);
	if (s->state == SOCKDIAG_ESTABLISHED || s->state == SOCKDIAG_CLOSE_WAIT)
		tally_open(&p->now, s);
	/* Before it was accepted a connection may have no cookie. */
	if (is_connection(s->state) && s->cookie && s->info_bytes > 0)
		count_growth(c, p, s);
}

/* One list of one namespace; false: errno says why. */
static bool list_sockets(struct connections *c, int fd, const int *ports, size_t n_ports,
        uint32_t states, void (*on)(void *ctx, const struct sockdiag_socket *s), void *ctx)
{
	uint8_t request[SOCKDIAG_REQUEST_MAX];
	size_t len = sockdiag_request(ports, n_ports, states, ++c->sequence, request);
	enum sockdiag_end end = SOCKDIAG_MORE;
	if (send(fd, request, len, 0) < 0)
		return false;
	while (end == SOCKDIAG_MORE) {
		ssize_t n = recv(fd, c->answer, sizeof(c->answer), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		errno = EPROTO;
		end = sockdiag_read(c->answer, (size_t)n, c->sequence, on, ctx, &errno);
	}
	return end == SOCKDIAG_DONE;
}

static void all_absent(struct connections *c, const char *reason)
{
	for (size_t i = 0; i < c->n_ports; i++)
		for (int r = 0; r < N_ROWS; r++)
			channel_absent(c->ports[i].channels[r], SIGNAL_NOT_COUNTED, reason);
}

static void tell_mean(const struct port *p, enum row row, enum row row_max, const struct mean *m,
        const char *none)
{
	if (m->n > 0)
		channel_value(p->channels[row], m->sum / m->n);
	else
		channel_absent(p->channels[row], SIGNAL_NOT_COUNTED, none);
	if (row_max == row)
		return;
	if (m->n > 0)
		channel_value(p->channels[row_max], m->max);
	else
		channel_absent(p->channels[row_max], SIGNAL_NOT_COUNTED, none);
}

static void tell_states(const struct port *p)
{
	const double *n = p->now.of_state;
	channel_value(p->channels[LISTENERS], n[SOCKDIAG_LISTEN]);
	channel_value(p->channels[ESTABLISHED], n[SOCKDIAG_ESTABLISHED]);
	channel_value(p->channels[SYN_RECV], n[SOCKDIAG_SYN_RECV]);
	channel_value(p->channels[CLOSE_WAIT], n[SOCKDIAG_CLOSE_WAIT]);
	channel_value(p->channels[TIME_WAIT], n[SOCKDIAG_TIME_WAIT]);
	channel_value(p->channels[CLOSING], n[SOCKDIAG_FIN_WAIT1] + n[SOCKDIAG_FIN_WAIT2] +
	                                            n[SOCKDIAG_LAST_ACK] + n[SOCKDIAG_CLOSING]);
}

static void tell_listeners(const struct port *p)
{
	static const enum row of_listeners[] = { BACKLOG, BACKLOG_LIMIT, BACKLOG_RATIO,
		BACKLOG_DROPPED };
	const struct tally *t = &p->now;
	if (t->of_state[SOCKDIAG_LISTEN] > 0) {
		channel_value(p->channels[BACKLOG], t->backlog);
		channel_value(p->channels[BACKLOG_LIMIT], t->backlog_limit);
		channel_value(p->channels[BACKLOG_RATIO], t->backlog_ratio);
		if (t->has_drops)
			channel_total(p->channels[BACKLOG_DROPPED], t->drops);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(of_listeners); i++)
		channel_absent(p->channels[of_listeners[i]], SIGNAL_NOT_COUNTED,
		        _("no socket listens on the port"));
}

static void tell_open(const struct port *p)
{
	const struct tally *t = &p->now;
	const char *none = _("no connection was open");
	const char *silent = _("no open connection has sent anything");
	channel_value(p->channels[UNREAD], t->unread.sum);
	channel_value(p->channels[UNREAD_MAX], t->unread.max);
	channel_value(p->channels[UNACKED], t->unacked.sum);
	channel_value(p->channels[UNACKED_MAX], t->unacked.max);
	channel_value(p->channels[LOST], t->lost);
	channel_value(p->channels[CWND_FULL], t->cwnd_full);
	const char *why = t->unread.n > 0 ? silent : none;
	tell_mean(p, RTT, RTT_MAX, &t->rtt, why);
	tell_mean(p, RTT_VAR, RTT_VAR, &t->rtt_var, why);
	tell_mean(p, DELIVERY, DELIVERY, &t->delivery, why);
	if (isfinite(t->rtt_min))
		channel_value(p->channels[RTT_MIN], t->rtt_min);
	else
		channel_absent(p->channels[RTT_MIN], SIGNAL_NOT_COUNTED, why);
	AUTO(auto_buf) struct buf names = { 0 };
	for (int i = 0; i < CONGESTION_MAX && t->congestion[i][0]; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", t->congestion[i]);
	if (names.len > 0)
		channel_text(p->channels[CONGESTION], buf_str(&names));
	else
		channel_absent(p->channels[CONGESTION], SIGNAL_NOT_COUNTED, none);
}

static void tell_growth(const struct port *p)
{
	channel_total(p->channels[OPENED], p->opened);
	channel_total(p->channels[RETRANSMITS], p->grown[FLOW_RETRANSMITS]);
	channel_total(p->channels[SENT], p->grown[FLOW_SENT]);
	channel_total(p->channels[RECEIVED], p->grown[FLOW_RECEIVED]);
	channel_total(p->channels[SENDING], p->grown[FLOW_BUSY_US]);
	channel_share(p->channels[RWND_RATIO], p->grown[FLOW_RWND_US], p->grown[FLOW_BUSY_US]);
	channel_share(p->channels[SNDBUF_RATIO], p->grown[FLOW_SNDBUF_US], p->grown[FLOW_BUSY_US]);
}

/* Of connections that end the last counts are not seen, and of those that are short none. */
static void tell_reservations(struct connections *c)
{
	static const enum row summed[] = { RETRANSMITS, SENT, RECEIVED, SENDING, RWND_RATIO,
		SNDBUF_RATIO };
	const char *reason = NULL;
	if (c->too_many)
		reason = _("there are more connections than are followed one by one");
	else if (flows_n_ended(&c->flows) > 0)
		reason = _("what connections did between the last look at them and their end is "
		           "missing");
	for (size_t i = 0; reason && i < c->n_ports; i++)
		for (size_t r = 0; r < ARRAY_LEN(summed); r++)
			channel_estimated(c->ports[i].channels[summed[r]], reason);
}

/* Ports that the watched processes listen on; none may be known before the service is up. */
static void find_ports(struct connections *c)
{
	struct listening l;
	tasks_scan(&c->tasks);
	listening_inodes(&c->tasks, &l);
	for (c->fd_at = 0; c->fd_at < c->n_fds; c->fd_at++)
		if (!list_sockets(c, c->fds[c->fd_at], NULL, 0, 1 << SOCKDIAG_LISTEN,
		            listening_on_socket, &l))
			break;
	watch_ports(c, l.ports, l.n_ports);
	listening_release(&l);
	if (c->n_ports == 0)
		board_absent(c->board, rows, N_ROWS, SIGNAL_NOT_COUNTED,
		        _("no port was named, and the watched processes listen on none"));
}

static void connections_sample(void *self, int64_t now_ns)
{
	struct connections *c = self;
	(void)now_ns;
	if (c->n_ports == 0 && c->n_looks++ % LOOK_FOR_PORTS_LOOKS == 0)
		find_ports(c);
	if (c->n_ports == 0)
		return;
	for (size_t i = 0; i < c->n_ports; i++)
		c->ports[i].now = (struct tally){ .rtt_min = INFINITY };
	flows_look(&c->flows);
	for (c->fd_at = 0; c->fd_at < c->n_fds; c->fd_at++) {
		if (list_sockets(c, c->fds[c->fd_at], c->numbers, c->n_ports, SOCKDIAG_ALL,
		            on_socket, c))
			continue;
		all_absent(c, strerror(errno));
		/* What was not seen in this look is not new in the next. */
		flows_release(&c->flows);
		return;
	}
	for (size_t i = 0; i < c->n_ports; i++) {
		tell_states(&c->ports[i]);
		tell_listeners(&c->ports[i]);
		tell_open(&c->ports[i]);
		tell_growth(&c->ports[i]);
	}
	tell_reservations(c);
}

static bool connections_open(const struct watch_config *config, struct board *board,
        struct arena *run, void **ret_self, struct err *err)
{
	if (config->root[0])
		return err_set(err, ERR_SYSTEM,
		        _("connections are asked of the kernel that runs, and a tree of files has "
		          "none"));
	if (config->n_ports == 0 && config->n_pids == 0)
		return err_set(err, ERR_SYSTEM, _("neither a port nor a process was named"));
	struct connections *c = arena_new(run, struct connections);
	c->board = board;
	tasks_init(&c->tasks, config, run);
	if (!netns_open(config->pids, config->n_pids, c->fds, &c->n_fds, err))
		return false;
	watch_ports(c, config->ports, config->n_ports);
	*ret_self = c;
	return true;
}

static void connections_close(void *self)
{
	struct connections *c = self;
	for (size_t i = 0; i < c->n_fds; i++)
		close(c->fds[i]);
	flows_release(&c->flows);
}

const struct watch_source connections_source = {
	.name = "connections",
	.rows = rows,
	.n_rows = N_ROWS,
	.period_ns = PERIOD_MS * NS_PER_MS,
	.open = connections_open,
	.sample = connections_sample,
	.close = connections_close,
};
