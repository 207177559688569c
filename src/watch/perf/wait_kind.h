/*
 * wait_kind.h - what a thread that is not on a CPU waits for, by the system call it is in, or by
 * the function of the kernel in which it sleeps.
 *
 * Source: proc(5), /proc/PID/syscall and /proc/PID/wchan; fs/proc/base.c.
 */
#ifndef VENTURI_WATCH_WAIT_KIND_H
#define VENTURI_WATCH_WAIT_KIND_H

#include "base/str.h"

#include <stdbool.h>

enum wait_kind {
	WAIT_CPU,     /* for none: it runs, or waits for a CPU */
	WAIT_LOCK,    /* for another thread */
	WAIT_EVENTS,  /* for any of several descriptors */
	WAIT_NETWORK, /* for a socket */
	WAIT_IO,      /* in a read or write: pipe, socket, terminal or file */
	WAIT_STORAGE, /* for a file system */
	WAIT_SLEEP,   /* for a time to pass */
	WAIT_MEMORY,  /* for a page, or for the map of its memory */
	WAIT_DEVICE,  /* for a driver */
	WAIT_OTHER,
	WAIT_KINDS,
};

/* "cpu", "lock", "events" ... */
extern const char *const wait_kind_names[WAIT_KINDS];

/*
 * By /proc/PID/task/TID/syscall: "running", or "202 0x... ...", or "-1 ...".
 *
 * returns  false: it is something else
 */
bool wait_kind_of_syscall(struct str text, enum wait_kind *ret_kind) NODISCARD;

/* By /proc/PID/task/TID/wchan; false: "0", which means that it runs, or that we may not know. */
bool wait_kind_of_wchan(struct str text, enum wait_kind *ret_kind) NODISCARD;

#endif
