/*
 * arena.h - memory that is taken piece by piece and given back all at once.
 *
 * A zeroed struct is an empty arena. One arena belongs to one thread at a time. Running out of
 * memory is fatal here and nowhere else; sizes that come from outside are checked before they
 * reach an arena.
 */
#ifndef VENTURI_BASE_ARENA_H
#define VENTURI_BASE_ARENA_H

#include "base/attr.h"

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *head;
	size_t total_bytes;
};

/* size zeroed bytes, aligned to 16; never NULL. */
void *arena_alloc(struct arena *arena, size_t size);

/* n zeroed elements of size bytes each; a product that overflows is fatal. */
void *arena_alloc_n(struct arena *arena, size_t n, size_t size);

#define arena_new(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define arena_new_n(arena, type, n) ((type *)arena_alloc_n((arena), (n), sizeof(type)))

char *arena_strdup(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *fmt, ...) PRINTF(2, 3);

/* Gives everything back; the arena is empty again and may be used. */
void arena_release(struct arena *arena);

/*
 * The same, but the memory stays for the next time, in one block: for who fills an arena with
 * about as much again and again.
 */
void arena_rewind(struct arena *arena);

/* malloc and realloc whose failure ends the program with a message, for growing buffers. */
void *mem_realloc(void *old, size_t size);
/* The same for n zeroed values of a size; pages that nobody writes to take no memory. */
void *mem_zeroed(size_t n, size_t size);

#endif
