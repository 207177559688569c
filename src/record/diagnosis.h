/*
 * diagnosis.h - a verdict and everything it rests on: filled by diagnose/, read by report/ and
 * ledger/. Absent doubles are NAN, absent texts NULL.
 */
#ifndef VENTURI_RECORD_DIAGNOSIS_H
#define VENTURI_RECORD_DIAGNOSIS_H

#include "record/fact.h"
#include "record/fingerprint.h"
#include "record/signal.h"

#include <stdbool.h>
#include <stdint.h>

enum verdict { VERDICT_HEALTHY, VERDICT_BOTTLENECK, VERDICT_INVALID, VERDICT_INCONCLUSIVE };
enum slow_kind { SLOW_ALONE, SLOW_UNDER_LOAD, SLOW_THROUGHPUT_STUCK, SLOW_HEALTHY, SLOW_UNKNOWN };
enum cause_state { CAUSE_CONFIRMED, CAUSE_PROBABLE, CAUSE_EXCLUDED, CAUSE_NOT_EXAMINED };

/* JSON names: "healthy", "bottleneck", "invalid_measurement", "inconclusive" and so on. */
const char *verdict_name(enum verdict v);
const char *slow_kind_name(enum slow_kind k); /* NULL for SLOW_UNKNOWN */
const char *cause_state_name(enum cause_state s);

/* A predicted gain, written before any experiment: low..high of new/old, or of a difference. */
struct prediction {
	bool present;
	const char *metric; /* "requests_per_s", "latency_ms_p50", ... */
	double low;
	double high;
	const char *unit; /* "ratio" (new / old) or the metric's own unit for a difference */
	const char *rule; /* "G3" and the like of the catalogue */
};

enum { CAUSE_MAX_FACTS = 12 };

struct cause_finding {
	const char *id;
	const char *name; /* in the user's language */
	const char *layer; /* "client", "system", "framework", "operator", "algorithm" */
	enum cause_state state;
	struct fact facts[CAUSE_MAX_FACTS];
	int n_facts;
	const char *why;
	const char *needs; /* for CAUSE_NOT_EXAMINED */
	struct prediction predicted;
	const char *fix;
	const char *experiment;
};

struct curve_point {
	int64_t concurrency;
	double requests_per_s;
	double output_tokens_per_s; /* NAN without tokens */
	double p50_ms, p90_ms, p99_ms, p999_ms; /* NAN with too few samples (quantile_floor) */
	double ttft_p50_ms, itl_p50_ms; /* NAN when not streamed */
	double streams_active; /* mean number of streams between first and last token; NAN likewise */
	double little_ratio;
	double device_ratio; /* share of the device that was used; NAN: not watched */
	int64_t n;       /* requests that were ok */
	int64_t failed;
};

struct sla {
	bool present;
	const char *metric; /* "p99", "ttft_p99", ... as the user wrote it */
	double target_ms;
	double measured_ms; /* NAN when nothing was measured, or it falls among the failed requests */
	bool met;
	int64_t n; /* samples behind measured_ms; 0: not judged, and met says nothing */
	int64_t concurrency; /* the load at which it was judged */
};

struct next_step {
	bool present;
	const char *change;
	const char *variable;
	const char *from;
	const char *to;
	const char *expect;
};

struct diagnosis {
	const char *started_at;
	const char *url;
	const char *api;
	const char *model;
	struct fingerprint fingerprint;
	bool partial;
	enum verdict verdict;
	enum slow_kind kind;
	const char *summary; /* one sentence in the user's language */
	struct sla sla;
	struct curve_point *curve;
	int n_curve;
	struct cause_finding *causes; /* every cause of the catalogue once, ranked */
	int n_causes;
	struct next_step next;
	const struct signal_server *server; /* under the load in use; NULL: told nothing */
	const struct signal_system *system; /* likewise; NULL: was not watched */
	const char **warnings;
	int n_warnings;
};

#endif
