/*
 * source.h - the bytes of a trace file: as they are, or unpacked (gzip with any number of
 * members), and what they look like.
 */
#ifndef VENTURI_TRACE_SOURCE_H
#define VENTURI_TRACE_SOURCE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	SOURCE_HEAD_BYTES = 64 * 1024, /* what a reader is recognised by */
};

struct source {
	const char *path;
	int fd;                    /* -1: closed */
	int64_t size;              /* of the file */
	int64_t n_read;            /* unpacked bytes since the beginning, a byte-order mark too */
	bool packed;               /* the bytes have to be inflated */
	bool damaged;              /* set by reading: the packed data ended early or is broken */
	struct str head;           /* the first bytes, unpacked, a byte-order mark removed */
	char *head_bytes;          /* owner of head */
	struct inflater *inflater; /* while a packed file is read; NULL otherwise */
};

/* Opens and looks at the head. ERR_INPUT for what is empty or not a regular file. */
bool source_open(struct source *s, const char *path, struct err *err) NODISCARD;
void source_close(struct source *s);
/*
 * Whether it begins like text, whatever is damaged further on: blocks of zeros are what a full disk
 * or a crash leaves in the middle of a file.
 */
bool source_is_text(const struct source *s);

/*
 * Reading piece by piece: from the beginning, then up to n unpacked bytes; fewer only at the end. A
 * byte-order mark is part of what is read. A packed file that is cut gives what it holds and sets
 * damaged.
 */
bool source_rewind(struct source *s, struct err *err) NODISCARD;
size_t source_read(struct source *s, char *out, size_t n);
/*
 * The whole content, unpacked, NUL after it; a byte-order mark is removed. For formats that are
 * small or need it all (CSV, protobuf); an ERR_INPUT beyond max_bytes. A packed file that is cut
 * gives what it holds and sets damaged.
 */
bool source_read_all(
        struct source *s, int64_t max_bytes, struct buf *ret_text, struct err *err) NODISCARD;

#endif
