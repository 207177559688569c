/*
 * fingerprint.h - what has to be equal for two runs to be compared: an ordered list of names and
 * values, both text. Values live in the arena of the run.
 */
#ifndef VENTURI_RECORD_FINGERPRINT_H
#define VENTURI_RECORD_FINGERPRINT_H

#include "base/arena.h"
#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>

enum { FINGERPRINT_MAX = 96 };

struct fingerprint_entry {
	const char *name;
	const char *value;
};

struct fingerprint {
	struct fingerprint_entry entries[FINGERPRINT_MAX];
	size_t n;
};

/* Sets or replaces one entry; false when the list is full. */
bool fingerprint_set(struct fingerprint *fp, struct arena *run, const char *name, const char *fmt,
	...) PRINTF(4, 5);

/* The value of a name, or NULL. */
const char *fingerprint_get(const struct fingerprint *fp, const char *name);

/*
 * What can be read of this machine and this tool: host.cpu, host.cores, host.memory_bytes,
 * host.kernel, host.governor, tool.version. An entry that cannot be read is left out.
 *
 * root   "" for the machine itself; tests give a tree that holds proc/ and sys/
 */
void fingerprint_host(struct fingerprint *fp, struct arena *run, const char *root);

#endif
