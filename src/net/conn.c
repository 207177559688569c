#include "net/conn.h"

#include "base/clock.h"
#include "base/i18n.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/net_tstamp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

const char *conn_tls_error(char *out, size_t size)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;
	snprintf(out, size, "%s", reason ? reason : "connection closed during the handshake");
	ERR_clear_error();
	return out;
}

static bool set_up_tls(struct conn_target *target, bool insecure, struct err *err)
{
	char text[256];
	target->tls = SSL_CTX_new(TLS_client_method());
	if (!target->tls)
		return err_set(err, ERR_SYSTEM, _("cannot set up TLS: %s"),
			conn_tls_error(text, sizeof(text)));
	SSL_CTX_set_min_proto_version(target->tls, TLS1_2_VERSION);
	SSL_CTX_set_mode(target->tls,
		SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_options(target->tls, SSL_OP_IGNORE_UNEXPECTED_EOF);
	if (!insecure) {
		SSL_CTX_set_verify(target->tls, SSL_VERIFY_PEER, NULL);
		SSL_CTX_set_default_verify_paths(target->tls);
	}
	return true;
}

/* Connects once, blocking with a deadline, so that a bad address is found before the run. */
static bool try_target(const struct conn_target *target, int64_t deadline_ns, struct conn *c,
	enum conn_result *ret_result, struct err *err)
{
	struct conn_options options = { 0 };
	if (!conn_start(c, target, options, err))
		return false;
	while ((*ret_result = conn_advance(c)) == CONN_AGAIN) {
		bool reading = c->ssl && SSL_want_read(c->ssl);
		struct pollfd p = { .fd = c->fd, .events = reading ? POLLIN : POLLOUT };
		int64_t left = deadline_ns - clock_now_ns();
		if (left <= 0 || poll(&p, 1, (int)(left / NS_PER_MS) + 1) == 0) {
			errno = ETIMEDOUT;
			*ret_result = CONN_FAILED;
			return true;
		}
	}
	return true;
}

/* verify: why the certificate was not accepted, X509_V_OK where it was not the certificate. */
static bool tls_failed(const struct url *url, long verify, struct err *err)
{
	char text[256];
	conn_tls_error(text, sizeof(text));
	err_set(err, ERR_SYSTEM, _("no TLS connection with '%s': %s"), url->authority, text);
	if (verify != X509_V_OK)
		err_set(err, ERR_SYSTEM, _("the certificate of '%s' is not accepted: %s"),
			url->authority, X509_verify_cert_error_string(verify));
	if (strstr(text, "wrong version") || strstr(text, "packet length too long"))
		return err_hint(err, _("the port seems to speak plain HTTP: try 'http://%s%s'"),
			url->authority, url->path);
	if (verify != X509_V_OK)
		return err_hint(err, _("'--insecure' skips the check of the certificate"));
	return false;
}

/* Where an attempt to connect has come to. */
struct attempt {
	enum conn_result result;
	int error;   /* errno of CONN_FAILED */
	long verify; /* of the certificate */
	bool shaking_hands; /* it was connected, and waited for the other side's TLS */
};

/* Who answers a handshake by closing, with or without a word that came too late to be read. */
static bool hung_up(const struct url *url, const char *why, struct err *err)
{
	err_set(err, ERR_SYSTEM, _("no TLS connection with '%s': %s"), url->authority, why);
	return err_hint(err, _("the port seems to speak plain HTTP: try 'http://%s%s'"),
		url->authority, url->path);
}

static bool try_address(struct conn_target *target, const struct sockaddr *address, socklen_t len,
	int64_t deadline_ns, struct attempt *a, struct err *err)
{
	struct conn c = { .fd = -1 };
	a->result = CONN_FAILED;
	memcpy(&target->address, address, len);
	target->address_len = len;
	target->family = address->sa_family;
	bool ok = try_target(target, deadline_ns, &c, &a->result, err);
	a->error = errno;
	a->shaking_hands = c.state == CONN_HANDSHAKE;
	a->verify = c.ssl ? SSL_get_verify_result(c.ssl) : X509_V_OK;
	conn_close(&c);
	return ok;
}

static bool try_host(struct conn_target *target, const struct url *url, int64_t deadline_ns,
	struct attempt *a, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	char port[16];
	snprintf(port, sizeof(port), "%d", url->port);
	int code = getaddrinfo(url->host, port, &hints, &list);
	if (code != 0)
		return err_set(err, ERR_SYSTEM, _("cannot resolve host '%s': %s"), url->host,
			code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
	bool ok = true;
	for (struct addrinfo *i = list; i && a->result != CONN_OK; i = i->ai_next)
		ok = try_address(target, i->ai_addr, i->ai_addrlen, deadline_ns, a, err);
	freeaddrinfo(list);
	return ok;
}

static bool try_socket(struct conn_target *target, const char *path, int64_t deadline_ns,
	struct attempt *a, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t n = strlen(path);
	if (n == 0 || n >= sizeof(address.sun_path))
		return err_set(err, ERR_USAGE, _("'%s' is no path for a Unix socket: 1 to %zu bytes"),
			path, sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, n);
	return try_address(target, (const struct sockaddr *)&address, sizeof(address), deadline_ns,
		a, err);
}

bool conn_target_open(const struct url *url, bool insecure, int64_t timeout_ns, struct arena *run,
	struct conn_target *ret_target, struct err *err)
{
	const char *name = url->unix_socket ? url->unix_socket : url->authority;
	struct conn_target target = {
		.host = arena_strdup(run, url->host),
		.unix_socket = url->unix_socket,
	};
	struct attempt a = { .result = CONN_FAILED };
	int64_t deadline = clock_now_ns() + timeout_ns;
	bool ok = !url->tls || set_up_tls(&target, insecure, err);
	if (ok && url->unix_socket)
		ok = try_socket(&target, url->unix_socket, deadline, &a, err);
	else if (ok)
		ok = try_host(&target, url, deadline, &a, err);
	if (ok && a.result == CONN_FAILED_TLS)
		ok = tls_failed(url, insecure ? X509_V_OK : a.verify, err);
	const char *why =
		a.result == CONN_END ? _("the connection was closed") : strerror(a.error);
	bool closed = a.result == CONN_END || (a.result == CONN_FAILED && a.error == ECONNRESET);
	if (ok && closed && a.shaking_hands)
		ok = hung_up(url, why, err);
	else if (ok && a.result != CONN_OK)
		ok = err_set(err, ERR_SYSTEM, _("cannot connect to '%s': %s"), name, why);
	if (!ok) {
		conn_target_close(&target);
		return false;
	}
	*ret_target = target;
	return true;
}

void conn_target_close(struct conn_target *target)
{
	SSL_CTX_free(target->tls);
	target->tls = NULL;
}

static bool start_tls(struct conn *c, const struct conn_target *target)
{
	c->ssl = SSL_new(target->tls);
	if (!c->ssl || !SSL_set_fd(c->ssl, c->fd))
		return false;
	SSL_set_connect_state(c->ssl);
	SSL_set_tlsext_host_name(c->ssl, target->host);
	/* An address in place of a name is checked against the certificate's addresses. */
	if (!X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(c->ssl), target->host))
		SSL_set1_host(c->ssl, target->host);
	ERR_clear_error();
	return true;
}

static bool open_socket(struct conn *c, const struct conn_target *target, struct err *err)
{
	int on = 1;
	c->fd = socket(target->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0) {
		c->error = errno;
		err_set(err, ERR_SYSTEM, _("cannot open a socket: %s"), strerror(c->error));
		if (c->error == EMFILE)
			err_hint(err, _("raise the limit of open files with 'ulimit -n'"));
		c->state = CONN_CLOSED;
		return false;
	}
	if (target->family == AF_UNIX)
		return true;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (c->options.timestamps && !target->tls) {
		int flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
		setsockopt(c->fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags));
	}
	return true;
}

