/*
 * sla.h - the target that a service is held to: one quantile of one latency.
 */
#ifndef VENTURI_DIAGNOSE_SLA_H
#define VENTURI_DIAGNOSE_SLA_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "record/load_run.h"

#include <stdbool.h>
#include <stdint.h>

struct sla_target {
	bool present;
	enum load_metric metric; /* LOAD_LATENCY for p50, p99, ... without a prefix */
	double quantile;
	int64_t target_ns;
	const char *text; /* "p99", "ttft_p99": the part before the = as it was written */
};

/*
 * "p99=150ms", "ttft_p99=200ms", "e2e_p50=2s", "p99.9=1s" (also "p999=1s").
 *
 * errors   ERR_USAGE that names the text
 */
bool sla_parse(
        const char *text, struct arena *run, struct sla_target *ret, struct err *err) NODISCARD;

/*
 * The latency that the target speaks of, from runs of one and the same load taken together.
 *
 * Failed requests count as later than any target: they cannot be left out of a promise to users.
 *
 * ret_n    requests (or gaps between tokens) behind the figure
 * returns  ms; INFINITY when the quantile falls among the failed; NAN when nothing was measured
 */
double sla_measure(const struct sla_target *sla, const struct load_run *const *runs, int n_runs,
        struct arena *tmp, int64_t *ret_n);

#endif
