/*
 * load_run.h - what one load test found: filled by load/, read by diagnose/, ledger/, report/.
 *
 * Times are ns; a double that is absent is NAN; a histogram with n == 0 is absent. All memory is
 * the run's arena. Requests belong to the window when they were *sent* inside it; completions and
 * tokens that arrive inside the window make the throughput.
 */
#ifndef VENTURI_RECORD_LOAD_RUN_H
#define VENTURI_RECORD_LOAD_RUN_H

#include "record/fingerprint.h"
#include "record/signal.h"
#include "stats/hist.h"

#include <stdbool.h>
#include <stdint.h>

/* Files of records hold these numbers: new ones go to the end. */
enum load_failure {
	LOAD_FAIL_CONNECT,
	LOAD_FAIL_TLS,
	LOAD_FAIL_STATUS,
	LOAD_FAIL_STREAM_CUT,
	LOAD_FAIL_ERROR_EVENT,
	LOAD_FAIL_EMPTY,
	LOAD_FAIL_TIMEOUT,
	LOAD_FAIL_CLIENT, /* the client's own machine refused: open files, ports */
	LOAD_N_FAILURES,
};

/* "connect", "tls", "status", "stream_cut", "error_event", "empty", "timeout", "client" */
extern const char *const load_failure_names[LOAD_N_FAILURES];

/* One metric of a run; the order is that of every table and of the JSON. */
enum load_metric {
	LOAD_LATENCY,  /* end - sent */
	LOAD_RESPONSE, /* end - planned */
	LOAD_TTFB,     /* first byte of the answer - sent */
	LOAD_TTFT,     /* first event that bears a token of any channel - sent */
	LOAD_TTFO,     /* first event with visible output, text or a tool's call - sent */
	LOAD_ITL,      /* gap between token events, pooled over requests */
	LOAD_WORST_GAP, /* the longest of those of a request, one per request */
	/* (last event - first event) / tokens after the first event, one per request; an answer that
	   does not tell how many the first bears is taken to have one in it */
	LOAD_TPOT,
	LOAD_N_METRICS,
};

/* "latency", "response", "ttfb", "ttft", "ttfo", "itl", "worst_gap", "tpot"; JSON adds "_ms". */
extern const char *const load_metric_names[LOAD_N_METRICS];

/* The percentiles that are reported of each metric, in this order. */
enum { LOAD_N_PERCENTILES = 6 };

struct load_percentile {
	const char *name; /* "p50" ... "p9999" */
	double q;
};

extern const struct load_percentile load_percentiles[LOAD_N_PERCENTILES];

/* What a number of output tokens rests on, best first. Files of records hold these numbers. */
enum load_token_source {
	LOAD_TOKENS_USAGE,  /* the answer's own count */
	LOAD_TOKENS_IDS,    /* token ids or logprobs in its events */
	LOAD_TOKENS_EVENTS, /* one for each event */
	LOAD_N_TOKEN_SOURCES,
};

/* "usage", "ids", "events" */
extern const char *const load_token_source_names[LOAD_N_TOKEN_SOURCES];

struct load_requests {
	int64_t attempted; /* = ok + failed + censored */
	int64_t ok;
	int64_t failed;
	int64_t censored; /* still under way when the run ended */
	int64_t retried;  /* sent again because a kept-alive connection had been closed */
	int64_t failures[LOAD_N_FAILURES];
	int64_t blocked;  /* of the attempted: were due while max_in_flight were under way */
};

enum load_signal {
	LOAD_SIGNAL_THROUGHPUT,
	LOAD_SIGNAL_IN_FLIGHT,
	LOAD_SIGNAL_LATENCY,
	LOAD_N_SIGNALS,
};

/* "requests_per_s", "in_flight", "latency_ms" */
extern const char *const load_signal_names[LOAD_N_SIGNALS];

/* A signal that leaves its level inside the window. */
struct load_drift {
	enum load_signal signal;
	bool is_shift;   /* jumps at at_s; else a trend from end to end */
	double at_s;     /* from the start of the window; NAN for a trend */
	double from, to; /* in the unit of the signal */
	double p;        /* of chance */
};

struct load_window {
	int64_t warmup_requests;
	double warmup_s;
	double duration_s;
	bool steady; /* settled when it opened, and no drift was found */
	bool judged; /* whether it drifts; else it was too short, or its load changes by plan */
	struct load_drift drift[LOAD_N_SIGNALS];
	int n_drift;
	int64_t start_ns; /* on the monotonic clock */
};

