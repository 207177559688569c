/*
 * flows.h - the counters of connections that come and go, as the growth of their sum.
 *
 * One look after the other at all connections: of one that was there before, what it grew by; of a
 * new one, all that it counted; of one that ended, nothing after the look before. The first look of
 * all only learns where they stand.
 *
 * Always: memory is taken only when there are more connections than ever. A zeroed struct is empty.
 * One thread.
 */
#ifndef VENTURI_WATCH_FLOWS_H
#define VENTURI_WATCH_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FLOWS_MAX = 64 * 1024 };

enum flow_count {
	FLOW_RETRANSMITS, /* segments */
	FLOW_SENT,        /* bytes that were acknowledged */
	FLOW_RECEIVED,    /* bytes */
	FLOW_BUSY_US,     /* time with data on the way */
	FLOW_RWND_US,     /* of it: the other side had no room */
	FLOW_SNDBUF_US,   /* of it: our side had no room */
	FLOW_N_COUNTS,
};

struct flow {
	uint64_t key; /* 0: the place is free */
	uint64_t counts[FLOW_N_COUNTS];
};

struct flows {
	struct flow *now, *before; /* open addressing */
	size_t n_now, cap_now, cap_before;
	size_t n_before, n_again; /* of those of the look before: all, and those seen again */
	bool looked;              /* there was a look before this one */
};

void flows_release(struct flows *f);

/* A look begins: what was seen since the last call is what was before. */
void flows_look(struct flows *f);

enum flow_news { FLOW_OLD, FLOW_NEW, FLOW_TOO_MANY };

/*
 * A connection of this look.
 *
 * key     its own, never another's; not 0
 * growth  what each count has grown by; a count that went back has grown by nothing
 * returns FLOW_NEW: it was not there before, and this is not the first look; FLOW_TOO_MANY: there
 *         are FLOWS_MAX already, and growth is 0
 */
enum flow_news flows_add(struct flows *f, uint64_t key, const uint64_t counts[FLOW_N_COUNTS],
        uint64_t growth[FLOW_N_COUNTS]);

/* How many of the look before were not seen again: what they counted at last is not known. */
static inline size_t flows_n_ended(const struct flows *f)
{
	return f->n_before - f->n_again;
}

#endif
