/*
 * timeline_make.h - timelines written by hand, for the tests of the view and the analyses.
 */
#ifndef VENTURI_TESTS_TIMELINE_MAKE_H
#define VENTURI_TESTS_TIMELINE_MAKE_H

#include "trace/timeline/timeline.h"

#include <string.h>

static inline uint32_t host_track(struct timeline *t, const char *tid)
{
	struct track k;
	memset(&k, 0, sizeof k);
	k.device = TRACE_NONE;
	k.pid = timeline_name(t, STR("100"));
	k.tid = timeline_name(t, str_of(tid));
	return timeline_track(t, &k);
}

static inline uint32_t device_track(struct timeline *t, int64_t device, const char *stream)
{
	struct track k;
	memset(&k, 0, sizeof k);
	k.device = device;
	k.tid = k.stream = timeline_name(t, str_of(stream));
	return timeline_track(t, &k);
}

/* The number of the event in its list. */
static inline uint32_t put(struct timeline *t, enum event_group group, uint32_t track,
        const char *name, int64_t start_ns, int64_t end_ns, uint64_t link)
{
	struct event e = { .start_ns = start_ns,
		.dur_ns = end_ns - start_ns,
		.link = link,
		.track = track,
		.name = timeline_name(t, str_of(name)) };
	timeline_add(t, group, &e);
	return (uint32_t)(t->lists[group].n - 1);
}

static inline uint32_t put_kernel(
        struct timeline *t, const char *name, int64_t start_ns, int64_t end_ns, uint64_t link)
{
	return put(t, GROUP_DEVICE, device_track(t, 0, "7"), name, start_ns, end_ns, link);
}

static inline uint32_t put_call(
        struct timeline *t, const char *name, int64_t start_ns, int64_t end_ns, uint64_t link)
{
	return put(t, GROUP_CALL, host_track(t, "1"), name, start_ns, end_ns, link);
}

static inline uint32_t put_copy(struct timeline *t, enum copy_kind kind, enum memory_kind from,
        enum memory_kind to, int64_t bytes, int64_t start_ns, int64_t end_ns, uint64_t link)
{
	static const char *const names[] = { "HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "other" };
	struct copy_detail d;
	memset(&d, 0, sizeof d);
	d.bytes = bytes;
	d.kind = kind;
	d.kind_name = timeline_name(t, str_of(names[kind]));
	d.from = from;
	d.to = to;
	uint32_t i = put_kernel(t, "Memcpy", start_ns, end_ns, link);
	struct event *e = &t->lists[GROUP_DEVICE].v[i];
	e->kind = DEVICE_MEMCPY;
	e->detail = timeline_detail(t, DETAIL_COPY, &d);
	return i;
}

#endif
