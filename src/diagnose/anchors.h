/*
 * anchors.h - every number that a signal is held against, in one table.
 *
 * Anchors are starting values, to be moved by evidence; no rule has a number of its own.
 */
#ifndef VENTURI_DIAGNOSE_ANCHORS_H
#define VENTURI_DIAGNOSE_ANCHORS_H

#include <stddef.h>

enum anchor_id {
	ANCHOR_NOISE,
	ANCHOR_NOISE_SPREADS,
	ANCHOR_PAIRS,
	ANCHOR_REQUESTS,
	ANCHOR_FAILED,
	ANCHOR_NULL_CEILING,
	ANCHOR_CLIENT_THREAD,
	ANCHOR_LATENESS,
	ANCHOR_LATENESS_OF_P50,
	ANCHOR_LITTLE,
	ANCHOR_CONNECTION_TURNS,
	ANCHOR_OMISSION_DELAY,
	ANCHOR_OFFERED,
	ANCHOR_NO_QUEUE,
	ANCHOR_RAISED,
	ANCHOR_COLD,
	ANCHOR_COLD_EXCESS,
	ANCHOR_COLD_REQUESTS,
	ANCHOR_ACK,
	ANCHOR_ACK_LOW,
	ANCHOR_ACK_HIGH,
	ANCHOR_ACK_HITS,
	ANCHOR_RECONNECT,
	ANCHOR_CONNECT,
	ANCHOR_CONNECT_NONE,
	ANCHOR_BUFFERED_TTFT,
	ANCHOR_BUFFERED_READ,
	ANCHOR_BATCH_CONCURRENCY,
	ANCHOR_BATCH_MEAN,
	ANCHOR_BATCH_PAYS,
	ANCHOR_SLOTS_PINNED,
	ANCHOR_SLOTS_QUEUE,
	ANCHOR_SLOTS_ITL,
	ANCHOR_SLOTS_INTEGER,
	ANCHOR_FLAT,
	ANCHOR_WAITING,
	ANCHOR_PROPORTION,
	ANCHOR_FOLLOWS,
	ANCHOR_TAIL,
	ANCHOR_FAR_OVER_SLA,
	ANCHOR_COUNT,
};

struct anchor {
	const char *name;
	double value;
	const char *unit;
	const char *origin; /* where the number comes from */
};

const struct anchor *anchor_at(enum anchor_id id);
double anchor(enum anchor_id id);

#endif
