#include "record/load_run.h"

const char *const load_failure_names[LOAD_N_FAILURES] = {
	[LOAD_FAIL_CONNECT] = "connect",
	[LOAD_FAIL_TLS] = "tls",
	[LOAD_FAIL_STATUS] = "status",
	[LOAD_FAIL_STREAM_CUT] = "stream_cut",
	[LOAD_FAIL_ERROR_EVENT] = "error_event",
	[LOAD_FAIL_EMPTY] = "empty",
	[LOAD_FAIL_TIMEOUT] = "timeout",
	[LOAD_FAIL_CLIENT] = "client",
};

const char *const load_client_verdict_names[LOAD_N_CLIENT_VERDICTS] = {
	[LOAD_CLIENT_OK] = "ok",
	[LOAD_CLIENT_LIMITED] = "limited",
	[LOAD_CLIENT_UNKNOWN] = "unknown",
	[LOAD_CLIENT_INVALID] = "invalid",
};

const char *const load_metric_names[LOAD_N_METRICS] = {
	[LOAD_LATENCY] = "latency",
	[LOAD_RESPONSE] = "response",
	[LOAD_TTFB] = "ttfb",
	[LOAD_TTFT] = "ttft",
	[LOAD_TTFO] = "ttfo",
	[LOAD_ITL] = "itl",
	[LOAD_WORST_GAP] = "worst_gap",
	[LOAD_TPOT] = "tpot",
};

const char *const load_signal_names[LOAD_N_SIGNALS] = {
	[LOAD_SIGNAL_THROUGHPUT] = "requests_per_s",
	[LOAD_SIGNAL_IN_FLIGHT] = "in_flight",
	[LOAD_SIGNAL_LATENCY] = "latency_ms",
};

const struct load_percentile load_percentiles[LOAD_N_PERCENTILES] = {
	{ "p50", 0.5 },
	{ "p90", 0.9 },
	{ "p95", 0.95 },
	{ "p99", 0.99 },
	{ "p999", 0.999 },
	{ "p9999", 0.9999 },
};

const char *const load_token_source_names[LOAD_N_TOKEN_SOURCES] = {
	[LOAD_TOKENS_USAGE] = "usage",
	[LOAD_TOKENS_IDS] = "ids",
	[LOAD_TOKENS_EVENTS] = "events",
};
