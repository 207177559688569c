/*
 * trace_check.h - any bytes as a trace: read as a file in memory by whichever reader takes them,
 * and what came out must be a timeline that analyses can trust.
 */
#ifndef VENTURI_FUZZ_TRACE_CHECK_H
#define VENTURI_FUZZ_TRACE_CHECK_H

#include "trace/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static inline void trace_require(bool holds)
{
	if (!holds)
		abort();
}

static inline void trace_check_event(
        const struct timeline *t, enum event_group group, const struct event *e)
{
	enum detail_type type = detail_type_of(group, e->kind);
	trace_require(e->dur_ns >= 0 && e->dur_ns <= TRACE_MAX_DUR_NS);
	trace_require(e->start_ns >= -TRACE_MAX_TIME_NS && e->start_ns <= TRACE_MAX_TIME_NS);
	trace_require(e->name == 0 || e->name < t->names.n);
	trace_require(e->track == 0 || e->track < t->tracks.n);
	trace_require(e->detail == 0 || (type != DETAIL_NONE && e->detail < t->details[type].n));
	trace_require(group != GROUP_DEVICE || e->start_ns != 0);
}

static inline void trace_check_timeline(const struct timeline *t)
{
	for (int g = 0; g < N_GROUPS; g++)
		for (size_t i = 0; i < t->lists[g].n; i++)
			trace_check_event(t, g, &t->lists[g].v[i]);
	for (int i = 0; i < N_LOSSES; i++)
		trace_require(t->lost[i] >= 0);
	for (size_t i = 0; i < t->n_launches; i++)
		trace_require(t->launches[i].kernel == 0 || t->launches[i].kernel < t->names.n);
	trace_require(t->n_events >= 0);
}

static inline void trace_check_bytes(const uint8_t *data, size_t size)
{
	char path[64];
	struct timeline t;
	struct err err = { 0 };
	int fd = memfd_create("trace", MFD_CLOEXEC);
	trace_require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (trace_read_file(path, &t, &err)) {
		trace_check_timeline(&t);
		timeline_release(&t);
	} else {
		trace_require(err.text[0]);
	}
	close(fd);
}

#endif
