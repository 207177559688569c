/*
 * chrome.h - reading Chrome trace JSON: the scanner cuts the text into events, a dialect puts them
 * into a timeline.
 *
 * A dialect that is parallel gets the events of several pieces of the file on several threads,
 * each with a part of its own; parts are joined in the order of the file. Within a part events come
 * in the order of the file.
 */
#ifndef VENTURI_TRACE_CHROME_H
#define VENTURI_TRACE_CHROME_H

#include "trace/scan/raw_event.h"
#include "trace/input/source.h"
#include "trace/timeline/timeline.h"

/* What one thread fills. */
struct chrome_part {
	struct timeline t;
	const struct chrome_dialect *dialect;
	void *state; /* of the dialect, zeroed: state_bytes */
};

struct chrome_dialect {
	const char *name;
	bool parallel;
	size_t state_bytes;
	/* Whether the args of such an event are of use; else they are skipped by their brackets
	 * only. */
	bool (*wants_args)(struct str ph, struct str cat, struct str name);
	/* n_events and phases are counted by the caller. */
	void (*event)(struct chrome_part *part, const struct raw_event *e);
	/* A member of the top-level object beside traceEvents; the value as it stands. NULL: of no
	 * use. */
	void (*member)(struct chrome_part *part, struct str key, struct str value);
	/* At the end of a part, of which a dialect that is not parallel has only one: pairs of
	 * begin and end, names of threads. May be NULL. */
	void (*finish)(struct chrome_part *part);
	void (*release)(struct chrome_part *part); /* of the state; may be NULL */
};

/* Reads all of the source into t. */
bool chrome_read(struct source *source, const struct chrome_dialect *dialect, struct timeline *t,
        struct err *err) NODISCARD;

/*
 * A decimal number of microseconds as ns, rounded half away from zero; nothing passes through a
 * double. A number in quotes was stripped of them by the scanner. Exponents are understood.
 *
 * returns  N_LOSSES, or why it is none: LOST_NO_TIME, LOST_NOT_FINITE, LOST_TOO_LONG
 */
enum loss chrome_us_to_ns(struct str text, int64_t *ret_ns);

/* A whole number: 12, "12", 12.0, 1.2e1; false for anything else and beyond an int64_t. */
bool chrome_whole(struct str text, int64_t *ret_value) NODISCARD;

/* One member of an object after the other: {"a": 1, "b": [2]}. Values are views; strings lose their
 * quotes. */
struct chrome_members {
	const char *p, *end;
};
struct chrome_members chrome_members_of(struct str object);
bool chrome_members_next(struct chrome_members *m, struct str *ret_key, struct str *ret_value);

/* The same for the elements of an array: [{"id": 0}, 1]. */
struct chrome_elements {
	const char *p, *end;
};
struct chrome_elements chrome_elements_of(struct str array);
bool chrome_elements_next(struct chrome_elements *m, struct str *ret_value);

/* The text of a string without its escapes; unknown ones stay as they stand and count as
 * LOST_BAD_ESCAPE. tmp holds the result when there is something to resolve. t may be NULL. */
struct str chrome_unescape(struct str raw, struct buf *tmp, struct timeline *t);

#endif
