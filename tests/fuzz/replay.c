/*
 * replay.c - the corpus of a fuzz target as a test, without libFuzzer: each file of a folder is one
 * test, which passes when the target returns.
 *
 *	replay_FORMAT [FOLDER]		FOLDER is tests/fuzz/corpus/FORMAT when left out
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* The target gets memory of exactly the file's size, so that a sanitizer sees a step beyond it. */
static bool replay(const char *path)
{
	struct arena tmp = { 0 };
	struct str text;
	struct err err;
	bool ok = str_read_file(path, FILE_BYTES_MAX, &tmp, &text, &err);
	if (ok) {
		uint8_t *data = mem_realloc(NULL, text.len);
		memcpy(data, text.s, text.len);
		LLVMFuzzerTestOneInput(data, text.len);
		free(data);
	} else {
		printf("# %s\n", err.text);
	}
	arena_release(&tmp);
	return ok;
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : "tests/fuzz/corpus/" FUZZ_FORMAT;
	struct dirent **entries;
	int n_failed = 0, n = scandir(folder, &entries, is_visible, alphasort);
	if (n <= 0) {
		printf("Bail out! no corpus in '%s'\n", folder);
		return 1;
	}
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		bool ok = replay(path);
		n_failed += !ok;
		printf("%sok %d - %s survives %s\n", ok ? "" : "not ", i + 1, FUZZ_FORMAT,
		        entries[i]->d_name);
		fflush(stdout);
		free(entries[i]);
	}
	free(entries);
	return n_failed ? 1 : 0;
}
