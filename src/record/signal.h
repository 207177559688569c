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
	const char *page;   /* the URL it was read from; NULL: this machine */
	const char *instance; /* which of several, "cpu3", "eth0", "0"; NULL: there is one */
	enum signal_state state;
	const char *reason; /* NULL when measured without a reservation */
	int64_t n;          /* samples of a gauge, intervals of a rate, values of a distribution */
	double delta;       /* of a rate: by how much its counter grew; NAN of everything else */
	double mean, min, p50, p95, max;
	double last;      /* the newest value, inside the window or not; NAN: none */
	double total;     /* of a rate: its counter since the watch began; NAN of everything else */
	const char *text; /* of what is told in words: the newest; NULL of everything else */
	const struct signal_point *series; /* the whole window, thinned when it is long */
	int64_t n_series;
	const struct signal_point *recent; /* the newest values, none left out */
	int64_t n_recent;
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

/* One thread of a watched process. Ratios are shares of the time: 1 is one core. */
struct signal_thread {
	int pid, tid;
	const char *name;
	double cpu_ratio, cpu_ratio_max; /* mean of the window; the busiest sample */
	double run_queue_ratio;          /* runnable, but waiting for a core */
	double voluntary_per_s, involuntary_per_s; /* context switches */
	const char *cpus;                /* that it may run on: "0-3,8"; NULL: unknown */
	char state;                      /* as in /proc: 'R', 'S', 'D', ...; 0: gone */
	const double *recent;            /* CPU ratios of the newest samples, oldest first */
	int64_t n_recent;
	int64_t n;                       /* samples */
	/* What it waits for most when it is not on a CPU: "lock", "events", "network", "io",
	 * "storage", "sleep", "memory", "device", "other"; NULL: it was not looked at. */
	const char *waits_for;
	double waits_for_ratio; /* share of all looks at it off a CPU; waits_for is not NULL */
};

/* Where a watched process was on a CPU, by samples. */
struct signal_symbol {
	int pid;
	const char *symbol; /* "[unknown]" where nobody knows the name */
	const char *module; /* "libc.so.6", "[kernel]", "[JIT]" */
	const char *build_id; /* hexadecimal; NULL: none */
	int64_t n;          /* samples */
	double ratio;       /* of all samples of that process on a CPU */
};

/* What this machine and the watched processes did during one window. */
struct signal_system {
	struct signal *signals;
	size_t n_signals;
	struct signal_thread *threads; /* busiest first, at most some dozens */
	size_t n_threads;
	int64_t n_threads_seen;
	struct signal_symbol *symbols; /* most frequent first, at most some dozens */
	size_t n_symbols;
	double from_s, to_s; /* of the window; NAN: it had none */
	double interval_s;   /* between samples, as asked for */
	int64_t n_samples;
};

/* A signal of the page by its name; NULL when there is none or it has no values. */
const struct signal *signal_find(const struct signal_page *page, const char *name);

#endif
