/*
 * raw_event.h - one event of a Chrome trace as the scanner found it: views into the text, nothing
 * unescaped, nothing judged. The scanner knows JSON and its damage, a dialect (chrome.h) knows what
 * the fields mean.
 */
#ifndef VENTURI_TRACE_RAW_EVENT_H
#define VENTURI_TRACE_RAW_EVENT_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a field is not there, its view has s == NULL. Strings are without their quotes. */
struct raw_event {
	struct str whole; /* from '{' to '}' */
	struct str ph, cat, name, id;
	struct str pid, tid, ts,
	        dur;       /* numbers or strings, as they stand; "NaN" and bare words too */
	struct str args;   /* the object with its braces; s == NULL also when it was skipped */
	bool name_escaped; /* the name holds a backslash */
};

#endif
