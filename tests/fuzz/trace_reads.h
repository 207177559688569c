/*
 * trace_reads.h - any bytes as a file of a reader of traces, and what must hold of the timeline
 * that it fills.
 */
#ifndef VENTURI_TESTS_TRACE_READS_H
#define VENTURI_TESTS_TRACE_READS_H

#include "trace/readers/readers.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Every number names something, every time is within its bounds. */
static inline void check_event(const struct timeline *t, enum event_group group, size_t i)
{
	const struct event *e = &t->lists[group].v[i];
	enum detail_type type = detail_type_of(group, e->kind);
	if (e->dur_ns < 0 || e->dur_ns > TRACE_MAX_DUR_NS || e->start_ns > 2 * TRACE_MAX_TIME_NS ||
	        e->start_ns < -2 * TRACE_MAX_TIME_NS)
		abort();
	if (e->name >= t->names.n || (e->track && e->track >= t->tracks.n))
		abort();
	if (e->detail && (type == DETAIL_NONE || e->detail >= t->details[type].n))
		abort();
}

static inline void check_timeline(const struct timeline *t)
{
	for (int group = 0; group < N_GROUPS; group++)
		for (size_t i = 0; i < t->lists[group].n; i++)
			check_event(t, group, i);
	for (int i = 0; i < N_LOSSES; i++)
		if (t->lost[i] < 0)
			abort();
	for (size_t i = 0; i < t->n_lines; i++)
		if (t->lines[i].busy_ns > t->lines[i].span_ns || t->lines[i].busy_ns < 0)
			abort();
}

/* Reads the bytes, recognised or not. */
static inline void read_as_trace(
        const struct trace_reader *reader, const uint8_t *data, size_t size)
{
	struct source source;
	struct timeline t;
	struct err err;
	char path[64];
	int fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (source_open(&source, path, &err)) {
		timeline_init(&t, path, reader->name);
		(void)reader->recognises(&source);
		if (reader->read(&source, &t, &err))
			check_timeline(&t);
		timeline_release(&t);
		source_close(&source);
	}
	close(fd);
}

#endif
