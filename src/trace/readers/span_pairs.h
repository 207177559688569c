/*
 * span_pairs.h - spans that a trace tells as a begin and an end, wherever the two stand in it.
 *
 * An end closes the innermost span of its key that is open at its time. Where it has a name, and
 * only one further out has that name, it closes that one: the ends of those within were lost.
 */
#ifndef VENTURI_TRACE_READERS_SPAN_PAIRS_H
#define VENTURI_TRACE_READERS_SPAN_PAIRS_H

#include "trace/timeline/timeline.h"

struct span_mark {
	int64_t time_ns;
	uint32_t key; /* of what nests: a thread, the id of an asynchronous span */
	uint32_t name, track;
	uint32_t order; /* set by _add */
	bool is_end;
};

struct span_pairs {
	struct span_mark *v;
	size_t n, cap;
};

void span_pairs_add(struct span_pairs *pairs, const struct span_mark *mark);
/* Adds the spans to GROUP_OTHER, empties pairs; what has no partner is counted. */
void span_pairs_close(struct span_pairs *pairs, struct timeline *t);
void span_pairs_release(struct span_pairs *pairs);

#endif
