/*
 * metrics.h - what /metrics shows, in Prometheus text; names in the manner of vLLM's and Triton's.
 *
 * Every function may be called from any thread. Counting is one atomic addition, or two, and takes
 * no lock; a page that is written meanwhile may have one figure of an event and not yet the other.
 */
#ifndef VENTURI_SERVE_METRICS_H
#define VENTURI_SERVE_METRICS_H

#include "base/str.h"

#include <stdatomic.h>
#include <stdint.h>

enum metric {
	METRIC_RUNNING,
	METRIC_WAITING,
	METRIC_PROMPT_TOKENS,
	METRIC_GENERATION_TOKENS,
	/* of batches; shown once there was one */
	METRIC_BATCHES,
	METRIC_BATCHED_ITEMS,
	METRIC_BATCHED_TOKENS,
	METRIC_PADDING_TOKENS,
	METRIC_N_VALUES,
};

enum metric_hist {
	METRIC_QUEUE_TIME,
	METRIC_TTFT,
	METRIC_ITL,
	METRIC_E2E,
	METRIC_BATCH_SIZE,
	METRIC_BATCH_TOKENS,
	METRIC_N_HISTS,
};

/* Where a request's time goes, in this order; shown once a stage has workers. */
enum metric_stage { STAGE_TOKENIZE, STAGE_BATCH, STAGE_COMPUTE, STAGE_FINISH, METRIC_N_STAGES };

/* Counters by a reason. */
enum metric_family { METRIC_ENDED, METRIC_REJECTED, METRIC_N_FAMILIES };

enum { METRICS_BUCKETS_MAX = 24, METRICS_REASONS_MAX = 16 };

struct metrics_hist {
	atomic_ullong counts[METRICS_BUCKETS_MAX + 1]; /* not cumulative; the last is +Inf */
	atomic_llong sum;                              /* ns, or what is counted */
};

struct metrics {
	const char *model_name;
	atomic_llong values[METRIC_N_VALUES];
	struct metrics_hist hists[METRIC_N_HISTS];
	struct {
		struct metrics_hist time;
		atomic_llong busy_ns;
		atomic_llong queued; /* now */
		int n_workers;       /* 0: there is no such stage; set before it begins */
	} stages[METRIC_N_STAGES];
	struct {
		_Atomic(const char *) name;
		atomic_ullong n;
	} reasons[METRIC_N_FAMILIES][METRICS_REASONS_MAX];
	/* What the executor has besides; set before anybody can ask. label: model_name="..." */
	void (*more)(void *ctx, const char *label, struct buf *out);
	void *more_ctx;
};

void metrics_init(struct metrics *m);
void metrics_add(struct metrics *m, enum metric which, int64_t by);
int64_t metrics_get(struct metrics *m, enum metric which);
/* Counts one; reason is a constant and becomes a label. */
void metrics_count(struct metrics *m, enum metric_family family, const char *reason);
void metrics_observe_ns(struct metrics *m, enum metric_hist which, int64_t ns);
void metrics_observe(struct metrics *m, enum metric_hist which, int64_t value);

/* So many more, or fewer, wait for the stage. */
void metrics_stage_queued(struct metrics *m, enum metric_stage stage, int64_t by);
/* One request's time in a stage. */
void metrics_stage_time(struct metrics *m, enum metric_stage stage, int64_t ns);
/* A worker of the stage was at work for so long. */
void metrics_stage_busy(struct metrics *m, enum metric_stage stage, int64_t ns);

void metrics_print(struct metrics *m, struct buf *out);
/* The two lines before a metric's values. */
void metrics_print_head(struct buf *out, const char *name, const char *type, const char *help);

#endif
