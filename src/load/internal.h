/*
 * internal.h - what the files of load/ know of an opened load, and nobody else.
 */
#ifndef VENTURI_LOAD_INTERNAL_H
#define VENTURI_LOAD_INTERNAL_H

#include "load/endpoint.h"
#include "load/load.h"
#include "load/worker.h"
#include "load/target.h"

struct load {
	struct load_config config;
	struct load_target *targets;
	int n_targets;
	enum load_balance balance;
	const struct endpoint *endpoint; /* as the first target is; the others have to be like it */
	const char *model;
	const void *prepared; /* by the endpoint; NULL: nothing */
	bool streaming;
	struct load_slo slo;
};

/* How many threads one measurement gets. */
int load_n_threads(const struct load *load, const struct load_shape *shape);

/* What the run is: addresses, shape and fingerprint; before it has begun without workers. */
void load_describe(const struct load *load, const struct load_shape *shape,
	const struct worker *workers, int n_workers, struct arena *run, struct load_run *r);

/* Merges what the workers counted into the run; the window is decided by then. */
void load_summarize(const struct load *load, const struct load_shared *shared,
	struct worker *workers, struct arena *run, struct load_run *r);

/* API and model where the user did not say them. */
bool load_discover(struct load *load, struct arena *run, struct err *err) NODISCARD;

#endif
