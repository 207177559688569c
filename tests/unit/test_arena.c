#include "base/arena.h"

#include "tap.h"

#include <sys/wait.h>
#include <unistd.h>

static void memory_is_zeroed_aligned_and_apart(void)
{
	AUTO(arena_release) struct arena arena = { 0 };
	static char *pieces[2000];
	static size_t sizes[2000];
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		sizes[i] = i * i % 3001;
		pieces[i] = arena_alloc(&arena, sizes[i]);
		CHECK(pieces[i] != NULL && (uintptr_t)pieces[i] % 16 == 0);
		for (size_t k = 0; k < sizes[i]; k++)
			if (pieces[i][k] != 0)
				CHECK(pieces[i][k] == 0);
		memset(pieces[i], (int)(i % 255 + 1), sizes[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
		for (size_t k = 0; k < sizes[i]; k++)
			if (pieces[i][k] != (char)(i % 255 + 1) && !CHECK(false))
				return;
}

static void large_pieces_do_not_waste_the_block_of_small_ones(void)
{
	AUTO(arena_release) struct arena arena = { 0 };
	enum { LARGE = 1000 * 1000, N = 20 };
	for (int i = 0; i < N; i++) {
		char *large = arena_alloc(&arena, LARGE);
		memset(large, 1, LARGE);
		CHECK(arena_alloc(&arena, 16) != NULL);
	}
	/* The large ones, and one block for all the small ones. */
	CHECK(arena.total_bytes < N * (LARGE + 16) + 2 * 64 * 1024);
}

static void a_released_arena_may_be_used_again(void)
{
	struct arena arena = { 0 };
	arena_release(&arena);
	CHECK_STR(arena_strdup(&arena, "one"), "one");
	arena_release(&arena);
	CHECK(arena.head == NULL && arena.total_bytes == 0);
	CHECK_STR(arena_printf(&arena, "%d %s", 2, "two"), "2 two");
	arena_release(&arena);
}

static void a_rewound_arena_gives_the_same_memory_again(void)
{
	AUTO(arena_release) struct arena arena = { 0 };
	arena_rewind(&arena);
	CHECK(arena.head == NULL);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 100; i++) {
			char *p = arena_alloc(&arena, 3000);
			CHECK(p[0] == 0 && p[2999] == 0);
			memset(p, 1, 3000);
		}
		size_t bytes = arena.total_bytes;
		arena_rewind(&arena);
		CHECK_INT(arena.total_bytes, bytes);
		/* From the second round on all of it lies in one block. */
		struct arena_block *head = arena.head;
		arena_rewind(&arena);
		CHECK(arena.head == head);
	}
}

static void printed_text_may_be_of_any_length(void)
{
	AUTO(arena_release) struct arena arena = { 0 };
	char *text = arena_printf(&arena, "%0100000d", 7);
	CHECK_INT(strlen(text), 100000);
	CHECK(text[99999] == '7');
	CHECK_STR(arena_printf(&arena, "%s", ""), "");
}

static void arrays_are_counted_in_elements(void)
{
	AUTO(arena_release) struct arena arena = { 0 };
	int64_t *numbers = arena_new_n(&arena, int64_t, 100000);
	for (int i = 0; i < 100000; i++)
		numbers[i] = i;
	CHECK_INT(numbers[99999], 99999);
	CHECK(arena_new_n(&arena, int64_t, 0) != NULL);
}

/* The exit code of a child that asks for too much; its message goes nowhere. */
static int exit_code_of(void (*ask)(struct arena *arena))
{
	int status = 0;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		struct arena arena = { 0 };
		if (!freopen("/dev/null", "w", stderr))
			_exit(99);
		ask(&arena);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void ask_too_many(struct arena *arena)
{
	arena_alloc_n(arena, SIZE_MAX / 4, 8);
}

static void ask_too_much(struct arena *arena)
{
	arena_alloc(arena, SIZE_MAX - 8);
}

static void what_no_machine_has_ends_the_program_with_code_4(void)
{
	CHECK_INT(exit_code_of(ask_too_many), 4);
	CHECK_INT(exit_code_of(ask_too_much), 4);
}

int main(void)
{
	TAP_RUN(memory_is_zeroed_aligned_and_apart);
	TAP_RUN(large_pieces_do_not_waste_the_block_of_small_ones);
	TAP_RUN(a_released_arena_may_be_used_again);
	TAP_RUN(a_rewound_arena_gives_the_same_memory_again);
	TAP_RUN(printed_text_may_be_of_any_length);
	TAP_RUN(arrays_are_counted_in_elements);
	TAP_RUN(what_no_machine_has_ends_the_program_with_code_4);
	return tap_done();
}