/* A backlog that grew without end; times from the start of the measurement. */
struct load_saturation {
	bool present;
	bool stopped; /* the run, before its time */
	double from_s, at_s; /* the span that showed it */
	double offered_per_s, completed_per_s;
	double in_flight_from, in_flight_to;
	double latency_ms_from, latency_ms_to;
};

/* The whole run, warm-up included. */
struct load_whole {
	double duration_s; /* to the end of the window; 0: not known */
	int64_t ok;        /* completed in that time */
	double requests_per_s;
	struct hist latency; /* of all that were ok, whenever they were sent */
};

struct load_throughput {
	double requests_per_s;
	double input_tokens_per_s;  /* NAN where the API has no tokens or does not say */
	double output_tokens_per_s; /* NAN likewise */
	double events_per_s;        /* NAN when nothing was streamed */
};

struct load_goodput {
	double requests_per_s; /* NAN without --slo */
	double attainment_ratio; /* good / attempted */
};

enum load_client_verdict {
	LOAD_CLIENT_OK,
	LOAD_CLIENT_LIMITED, /* the figures are the client's own */
	LOAD_CLIENT_UNKNOWN,
	LOAD_CLIENT_INVALID, /* the counts contradict each other */
	LOAD_N_CLIENT_VERDICTS,
};

/* "ok", "limited", "unknown", "invalid" */
extern const char *const load_client_verdict_names[LOAD_N_CLIENT_VERDICTS];

/* One question of the self-check, answered by one number. */
struct load_check {
	const char *name;
	const char *unit;
	const char *source; /* of the limit */
	double value;       /* NAN: not measured */
	double limit;       /* NAN: none without the value */
	bool ok;            /* true also where nothing was measured */
	const char *why;    /* what is wrong, a sentence; NULL when ok */
};

struct load_thread {
	double cpu_ratio;     /* CPU time / wall time, inside the window */
	double waiting_ratio; /* ready to run, without a core / wall time; NAN when not told */
};

/* Bytes that lay in the kernel unread, sampled at moments that the load threads do not choose. */
struct load_unread {
	int64_t n; /* samples, each of one connection */
	double mean_bytes;
	int64_t max_bytes;
	double wait_ms; /* how long a byte lay there: Little's law for bytes; NAN when not known */
};

/* Two generators with half the load each, against one with all of it. */
struct load_halved {
	int n;                 /* interleaved pairs; 0: not measured */
	double requests_per_s; /* of the two together, mean */
	double alone_per_s;    /* of the one, mean */
	double ratio;          /* of the means */
	bool apart;            /* every pair of two reached more than every single one */
	const char *why;       /* what it says, or why it was not measured; NULL: no question */
};

struct load_client {
	double cpu_s; /* of all load threads, inside the window */
	double cpu_us_per_request;
	double busiest_thread_ratio; /* CPU time / wall time of the busiest load thread */
	int threads;
	struct hist lateness;      /* actual - planned send time */
	struct hist receive_delay; /* user clock - kernel receive stamp */
	double offered_per_s;      /* NAN in a closed loop */
	double achieved_per_s;
	double little_ratio; /* mean in flight / (throughput x mean latency) */
	double null_ceiling_per_s; /* NAN when it was not measured */
	struct hist loop_lag;      /* how long each turn of an event loop kept everybody waiting */
	const struct load_thread *per_thread; /* [threads] */
	double waiting_ratio;      /* the largest of any thread; NAN when not told */
	double wanted_ratio;       /* likewise of CPU and waiting together */
	double steal_ratio;        /* of the machine's CPU time, taken by its host; NAN: not told */
	struct load_unread unread;
	struct load_halved halved;
	const struct load_check *checks;
	int n_checks;
	enum load_client_verdict verdict;
	const char *why;
};

struct load_second {
	double t_s; /* end of the second, from the start of the window */
	int64_t requests;
	int64_t errors;
	double in_flight; /* mean */
	double p50_ms;    /* NAN with too few samples (quantile_floor) */
	double p99_ms;    /* NAN likewise */
	int64_t output_tokens;
	double mean_ms; /* latency; NAN when nothing was ok */
};

/* What became of the file of --records. */
struct load_records {
	const char *path; /* NULL: there is none */
	int64_t requests; /* whose records are in it */
	int64_t lost_requests, lost_gaps; /* not written: the file did not keep up, or failed */
	int64_t bytes;
	int failed; /* errno of the first write that failed; 0: none */
};

