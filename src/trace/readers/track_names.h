/*
 * track_names.h - the names that a Chrome trace gives its processes and threads (ph M), which may
 * stand behind the events, and what they make of the spans on those tracks.
 */
#ifndef VENTURI_TRACE_READERS_TRACK_NAMES_H
#define VENTURI_TRACE_READERS_TRACK_NAMES_H

#include "trace/scan/raw_event.h"
#include "trace/timeline/timeline.h"

struct track_names {
	struct track_name *v;
	size_t n, cap;
};

/* What the spans on a track are. */
struct track_use {
	enum event_group group; /* GROUP_OTHER: they are left as they are */
	int64_t device;         /* TRACE_NONE: the host's */
	struct str stream;
};

/* What a track is, by the names of its process and thread and the labels of the process. */
typedef struct track_use track_names_use_of(
        struct str process, struct str thread, struct str labels);
/* What one span is that stands on a track of this group. */
typedef enum event_group track_names_group_of(
        const struct timeline *t, enum event_group group, const struct event *e);

/* Takes a process_name, thread_name or process_labels; other metadata is none of its concern. */
void track_names_add(struct track_names *names, struct timeline *t, const struct raw_event *e);
/*
 * Gives every track its label, and moves the spans of GROUP_OTHER to the group of their track, or
 * to that which group_of says (it may be NULL). Kind and detail of a span stay when it becomes work
 * of a device. Short frames of Python are only counted.
 */
void track_names_apply(struct track_names *names, struct timeline *t, track_names_use_of *use_of,
        track_names_group_of *group_of);
void track_names_release(struct track_names *names);

#endif