static bool is_connecting(int fd, const struct conn_target *target)
{
	const struct sockaddr *address = (const struct sockaddr *)&target->address;
	if (connect(fd, address, target->address_len) == 0 || errno == EINPROGRESS)
		return true;
	if (target->family != AF_UNIX || errno != EAGAIN)
		return false;
	const struct timeval wait = { .tv_sec = CONN_UNIX_WAIT_MS / 1000,
		.tv_usec = CONN_UNIX_WAIT_MS % 1000 * 1000L };
	int flags = fcntl(fd, F_GETFL);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	bool connected = connect(fd, address, target->address_len) == 0;
	int saved = errno;
	fcntl(fd, F_SETFL, flags);
	errno = saved;
	return connected;
}

bool conn_start(struct conn *c, const struct conn_target *target, struct conn_options options,
	struct err *err)
{
	*c = (struct conn){ .options = options, .state = CONN_CONNECTING };
	if (!open_socket(c, target, err))
		return false;
	if (target->tls && !start_tls(c, target)) {
		conn_close(c);
		return err_set(err, ERR_SYSTEM, _("cannot set up TLS for '%s'"), target->host);
	}
	if (is_connecting(c->fd, target))
		return true;
	int error = errno;
	err_set(err, ERR_SYSTEM, _("cannot connect to '%s': %s"),
		target->unix_socket ? target->unix_socket : target->host, strerror(error));
	conn_close(c);
	c->error = error;
	return false;
}

