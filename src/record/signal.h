/*
 * signal.h - something that was read from outside and bears on a cause: filled by watch/, read by
 * diagnose/ and report/.
 *
 * A number that is absent is NAN. All memory is the run's arena. Times are seconds on the load's
 * axis, whose 0 is the start of the window.
 */
#ifndef VENTURI_RECORD_SIGNAL_H
#define VENTURI_RECORD_SIGNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum signal_state {
	SIGNAL_MEASURED,
	SIGNAL_ESTIMATED,     /* the reason says what was assumed */
	SIGNAL_NOT_SUPPORTED, /* nobody tells it here */
	SIGNAL_NOT_COUNTED,   /* it is told, but not for this window */
};

/* "measured", "estimated", "not_supported", "not_counted" */
extern const char *const signal_state_names[];

struct signal_point {
	double t_s;
	double value;
};

struct signal {
	const char *name;   /* "server_requests_running" */
	const char *unit;   /* "1", "ratio", "ms", "tokens", "tokens/s", "1/s" */
	const char *source; /* what it was read from, by its own name; NULL: nothing */
	const char *page;   /* the URL it was read from */
	enum signal_state state;
	const char *reason; /* NULL when measured without a reservation */
	int64_t n;          /* samples of a gauge, intervals of a rate, values of a distribution */
	double delta;       /* of a rate: by how much its counter grew; NAN of everything else */
	double mean, min, p50, p95, max;
	const struct signal_point *series;
	int64_t n_series;
};

/* One page of metrics, looked at before, during and after a window. */
struct signal_page {
	const char *url;
	const char *software; /* "vllm", "sglang", ...; NULL: none that is known */
	const char *reason;   /* why there is nothing, or what is wrong with it; NULL: nothing */
	int64_t n_read;       /* times that it was read */
	int64_t n_failed;     /* times that it could not be */
	int64_t n_broken;     /* lines that were not understood, the last time */
	double from_s, to_s;  /* counters are differences between these moments; NAN: none */
	struct signal *signals;
	size_t n_signals;
};

/* What the service said of itself during one load. */
struct signal_server {
	struct signal_page *pages;
	size_t n_pages;
	double ttft_beyond_ms; /* mean TTFT of the client minus that of the service; NAN: unknown */
	const char *warning;   /* a sentence, or NULL */
};

/* A signal of the page by its name; NULL when there is none or it has no values. */
const struct signal *signal_find(const struct signal_page *page, const char *name);

#endif
