/*
 * export_args.h - the args of an exported event: its detail under the names that Kineto gives.
 */
#ifndef VENTURI_TRACE_EXPORT_ARGS_H
#define VENTURI_TRACE_EXPORT_ARGS_H

#include "text/json.h"
#include "trace/timeline/timeline.h"

/*
 * Keys and values into the object that is open.
 *
 * items  the reader will take the grid for work-items, by the call that launched the kernel
 */
void export_args(struct json *j, const struct timeline *t, enum event_group group,
        const struct event *e, bool items);

/*
 * The name of an event: that of a copy whose memory is known must tell it ("Memcpy HtoD (Pageable
 * -> Device)"), because Kineto has no other place for that. tmp holds it where it is made.
 */
struct str export_name(
        const struct timeline *t, enum event_group group, const struct event *e, struct buf *tmp);

/* A number as it is, any other text as a string: pids, tids and streams are either. */
void export_id(struct json *j, struct str text);

#endif
