/*
 * procfile.h - small files of the kernel that are read again and again: kept open, read from their
 * start into the caller's memory.
 */
#ifndef VENTURI_WATCH_PROCFILE_H
#define VENTURI_WATCH_PROCFILE_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROCFILE_PATH_MAX = 512 };

/* A zeroed one is closed. */
struct procfile {
	int fd_plus_1;
};

/* root and fmt make the path; false: errno says why. */
bool procfile_open(struct procfile *f, const char *root, const char *fmt, ...)
        PRINTF(3, 4) NODISCARD;
/*
 * The same below a folder that is held open. A folder of a process that has ended leads nowhere,
 * also when its PID is used again.
 */
bool procfile_open_at(struct procfile *f, int dir_fd, const char *path) NODISCARD;
void procfile_close(struct procfile *f);
bool procfile_is_open(const struct procfile *f);

/*
 * The file as it is now, NUL after it; what does not fit is cut off.
 *
 * returns  false: errno says why (ESRCH: the process is gone)
 */
bool procfile_read(
        const struct procfile *f, char *buf, size_t size, struct str *ret_text) NODISCARD;

/* Open, read, close: for what is read seldom. */
bool procfile_once(const char *root, char *buf, size_t size, struct str *ret_text, const char *fmt,
        ...) PRINTF(5, 6) NODISCARD;

bool procfile_once_at(
        int dir_fd, char *buf, size_t size, struct str *ret_text, const char *path) NODISCARD;

/* Takes the next word, between blanks (spaces, tabs, line ends), off the text; empty at its end. */
struct str procfile_word(struct str *text);
/* Takes the next line off the text. */
struct str procfile_line(struct str *text);
/* A whole number of digits only; false for anything else and above 2^64 - 1. */
bool procfile_u64(struct str word, uint64_t *ret_value) NODISCARD;
/* The first "key value" or "key: value" line; false when there is none. */
bool procfile_field(struct str text, const char *key, struct str *ret_value) NODISCARD;
/* The same as a number; what follows it ("kB") is not looked at. */
bool procfile_field_u64(struct str text, const char *key, uint64_t *ret_value) NODISCARD;

#endif
