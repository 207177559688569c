#include "trace/timeline/intern.h"

#include "base/i18n.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 256 };

__extension__ typedef unsigned __int128 wide;

/* Wyhash-like: reads eight bytes at a time, since names of kernels are hundreds of bytes long. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	wide r = (wide)a * b;
	return (uint64_t)r ^ (uint64_t)(r >> 64);
}

static uint32_t hash_of(struct str text)
{
	const uint64_t k0 = UINT64_C(0xa0761d6478bd642f), k1 = UINT64_C(0xe7037ed1a0b428db);
	uint64_t h = text.len ^ k0;
	const char *p = text.s;
	size_t left = text.len;
	while (left >= 16) {
		uint64_t a, b;
		memcpy(&a, p, 8);
		memcpy(&b, p + 8, 8);
		h = mix(a ^ k1, b ^ h);
		p += 16;
		left -= 16;
	}
	uint64_t tail[2] = { 0, 0 };
	if (left)
		memcpy(tail, p, left);
	h = mix(tail[0] ^ k1, tail[1] ^ h);
	return (uint32_t)(h ^ (h >> 32));
}

static void rehash(struct intern *t, uint32_t n_slots)
{
	free(t->slots);
	t->slots = mem_zeroed(n_slots, sizeof *t->slots);
	t->n_slots = n_slots;
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t at = t->hashes[i] & (n_slots - 1);
		while (t->slots[at])
			at = (at + 1) & (n_slots - 1);
		t->slots[at] = i + 1;
	}
}

static uint32_t append(struct intern *t, struct str bytes, uint32_t hash)
{
	assert(t->n < INT32_MAX);
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 64;
		t->items = mem_realloc(t->items, t->cap * sizeof *t->items);
		t->hashes = mem_realloc(t->hashes, t->cap * sizeof *t->hashes);
	}
	char *copy = arena_alloc(&t->bytes, bytes.len + 1);
	if (bytes.len)
		memcpy(copy, bytes.s, bytes.len);
	t->items[t->n] = (struct str){ copy, bytes.len };
	t->hashes[t->n] = hash;
	return t->n++;
}

static void first_use(struct intern *t)
{
	rehash(t, FIRST_SLOTS);
	uint32_t hash = hash_of(STR(""));
	append(t, STR(""), hash);
	t->slots[hash & (t->n_slots - 1)] = 1;
}

/* The slot of these bytes: theirs, or the empty one where they would go. */
static uint32_t slot_of(const struct intern *t, struct str bytes, uint32_t hash)
{
	uint32_t at = hash & (t->n_slots - 1);
	while (t->slots[at]) {
		uint32_t i = t->slots[at] - 1;
		if (t->hashes[i] == hash && str_eq(t->items[i], bytes))
			break;
		at = (at + 1) & (t->n_slots - 1);
	}
	return at;
}

uint32_t intern_add(struct intern *t, struct str bytes)
{
	if (t->n_slots == 0)
		first_use(t);
	uint32_t hash = hash_of(bytes);
	uint32_t at = slot_of(t, bytes, hash);
	if (t->slots[at])
		return t->slots[at] - 1;
	uint32_t number = append(t, bytes, hash);
	t->slots[at] = number + 1;
	if (t->n > t->n_slots / 2)
		rehash(t, t->n_slots * 2);
	return number;
}

struct str intern_str(const struct intern *t, uint32_t number)
{
	if (number == 0)
		return STR("");
	assert(number < t->n);
	return t->items[number];
}

int64_t intern_find(const struct intern *t, struct str bytes)
{
	if (t->n_slots == 0)
		return bytes.len == 0 ? 0 : -1;
	uint32_t at = slot_of(t, bytes, hash_of(bytes));
	return t->slots[at] ? (int64_t)t->slots[at] - 1 : -1;
}

void intern_release(struct intern *t)
{
	arena_release(&t->bytes);
	free(t->items);
	free(t->hashes);
	free(t->slots);
	*t = (struct intern){ 0 };
}
