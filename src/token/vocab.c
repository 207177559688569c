#include "token/vocab.h"

#include <string.h>

void vocab_init(struct vocab *v, const struct piece *pieces, int n, struct arena *run)
{
	*v = (struct vocab){ .pieces = pieces, .n_slots = 2 };
	while (v->n_slots < 2 * (size_t)n)
		v->n_slots *= 2;
	v->slots = arena_new_n(run, struct vocab_slot, v->n_slots);
	memset(v->slots, 0xFF, v->n_slots * sizeof(*v->slots));
}

static uint64_t hash_of(struct str key)
{
	uint64_t hash = vocab_hash_of_nothing();
	for (size_t i = 0; i < key.len; i++)
		hash = vocab_hash_byte(hash, key.s[i]);
	return hash;
}

static uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

/* The slot that holds the key, or the empty one where it belongs. */
static struct vocab_slot *find_slot(const struct vocab *v, uint64_t hash, struct str key)
{
	size_t i = (hash ^ hash >> 32) & (v->n_slots - 1);
	uint32_t tag = tag_of(hash);
	while (v->slots[i].id != NO_ID &&
	        (v->slots[i].tag != tag || !str_eq(v->pieces[v->slots[i].id].key, key)))
		i = (i + 1) & (v->n_slots - 1);
	return &v->slots[i];
}

void vocab_add(struct vocab *v, int32_t id)
{
	struct str key = v->pieces[id].key;
	if (key.len == 0)
		return;
	uint64_t hash = hash_of(key);
	struct vocab_slot *slot = find_slot(v, hash, key);
	if (slot->id == NO_ID)
		*slot = (struct vocab_slot){ id, tag_of(hash) };
	if (key.len > v->key_bytes_max)
		v->key_bytes_max = key.len;
}

int32_t vocab_find_hashed(const struct vocab *v, uint64_t hash, struct str key)
{
	return key.len <= v->key_bytes_max ? find_slot(v, hash, key)->id : NO_ID;
}

int32_t vocab_find(const struct vocab *v, struct str key)
{
	/* Longer ones need not be hashed. */
	return key.len <= v->key_bytes_max ? find_slot(v, hash_of(key), key)->id : NO_ID;
}
