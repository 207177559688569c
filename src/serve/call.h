/*
 * call.h - one HTTP request as the server's files share it (server.c, routes.c, reply.c).
 *
 * A call belongs to the libmicrohttpd thread of its connection; what the executor's wake touches
 * is guarded by the job's lock.
 */
#ifndef VENTURI_SERVE_CALL_H
#define VENTURI_SERVE_CALL_H

#include "base/str.h"
#include "serve/arrival.h"
#include "serve/job.h"
#include "serve/leave.h"
#include "serve/server.h"
#include "serve/slots.h"
#include "serve/stream.h"

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdbool.h>

struct call;
struct route;

struct server {
	struct MHD_Daemon *daemon;
	struct server_options options;
	struct executor *executor;
	struct schedule_log *log;
	struct leave leave;
	struct arrivals arrivals;
	struct slots slots;
	int64_t started_s; /* since 1970 */
	atomic_bool stopping;
	atomic_bool closed;      /* too late even for a refusal */
	atomic_int n_unanswered; /* whole requests whose answer has not gone out */
	pthread_mutex_t lock;
	/* under the lock */
	struct call *calls; /* those whose job the executor has */
	struct call *spare; /* their memory, for the next ones */
	size_t n_spare;
};

struct call {
	struct server *server;
	struct MHD_Connection *connection;
	char *method, *path; /* in the arena */
	char *target;        /* of a gateway: path and query as they came */
	struct arena arena;
	const struct route *route; /* NULL: there is none for the path */
	struct api_form form;
	struct arrival *arrival; /* the connection's */
	int64_t n_body;          /* bytes that came, also those dropped */
	struct job *job;
	bool whole;     /* has come to its end, and is one of the server's unanswered */
	bool submitted; /* the executor has the job */
	int fd;         /* watched for the client's leaving; -1: not */
	bool suspended; /* under job->lock */
	struct slots_call slot;

	struct stream stream;
	struct buf out;    /* what is on its way to the socket */
	size_t n_out_json; /* of an inference: tensors follow after so many; 0: all is JSON */
	size_t n_out_sent;
	bool flushing; /* of a stream that is held back */

	struct call *prev, *next;
};

/* routes.c: the header is there; the whole request is; its job has something to say. */
void route_begin(struct call *call);
enum MHD_Result route_call(struct call *call);
enum MHD_Result route_resumed(struct call *call);

/* server.c: gives the call a job for its form, before its body has come. */
void call_set_job(struct call *call);

/*
 * server.c: the executor has the job. From now on it is cancelled when the client leaves, and
 * broken off when the service stops.
 */
void call_submitted(struct call *call);

/* reply.c: each queues the answer of a call; reply_out has what was written into call->out. */
enum MHD_Result reply_out(struct call *call, int status, const char *content_type);
enum MHD_Result reply_text(
        struct call *call, int status, const char *content_type, struct str text);
enum MHD_Result reply_error(struct call *call, const struct api_error *error, const char *allow);
enum MHD_Result reply_stream(struct call *call);
/* Any other; the response is given up. */
enum MHD_Result reply_response(struct call *call, int status, struct MHD_Response *response);

/*
 * gateway_reply.c: whether the executor forwards requests to this path; route_call and
 * route_resumed of those.
 */
bool gateway_takes(const struct executor *x, const char *path);
enum MHD_Result gateway_answer(struct call *call);
enum MHD_Result gateway_resumed(struct call *call);

/* reply.c: how long the JSON of an inference is; tensors follow it. */
extern const char tensor_header[];

/* reply.c: what the executor's delivery calls, with the job's lock held. */
void reply_wake(void *call);

#endif
