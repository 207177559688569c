/*
 * trace_data.h - real traces for tests: files of ../shared/data/traces beside the checkout, with
 * answers by an independent program. Where they are absent, a test skips. And bytes of a test's
 * own as a file.
 */
#ifndef VENTURI_TESTS_TRACE_DATA_H
#define VENTURI_TESTS_TRACE_DATA_H

#include "tap.h"

#include "trace/reader.h"

#include <sys/mman.h>
#include <unistd.h>

#define TRACE_DATA_FOLDER VENTURI_SOURCE "/../shared/data/traces/"

/* The path of a file of the folder; NULL, and the test marked as skipped, when it is absent. */
static inline const char *trace_data(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s%s", TRACE_DATA_FOLDER, name);
	if (access(path, R_OK) == 0)
		return path;
	tap_skip("no real traces beside the checkout");
	return NULL;
}

/* Reads bytes as trace_read_file reads a file that holds them. */
static inline bool trace_read_bytes(
        const char *bytes, size_t n, struct timeline *t, struct err *err)
{
	static char path[64];
	int fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	bool ok = trace_read_file(path, t, err);
	close(fd);
	return ok;
}

#endif
