/*
 * options.h - the options that say what is sent and how, shared by the commands that make load.
 */
#ifndef VENTURI_LOAD_OPTIONS_H
#define VENTURI_LOAD_OPTIONS_H

#include "base/opt.h"
#include "load/load.h"

struct load_options {
	struct load_config config;
	const char *check_client; /* "auto" or "off" */
	int64_t concurrency;      /* 0: not given */
	const char *rate;         /* likewise NULL */
	const char *arrival;
	double time_scale;
	const char *export_schedule; /* a file, or NULL */
	const char *records;         /* likewise */
	int64_t max_in_flight;
	int64_t duration_ns; /* 0: not given */
	int64_t requests;    /* 0: not given */
	int64_t sessions;    /* 0: not given */
	const char *warmup; /* NULL: not given */
	const char *on_saturation; /* "stop" or "continue" */
};

enum { LOAD_DEFAULT_CONCURRENCY = 8, LOAD_DEFAULT_DURATION_S = 10 };

/* What the rows stand at before parsing. */
void load_options_init(struct load_options *o);

/* What is sent: API, model, prompts, headers, timeouts. Offsets into struct load_options. */
extern const struct opt load_workload_rows[];
extern const size_t load_n_workload_rows;

/* Conversations of several turns, which not every command makes. */
extern const struct opt load_session_rows[];
extern const size_t load_n_session_rows;

/* How it is sent: concurrency or rate. */
extern const struct opt load_shape_rows[];
extern const size_t load_n_shape_rows;

/* How long: duration or requests, warm-up, and what is reported. */
extern const struct opt load_window_rows[];
extern const size_t load_n_window_rows;

/*
 * The shape that the options ask for; a schedule is read.
 *
 * errors   ERR_USAGE when they contradict each other, ERR_INPUT for a schedule's file
 */
bool load_options_shape(const struct load_options *o, struct arena *run,
	struct load_shape *ret_shape, struct err *err) NODISCARD;

/* '--rate' where only a level one makes sense; 0 when none was given. */
bool load_options_level_rate(const struct load_options *o, struct arena *run, double *ret_per_s,
	struct err *err) NODISCARD;

#endif
