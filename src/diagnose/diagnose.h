/*
 * diagnose.h - from a service's address to a verdict: measure, hold every cause of the catalogue
 * against the facts, predict, rank.
 */
#ifndef VENTURI_DIAGNOSE_DIAGNOSE_H
#define VENTURI_DIAGNOSE_DIAGNOSE_H

#include "diagnose/sla.h"
#include "load/load.h"
#include "record/diagnosis.h"
#include "record/trace_run.h"

struct diagnose_config {
	struct load_config load;
	struct sla_target sla;
	int64_t concurrency; /* at which the service is used; 0: not said, 8 is assumed */
	double rate_per_s;   /* likewise; 0: not said */
	const struct trace_run *trace; /* of the service, from a profiler; NULL: none */
	int64_t budget_ns;   /* for all measurements together */
};

struct diagnose_hooks {
	const atomic_bool *stop;
	/* a sentence about what is measured now; step i of about n */
	void (*progress)(void *ctx, const char *what, int i, int n, const struct load_progress *p);
	/* Around every measurement, for what is looked at beside the load; each may be NULL. */
	bool (*before)(void *ctx, const struct load_shape *shape, struct err *err);
	void (*window)(void *ctx, bool opened);             /* as load_hooks.window */
	void (*after)(void *ctx, struct load_run *r);       /* r: NULL when there is none */
	void *ctx;
};

/*
 * Measures the service and judges what was measured.
 *
 * errors   as load_open; once the first measurement is done, whatever was found is returned as a
 *          partial diagnosis instead
 */
bool diagnose_run(const struct diagnose_config *config, const struct diagnose_hooks *hooks,
        struct arena *run, struct diagnosis *ret_diagnosis, struct err *err) NODISCARD;

#endif
