/*
 * trace_text.h - reads a trace from memory as from a file.
 */
#ifndef VENTURI_TESTS_TRACE_TEXT_H
#define VENTURI_TESTS_TRACE_TEXT_H

#include "trace/reader.h"

#include "tap.h"

#include <sys/mman.h>
#include <unistd.h>

/* Reads text with whichever reader recognises it; false when none does. */
static inline bool read_trace_text(struct str text, struct timeline *t)
{
	char path[64];
	struct err err;
	int fd = memfd_create("trace", MFD_CLOEXEC);
	bool written = fd >= 0 && write(fd, text.s, text.len) == (ssize_t)text.len;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	bool ok = CHECK(written) && trace_read_file(path, t, &err);
	close(fd);
	return ok;
}

/* The name of an event. */
static inline const char *event_name(const struct timeline *t, const struct event *e)
{
	return timeline_name_of(t, e->name).s;
}

#endif
