/*
 * ncu.h - the metrics of Nsight Compute under one number each, whatever page they are from, and
 * what the analyses of profiled launches share.
 *
 * Launches weigh by their duration where all of them tell it, else alike.
 */
#ifndef VENTURI_TRACE_ANALYSES_NCU_H
#define VENTURI_TRACE_ANALYSES_NCU_H

#include "trace/analysis.h"

enum ncu_metric {
	NCU_DURATION_NS,
	NCU_SM_PERCENT,     /* of the peak of the multiprocessors' pipes */
	NCU_MEMORY_PERCENT, /* of the peak of the busiest part of the memory */
	NCU_DRAM_PERCENT,
	NCU_OCCUPANCY_PERCENT,     /* achieved */
	NCU_OCCUPANCY_MAX_PERCENT, /* theoretical */
	NCU_LIMIT_REGISTERS,       /* blocks on a multiprocessor, by what they need */
	NCU_LIMIT_SHARED,
	NCU_LIMIT_BLOCKS,
	NCU_LIMIT_WARPS,
	NCU_WAVES, /* blocks of the grid over those that are resident at once */
	NCU_THREADS_PER_INST,
	NCU_LOAD_SECTORS,
	NCU_LOAD_REQUESTS,
	NCU_LOAD_RATIO, /* sectors per request, where it is told itself */
	NCU_STORE_SECTORS,
	NCU_STORE_REQUESTS,
	NCU_STORE_RATIO,
	NCU_CONFLICTS, /* of banks of shared memory */
	NCU_CONFLICTS_LOAD,
	NCU_CONFLICTS_STORE,
	NCU_SHARED_LOADS, /* instructions of warps */
	NCU_SHARED_STORES,
	NCU_SHARED_ALL,
	NCU_DRAM_READ_BYTES,
	NCU_DRAM_WRITE_BYTES,
	N_NCU,
};

struct ncu_launch {
	const struct profiled_launch *launch;
	double v[N_NCU]; /* NAN: not told */
	double weight;   /* of the sum of all: a share */
};

/* The launches of the timeline, the heaviest first. */
struct ncu_launches {
	struct ncu_launch *v;
	size_t n;
	bool by_time; /* weights are shares of time */
};
struct ncu_launches ncu_launches_of(const struct timeline *t, struct arena *arena);

/* The launches for which a judge has an answer, and those of which it is yes. */
struct ncu_share {
	size_t n, n_hit;
	double hit_ratio; /* weight of the hits over weight of those that have an answer */
};
/* ret_value gets the figure itself. */
typedef enum ncu_answer {
	NCU_NOT_TOLD,
	NCU_NO,
	NCU_YES
} ncu_judge(const struct ncu_launch *launch, double *ret_value);
struct ncu_share ncu_judge_all(const struct ncu_launches *all, ncu_judge *judge);

/* The first columns of a table of launches: kernel, grid, duration. */
struct trace_table *ncu_table(struct trace_finding *f, struct arena *run, const char *name);
void ncu_table_launch(struct trace_table *table, struct arena *run, const struct timeline *t,
        const struct ncu_launch *l);
/* A reason that names the metrics to profile with. */
void ncu_abstain(struct trace_finding *f, struct arena *run, const char *metrics);

#endif
