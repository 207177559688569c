/*
 * profile_maps.h - where the code of a process comes from: the executable lines of /proc/PID/maps.
 */
#ifndef VENTURI_WATCH_PROFILE_MAPS_H
#define VENTURI_WATCH_PROFILE_MAPS_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROFILE_MAPS_MAX = 16384 };

struct profile_map {
	uint64_t from, to; /* addresses */
	uint64_t offset;   /* in the file */
	uint64_t inode;
	size_t path_at; /* in paths; NUL after it; empty: no file */
};

/* A zeroed one is empty. */
struct profile_maps {
	struct profile_map *maps; /* ascending */
	size_t n, cap;
	struct buf paths;
};

/*
 * A line of the file: "from-to r-xp offset dev inode   path".
 *
 * returns  false: it is something else, or its bytes are no code
 */
bool profile_maps_line(
        struct str line, struct profile_map *ret_map, struct str *ret_path) NODISCARD;

/* The code of a process as it is now; false: it cannot be read, and what was known stays. */
bool profile_maps_read(struct profile_maps *m, int pid) NODISCARD;
void profile_maps_release(struct profile_maps *m);

/* NULL: nothing that is known is there. */
const struct profile_map *profile_maps_find(const struct profile_maps *m, uint64_t address);
const char *profile_maps_path(const struct profile_maps *m, const struct profile_map *map);

#endif
