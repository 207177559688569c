#include "trace/analyses/groups.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mixed(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15U;
	x ^= x >> 29;
	return x;
}

static void place(struct groups *g, uint32_t number)
{
	uint32_t at = (uint32_t)mixed(g->v[number].key) & (g->n_slots - 1);
	while (g->slots[at])
		at = (at + 1) & (g->n_slots - 1);
	g->slots[at] = number + 1;
}

static void widen(struct groups *g)
{
	free(g->slots);
	g->n_slots = g->n_slots ? g->n_slots * 2 : 64;
	g->slots = mem_zeroed(g->n_slots, sizeof *g->slots);
	g->cap = g->n_slots / 2;
	g->v = mem_realloc(g->v, g->cap * sizeof *g->v);
	for (uint32_t i = 0; i < g->n; i++)
		place(g, i);
}

uint32_t groups_of(struct groups *g, uint64_t key)
{
	if (g->n_slots) {
		uint32_t at = (uint32_t)mixed(key) & (g->n_slots - 1);
		for (; g->slots[at]; at = (at + 1) & (g->n_slots - 1))
			if (g->v[g->slots[at] - 1].key == key)
				return g->slots[at] - 1;
	}
	if (g->n == g->cap)
		widen(g);
	g->v[g->n] = (struct group){ .key = key, .example = NONE32, .largest_ns = -1 };
	place(g, g->n);
	return g->n++;
}

uint32_t groups_add(struct groups *g, uint64_t key, int64_t ns, uint32_t member)
{
	uint32_t number = groups_of(g, key);
	struct group *group = &g->v[number];
	group->n++;
	group->total_ns += ns;
	if (ns > group->largest_ns) {
		group->largest_ns = ns;
		group->example = member;
	}
	return number;
}

void groups_release(struct groups *g)
{
	free(g->v);
	free(g->slots);
	*g = (struct groups){ 0 };
}

struct ranked {
	int64_t total_ns;
	uint32_t number;
};

static int by_total(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

uint32_t *groups_by_total(const struct groups *g, struct arena *arena)
{
	uint32_t *order = arena_new_n(arena, uint32_t, g->n + 1);
	struct ranked *ranked = mem_zeroed(g->n + 1, sizeof *ranked);
	for (uint32_t i = 0; i < g->n; i++)
		ranked[i] = (struct ranked){ g->v[i].n ? g->v[i].total_ns : -1, i };
	qsort(ranked, g->n, sizeof *ranked, by_total);
	for (uint32_t i = 0; i < g->n; i++)
		order[i] = ranked[i].number;
	free(ranked);
	return order;
}

/* Work that is running, the first to end on top. */
struct running_event {
	int64_t end_ns;
	uint32_t group;
};

struct running {
	struct running_event *v;
	size_t n, cap;
	uint32_t *n_of; /* [n_groups] */
	uint32_t n_different;
	int64_t now_ns;
};

static void swap(struct running *r, size_t a, size_t b)
{
	struct running_event x = r->v[a];
	r->v[a] = r->v[b];
	r->v[b] = x;
}

static void begin(struct running *r, int64_t end_ns, uint32_t group)
{
	if (r->n == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 16;
		r->v = mem_realloc(r->v, r->cap * sizeof *r->v);
	}
	size_t i = r->n++;
	r->v[i].end_ns = end_ns;
	r->v[i].group = group;
	for (; i && r->v[(i - 1) / 2].end_ns > r->v[i].end_ns; i = (i - 1) / 2)
		swap(r, i, (i - 1) / 2);
	r->n_different += r->n_of[group]++ == 0;
}

static void end_first(struct running *r)
{
	r->n_different -= --r->n_of[r->v[0].group] == 0;
	r->v[0] = r->v[--r->n];
	for (size_t i = 0, child; (child = 2 * i + 1) < r->n; i = child) {
		if (child + 1 < r->n && r->v[child + 1].end_ns < r->v[child].end_ns)
			child++;
		if (r->v[i].end_ns <= r->v[child].end_ns)
			break;
		swap(r, i, child);
	}
}

static void pass_to(struct running *r, int64_t time_ns, int64_t *exposed_ns)
{
	if (r->n_different == 1)
		exposed_ns[r->v[0].group] += time_ns - r->now_ns;
	r->now_ns = time_ns;
}

static void end_until(struct running *r, int64_t time_ns, int64_t *exposed_ns)
{
	while (r->n && r->v[0].end_ns <= time_ns) {
		pass_to(r, r->v[0].end_ns, exposed_ns);
		end_first(r);
	}
}

void groups_exposed(const struct trace_view *v, const struct device_view *d,
        const uint32_t *group_of, uint32_t n_groups, int64_t *exposed_ns)
{
	const struct event *events = v->t->lists[GROUP_DEVICE].v;
	struct running r = { .n_of = mem_zeroed((size_t)n_groups + 1, sizeof *r.n_of),
		.now_ns = d->start_ns };
	for (size_t i = 0; i < d->n; i++) {
		const struct event *e = &events[d->order[i]];
		end_until(&r, e->start_ns, exposed_ns);
		pass_to(&r, e->start_ns, exposed_ns);
		begin(&r, e->start_ns + e->dur_ns, group_of[d->order[i]]);
	}
	end_until(&r, INT64_MAX, exposed_ns);
	free(r.v);
	free(r.n_of);
}
