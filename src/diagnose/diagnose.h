/*
 * diagnose.h - from a service's address to a verdict: measure, hold every cause of the catalogue
 * against the facts, predict, rank.
 */
#ifndef VENTURI_DIAGNOSE_DIAGNOSE_H
#define VENTURI_DIAGNOSE_DIAGNOSE_H

#include "load/load.h"
#include "record/diagnosis.h"

/* "p99=150ms", "ttft_p99=200ms", ...; errors name the text. */
struct sla_target {
	bool present;
	enum load_metric metric; /* LOAD_LATENCY for p50, p99, ... without a prefix */
	double quantile;
	int64_t target_ns;
	const char *text; /* "p99" */
};

bool sla_parse(const char *text, struct arena *run, struct sla_target *ret, struct err *err)
	NODISCARD;

struct diagnose_config {
	struct load_config load;
	struct sla_target sla;
	int64_t concurrency; /* at which the service is used; 0: not said */
	double rate_per_s;   /* likewise; 0: not said */
	int64_t budget_ns;   /* for all measurements together */
};

struct diagnose_hooks {
	const atomic_bool *stop;
	/* a sentence about what is measured now; step i of about n */
	void (*progress)(void *ctx, const char *what, int i, int n, const struct load_progress *p);
	void *ctx;
};

/*
 * errors   as load_open; once the first measurement is done, whatever was found is returned as a
 *          partial diagnosis instead
 */
bool diagnose_run(const struct diagnose_config *config, const struct diagnose_hooks *hooks,
	struct arena *run, struct diagnosis *ret_diagnosis, struct err *err) NODISCARD;

#endif
