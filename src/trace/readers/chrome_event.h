/*
 * chrome_event.h - what the dialects of Chrome traces have in common: times that are judged and
 * counted, names, tracks, moments, counters.
 */
#ifndef VENTURI_TRACE_READERS_CHROME_EVENT_H
#define VENTURI_TRACE_READERS_CHROME_EVENT_H

#include "trace/scan/chrome.h"

/* The start of an event; false when it has none that can be true, which is counted. */
bool chrome_start(struct timeline *t, const struct raw_event *e, struct event *ret);
/*
 * Start and duration of a span, which is counted under its category as soon as both are numbers;
 * false when they cannot be true, which is counted.
 */
bool chrome_span(struct timeline *t, const struct raw_event *e, struct event *ret);
/* The number of its name; escapes are resolved through tmp. */
uint32_t chrome_name(struct timeline *t, const struct raw_event *e, struct buf *tmp);
/* The number of a text, 0 for one that is not there. */
uint32_t chrome_text(struct timeline *t, struct str text);
/* Its thread of the host. */
uint32_t chrome_host_track(struct timeline *t, const struct raw_event *e);
/* Its queue of a device. */
uint32_t chrome_device_track(
        struct timeline *t, const struct raw_event *e, int64_t device, struct str stream);
/* A whole number; one that does not fit is counted and is absent. */
int64_t chrome_number(struct timeline *t, struct str text, int64_t absent);
/* Adds a moment with a name. */
void chrome_instant(struct timeline *t, const struct raw_event *e, struct buf *tmp);
/*
 * Adds a reading of counters: each argument that is a number is one, named by the event and by the
 * argument where that is not just "value".
 */
void chrome_counters(struct timeline *t, const struct raw_event *e, struct buf *tmp);

#endif
