/*
 * gateway_core.h - what the gateway's files share, and nobody else.
 *
 * Locks: gateway->lock before job->lock; never the other way round. What is not said to be under
 * a lock belongs to the loop's thread.
 */
#ifndef VENTURI_SERVE_GATEWAY_CORE_H
#define VENTURI_SERVE_GATEWAY_CORE_H

#include "serve/gateway.h"
#include "serve/gateway_client.h"
#include "serve/gateway_merge.h"
#include "serve/gateway_upstream.h"
#include "serve/job.h"
#include "token/tokenizer.h"

enum {
	GATEWAY_GROUPS_MAX = 64,         /* kinds of requests that wait apart */
	GATEWAY_RELAY_HIGH = 256 * 1024, /* of an answer that the client does not fetch */
	GATEWAY_RELAY_LOW = 64 * 1024,
	GATEWAY_ANSWER_MAX = 512 << 20, /* bytes of the answer to a merged call */
	GATEWAY_HEAD_MAX = 64 * 1024,   /* of the headers of an answer */
};

/* The answer on its way to the client; under job->lock. */
struct relay {
	bool has_head;
	int status;
	int64_t content_length; /* -1: not known */
	struct buf headers;     /* each "name\0value\0" */
	struct buf connection;  /* the names of those of them that are not passed on */
	struct buf out;
	size_t n_out_sent;
	bool paused; /* the upstream waits until the client has fetched more */
};

struct gateway_request;

struct gateway_item {
	struct batcher_item wait; /* first, so that one is the other */
	struct gateway_request *request;
	struct merge_result result; /* relative to request->results */
	bool done;
};

/* One request, of which the job is the other half; freed with it. */
struct gateway_request {
	struct gateway *gateway;
	struct job *job;
	struct arena arena;
	const char *method, *target; /* with the query */
	struct str body;             /* the job's */
	struct buf headers;          /* lines for the upstream */
	struct relay relay;
	struct gateway_request *next;         /* in the queue of passed ones */
	struct gateway_request *next_told;    /* in the inbox; under gateway->lock */
	struct gateway_request *next_in_turn; /* in what the loop took out of it */
	bool told;                            /* in the inbox; under gateway->lock */
	bool ended;                           /* there is an answer, or nobody wants one */

	/* merged */
	bool is_merged;
	struct merge_request merge;
	struct gateway_group *group;
	struct gateway_request *prev_open, *next_open; /* under gateway->lock */
	struct gateway_item *items;                    /* [merge.n_inputs] */
	size_t n_open;                                 /* items that wait or are in a call */
	struct buf results;
	struct str frame;
	struct merge_usage usage;
	bool usage_estimated;

	/* passed */
	struct client_call call;
	struct buf out;
	bool retried;
	bool is_stream;
	bool begun, queued;
	int64_t last_piece_ns;
};

/* Requests that can share a call: same API, path, parameters and headers. */
struct gateway_group {
	struct str key;
	struct arena arena;
	struct merge_request like;
	const char *target;
	struct str headers;
	struct batcher *batcher; /* under the lock, as all below */
	int64_t n_waiting;       /* items */
	int n_calls;
};

struct gateway_call {
	struct client_call client; /* first */
	struct gateway *gateway;
	struct gateway_group *group;
	struct gateway_item **items;
	int n, cap;
	struct batch batch; /* of the batcher, for batcher_done; n 0: a second try */
	bool verbatim;      /* all of one request, as it came */
	bool is_retry;      /* a second try, of which there is no third */
	int n_unreached;
	bool too_large;
	const struct upstream *avoid;
	struct buf body, out, answer;
	struct relay relay; /* status and headers of the answer */
	struct arena arena;
	struct gateway_call *prev, *next; /* among those in flight; next also of the queue */
};

enum gateway_count {
	GATEWAY_MERGED,      /* requests whose inputs waited to be merged */
	GATEWAY_PASSED,      /* others */
	GATEWAY_CALLS,       /* merged calls */
	GATEWAY_INPUTS,      /* in them */
	GATEWAY_SHARED,      /* calls for more than one request */
	GATEWAY_TAKEN_APART, /* of these, because of an error */
	GATEWAY_TOKENS,
	GATEWAY_N_COUNTS,
};

struct gateway {
	struct executor base;
	struct gateway_options options;
	struct arena run;
	struct upstreams upstreams;
	struct client client;
	struct tokenizer *tokenizer;
	pthread_t thread;
	int wake_fd;
	atomic_ullong counts[GATEWAY_N_COUNTS];

