/*
 * profile_names.h - names for addresses: the addresses that want one are sorted once, and symbols
 * stream by, from an ELF file, a map of JIT code or the kernel's list. No table of all symbols is
 * kept: large libraries have a million.
 *
 * Source: the map of JIT code: Linux, tools/perf/Documentation/jit-interface.txt.
 */
#ifndef VENTURI_WATCH_PROFILE_NAMES_H
#define VENTURI_WATCH_PROFILE_NAMES_H

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PROFILE_NAME_BYTES = 1024, /* longer names are cut; C++ makes long ones */
	PROFILE_JIT_BYTES_MAX = 256
	                        << 20, /* of a map of JIT code; what comes after it is left out */
	PROFILE_SYMBOLS_BYTES_MAX = 1 << 30, /* of a table of symbols in an ELF file */
};

enum name_rank {
	NAME_NONE,
	NAME_FUNCTION, /* known to be one by its unwind table; its name is not */
	NAME_START,    /* a symbol without a size: up to the next one */
	NAME_SIZED,
};

/* A symbol, or an address that wants one. */
struct named {
	uint64_t address;  /* of the wanting one */
	uint64_t from, to; /* of what it lies in */
	enum name_rank rank;
	char name[PROFILE_NAME_BYTES];
	void *whose; /* the caller's */
};

/* ascending addresses */
struct names {
	struct named *wanted;
	size_t n;
};

void names_sort(struct names *set);

/*
 * A symbol streams by.
 *
 * size  0: not known
 * name  may be empty when it is NAME_FUNCTION
 * Among symbols that have a size and hold the address the one that starts last is taken, of several
 * the first; among the others the one that starts last before it. later: a later one is taken
 * before an earlier one, as code is written over older code.
 */
void names_offer(struct names *set, uint64_t from, uint64_t size, enum name_rank rank,
        struct str name, bool later);
/* All symbols have been offered. */
void names_finish(struct names *set);

/*
 * A line of a map of JIT code, "START SIZE name", in hexadecimal; false: it is something else.
 */
bool names_jit_line(
        struct str line, uint64_t *ret_from, uint64_t *ret_size, struct str *ret_name) NODISCARD;
/* A line of /proc/kallsyms that is a function: "ADDRESS T name\t[module]". */
bool names_kernel_line(struct str line, uint64_t *ret_from, struct str *ret_name) NODISCARD;

/* Names from a file of such lines, from its start. */
void names_read_jit(struct names *set, int fd);
/* From /proc/kallsyms; nothing when the kernel hides its addresses (kernel.kptr_restrict). */
void names_read_kernel(struct names *set);

#endif
