/*
 * evidence.h - what was measured of a service, and the figures that follow from it by arithmetic.
 *
 * Evidence is plain data: the procedure fills it from real measurements, tests from formulas. A
 * figure that the evidence does not give is NAN, a run that was not made is NULL; no rule may take
 * either for a measurement.
 */
#ifndef VENTURI_DIAGNOSE_EVIDENCE_H
#define VENTURI_DIAGNOSE_EVIDENCE_H

#include "diagnose/sla.h"
#include "record/load_run.h"
#include "record/trace_run.h"

#include <stdbool.h>
#include <stdint.h>

enum { EVIDENCE_MAX_POINTS = 16, EVIDENCE_MAX_PAIRS = 8 };

/* Interleaved runs A B A B ...: a is the load as it is, b differs in one variable. */
struct evidence_pairs {
	const struct load_run *a[EVIDENCE_MAX_PAIRS];
	const struct load_run *b[EVIDENCE_MAX_PAIRS];
	int n;
};

struct evidence {
	struct sla_target sla;
	int64_t concurrency;      /* at which the service is used */
	bool concurrency_assumed; /* nobody said it */

	const struct load_run *first; /* of all runs: concurrency 1, no warm-up; may be short */
	const struct load_run *alone; /* concurrency 1, warm */
	/* closed loops in ascending concurrency, alone among them */
	const struct load_run *points[EVIDENCE_MAX_POINTS];
	int n_points;
	/* under the load in use: one of the points, or an open loop when a rate was given */
	const struct load_run *operating;

	struct evidence_pairs halved;   /* b: half the concurrency in use */
	struct evidence_pairs raised;   /* b: 1.25 times the load in use or more */
	struct evidence_pairs quickack; /* b: every segment acknowledged at once */
	struct load_halved second; /* two generators with half the load each; .n 0: not measured */
	double null_ceiling_per_s;      /* the generator against a responder that answers at once */
	const struct fingerprint *baseline; /* of the run that this one is compared with */

	const struct trace_run *trace;      /* what a profiler saw of the service; NULL: nothing */

	bool partial;      /* stopped, or the target went away, before all was measured */
	bool budget_spent; /* before all was measured */
};

/* Inserts a closed-loop run in its place; a second run of the same concurrency replaces none. */
void evidence_add_point(struct evidence *ev, const struct load_run *r);
/* The run at exactly this concurrency, or NULL. */
const struct load_run *evidence_point(const struct evidence *ev, int64_t concurrency);

/* Figures of one run; NAN when it has none. */
double run_throughput(const struct load_run *r);
double run_mean_ms(const struct load_run *r, enum load_metric metric);
double run_quantile_ms(const struct load_run *r, enum load_metric metric, double q);
double run_latency_ms(const struct load_run *r);                  /* the mean */
/*
 * How much of its device the service used: of the busiest GPU that its processes have open, the share
 * of the time in which a kernel ran; of a service on CPUs, the share of the cores that its processes may run on,
 * or of its quota where that is less. NAN when it was not watched.
 */
double run_device_ratio(const struct load_run *r);
int64_t run_n(const struct load_run *r, enum load_metric metric); /* 0 without a run */

/*
 * The deepest tail that two samples of n_a and n_b values can be compared in: P99 when both have
 * the samples that it needs (quantile_floor), else P95, P90, P50; NAN below that.
 */
double tail_of(int64_t n_a, int64_t n_b);

/* What changing one variable did. */
struct effect {
	int n;        /* pairs; 0: not measured */
	double ratio; /* mean of b over mean of a */
	double noise; /* as a ratio: max(5 %, 2 x the spread of a against a) */
	bool beyond_noise;
};

struct effect evidence_effect(
        const struct evidence_pairs *pairs, double (*figure)(const struct load_run *r));

/*
 * Is the number of requests under work pinned? With K slots whose speed does not depend on how
 * many are taken, R(N) = max(R(1), N R(1)/K) for every distribution of service times, since all
 * slots are always taken once N exceeds K.
 */
struct slots {
	bool examined; /* two loads n and >= 2n were measured beside the one alone */
	bool streamed; /* told by streams between first and last token, else by the curve alone */
	bool queue;    /* requests wait before they are served */
	bool pinned;   /* the number under work is the same at n and at 2n */
	bool unslowed; /* and what is under work goes as fast as alone */
	double k;      /* the number */
	int64_t n_low, n_high;
	double active_low, active_high; /* mean streams; NAN when not streamed */
	double itl_ratio;               /* ITL at n_high / ITL alone */
	double queue_ratio;             /* share of latency at n_high before the first token */
	double misfit;                  /* largest relative error of the formula above */
};

struct figures {
	const struct load_run *half; /* the largest point at half the load in use or less */
	const struct load_run *top;  /* the point of the highest concurrency */
	double r_alone_ms;           /* mean latency alone */
	double r_operating_ms;
	double x_max; /* the highest throughput of any point */
	int64_t x_max_at;
	double parallelism;   /* x_max * r_alone: how many requests progress at full speed */
	double waiting_ratio; /* (r_operating - r_alone) / r_operating */
	double doubling_gain; /* X in use / X at half */
	double follows_ratio; /* X in use / (N * X alone) */
	double noise;         /* as a ratio, from repeated runs of the load in use */
	struct slots slots;
	/* at the load in use more requests bring no more throughput */
	bool flat;
	/* throughput is capped by structure, whatever the load: a rival to mere saturation */
	bool pinned;
};

void figures_derive(const struct evidence *ev, struct figures *ret);

/*
 * Delays near 40 ms, or twice that, per request: where delayed acknowledgements lie. They are
 * looked for in the gaps of a stream and between its head and its first token, or in the body of
 * another answer.
 *
 * returns  NAN when nothing of the kind was measured
 */
double ack_hits_per_request(const struct load_run *r);
/* The share of the latency that would go away if all of them were delayed acknowledgements. */
double ack_bound_ratio(const struct load_run *r);

#endif
