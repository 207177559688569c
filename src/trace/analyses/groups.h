/*
 * groups.h - events of equal key added up: by name, by operator and shape. For the analyses.
 */
#ifndef VENTURI_TRACE_ANALYSES_GROUPS_H
#define VENTURI_TRACE_ANALYSES_GROUPS_H

#include "base/arena.h"
#include "trace/view/view.h"

struct group {
	uint64_t key;
	int64_t n, total_ns;
	int64_t largest_ns; /* of one member */
	uint32_t example;   /* that member */
	uint32_t part;      /* for the caller: the group of another division that is largest here */
};

/* A zeroed struct is empty. */
struct groups {
	struct group *v; /* in order of first appearance */
	uint32_t n, cap;
	uint32_t *slots; /* number + 1 */
	uint32_t n_slots;
};

/* The number of a key's group, a new one if need be. Stays valid. */
uint32_t groups_of(struct groups *g, uint64_t key);
/* Adds one member to the group of its key; returns its number. */
uint32_t groups_add(struct groups *g, uint64_t key, int64_t ns, uint32_t member);
void groups_release(struct groups *g);

/* Numbers of the groups by total, largest first, then by appearance, those without members last:
 * [g->n], from the arena. */
uint32_t *groups_by_total(const struct groups *g, struct arena *arena);

static inline uint64_t group_key(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

/*
 * How much of a device's time only work of one group was running, so that this much at most would
 * go if that work took no time.
 *
 * group_of  for each GROUP_DEVICE event its group, below n_groups
 * exposed_ns  [n_groups], is added to
 * cost      n log(work at the same time)
 */
void groups_exposed(const struct trace_view *v, const struct device_view *d,
        const uint32_t *group_of, uint32_t n_groups, int64_t *exposed_ns);

#endif
