/*
 * folder_make.h - a model's folder made for one test, and safetensors files with any header.
 */
#ifndef VENTURI_TESTS_FOLDER_MAKE_H
#define VENTURI_TESTS_FOLDER_MAKE_H

#include "base/str.h"
#include "tap.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
	char path[256];
};

static inline const char *folder_file(const struct folder *f, const char *name)
{
	static char path[2][1024];
	static int i;
	i = !i;
	snprintf(path[i], sizeof(path[i]), "%s/%s", f->path, name);
	return path[i];
}

static inline struct folder folder_begin(void)
{
	struct folder f;
	const char *tmp = getenv("TMPDIR");
	snprintf(f.path, sizeof(f.path), "%s/venturi-folder-XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(f.path) != NULL);
	return f;
}

static inline void folder_bytes(
	const struct folder *f, const char *name, const void *bytes, size_t n)
{
	FILE *file = fopen(folder_file(f, name), "we");
	if (!CHECK(file != NULL))
		return;
	CHECK(fwrite(bytes, 1, n, file) == n);
	fclose(file);
}

static inline void folder_text(const struct folder *f, const char *name, const char *text)
{
	folder_bytes(f, name, text, strlen(text));
}

static inline void folder_below(const struct folder *f, const char *name)
{
	CHECK(mkdir(folder_file(f, name), 0700) == 0);
}

/* The header's length, the header, and n bytes of data behind it. */
static inline void folder_safetensors(const struct folder *f, const char *name, const char *header,
	const void *data, size_t n)
{
	struct buf all = { 0 };
	uint64_t length = strlen(header);
	for (int i = 0; i < 8; i++)
		buf_add_char(&all, (char)(length >> 8 * i & 0xFF));
	buf_add_c(&all, header);
	if (n > 0)
		buf_add(&all, (struct str){ data, n });
	folder_bytes(f, name, all.s, all.len);
	buf_release(&all);
}

static inline void folder_remove(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *row;
	while (dir && (row = readdir(dir))) {
		char name[8192];
		if (strcmp(row->d_name, ".") == 0 || strcmp(row->d_name, "..") == 0)
			continue;
		snprintf(name, sizeof(name), "%.4000s/%s", path, row->d_name);
		if (unlink(name) != 0)
			folder_remove(name);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

static inline void folder_end(struct folder *f)
{
	folder_remove(f->path);
}

#endif
