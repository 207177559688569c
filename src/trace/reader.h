/*
 * reader.h - a reader is a row: a format's name, how it is recognised, and how it is read into a
 * timeline. One file each in readers/.
 */
#ifndef VENTURI_TRACE_READER_H
#define VENTURI_TRACE_READER_H

#include "trace/input/source.h"
#include "trace/timeline/timeline.h"

struct trace_reader {
	const char *name; /* "kineto", "ort", "chrome", "nsys-sqlite", ... */
	/* Whether this is the format; looks at the head only. The first row that says yes reads. */
	bool (*recognises)(const struct source *source);
	/*
	 * Fills t, which is empty but for path and format. False only when nothing could be read;
	 * damage is counted in t and read around. May set t->format to a more exact name.
	 */
	bool (*read)(struct source *source, struct timeline *t, struct err *err);
};

extern const struct trace_reader *const trace_readers[]; /* readers.c; NULL at the end */

/* Whether a reader recognises the file; false also when it cannot be opened. */
bool trace_is_known(const char *path);
/* Opens, recognises and reads one file. ERR_INPUT names the file and what it looks like. */
bool trace_read_file(const char *path, struct timeline *t, struct err *err) NODISCARD;

#endif
