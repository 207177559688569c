/*
 * fact.h - one thing that was measured (or could not be), with its unit, its source and how many
 * samples stand behind it. Facts are what causes cite.
 */
#ifndef VENTURI_RECORD_FACT_H
#define VENTURI_RECORD_FACT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum fact_state {
	FACT_MEASURED,
	FACT_ESTIMATED,
	FACT_NOT_SUPPORTED, /* this machine or service cannot say */
	FACT_NOT_COUNTED,   /* it could be known, but was not looked at this time */
};

struct fact {
	const char *name;   /* metric name, not translated: "latency_ms_p50" */
	double value;       /* NAN unless measured or estimated */
	const char *unit;   /* "ms", "req/s", "ratio", "1" */
	double threshold;   /* the anchor it was held against; NAN for none */
	const char *source; /* "load, concurrency 8, 30 s" */
	int64_t n;          /* samples; 0 when that has no meaning */
	enum fact_state state;
	const char *reason; /* for the last two states */
};

/* "measured", "estimated", "not_supported", "not_counted" */
const char *fact_state_name(enum fact_state state);

#endif
