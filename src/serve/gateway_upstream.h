/*
 * gateway_upstream.h - the services behind a gateway: where they are, whether they answer, whose
 * turn it is.
 *
 * A thread of its own looks at each of them every few seconds, at one that is away more often: it
 * resolves the name anew and asks for the health path. The rest belongs to the gateway's loop, but
 * for the counters, which anybody may read.
 */
#ifndef VENTURI_SERVE_GATEWAY_UPSTREAM_H
#define VENTURI_SERVE_GATEWAY_UPSTREAM_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "net/conn.h"
#include "net/url.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { UPSTREAMS_MAX = 64, UPSTREAM_TIMES = 18 };

enum upstream_state {
	UPSTREAM_NEW, /* not looked at yet: worth waiting for */
	UPSTREAM_UP,
	UPSTREAM_DOWN, /* gets no calls until it answers again */
};

/* Calls that are limited apart from each other. */
enum upstream_kind { UPSTREAM_MERGED, UPSTREAM_PASSED, UPSTREAM_N_KINDS };

enum upstream_count {
	UPSTREAM_CALLS, /* sent */
	UPSTREAM_2XX,   /* answered */
	UPSTREAM_3XX,
	UPSTREAM_4XX,
	UPSTREAM_5XX,
	UPSTREAM_UNREACHED, /* no connection */
	UPSTREAM_LOST,      /* the connection broke, or what came was not HTTP */
	UPSTREAM_TIMEOUTS,
	UPSTREAM_RETRIES, /* calls that were a second try of something */
	UPSTREAM_EJECTIONS,
	UPSTREAM_CONNECTS, /* connections opened */
	UPSTREAM_N_COUNTS,
};

struct client_slot;

struct upstream {
	struct url url;
	const char *base; /* goes before the path of a request; "" mostly */
	atomic_int state;
	atomic_ullong counts[UPSTREAM_N_COUNTS];
	atomic_ullong took_counts[UPSTREAM_TIMES]; /* answered calls by how long they took */
	atomic_ullong took_ns;
	atomic_llong in_flight;               /* calls */
	atomic_llong connections;             /* open, in use or not */
	int64_t n_calls[UPSTREAM_N_KINDS];    /* in flight; of the loop */
	int n_failures;                       /* in a row; of the loop */
	struct client_slot *idle, *idle_last; /* of the loop: newest first */
	/* under the lock */
	pthread_mutex_t lock;
	struct arena arena; /* of the target */
	struct conn_target target;
	bool has_target;
};

enum upstream_balance { UPSTREAM_LEAST, UPSTREAM_ROUND_ROBIN };

struct upstreams {
	struct upstream *at;
	int n;
	int64_t limits[UPSTREAM_N_KINDS]; /* calls at once to each of them; 0: no limit */
	bool insecure;
	const char *health_path;
	enum upstream_balance balance;
	double unbalanced_ratio; /* of the choices fall on the first one, whatever it has to do */
	double unbalanced_debt;
	int next;
	void (*changed)(void *ctx); /* from the prober: a state is another */
	void *changed_ctx;
	pthread_t prober;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool closing;
};

/*
 * urls     http:// or https:// with a path that goes before that of each request, or unix:PATH
 * errors   ERR_USAGE for what is no URL. One that does not answer is no error.
 */
bool upstreams_init(struct upstreams *u, const char *const *urls, size_t n, struct arena *run,
        struct err *err) NODISCARD;

/* The rest of the fields being set: starts looking. */
bool upstreams_start(struct upstreams *u, struct err *err) NODISCARD;
/* Looks no more. */
void upstreams_stop(struct upstreams *u);
void upstreams_close(struct upstreams *u);

/*
 * The one for the next call.
 *
 * avoid    not this one if there is another; NULL: none
 * returns  NULL: none has room now
 */
struct upstream *upstreams_choose(
        const struct upstreams *u, enum upstream_kind kind, const struct upstream *avoid);

/* It gets the call: whose turn it is next follows from that. */
void upstreams_chosen(struct upstreams *u, const struct upstream *up);
/* All are away: nothing is to be had by waiting. */
bool upstreams_all_down(const struct upstreams *u);

/* A call of it ended without an answer, or with one. The loop's. */
void upstream_failed(struct upstreams *u, struct upstream *up, bool unreached);
void upstream_answered(struct upstream *up);

bool upstreams_any_up(const struct upstreams *u);
/* Is another one there? */
bool upstreams_another(const struct upstreams *u, const struct upstream *than);

static inline void upstream_count(struct upstream *up, enum upstream_count which)
{
	atomic_fetch_add_explicit(&up->counts[which], 1, memory_order_relaxed);
}

#endif
