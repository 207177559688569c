/*
 * numa_maps.h - where the pages of a process lie, from its /proc/PID/numa_maps: one line for each
 * mapping, with its memory policy and how many pages of it are on which node.
 *
 * A page that several processes share is counted by each of them.
 *
 * Source: Documentation/filesystems/proc.rst and mm/mempolicy.c, mpol_to_str(), of Linux.
 */
#ifndef VENTURI_WATCH_NUMA_MAPS_H
#define VENTURI_WATCH_NUMA_MAPS_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NUMA_NODES_MAX = 256,
	NUMA_POLICIES_MAX = 8, /* that are told apart */
	NUMA_MAPS_BUF_BYTES = 64 * 1024,
	NUMA_MAPS_BYTES_MAX = 256 * 1024 * 1024, /* of one file */
};

struct numa_policy {
	char name[48]; /* "default", "bind:0-1", "interleave:0,2", "prefer (many):1" */
	uint64_t bytes;
};

/* A zeroed one has seen nothing. */
struct numa_maps {
	uint64_t bytes[NUMA_NODES_MAX];
	uint64_t bytes_beyond; /* on nodes above the limit */
	struct numa_policy policies[NUMA_POLICIES_MAX];
	size_t n_policies;
};

/* Adds one line, without its end. What is not understood of it adds nothing. */
void numa_maps_line(struct numa_maps *m, struct str line);

/*
 * Adds a whole file.
 *
 * buf      NUMA_MAPS_BUF_BYTES of scratch; a line that is longer is left out
 * returns  false: errno says why; what came before is added
 */
bool numa_maps_read(struct numa_maps *m, int fd, char *buf) NODISCARD;

/* "default, bind:1": the policies, those of most bytes first, NUL after them. */
void numa_maps_policies(const struct numa_maps *m, char *buf, size_t size);

#endif
