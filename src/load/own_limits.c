#include "load/own_limits.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>

static const char ports_path[] = "/proc/sys/net/ipv4/ip_local_port_range";
static const char reuse_path[] = "/proc/sys/net/ipv4/tcp_tw_reuse";
static const char sockets_path[] = "/proc/net/sockstat";

/* Descriptors for all but the connections: standard streams, loops, files of the system. */
enum { FILES_BESIDES = 32, PROC_TEXT = 4096 };

/* Source: TCP_TIMEWAIT_LEN of Linux. */
static const double rest_s = 60;

/* A small file of the system, whole or its beginning; empty when it cannot be read. */
static struct str read_text(const char *path, char text[PROC_TEXT])
{
	AUTO(auto_file) FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, PROC_TEXT - 1, f) : 0;
	text[n] = '\0';
	return (struct str){ text, n };
}

bool own_limits_parse_ports(struct str text, int64_t *ret_first, int64_t *ret_last)
{
	struct str rest;
	int64_t first, last;
	text = str_trim(text);
	size_t i = 0;
	while (i < text.len && text.s[i] != ' ' && text.s[i] != '\t')
		i++;
	rest = str_trim((struct str){ text.s + i, text.len - i });
	if (!str_to_i64((struct str){ text.s, i }, &first) || !str_to_i64(rest, &last) ||
	        first < 1 || last < first || last > UINT16_MAX)
		return false;
	*ret_first = first;
	*ret_last = last;
	return true;
}

static int64_t raise_files(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return INT64_MAX;
	if (limit.rlim_cur < limit.rlim_max) {
		struct rlimit raised = { .rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max };
		if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
			limit = raised;
	}
	return limit.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur;
}

static bool is_loopback(const struct conn_target *target)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&target->address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&target->address;
	if (target->family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

struct own_limits own_limits_read(const struct conn_target *target)
{
	struct own_limits limits = { .files = raise_files() };
	char text[PROC_TEXT];
	int64_t reuse;
	if (target->family == AF_UNIX || !own_limits_parse_ports(read_text(ports_path, text),
	                                         &limits.port_first, &limits.port_last))
		return limits;
	/* 1: reused after a second for every address, 2: for those of loopback. */
	limits.ports_rest = !str_to_i64(str_trim(read_text(reuse_path, text)), &reuse) ||
	                    reuse == 0 || (reuse == 2 && !is_loopback(target));
	return limits;
}

static bool files_allow(const struct own_limits *limits, int64_t connections, struct err *err)
{
	if (connections <= limits->files - FILES_BESIDES)
		return true;
	err_set(err, ERR_SYSTEM, _("%lld connections need more open files than the limit of %lld"),
	        (long long)connections, (long long)limits->files);
	return err_hint(
	        err, _("raise it with 'ulimit -n' or lower '--concurrency' or '--max-in-flight'"));
}

/* Ports that are taken at once: by open connections, and by those that rest after they closed. */
static double ports_needed(
        const struct own_limits *limits, const struct load_shape *shape, int64_t connections)
{
	if (!shape->new_connections || !limits->ports_rest || shape->rate_per_s <= 0)
		return (double)connections;
	double sent =
	        shape->duration_ns > 0
	                ? shape->rate_per_s * fmin((double)shape->duration_ns / NS_PER_S, rest_s)
	                : fmin((double)shape->requests, shape->rate_per_s * rest_s);
	return fmax(sent, (double)connections);
}

bool own_limits_allow(const struct own_limits *limits, const struct load_shape *shape,
        int n_targets, struct err *err)
{
	int64_t connections = shape->rate_per_s > 0 ? shape->max_in_flight : shape->concurrency;
	int64_t ports = limits->port_last - limits->port_first + 1;
	double needed = ports_needed(limits, shape, connections);
	if (!files_allow(limits, connections * n_targets, err))
		return false;
	if (limits->port_first == 0 || needed <= (double)ports)
		return true;
	err_set(err, ERR_SYSTEM,
	        _("%.0f connections need more ports than the %lld of this machine (%lld to %lld)"),
	        needed, (long long)ports, (long long)limits->port_first,
	        (long long)limits->port_last);
	return err_hint(err, _("widen 'net.ipv4.ip_local_port_range' with sysctl, or lower "
	                       "'--concurrency', '--max-in-flight' or '--rate'"));
}

/* Closed connections whose ports still rest; -1 when the kernel does not say. */
static int64_t resting_ports(void)
{
	char text[PROC_TEXT];
	struct str all = read_text(sockets_path, text), rest;
	ptrdiff_t at = str_find(all, STR("TCP: "));
	int64_t n = -1;
	if (at < 0)
		return -1;
	struct str line = str_cut((struct str){ all.s + at, all.len - (size_t)at }, '\n', &rest);
	at = str_find(line, STR(" tw "));
	if (at < 0)
		return -1;
	struct str number = { line.s + at + 4, line.len - (size_t)at - 4 };
	return str_to_i64(str_cut(number, ' ', &rest), &n) ? n : -1;
}

static void explain_files(char *out, size_t size)
{
	struct rlimit limit = { 0 };
	getrlimit(RLIMIT_NOFILE, &limit);
	snprintf(out, size,
	        _("the client has no open file left for another connection (limit %lld): raise it "
	          "with 'ulimit -n'"),
	        (long long)limit.rlim_cur);
}

static void explain_ports(char *out, size_t size)
{
	char text[PROC_TEXT];
	int64_t first = 0, last = 0, resting = resting_ports();
	own_limits_parse_ports(read_text(ports_path, text), &first, &last);
	if (resting > 0)
		snprintf(out, size,
		        _("the client has no port left for another connection (%lld to %lld; "
		          "closed "
		          "connections hold %lld in TIME_WAIT)"),
		        (long long)first, (long long)last, (long long)resting);
	else
		snprintf(out, size,
		        _("the client has no port left for another connection (%lld to %lld)"),
		        (long long)first, (long long)last);
}

bool own_limits_explain(int error, char *out, size_t size)
{
	switch (error) {
	case EMFILE:
		explain_files(out, size);
		return true;
	case EADDRNOTAVAIL:
		explain_ports(out, size);
		return true;
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		snprintf(out, size,
		        _("the client's machine has no room for another connection: %s"),
		        strerror(error));
		return true;
	default:
		return false;
	}
}
