/*
 * buckets.h - edges that sort lengths into classes, given by hand or learned from the lengths seen.
 *
 * Pure; nothing here allocates.
 */
#ifndef VENTURI_SERVE_BUCKETS_H
#define VENTURI_SERVE_BUCKETS_H

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	BATCHER_EDGES_MAX = 16,
	BUCKETS_CELLS = 512, /* of the histogram of lengths: 32 a doubling, exact below 64 */
	BUCKETS_LEARNED = 8, /* edges that are learned */
};

struct batcher_edges {
	int n;
	int at[BATCHER_EDGES_MAX]; /* ascending; at[i]: the longest of class i; one more above */
};

/*
 * "64,128,256": ascending numbers from 1.
 *
 * errors   ERR_USAGE that says what is wrong with it
 */
bool edges_parse(const char *text, struct batcher_edges *ret_edges, struct err *err) NODISCARD;

/* The class of a length: 0 to edges->n. */
int edges_find(const struct batcher_edges *edges, int n_tokens);

/* Lengths that were seen, the older ones fading. */
struct bucket_learner {
	uint32_t counts[BUCKETS_CELLS];
	uint32_t n_seen, n_next; /* since the last time, and at how many of them it is time again */
};

/* True: it is time to learn. */
bool buckets_see(struct bucket_learner *l, int n_tokens);

/*
 * The edges, at most n_max of them, with which the lengths seen need the least padding if each is
 * padded to its class's edge; the last edge is the longest seen. Halves what it remembers.
 *
 * cost     cells^2 * n_max steps, for as many cells as have something
 * source   one-dimensional k-segmentation by dynamic programming (Bellman 1961)
 */
void buckets_learn(struct bucket_learner *l, int n_max, struct batcher_edges *ret_edges);

#endif