/* What a failed SSL call means: wait, the end, or an error. */
static enum conn_result tls_result(struct conn *c, int code)
{
	switch (SSL_get_error(c->ssl, code)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return CONN_AGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return CONN_END;
	case SSL_ERROR_SYSCALL:
		return c->state == CONN_HANDSHAKE ? CONN_FAILED_TLS : CONN_FAILED;
	default:
		return CONN_FAILED_TLS;
	}
}

static void arm_quickack(const struct conn *c)
{
	int on = 1;
	if (c->options.quickack)
		setsockopt(c->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

enum conn_result conn_advance(struct conn *c)
{
	if (c->state == CONN_CONNECTING) {
		struct pollfd p = { .fd = c->fd, .events = POLLOUT };
		int error = 0;
		socklen_t len = sizeof(error);
		if (poll(&p, 1, 0) == 0)
			return CONN_AGAIN;
		getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
		if (error) {
			errno = error;
			return CONN_FAILED;
		}
		c->state = c->ssl ? CONN_HANDSHAKE : CONN_OPEN;
		arm_quickack(c);
	}
	if (c->state == CONN_HANDSHAKE) {
		int code = SSL_do_handshake(c->ssl);
		if (code != 1)
			return tls_result(c, code);
		c->state = CONN_OPEN;
	}
	return c->state == CONN_OPEN ? CONN_OK : CONN_FAILED;
}

static int64_t stamp_of(struct msghdr *message)
{
	for (struct cmsghdr *m = CMSG_FIRSTHDR(message); m; m = CMSG_NXTHDR(message, m)) {
		struct timespec stamps[3];
		if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_TIMESTAMPING)
			continue;
		memcpy(stamps, CMSG_DATA(m), sizeof(stamps));
		return clock_of_timespec(stamps[0]);
	}
	return 0;
}

static ssize_t receive(struct conn *c, char *into, size_t size, int64_t *ret_kernel_ns)
{
	union {
		char bytes[CMSG_SPACE(3 * sizeof(struct timespec)) + 64];
		struct cmsghdr align;
	} control;
	if (!c->options.timestamps)
		return recv(c->fd, into, size, 0);
	struct iovec iov = { .iov_base = into, .iov_len = size };
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n = recvmsg(c->fd, &message, 0);
	if (n > 0)
		*ret_kernel_ns = stamp_of(&message);
	return n;
}

enum conn_result conn_read(struct conn *c, char *into, size_t size, size_t *ret_n,
	int64_t *ret_kernel_ns)
{
	*ret_kernel_ns = 0;
	if (c->ssl) {
		int n = SSL_read(c->ssl, into, (int)size);
		if (n <= 0)
			return tls_result(c, n);
		*ret_n = (size_t)n;
		return CONN_OK;
	}
	ssize_t n = receive(c, into, size, ret_kernel_ns);
	if (n > 0) {
		*ret_n = (size_t)n;
		arm_quickack(c);
		return CONN_OK;
	}
	if (n == 0)
		return CONN_END;
	return errno == EAGAIN || errno == EINTR ? CONN_AGAIN : CONN_FAILED;
}

enum conn_result conn_write(struct conn *c, const char *from, size_t size, size_t *ret_n)
{
	if (c->ssl) {
		int n = SSL_write(c->ssl, from, (int)size);
		if (n <= 0)
			return tls_result(c, n);
		*ret_n = (size_t)n;
		return CONN_OK;
	}
	ssize_t n = send(c->fd, from, size, MSG_NOSIGNAL);
	if (n >= 0) {
		*ret_n = (size_t)n;
		return CONN_OK;
	}
	return errno == EAGAIN || errno == EINTR ? CONN_AGAIN : CONN_FAILED;
}

void conn_close(struct conn *c)
{
	SSL_free(c->ssl);
	if (c->fd >= 0)
		close(c->fd);
	*c = (struct conn){ .fd = -1 };
}

void auto_conn(struct conn *c)
{
	conn_close(c);
}
