#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_ALIGN = 16, ARENA_BLOCK_BYTES = 64 * 1024 };

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t dirty; /* bytes that were in use at some time: zero behind them */
	size_t size;
	_Alignas(ARENA_ALIGN) char data[];
};

static NORETURN void out_of_memory(size_t size)
{
	fprintf(stderr, "venturi: error: out of memory (%zu bytes wanted)\n", size);
	exit(4);
}

void *mem_realloc(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);
	if (!p)
		out_of_memory(size);
	return p;
}

void *mem_zeroed(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);
	if (!p)
		out_of_memory(n > SIZE_MAX / (size ? size : 1) ? SIZE_MAX : n * size);
	return p;
}

static struct arena_block *add_block(struct arena *arena, size_t size)
{
	struct arena_block *block = mem_zeroed(1, sizeof(*block) + size);
	block->size = size;
	arena->total_bytes += size;
	/* A block of one large piece goes behind the head, which still has room for small ones. */
	struct arena_block **at =
	        size > ARENA_BLOCK_BYTES && arena->head ? &arena->head->next : &arena->head;
	block->next = *at;
	*at = block;
	return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	if (size > PTRDIFF_MAX / 2)
		out_of_memory(size);
	size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	struct arena_block *block = arena->head;
	if (!block || block->size - block->used < size)
		block = add_block(arena, size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES);
	char *p = block->data + block->used;
	if (block->used < block->dirty)
		memset(p, 0, block->dirty - block->used < size ? block->dirty - block->used : size);
	block->used += size;
	if (block->dirty < block->used)
		block->dirty = block->used;
	return p;
}

void *arena_alloc_n(struct arena *arena, size_t n, size_t size)
{
	size_t total;
	if (__builtin_mul_overflow(n, size, &total))
		out_of_memory(SIZE_MAX);
	return arena_alloc(arena, total);
}

char *arena_strdup(struct arena *arena, const char *text)
{
	size_t n = strlen(text) + 1;
	return memcpy(arena_alloc(arena, n), text, n);
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	char *out = arena_alloc(arena, (size_t)n + 1);
	vsnprintf(out, (size_t)n + 1, fmt, again);
	va_end(again);
	return out;
}

void arena_release(struct arena *arena)
{
	for (struct arena_block *block = arena->head; block;) {
		struct arena_block *next = block->next;
		free(block);
		block = next;
	}
	*arena = (struct arena){ 0 };
}

void arena_rewind(struct arena *arena)
{
	size_t total = arena->total_bytes;
	if (arena->head && !arena->head->next) {
		arena->head->used = 0;
		return;
	}
	arena_release(arena);
	if (total)
		add_block(arena, total);
}
