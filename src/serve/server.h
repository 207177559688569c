/*
 * server.h - the HTTP side of the service, on libmicrohttpd.
 *
 * Its threads wait in epoll; a connection whose answer is not ready is suspended and resumed by
 * the executor's delivery, so a thousand connections cost no thousand threads.
 */
#ifndef VENTURI_SERVE_SERVER_H
#define VENTURI_SERVE_SERVER_H

#include "base/attr.h"
#include "base/err.h"
#include "serve/executor.h"
#include "net/listen.h"
#include "serve/schedule_log.h"

#include <stdbool.h>
#include <stdint.h>

struct fault_work;
struct faults;
struct server;

struct server_options {
	int64_t body_bytes_max; /* of a request */
	int64_t queue_max;      /* requests that wait; one more is answered 429; 0: no limit */
	int64_t threads;
	int64_t arrive_ns; /* how long a request may take to arrive */
	int64_t grace_ns;  /* for what runs to finish when the service stops */
	bool expose_config;
	const struct faults *faults; /* both outlive the server */
	struct fault_work *work;     /* NULL: none of them lives in the service */
};

/* Takes over the listener's socket. executor and log stay the caller's and must outlive it. */
bool server_start(const struct listener *listener, const struct server_options *options,
        struct executor *executor, struct schedule_log *log, struct server **ret_server,
        struct err *err) NODISCARD;

/*
 * Accepts nothing more, gives what runs its grace to finish, then breaks it off.
 */
void server_stop(struct server *server);

#endif