	struct gateway_request *pass_first, *pass_last; /* waiting for room */
	struct gateway_call *retry_first, *retry_last;  /* likewise, ahead of what is new */
	struct gateway_call *spare, *active;

	pthread_mutex_t lock;
	/* under the lock */
	struct gateway_request *told_first, *told_last;
	struct gateway_group *groups[GATEWAY_GROUPS_MAX];
	int n_groups, next_group;
	int64_t n_waiting;            /* items in all groups */
	struct gateway_request *open; /* merged ones with inputs that wait or are in a call */
	struct batcher_lane_state past[BATCHER_LANES_MAX]; /* of groups that are gone */
	bool is_told; /* wake_fd has been written since the loop last looked */
	bool closing;
};

static inline void gateway_count(struct gateway *g, enum gateway_count which, uint64_t by)
{
	atomic_fetch_add_explicit(&g->counts[which], by, memory_order_relaxed);
}

/* ---- gateway.c ---- */

/* Under the lock: the loop is to look at the request, or (NULL) at what waits. */
void gateway_tell(struct gateway *g, struct gateway_request *r);

/* The answer is complete in the relay. */
void gateway_finish(struct gateway_request *r);
/* There is none: with an error in our own words. */
void gateway_refuse(struct gateway_request *r, int status, const char *code, int64_t retry_after_s,
        const char *message);
/* In the words for how a call ended: 502 or 504. */
void gateway_refuse_end(struct gateway_request *r, enum client_end end, const char *why);

/* ---- gateway_queue.c ---- */

/* Puts all inputs of a request into the batcher of its kind, or none. From the HTTP thread. */
bool queue_add(struct gateway *g, struct gateway_request *r, const struct forward *f,
        struct api_error *error);

/* Under the lock: the inputs that still wait are taken out. Returns how many. */
size_t queue_remove(struct gateway *g, struct gateway_request *r);
/* Takes out one that waits, all of it: for too long, or any. NULL: there is none. */
struct gateway_request *queue_take_late(struct gateway *g, int64_t now_ns, size_t *ret_n_taken);
struct gateway_request *queue_take_any(struct gateway *g, size_t *ret_n_taken);
/* No input of it waits or is in a call any more. */
void queue_left(struct gateway *g, struct gateway_request *r);

/*
 * The next inputs to call for, from whatever kind's turn it is.
 *
 * returns  false: none now; *ret_wake_ns says when to look again
 */
bool queue_take(struct gateway *g, int64_t now_ns, struct gateway_call *call, int64_t *ret_wake_ns);
/* A call is over, which queue_take or queue_hold began. */
void queue_done(struct gateway *g, struct gateway_call *call, int64_t took_ns);
void queue_hold(struct gateway *g, struct gateway_group *group);
/* Until what waits now has been answered, as far as is known. */
int64_t queue_backlog_ns(struct gateway *g);
void queue_close(struct gateway *g);

/* ---- gateway_calls.c ---- */

void calls_dispatch(struct gateway *g, int64_t now_ns, int64_t *ret_wake_ns);
/* The client of a request left. */
void calls_cancel(struct gateway *g, struct gateway_request *r);
/* There is nobody who could answer what waits. */
void calls_refuse_waiting(struct gateway *g);
void calls_close(struct gateway *g);

/* ---- gateway_pass.c ---- */

void pass_begin(struct gateway *g, struct gateway_request *r);
void pass_dispatch(struct gateway *g);
void pass_cancel(struct gateway *g, struct gateway_request *r);
void pass_refuse_waiting(struct gateway *g);
/* After calls_close. */
void pass_close(struct gateway *g);

/* ---- gateway_headers.c ---- */

/* Of the connection, not of the message; they are not passed on. RFC 9110, section 7.6.1. */
bool header_is_hop(struct str name);
/* Says nothing about the answer wanted, so that requests that differ in it may be merged. */
bool header_is_noise(struct str name);
/* Is it in a list with commas, as that of Connection? */
bool header_is_named(struct str list, struct str name);
void relay_add_header(struct relay *relay, struct str name, struct str value);
void relay_release(struct relay *relay);
/* "POST /path HTTP/1.1" and so on, up to and with the empty line and the body. */
void headers_write_request(const struct upstream *up, const char *method, const char *target,
        struct str headers, struct str body, bool has_body, struct buf *out);

/* ---- gateway_metrics.c ---- */

/* A call was answered. */
void upstream_observe(struct upstream *up, int64_t took_ns);

void gateway_print_metrics(struct executor *x, struct buf *out);

#endif
