/*
 * aggregate.h - sums under 64-bit keys, in a table that grows: what an account of a million events
 * by name, or by name and shape, is kept in.
 *
 * A zeroed struct is empty. Rows stand in the order in which their keys came; a pointer to one is
 * valid until the next aggregate_at.
 */
#ifndef VENTURI_TRACE_AGGREGATE_H
#define VENTURI_TRACE_AGGREGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* a + b, held at the ends: no sum of a damaged file wraps. */
static inline int64_t add_held(int64_t a, int64_t b)
{
	int64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

struct aggregate_row {
	uint64_t key;
	/* The caller's, as they were counted first. */
	uint32_t first, class;
	int64_t calls, total_ns, self_ns, max_ns;
};

struct aggregate {
	struct aggregate_row *rows;
	size_t n, cap;
	uint32_t *slots; /* [n_slots], row + 1; 0 is empty */
	size_t n_slots;
};

/* The row of a key, a new one with zeros when there was none. */
struct aggregate_row *aggregate_at(struct aggregate *a, uint64_t key);
/* The row of a key; NULL when there is none. */
const struct aggregate_row *aggregate_find(const struct aggregate *a, uint64_t key);
/* Counts one call; first is kept of the first. */
void aggregate_add(
        struct aggregate *a, uint64_t key, uint32_t first, int64_t dur_ns, int64_t self_ns);
/* Counts what another row holds. */
void aggregate_join(struct aggregate *a, uint64_t key, const struct aggregate_row *from);
void aggregate_release(struct aggregate *a);

#endif
