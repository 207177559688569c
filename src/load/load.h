/*
 * load.h - the load generator: a target is opened once, then measured under one shape of load
 * after another.
 *
 * load_open resolves the address, settles API and model and builds the requests, so that nothing
 * but sending and receiving is left for the measurement. load_measure starts its own threads and
 * joins them; one measurement at a time per load.
 */
#ifndef VENTURI_LOAD_LOAD_H
#define VENTURI_LOAD_LOAD_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/opt.h"
#include "load/arrival.h"
#include "record/load_run.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum load_warmup { LOAD_WARMUP_AUTO, LOAD_WARMUP_NONE, LOAD_WARMUP_REQUESTS, LOAD_WARMUP_TIME };

/* What is asked of the service, the same for all measurements of one target. */
struct load_config {
	const char *url;
	struct opt_list more_urls; /* the load is spread over all */
	const char *balance;       /* --balance: "round-robin" or "least"; NULL: round robin */
	const char *api;   /* NULL: guessed from the path, else by probing */
	const char *model; /* NULL: the first that the service tells */
	const char *input_file;    /* --input */
	const char *input_tokens;  /* --input-tokens */
	const char *output_tokens; /* --output-tokens */
	const char *turns;         /* --turns: "all", a distribution, or NULL: single requests */
	const char *think;         /* --think: likewise, of durations */
	const char *history;       /* --history: "own" or "recorded"; NULL: own */
	const char *tokenizer;     /* --tokenizer: a file, or NULL */
	double prefix_ratio;       /* --prefix-share: of each synthetic prompt */
	int64_t n_prefixes;        /* --prefix-count; 0: one */
	bool salt;                 /* synthetic prompts differ from those of all other requests */
	const struct schedule *schedule; /* whose lengths are sent; NULL: none */
	const char *data;          /* --data: body for --api http, @FILE reads it */
	const char *tensors;       /* --tensors: "json" or "binary"; NULL: JSON */
	const char *unix_socket;   /* --unix-socket: where to connect; NULL: to the URL's host */
	struct opt_list headers;
	struct opt_list tags;
	bool stream; /* ignored where the API does not stream */
	bool insecure; /* do not verify the certificate */
	int64_t timeout_ns;
	int64_t seed;
	int64_t threads; /* 0: one */
	bool check_client;
	const char *slo; /* "ttft=200ms,itl=50ms,e2e=2s" or NULL */
};

/* How the load is applied in one measurement. */
struct load_shape {
	int64_t concurrency;  /* closed loop, when rate_per_s is 0 */
	double rate_per_s;    /* open loop: the level rate, or the mean of one that changes */
	struct arrival_law arrival; /* of the open loop */
	int64_t max_in_flight; /* open loop; 0: as many as needed */
	int64_t duration_ns;  /* of the window; 0: until requests are done */
	int64_t requests;     /* in the window; 0: until the duration has passed */
	int64_t sessions;     /* likewise; those that began in the window are played to their end */
	enum load_warmup warmup;
	int64_t warmup_requests;
	int64_t warmup_ns;
	bool stop_when_saturated; /* open loop at a level rate: end when a backlog grows without end */
	bool quickack;       /* acknowledge every segment at once (TCP_QUICKACK) */
	bool new_connections; /* a connection of its own for every request */
};

/* Whether the window ends when so many requests or sessions are done, not by time. */
static inline bool load_ends_by_number(const struct load_shape *shape)
{
	return shape->requests > 0 || shape->sessions > 0;
}

/* Shown while a measurement runs; called about twice a second from load_measure's own thread. */
struct load_progress {
	bool warming_up;
	double elapsed_s;    /* of the window, or of the warm-up */
	double expected_s;   /* NAN when it ends by requests */
	int64_t done, expected; /* requests; expected 0 when it ends by time */
	int64_t failed;
	int64_t in_flight;
	double requests_per_s;
	double output_tokens_per_s; /* NAN without tokens */
};

struct load_hooks {
	const char *records;     /* file for a record of each request, or NULL */
	const atomic_bool *stop; /* becomes true: end now, keep what was measured */
	void (*progress)(void *ctx, const struct load_progress *p);
	void *ctx;
	/* The window has opened, or closed: within a tick of 10 ms, from load_measure's own thread. */
	void (*window)(void *ctx, bool opened);
};

struct load;

/*
 * errors   ERR_USAGE for options that do not fit together, ERR_INPUT for files, ERR_SYSTEM when the
 *          host cannot be resolved or the service cannot be reached or does not speak HTTP
 */
bool load_open(const struct load_config *config, struct arena *run, struct load **ret_load,
	struct err *err) NODISCARD;
void load_close(struct load *load);

/*
 * One measurement. A run in which every request failed, or that was stopped, is still a true
 * return with its counts: the caller decides what it means (load_run.requests, .partial).
 */
bool load_measure(struct load *load, const struct load_shape *shape, const struct load_hooks *hooks,
	struct arena *run, struct load_run *ret_run, struct err *err) NODISCARD;

/*
 * How many requests a second this generator reaches against a responder that answers at once, on
 * loopback, with the same threads: the ceiling that a measured rate has to stay well below. Takes
 * about half a second.
 */
bool load_null_ceiling(struct load *load, int64_t concurrency, struct arena *run,
	double *ret_per_s, struct err *err) NODISCARD;

/*
 * Was the generator the limit? Fills client.checks, .verdict and .why of a run made with this
 * shape; when something is suspicious, the ceiling is measured too, and when that does not decide,
 * a second generator is set beside this one, each with half the load (client.halved).
 */
void load_self_check(struct load *load, const struct load_shape *shape,
	const struct load_hooks *hooks, struct arena *run, struct load_run *r);

/* What load_open settled on. */
const char *load_api(const struct load *load);
const char *load_model(const struct load *load); /* NULL when there is none */
bool load_streams(const struct load *load);

#endif
