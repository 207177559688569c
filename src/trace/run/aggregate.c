#include "trace/run/aggregate.h"

#include "base/arena.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 64 };

/* Fibonacci hashing: the upper half of a product with 2^64 / golden ratio. Knuth 6.4. */
static size_t slot_of(uint64_t key, size_t n_slots)
{
	key ^= key >> 32;
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (n_slots - 1);
}

static void rehash(struct aggregate *a)
{
	free(a->slots);
	a->n_slots = a->n_slots ? a->n_slots * 2 : FIRST_SLOTS;
	a->slots = mem_zeroed(a->n_slots, sizeof *a->slots);
	for (size_t i = 0; i < a->n; i++) {
		size_t at = slot_of(a->rows[i].key, a->n_slots);
		while (a->slots[at])
			at = (at + 1) & (a->n_slots - 1);
		a->slots[at] = (uint32_t)i + 1;
	}
}

const struct aggregate_row *aggregate_find(const struct aggregate *a, uint64_t key)
{
	if (a->n == 0)
		return NULL;
	for (size_t at = slot_of(key, a->n_slots); a->slots[at]; at = (at + 1) & (a->n_slots - 1))
		if (a->rows[a->slots[at] - 1].key == key)
			return &a->rows[a->slots[at] - 1];
	return NULL;
}

struct aggregate_row *aggregate_at(struct aggregate *a, uint64_t key)
{
	if (a->n * 2 >= a->n_slots)
		rehash(a);
	size_t at = slot_of(key, a->n_slots);
	for (; a->slots[at]; at = (at + 1) & (a->n_slots - 1))
		if (a->rows[a->slots[at] - 1].key == key)
			return &a->rows[a->slots[at] - 1];
	if (a->n == a->cap) {
		a->cap = a->cap ? a->cap * 2 : 32;
		a->rows = mem_realloc(a->rows, a->cap * sizeof *a->rows);
	}
	a->rows[a->n] = (struct aggregate_row){ .key = key };
	a->slots[at] = (uint32_t)++a->n;
	return &a->rows[a->n - 1];
}

void aggregate_join(struct aggregate *a, uint64_t key, const struct aggregate_row *from)
{
	struct aggregate_row *row = aggregate_at(a, key);
	if (row->calls == 0) {
		row->first = from->first;
		row->class = from->class;
	}
	row->calls += from->calls;
	row->total_ns = add_held(row->total_ns, from->total_ns);
	row->self_ns = add_held(row->self_ns, from->self_ns);
	if (from->max_ns > row->max_ns)
		row->max_ns = from->max_ns;
}

void aggregate_add(
        struct aggregate *a, uint64_t key, uint32_t first, int64_t dur_ns, int64_t self_ns)
{
	const struct aggregate_row one = {
		.first = first, .calls = 1, .total_ns = dur_ns, .self_ns = self_ns, .max_ns = dur_ns
	};
	aggregate_join(a, key, &one);
}

void aggregate_release(struct aggregate *a)
{
	free(a->rows);
	free(a->slots);
	*a = (struct aggregate){ 0 };
}
