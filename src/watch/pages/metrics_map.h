/*
 * metrics_map.h - which of our signals a metric of a service's page feeds, by its name.
 *
 * Names change with software and version: a row names the alternatives, the preferred first. A
 * signal is a gauge, a counter shown as a rate, or a distribution, which is a sum over a count,
 * with buckets where the service has a histogram. The tables are constant; any thread may read.
 *
 * Source: the sources of vLLM (v0, v1), SGLang, TGI, Triton, TEI, llama.cpp's server and
 * TensorRT-LLM's exporter as of their versions of 2024 to 2026; src/serve/metrics.c.
 */
#ifndef VENTURI_WATCH_METRICS_MAP_H
#define VENTURI_WATCH_METRICS_MAP_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum metrics_signal {
	METRICS_RUNNING,
	METRICS_WAITING,
	METRICS_KV_USED,
	METRICS_SWAPPED,
	METRICS_SPEC_RATE,
	METRICS_SPEC_LENGTH,
	METRICS_GRAPH,
	METRICS_REQUESTS_OK,
	METRICS_REQUESTS_FAILED,
	METRICS_PROMPT_TOKENS,
	METRICS_GENERATION_TOKENS,
	METRICS_PREEMPTIONS,
	METRICS_PREFIX_HIT,
	METRICS_SPEC_ACCEPTED,
	METRICS_STEPS,
	METRICS_BATCH_SIZE,
	METRICS_STEP_TOKENS,
	METRICS_INPUT_TOKENS,
	METRICS_OUTPUT_TOKENS,
	METRICS_TTFT,
	METRICS_ITL,
	METRICS_TPOT,
	METRICS_E2E,
	METRICS_QUEUE,
	METRICS_TOKENIZE,
	METRICS_PREFILL,
	METRICS_DECODE,
	METRICS_INFERENCE,
	METRICS_COPY_IN,
	METRICS_COPY_OUT,
	METRICS_STEP_TIME,
	METRICS_N_SIGNALS,
};

enum metrics_kind {
	METRICS_GAUGE_SUM, /* of several label sets, their sum */
	METRICS_GAUGE_MAX, /* likewise, the largest */
	METRICS_COUNTER,
	METRICS_DISTRIBUTION,
};

struct metrics_signal_row {
	const char *name, *unit;
	enum metrics_kind kind;
};

extern const struct metrics_signal_row metrics_signals[METRICS_N_SIGNALS];

enum metrics_software {
	METRICS_VLLM,
	METRICS_SGLANG,
	METRICS_TGI,
	METRICS_TRITON,
	METRICS_TEI,
	METRICS_LLAMACPP,
	METRICS_TENSORRT_LLM,
	METRICS_VENTURI_SERVE,
	METRICS_N_SOFTWARE,
};

/* "vllm", "sglang", "tgi", "triton", "tei", "llamacpp", "tensorrt-llm", "venturi-serve" */
extern const char *const metrics_software_names[METRICS_N_SOFTWARE];

/* What a metric is to its signal. */
enum metrics_role {
	METRICS_VALUE,     /* of a gauge or a counter */
	METRICS_HISTOGRAM, /* the name of a histogram or summary: its _sum, _count and _bucket */
	METRICS_SUM,       /* a counter that is the sum of a distribution */
	METRICS_COUNT,     /* a counter that is the count of a distribution */
};

/* Rows of the same signal and role add up. */
struct metrics_row {
	enum metrics_software software;
	enum metrics_signal signal;
	enum metrics_role role;
	const char *names;  /* "a|b": without the prefix; the first that there is counts */
	double scale;       /* to our unit; 0: 1 */
	const char *label;  /* only samples where this label ... */
	const char *values; /* ... has one of these, "a|b"; NULL: all samples */
	bool others;        /* ... or rather has none of these */
};

extern const struct metrics_row metrics_rows[];
extern const size_t metrics_n_rows;

/* Which part of a histogram a name means. */
enum metrics_part { METRICS_PART_VALUE, METRICS_PART_BUCKET, METRICS_PART_SUM, METRICS_PART_COUNT };

struct metrics_match {
	size_t row;
	enum metrics_part part;
	int alternative; /* place among the row's names, 0 the preferred */
};

enum { METRICS_MATCHES_MAX = 8 };

/*
 * The rows that a name of a page feeds.
 *
 * returns  how many, at most METRICS_MATCHES_MAX; 0: not known
 */
size_t metrics_lookup(struct str name, struct metrics_match matches[METRICS_MATCHES_MAX]);

/* Is text one of "a|b|c"? *ret_place, when not NULL, becomes its place, from 0. */
bool metrics_one_of(const char *list, struct str text, int *ret_place);

#endif
