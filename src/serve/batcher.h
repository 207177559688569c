/*
 * batcher.h - which waiting sequences are computed together, and when.
 *
 * A plan, not a thread: the caller brings the time, asks for the next batch whenever it could
 * compute one, and guards everything by one lock of its own. Whoever was added is taken, removed or
 * still waiting: none is lost.
 *
 * Pulled, not pushed: while the computer is idle a batch of whatever waits goes at once; max_wait
 * counts only while it is busy or when a batch is to be filled (BATCHING_STATIC).
 *
 * Lanes: sequences are sorted by length into lanes, so that a short one does not wait for a long
 * batch; lanes take turns by how much work they had (deficit round robin in tokens), and the oldest
 * waiting sequence of any lane is never older than starve_ns before its lane is next.
 * Buckets: within a lane a batch holds sequences of one bucket of lengths when they are padded.
 */
#ifndef VENTURI_SERVE_BATCHER_H
#define VENTURI_SERVE_BATCHER_H

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BATCHER_EDGES_MAX = 16 };

enum batching { BATCHING_NONE, BATCHING_STATIC, BATCHING_DYNAMIC };

struct batcher_edges {
	int n;
	int at[BATCHER_EDGES_MAX]; /* ascending; at[i]: the longest of lane or bucket i; one more
	                              above */
};

struct batcher_options {
	enum batching batching;
	int max_batch;      /* sequences */
	int64_t max_tokens; /* of a batch, padding counted; 0: no limit */
	int64_t max_wait_ns;
	struct batcher_edges lanes, buckets;
	bool learn_buckets; /* from the lengths seen */
	bool padded;        /* a batch costs its longest times its number */
	int64_t queue_max;  /* sequences that wait; 0: no limit */
	int64_t starve_ns;
};

/* Embedded in what waits. */
struct batcher_item {
	int n_tokens;
	int64_t arrived_ns;
	int64_t deadline_ns; /* 0: none */
	struct batcher_item *prev, *next;
	int lane; /* -1: not waiting */
};

struct batcher;

struct batcher *batcher_new(const struct batcher_options *options);
void batcher_free(struct batcher *b);

enum batcher_verdict { BATCHER_QUEUED, BATCHER_FULL, BATCHER_TOO_LATE };

/*
 * ret_retry_ns  for the two refusals: when trying again may help, from what was computed lately
 */
enum batcher_verdict batcher_add(struct batcher *b, struct batcher_item *item, int64_t now_ns,
        int64_t *ret_retry_ns) NODISCARD;
/* False: it is not waiting (any more). */
bool batcher_remove(struct batcher *b, struct batcher_item *item);

struct batch {
	struct batcher_item **items; /* [max_batch], the caller's */
	int n;
	int pad_to; /* 0: packed */
	int lane;
};

/*
 * The next batch to compute.
 *
 * returns      false: not now; look again at *ret_wake_ns (INT64_MAX: when something was added)
 */
bool batcher_take(
        struct batcher *b, int64_t now_ns, struct batch *batch, int64_t *ret_wake_ns) NODISCARD;

/* A batch came back: how long it took teaches admission and the turns of the lanes. */
void batcher_done(struct batcher *b, const struct batch *batch, int64_t took_ns);

struct batcher_lane_state {
	int64_t waiting, waiting_tokens;
	uint64_t batches, items, tokens, padding;
};
int batcher_n_lanes(const struct batcher *b);
struct batcher_lane_state batcher_lane(const struct batcher *b, int lane);

#endif
