/*
 * Frees whose size the file does not tell (those of a TPU): it is that of the last allocation at
 * the same address.
 */
#include "trace/readers/xplane.h"

#include <stdlib.h>

struct place {
	int64_t device, address;
};

static int by_time(const void *a, const void *b, void *list)
{
	const struct event *v = list;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (v[x].start_ns != v[y].start_ns)
		return v[x].start_ns < v[y].start_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The sizes in use, by place. */
struct sizes {
	struct intern places;
	int64_t *bytes; /* [places.n] */
	size_t cap;
};

static int64_t *size_at(struct sizes *s, const struct memory_detail *d)
{
	struct place place = { d->device, d->address };
	uint32_t i = intern_add(&s->places, (struct str){ (const char *)&place, sizeof place });
	if (i >= s->cap) {
		size_t wider = ((size_t)i + 1) * 2;
		s->bytes = mem_realloc(s->bytes, wider * sizeof *s->bytes);
		memset(s->bytes + s->cap, 0, (wider - s->cap) * sizeof *s->bytes);
		s->cap = wider;
	}
	return &s->bytes[i];
}

/* Marks what stays a free of unknown size by giving it no detail. */
static void resolve(struct timeline *t, struct event *e, struct sizes *sizes, bool is_free)
{
	struct memory_detail d = *timeline_memory(t, e);
	int64_t *bytes = size_at(sizes, &d);
	if (!is_free) {
		*bytes = d.bytes;
		return;
	}
	if (d.bytes == 0 && *bytes > 0) {
		d.bytes = -*bytes;
		e->detail = timeline_detail(t, DETAIL_MEMORY, &d);
	} else if (d.bytes == 0) {
		e->detail = 0;
	}
	*bytes = 0;
}

/* Moves what has no detail to the instants. */
static void move_unknown(struct timeline *t)
{
	struct event_list *list = &t->lists[GROUP_MEMORY];
	size_t kept = 0;
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].detail)
			list->v[kept++] = list->v[i];
		else
			timeline_add(t, GROUP_INSTANT, &list->v[i]);
	}
	list->n = kept;
}

void xplane_resolve_frees(struct timeline *t)
{
	struct event_list *list = &t->lists[GROUP_MEMORY];
	if (list->n == 0)
		return;
	uint32_t *order = mem_zeroed(list->n, sizeof *order);
	struct sizes sizes = { 0 };
	uint32_t free_name = timeline_name(t, STR("MemoryDeallocation"));
	for (size_t i = 0; i < list->n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, list->n, sizeof *order, by_time, list->v);
	for (size_t i = 0; i < list->n; i++) {
		struct event *e = &list->v[order[i]];
		resolve(t, e, &sizes, e->name == free_name);
	}
	move_unknown(t);
	free(order);
	free(sizes.bytes);
	intern_release(&sizes.places);
}