/* What can be said of connections and streams beyond single requests; the causes need it. */
struct load_transport {
	int64_t connections_opened; /* inside the window */
	int64_t connections_served; /* of those open in the window: got at least one answer */
	int64_t connections;        /* that the load meant to hold open */
	struct hist connect;        /* TCP and TLS handshake */
	int64_t server_closes;      /* answers after which the server closed the connection */
	double streams_active_mean; /* streams between first and last token, mean over the window */
	int64_t streams_active_max; /* the most at any moment; 0 when nothing was streamed */
	struct hist body_delay;     /* end - first byte of an answer that is no stream */
	int64_t reads_with_tokens;  /* socket reads that brought at least one token event */
	int64_t token_events;
	struct hist stream_share_pm; /* per streamed request with > 10 events: TTFT / latency in 1/1000 */
};

/* The service's count of input tokens beside what prompts were made of. */
struct load_input_check {
	int64_t n; /* requests of which both are known */
	double meant_per_request;
	double counted_per_request; /* with what the service adds: a first token, the frame of a chat */
	bool exact; /* meant by the model's tokenizer; else estimated */
};

/* What came of one URL, where the load goes to several. */
struct load_target_run {
	const char *url;
	int64_t attempted, ok, failed, censored;
	struct hist latency; /* of the ok ones */
};

/* What was counted a second way; the self-check compares. */
struct load_books {
	int64_t completions, completions_ok; /* answers inside the window, whenever sent */
	int64_t opened, closed;              /* connections of the whole run */
	int64_t n_compared;  /* connections whose bytes the kernel counted too */
	int64_t bytes_apart; /* by how many its count and the client's differ on those */
};

enum { LOAD_TURNS_SHOWN = 10 }; /* the last one stands for those after it too */

/* Turns of one number; those of requests that were sent inside the window and were good. */
struct load_turn {
	struct hist ttft, latency;
	double input_tokens_mean; /* NAN where the service does not say */
};

/* Conversations of several turns. Those that began inside the window, unless it says otherwise. */
struct load_sessions {
	const char *turns, *think; /* as the user gave them; think NULL: none */
	const char *history;       /* "own" or "recorded": whose answers later requests hold */
	int64_t warmup;            /* began before the window */
	int64_t started;           /* = completed + aborted + too_long + unfinished */
	int64_t completed;
	int64_t aborted;  /* by a request that failed */
	int64_t too_long; /* the history, or all of them, grew over what is kept */
	int64_t unfinished;
	double turns_mean; /* of those that completed; NAN without any */
	int64_t history_bytes_max; /* of the requests sent inside the window */
	struct hist think_time;    /* from the end of an answer until the next request */
	struct load_turn turns_by_number[LOAD_TURNS_SHOWN]; /* from the first */
	struct hist later_ttft, later_latency; /* of all but the first turns */
};

struct load_run {
	bool partial; /* interrupted, or the target went away */
	const char *started_at; /* UTC, ISO 8601 */
	const char *url; /* the first */
	const char *balance; /* "round-robin", "least"; NULL with one URL */
	struct load_target_run *targets; /* [n_targets]; NULL with one URL */
	int n_targets;
	const char *api;
	const char *model; /* NULL when the API has none */
	struct fingerprint fingerprint;

	/* config */
	int64_t concurrency; /* 0 in an open loop */
	double rate_per_s;   /* NAN in a closed loop */
	const char *arrival; /* "closed", "constant", "poisson", "gamma:2", "schedule:FILE"; with a
			       rate that changes "poisson rate:10..200" */
	int64_t seed;
	int64_t max_in_flight; /* 0: no cap */
	bool stream;
	const char *input; /* what was sent, as the user gave it */
	const char *output;
	double timeout_s;

	struct load_window window;
	struct load_whole whole;
	struct load_saturation saturation;
	struct load_requests requests;
	struct hist metrics[LOAD_N_METRICS];
	/* [LOAD_N_PERCENTILES] of each metric: how many independent values those around the percentile
	   are worth (stats/batches.h), NAN where that is not known; NULL: of none */
	const double *n_eff[LOAD_N_METRICS];
	struct hist failed_latency; /* of failed requests, apart */
	/* the first requests of the run, warm-up included, in order of sending: latency in ns */
	const int64_t *first_latencies_ns;
	int64_t n_first_latencies;
	struct load_throughput throughput;
	struct load_goodput goodput;
	const char *tokens_source; /* of the output: "usage", "usage,events", ..., "none" */
	struct load_input_check input_check;
	double tokens_per_event;   /* NAN when unknown */
	struct load_client client;
	struct load_transport transport;
	struct load_records records;
	struct load_books books;
	const struct load_sessions *sessions; /* NULL: single requests */
	struct load_second *series;
	int64_t n_series;
	const char *first_error; /* text of the first failure, NULL when there was none */
	const struct signal_server *server; /* what the service said of itself; NULL: nothing */
	const struct signal_system *system; /* what its machine did; NULL: was not watched */
};

#endif
