/*
 * metrics.h - what /metrics shows, in Prometheus text; names in the manner of vLLM's.
 *
 * One mutex guards all; every function may be called from any thread.
 */
#ifndef VENTURI_SERVE_METRICS_H
#define VENTURI_SERVE_METRICS_H

#include "base/str.h"

#include <pthread.h>
#include <stdint.h>

enum metric {
	METRIC_RUNNING,
	METRIC_WAITING,
	METRIC_PROMPT_TOKENS,
	METRIC_GENERATION_TOKENS,
	METRIC_N_VALUES,
};

enum metric_hist {
	METRIC_QUEUE_TIME,
	METRIC_TTFT,
	METRIC_ITL,
	METRIC_E2E,
	METRIC_BATCH_SIZE,
	METRIC_N_HISTS,
};

enum { METRICS_BUCKETS_MAX = 24, METRICS_ENDS_MAX = 8 };

struct metrics {
	pthread_mutex_t lock;
	const char *model_name;
	double values[METRIC_N_VALUES];
	struct {
		uint64_t counts[METRICS_BUCKETS_MAX + 1]; /* not cumulative; the last is +Inf */
		uint64_t n;
		double sum;
	} hists[METRIC_N_HISTS];
	struct {
		const char *name;
		uint64_t n;
	} ends[METRICS_ENDS_MAX];
};

void metrics_init(struct metrics *m);
void metrics_add(struct metrics *m, enum metric which, double by);
double metrics_get(struct metrics *m, enum metric which);
/* Counts one ended request; name is a constant and becomes the label finished_reason. */
void metrics_count_end(struct metrics *m, const char *name);
void metrics_observe_ns(struct metrics *m, enum metric_hist which, int64_t ns);
void metrics_observe(struct metrics *m, enum metric_hist which, double value);
void metrics_print(struct metrics *m, struct buf *out);

#endif
