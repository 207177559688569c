#include "token/vocab.h"

#include <string.h>

void vocab_init(struct vocab *v, const struct piece *pieces, int n, struct arena *run)
{
	*v = (struct vocab){ .pieces = pieces, .n_slots = 2 };
	while (v->n_slots < 2 * (size_t)n)
		v->n_slots *= 2;
	v->slots = arena_new_n(run, int32_t, v->n_slots);
	memset(v->slots, 0xFF, v->n_slots * sizeof(*v->slots));
}

static uint64_t hash_of(struct str key)
{
	uint64_t hash = vocab_hash_of_nothing();
	for (size_t i = 0; i < key.len; i++)
		hash = vocab_hash_byte(hash, key.s[i]);
	return hash;
}

/* The slot that holds the key, or the empty one where it belongs. */
static int32_t *find_slot(const struct vocab *v, uint64_t hash, struct str key)
{
	size_t i = (hash ^ hash >> 32) & (v->n_slots - 1);
	while (v->slots[i] != NO_ID && !str_eq(v->pieces[v->slots[i]].key, key))
		i = (i + 1) & (v->n_slots - 1);
	return &v->slots[i];
}

void vocab_add(struct vocab *v, int32_t id)
{
	struct str key = v->pieces[id].key;
	if (key.len == 0)
		return;
	int32_t *slot = find_slot(v, hash_of(key), key);
	if (*slot == NO_ID)
		*slot = id;
	if (key.len > v->key_bytes_max)
		v->key_bytes_max = key.len;
}

int32_t vocab_find_hashed(const struct vocab *v, uint64_t hash, struct str key)
{
	return key.len <= v->key_bytes_max ? *find_slot(v, hash, key) : NO_ID;
}

int32_t vocab_find(const struct vocab *v, struct str key)
{
	/* Longer ones need not be hashed. */
	return key.len <= v->key_bytes_max ? *find_slot(v, hash_of(key), key) : NO_ID;
}
