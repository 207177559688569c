/*
 * watch_tree.h - folders of a test that stand for /proc and /sys, and signals found by their names.
 */
#ifndef VENTURI_TESTS_WATCH_TREE_H
#define VENTURI_TESTS_WATCH_TREE_H

#include "record/signal.h"

#include "base/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char tree_root[64];

static inline void tree_new(void)
{
	snprintf(tree_root, sizeof(tree_root), "/tmp/venturi-tree-XXXXXX");
	if (!mkdtemp(tree_root))
		abort();
}

static inline int tree_remove_one(
        const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void tree_remove(void)
{
	nftw(tree_root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file of the tree in place, as the kernel's change: who holds it open reads the new text.
 */
static inline PRINTF(2, 3) void tree_put(const char *name, const char *fmt, ...)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", tree_root, name);
	for (char *p = path + strlen(tree_root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			abort();
		*p = '/';
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	va_list ap;
	va_start(ap, fmt);
	if (fd < 0 || vdprintf(fd, fmt, ap) < 0)
		abort();
	va_end(ap);
	close(fd);
}

/* The signal without an instance; of an instance that begins so. NULL: there is none. */
static inline const struct signal *tree_find(
        const struct signal_system *s, const char *name, const char *instance)
{
	for (size_t i = 0; i < s->n_signals; i++) {
		const struct signal *sig = &s->signals[i];
		if (strcmp(sig->name, name) != 0 || !sig->instance != !instance)
			continue;
		if (!instance || strncmp(sig->instance, instance, strlen(instance)) == 0)
			return sig;
	}
	return NULL;
}

#endif
