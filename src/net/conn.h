/*
 * conn.h - one outgoing stream connection, plain or TLS, that never blocks, with the kernel's
 * receive stamps where it has them.
 *
 * A zeroed conn with fd -1 is closed. One thread at a time; an address and a TLS context may be
 * shared by all threads.
 */
#ifndef VENTURI_NET_CONN_H
#define VENTURI_NET_CONN_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "net/url.h"

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Where to connect, resolved once. */
struct conn_target {
	struct sockaddr_storage address;
	socklen_t address_len;
	int family;
	const char *host; /* for the certificate and SNI */
	const char *unix_socket; /* for messages; NULL: none */
	SSL_CTX *tls;     /* NULL: plain */
};

struct conn_options {
	bool quickack;  /* re-arm TCP_QUICKACK after every read */
	bool timestamps; /* ask the kernel for receive stamps */
};

/*
 * Resolves the host of a URL and sets up TLS for https; the first address that accepts a
 * connection within timeout_ns is taken, so that an error here names the host. A URL with a Unix
 * socket is not resolved; its host still is the one of the certificate.
 *
 * insecure  do not verify the certificate
 * errors    ERR_SYSTEM: unknown host, refused, timed out, TLS handshake failed; ERR_USAGE: a path
 *           that no Unix socket can have
 */
bool conn_target_open(const struct url *url, bool insecure, int64_t timeout_ns, struct arena *run,
	struct conn_target *ret_target, struct err *err) NODISCARD;
void conn_target_close(struct conn_target *target);

enum { CONN_UNIX_WAIT_MS = 1000 };

enum conn_state { CONN_CLOSED, CONN_CONNECTING, CONN_HANDSHAKE, CONN_OPEN };

struct conn {
	int fd;
	SSL *ssl;
	enum conn_state state;
	struct conn_options options;
	int error; /* errno of a conn_start that failed, else 0 */
};

enum conn_result {
	CONN_OK,
	CONN_AGAIN,       /* wait for the next event */
	CONN_END,         /* the peer closed in good order */
	CONN_FAILED,      /* reset, refused, timed out: errno says why */
	CONN_FAILED_TLS,  /* conn_tls_error() says why */
};

/*
 * Starts connecting; the socket is non-blocking, TCP_NODELAY set. A Unix socket whose queue is full
 * gives no sign when there is room again, so connecting to one waits, at most CONN_UNIX_WAIT_MS.
 */
bool conn_start(struct conn *c, const struct conn_target *target, struct conn_options options,
	struct err *err) NODISCARD;

/* Goes on connecting and shaking hands: CONN_OK once open. */
enum conn_result conn_advance(struct conn *c);

/*
 * Reads what is there.
 *
 * ret_kernel_ns  the kernel's receive stamp on the realtime clock of the last byte, 0 when it has
 *                none (TLS, or not asked for)
 */
enum conn_result conn_read(struct conn *c, char *into, size_t size, size_t *ret_n,
	int64_t *ret_kernel_ns);

/* Writes what the socket takes; CONN_AGAIN only when it took nothing. */
enum conn_result conn_write(struct conn *c, const char *from, size_t size, size_t *ret_n);

void conn_close(struct conn *c);
void auto_conn(struct conn *c);

/* The newest TLS error of this thread as text. */
const char *conn_tls_error(char *out, size_t size);

#endif
