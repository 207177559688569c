/*
 * counts.h - what one worker counts: requests and tokens by when they were sent and by when they
 * arrived, their times in histograms, and how many are under way. One writer, its thread; merged by
 * summarize.c when it has ended.
 */
#ifndef VENTURI_LOAD_COUNTS_H
#define VENTURI_LOAD_COUNTS_H

#include "load/exchange.h"
#include "load/series.h"
#include "load/shared.h"
#include "stats/batches.h"

/* Of the requests to one target that were sent inside the window. */
struct target_counts {
	int64_t attempted, ok, failed, censored;
	struct hist latency;
};

struct session_counts;

/* What one worker counted. Times in ns. */
struct load_counts {
	struct hist metrics[LOAD_N_METRICS];
	struct hist failed_latency;
	struct hist lateness;
	struct hist receive_delay;
	struct hist connect;
	struct hist body_delay;
	struct hist stream_share_pm;
	struct hist warmup_latency; /* of what was sent before the window */
	struct batches batches[LOAD_N_METRICS]; /* how metrics grew over the window */
	int64_t slice, next_slice_ns;
	int64_t warmup_requests;
	int64_t attempted, ok, censored, retried, good, blocked;
	int64_t failures[LOAD_N_FAILURES];
	/* completions and tokens by when they arrived */
	int64_t early_ok; /* before the window */
	int64_t window_completions, window_ok;
	double window_latency_s; /* sum over the completions */
	int64_t window_token_events;
	int64_t window_input_tokens;
	int64_t window_body_tokens; /* output tokens of answers that were no streams */
	/* tokens by request, to learn how many an event bears */
	int64_t by_source[LOAD_N_TOKEN_SOURCES]; /* successes whose tokens rest on it */
	int64_t told_tokens, told_events;        /* of streams that tell more than events */
	int64_t n_with_input;
	/* of those whose prompt's length is known */
	int64_t n_input_checked, meant_input_tokens, counted_input_tokens;
	int64_t reads_with_tokens, token_events;
	int64_t connections_opened, server_closes;
	/* under way now, since level_ns, and summed up over the window */
	int64_t n_busy, n_streaming, level_ns;
	double in_flight_integral_s, streams_integral_s;
	int64_t streams_max;     /* of this worker */
	int64_t cpu_ns, wall_ns; /* inside the window */
	int64_t last_end_ns;     /* of the requests sent inside the window */
	struct target_counts *targets; /* [n_targets]; NULL where there is one target */
	char first_error[320];
	int64_t first_error_ns;
	struct session_counts *sessions; /* NULL: single requests */
	struct series series;
};

void counts_init(struct load_counts *c, int n_targets, struct arena *run);
void counts_release(struct load_counts *c);

/*
 * Books how many requests and streams were under way since the last change. The kernel's stamps may
 * lie before it: a slot counts as busy until the client has noticed, so that a client that lags
 * shows in Little's law.
 */
void counts_levels(struct load_counts *c, const struct load_shared *shared, int64_t now_ns);

/*
 * Ends a slice of the window for the batches, when it is time; called at every turn of the loop, and
 * once, with INT64_MAX, at its end.
 */
void counts_slice(struct load_counts *c, const struct load_shared *shared, int64_t now_ns);

/* One more request under way, or one stream; by is 1 or -1. */
void counts_busy(struct load_counts *c, struct load_shared *shared, const struct exchange *x,
	int64_t now_ns, int by);
void counts_streaming(
	struct load_counts *c, const struct load_shared *shared, int64_t now_ns, int by);

/* A request begins at now_ns; lateness as planned. */
void counts_sent(
	struct load_counts *c, const struct exchange *x, int64_t now_ns, int64_t planned_ns);

/* A read at now_ns brought so many token events of a stream. */
void counts_tokens(struct load_counts *c, struct load_shared *shared, const struct exchange *x,
	int64_t events, int64_t now_ns);

/* A request ended at now_ns, well or badly. */
void counts_success(struct load_counts *c, struct load_shared *shared, const struct exchange *x,
	int64_t now_ns);
void counts_failure(struct load_counts *c, struct load_shared *shared, const struct exchange *x,
	enum load_failure kind, const char *why, int64_t now_ns);

/* A request is under way when all ends. */
void counts_censored(struct load_counts *c, const struct exchange *x);

#endif
