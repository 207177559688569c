/*
 * kineto.h - the parts of the Kineto reader among themselves: what stands beside the events of a
 * file (kineto_member.c), the arguments of an event (kineto_arguments.c), the details that they
 * tell (kineto_details.c), its thread or queue (kineto_tracks.c), and what all of it comes to
 * (kineto.c).
 *
 * State is that of one part of a file: see chrome.h.
 */
#ifndef VENTURI_TRACE_READERS_KINETO_H
#define VENTURI_TRACE_READERS_KINETO_H

#include "trace/reader.h"
#include "trace/scan/chrome.h"

#include <string.h>

extern const struct chrome_dialect kineto_dialect;

void kineto_member(struct chrome_part *part, struct str key, struct str value);

/* str_eq, where it is hot: most texts differ in their length. */
static inline bool kineto_same(struct str a, struct str b)
{
	return a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

/* The arguments of an event that mean something, as they stand; s is NULL where one is absent. */
struct kineto_arguments {
	struct str device, stream, correlation, bytes, kind;
	struct str grid, block, registers, shared, occupancy, graph;
	struct str dims, types, strides, values, sequence;
	struct str sync_kind, wait_stream, wait_event;
	struct str device_type, device_id, address, allocated, reserved;
	struct str call_stack;
};

enum { KINETO_KEY_SLOTS = 128 }; /* a power of two, several times the arguments */

/* A table of the arguments' names; a zeroed one is filled at its first use. */
struct kineto_keys {
	bool filled;
	uint8_t slots[KINETO_KEY_SLOTS]; /* number + 1 in the list of arguments; 0: empty */
};
struct kineto_arguments kineto_arguments_of(struct kineto_keys *k, struct str args);

/* The details of an event, interned in t; 0 where the arguments tell nothing. */
uint32_t kineto_kernel_detail(struct timeline *t, const struct kineto_arguments *a);
/* name: of the event, which may tell what the arguments do not */
uint32_t kineto_copy_detail(struct timeline *t, const struct kineto_arguments *a,
        enum device_kind device_kind, struct str name);
uint32_t kineto_operator_detail(
        struct timeline *t, const struct kineto_arguments *a, struct buf *tmp);
uint32_t kineto_sync_detail(struct timeline *t, const struct kineto_arguments *a);
uint32_t kineto_memory_detail(struct timeline *t, const struct kineto_arguments *a);

enum {
	KINETO_TRACK_BYTES = 56,
	KINETO_TRACK_SLOTS = 64, /* a power of two */
};

/* The tracks seen last, under the texts that named them; a zeroed one is empty. */
struct kineto_tracks {
	struct kineto_track {
		char key[KINETO_TRACK_BYTES];
		uint32_t key_bytes; /* 0: empty */
		uint32_t track;
	} slots[KINETO_TRACK_SLOTS];
};
uint32_t kineto_host_track(struct kineto_tracks *k, struct timeline *t, const struct raw_event *e);
/* Of a device: where the arguments do not name it and its stream, pid and tid do. */
uint32_t kineto_device_track(struct kineto_tracks *k, struct timeline *t, const struct raw_event *e,
        const struct kineto_arguments *a);

#endif
