#include "watch/sockets/flows.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 256 };

void flows_release(struct flows *f)
{
	free(f->now);
	free(f->before);
	*f = (struct flows){ 0 };
}

void flows_look(struct flows *f)
{
	struct flow *spare = f->before;
	size_t cap_spare = f->cap_before;
	f->looked = f->now != NULL;
	f->before = f->now;
	f->cap_before = f->cap_now;
	f->n_before = f->n_now;
	f->n_again = 0;
	if (cap_spare < f->cap_now || cap_spare == 0) {
		free(spare);
		cap_spare = f->cap_now ? f->cap_now : FIRST_CAP;
		spare = mem_zeroed(cap_spare, sizeof(*spare));
	} else {
		memset(spare, 0, cap_spare * sizeof(*spare));
	}
	f->now = spare;
	f->cap_now = cap_spare;
	f->n_now = 0;
}

/* The place of a key, or where it goes; a table is never full. Source: Knuth, vol. 3, 6.4. */
static struct flow *find(struct flow *table, size_t cap, uint64_t key)
{
	size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (cap - 1);
	while (table[at].key && table[at].key != key)
		at = (at + 1) & (cap - 1);
	return &table[at];
}

static void grow(struct flows *f)
{
	size_t cap = 2 * f->cap_now;
	struct flow *larger = mem_zeroed(cap, sizeof(*larger));
	for (size_t i = 0; i < f->cap_now; i++)
		if (f->now[i].key)
			*find(larger, cap, f->now[i].key) = f->now[i];
	free(f->now);
	f->now = larger;
	f->cap_now = cap;
}

enum flow_news flows_add(struct flows *f, uint64_t key, const uint64_t counts[FLOW_N_COUNTS],
        uint64_t growth[FLOW_N_COUNTS])
{
	memset(growth, 0, FLOW_N_COUNTS * sizeof(*growth));
	if (f->n_now >= FLOWS_MAX)
		return FLOW_TOO_MANY;
	if (2 * (f->n_now + 1) > f->cap_now)
		grow(f);
	struct flow *to = find(f->now, f->cap_now, key);
	bool again = to->key == key;
	f->n_now += !again;
	to->key = key;
	memcpy(to->counts, counts, sizeof(to->counts));
	if (!f->looked || again)
		return FLOW_OLD;
	const struct flow *old = find(f->before, f->cap_before, key);
	f->n_again += old->key != 0;
	for (int i = 0; i < FLOW_N_COUNTS; i++) {
		uint64_t from = old->key ? old->counts[i] : 0;
		growth[i] = counts[i] > from ? counts[i] - from : 0;
	}
	return old->key ? FLOW_OLD : FLOW_NEW;
}
