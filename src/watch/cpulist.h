/*
 * cpulist.h - sets of CPUs or of memory nodes as the kernel writes them: "0-3,8".
 */
#ifndef VENTURI_WATCH_CPULIST_H
#define VENTURI_WATCH_CPULIST_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CPULIST_MAX = 4096 };

/* A zeroed one is empty. */
struct cpulist {
	uint64_t words[CPULIST_MAX / 64];
};

/*
 * Adds what the text names; blanks around it are allowed, an empty text adds nothing.
 *
 * returns  false: the text is something else, or names a CPU above the limit; the set may then have
 *          grown by a part
 */
bool cpulist_add(struct cpulist *set, struct str text) NODISCARD;
bool cpulist_has(const struct cpulist *set, unsigned cpu);
unsigned cpulist_count(const struct cpulist *set);
/* "0-3,8", NUL after it; what does not fit ends in ",...". */
void cpulist_print(const struct cpulist *set, char *buf, size_t size);

#endif
