/*
 * batcher.h - which waiting sequences are computed together, and when.
 *
 * A plan, not a thread: the caller brings the time, asks for the next batch whenever it could
 * compute one, and guards everything by one lock of its own. Whoever was added is taken, removed or
 * still waiting: none is lost. Nothing here allocates after batcher_new.
 *
 * Pulled, not pushed: while the computer is idle a batch of whatever waits goes at once. max_wait
 * counts only while it is busy, that is, when the last batch ended less than max_wait ago; or
 * always when batches are to be filled (BATCHING_STATIC). Nobody is held back beyond the moment
 * from which its deadline could not be met.
 *
 * Lanes: sequences are sorted by length into lanes, so that a short one does not wait for a long
 * batch. Of the lanes that have something ready, the one that had the least work so far is next,
 * and one that comes back from being empty has no claim to the turns it missed: each lane with
 * work gets an equal share of the tokens, a lane with less work than that all it wants. The oldest
 * of a lane that has waited longer than starve_ns is next whatever the shares are, unless its lane
 * was the last to jump the turns like this.
 * Buckets: within a lane a batch holds sequences of one bucket of lengths when they are padded.
 *
 * Source: start-time fair queueing, Goyal 1996, with tokens for bytes; what a batch waits for:
 * Triton's dynamic batcher (static), text-embeddings-inference (dynamic).
 */
#ifndef VENTURI_SERVE_BATCHER_H
#define VENTURI_SERVE_BATCHER_H

#include "base/attr.h"
#include "base/err.h"
#include "serve/buckets.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BATCHER_LANES_MAX = BATCHER_EDGES_MAX + 1 };

enum batching { BATCHING_NONE, BATCHING_STATIC, BATCHING_DYNAMIC };

struct batcher_options {
	enum batching batching;
	int max_batch;      /* sequences */
	int64_t max_tokens; /* of a batch, padding counted; 0: no limit; one sequence always fits */
	int64_t max_wait_ns;
	struct batcher_edges lanes, buckets;
	bool learn_buckets; /* from the lengths seen */
	bool padded;        /* a batch costs its longest times its number */
	int pad_least;      /* when padded: never to less than this */
	int pad_most;       /* nor to more than this, which no sequence exceeds; 0: no limit */
	int64_t queue_max;  /* sequences that wait; 0: no limit */
	int64_t starve_ns;  /* 0: never */
};

/* Embedded in what waits. */
struct batcher_item {
	int n_tokens;
	int64_t arrived_ns;
	int64_t deadline_ns; /* 0: none */
	struct batcher_item *prev, *next;
	int lane, bucket;
	bool waiting;
};

struct batcher;

struct batcher *batcher_new(const struct batcher_options *options);
void batcher_free(struct batcher *b);

enum batcher_verdict { BATCHER_QUEUED, BATCHER_FULL, BATCHER_TOO_LATE };

/*
 * Whether n sequences that belong together can be added now. More of them than queue_max are only
 * too many while others wait.
 *
 * n_tokens      of all of them
 * n_longest     tokens of the longest
 * deadline_ns   0: none
 * ret_retry_ns  for the two refusals: when trying again may help, from what was computed lately
 */
enum batcher_verdict batcher_admit(const struct batcher *b, int64_t n, int64_t n_tokens,
        int n_longest, int64_t deadline_ns, int64_t now_ns, int64_t *ret_retry_ns) NODISCARD;

/* Adds without asking: after batcher_admit under the same lock. n_tokens, arrived_ns and
 * deadline_ns of the item are the caller's. */
void batcher_put(struct batcher *b, struct batcher_item *item);

/* Both for one. */
enum batcher_verdict batcher_add(struct batcher *b, struct batcher_item *item, int64_t now_ns,
        int64_t *ret_retry_ns) NODISCARD;

/* False: it is not waiting (any more). */
bool batcher_remove(struct batcher *b, struct batcher_item *item);

/* Takes out one whose deadline has passed; NULL: none. Of a queue only its oldest is looked at. */
struct batcher_item *batcher_take_late(struct batcher *b, int64_t now_ns);

struct batch {
	struct batcher_item **items; /* [max_batch], the caller's */
	int n;
	int pad_to; /* 0: packed */
	int lane;
	int64_t n_tokens; /* without padding */
	int64_t n_rows;   /* with it */
};

/*
 * The next batch to compute.
 *
 * returns      false: not now; look again at *ret_wake_ns (INT64_MAX: when something was added)
 */
bool batcher_take(
        struct batcher *b, int64_t now_ns, struct batch *batch, int64_t *ret_wake_ns) NODISCARD;

/* A batch came back: how long it took teaches admission. */
void batcher_done(struct batcher *b, const struct batch *batch, int64_t took_ns, int64_t now_ns);

/* In how long what waits now will have been computed, as far as is known. */
int64_t batcher_backlog_ns(const struct batcher *b, int64_t now_ns);
int64_t batcher_waiting(const struct batcher *b);

struct batcher_lane_state {
	int64_t waiting, waiting_tokens;
	uint64_t batches, items, tokens, padding;
};
int batcher_n_lanes(const struct batcher *b);
struct batcher_lane_state batcher_lane(const struct batcher *b, int lane);
/* Those in use now: given, or learned so far. */
struct batcher_edges batcher_buckets(const struct batcher *b);

#endif
