/*
 * trace_data.h - real traces for tests: files of ../shared/data/traces beside the checkout, with
 * answers by an independent program. Where they are absent, a test skips.
 */
#ifndef VENTURI_TESTS_TRACE_DATA_H
#define VENTURI_TESTS_TRACE_DATA_H

#include "tap.h"

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

#endif
